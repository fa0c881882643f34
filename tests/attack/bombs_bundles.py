"""Bombs as .trace bundles: hostile folders, stores that claim rows, interned lists and archives in circles."""

from __future__ import annotations

import os
import plistlib
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bundle_bombs
from bundle_support import (
    SAMPLES,
    STORES,
    UNIQUING,
    app_stack,
    changed,
    small_bundle,
    with_column,
    with_stacks,
)

from attack.bomb import Bomb
from attack.bombs_archives import raw_zeros
from sample_generator.bundle_writer import Files, write_folder

STORE = f"{STORES}/indexed-store-2"
LISTS = f"{UNIQUING}/arrayUniquer/integeruniquer"
DEVICES = ("/dev/zero", "/dev/random", "/proc/self/mem", "/proc/kmsg")
UID = plistlib.UID


def zeros_stream(size_bytes: int) -> bytes:
    """Return a zlib stream of zeros; its checksum is wrong, which shows at its end only."""
    return b"\x78\x9c" + raw_zeros(size_bytes) + bytes(4)


def replaced(**contents: bytes | Callable[[bytes], bytes]) -> Callable[[], Files]:
    """Return a maker of the small bundle in which some files, by the end of their name, are others."""

    def make() -> Files:
        files = small_bundle().files()
        for end, content in contents.items():
            names = [name for name in files if name.endswith(end.replace("__", "."))]
            for name in names:
                files = changed(files, name, content) if callable(content) else {**files, name: content}
        return files

    return make


def keyed(objects: list[Any], root: int = 1) -> bytes:
    document = {"$archiver": "NSKeyedArchiver", "$objects": ["$null", *objects], "$top": {"root": UID(root)}}
    return plistlib.dumps(document, fmt=plistlib.FMT_BINARY)


def claimed_rows(count: int) -> Callable[[], Files]:
    """A descriptor that claims rows which the store does not have."""

    def change(content: bytes) -> bytes:
        document = plistlib.loads(content)
        objects = document["$objects"]
        document["$objects"] = [count if entry == 20 and entry is not True else entry for entry in objects]
        return plistlib.dumps(document, fmt=plistlib.FMT_BINARY)

    return replaced(bulkstore_descriptor=change)


def zero_rows() -> Files:
    """Four gigabytes of rows that the descriptor claims as well."""
    files = claimed_rows(60_000_000)()
    head = zlib.decompress(files[SAMPLES])[:4096]
    packer = zlib.compressobj(6)
    stream = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH) + raw_zeros(4 << 30) + bytes(4)
    return {**files, SAMPLES: stream}


def good_rows() -> Files:
    """Eleven million good samples in 4 MB: as many cells as are read."""
    count, batch = 11_000_000, 100_000
    files = claimed_rows(count)()
    stored = zlib.decompress(files[SAMPLES])
    start, row_bytes = struct.unpack_from("<2I", stored, 12)
    packer = zlib.compressobj(1)
    rows = stored[start : start + row_bytes] * batch
    pieces = [
        packer.compress(stored[:start]),
        *(packer.compress(rows) for _ in range(count // batch)),
        packer.flush(),
    ]
    return {**files, SAMPLES: b"".join(pieces)}


def many_stores(count: int) -> Files:
    files = small_bundle().files()
    store = {name: content for name, content in files.items() if name.startswith(f"{STORE}/")}
    for number in range(100, 100 + count):
        files |= {name.replace("store-2/", f"store-{number}/"): content for name, content in store.items()}
    return files


def many_runs(count: int) -> Files:
    files = small_bundle().files()
    first = {name: content for name, content in files.items() if name.startswith("corespace/run1/")}
    for number in range(2, count):
        files |= {name.replace("/run1/", f"/run{number}/"): content for name, content in first.items()}
    return files


def circular_lists() -> Files:
    """Stacks whose chunks are the stacks themselves."""

    def change(content: bytes) -> bytes:
        numbers = bytearray(content)
        for offset in range(32, len(numbers) - 12, 4):
            if struct.unpack_from("<I", numbers, offset)[0] in (1, 2, 3):
                struct.pack_into("<Q", numbers, offset + 4, 3)
        return bytes(numbers)

    return changed(with_stacks(app_stack([1, 2, 3])).files(), f"{LISTS}.data", change)


def index_of(count: int) -> Callable[[], Files]:
    """An index in which all of so many entries point to the first list."""
    entry = struct.pack("<2I", 32, 0)
    return replaced(**{"arrayUniquer/integeruniquer__index": lambda content: content[:40] + entry * count})


def long_list(claimed: int) -> Callable[[], Files]:
    """Lists that claim so many values, in 60 MB of zeros."""

    def change(content: bytes) -> bytes:
        return content[:32] + struct.pack("<I", claimed) * 500 + bytes(60 << 20)

    return replaced(**{"arrayUniquer/integeruniquer__data": change})


def many_strings() -> Files:
    """Three million interned strings."""
    text = b"<plist version='1.0'><array>" + b"<string>x</string>" * 3_000_000 + b"</array></plist>"
    return {**small_bundle().files(), f"{UNIQUING}/strings": zlib.compress(text)}


def entities() -> Files:
    return {**small_bundle().files(), f"{UNIQUING}/strings": zlib.compress(bundle_bombs.ENTITIES)}


def deep_xml(name: str) -> Callable[[], Files]:
    text = b"<plist version='1.0'>" + b"<array>" * 3_000_000 + b"</array>" * 3_000_000 + b"</plist>"
    return lambda: {
        **small_bundle().files(),
        name: zlib.compress(text) if name.startswith("corespace") else text,
    }


def archive_in_place_of(name: str, archive: Callable[[], bytes]) -> Callable[[], Files]:
    def make() -> Files:
        content = archive()
        return {
            **small_bundle().files(),
            name: zlib.compress(content) if name.startswith("corespace") else content,
        }

    return make


def chain() -> bytes:
    return keyed([{"NS.objects": [UID(number + 2)]} for number in range(300_000)] + ["x"])


def circle() -> bytes:
    return keyed([{"NS.objects": [UID(1), UID(2)]}, {"NS.keys": [UID(2)], "NS.objects": [UID(1)]}])


def wide() -> bytes:
    """100 arrays of 30,000 references to one another."""
    return keyed([{"NS.objects": [UID(number % 100 + 1) for number in range(30_000)]} for _ in range(100)])


def schema_columns(count: int) -> Callable[[], Files]:
    column = b'<column mnemonic="c"><engineeringType>XRUInt64TypeID</engineeringType></column>'
    return replaced(schema__xml=b'<schema name="t">' + column * count + b"</schema>")


def unique_stacks() -> Files:
    """30,000 stacks of 30 frames, each of another address."""
    return with_column(
        "XRBacktraceTypeID", *(app_stack(range(n * 30 + 1, n * 30 + 31)) for n in range(30_000))
    ).files()


# Folders ----------------------------------------------------------------------------------------------------


def folder_of(make: Callable[[], Files]) -> Callable[[Path], None]:
    return lambda path: write_folder(make(), path)


def many_files(path: Path) -> None:
    """120,000 empty files."""
    write_folder(small_bundle().files(), path)
    for number in range(120):
        folder = path / str(number)
        folder.mkdir()
        for name in range(1000):
            (folder / str(name)).touch()


def many_folders(path: Path) -> None:
    """100,000 folders without a file."""
    write_folder(small_bundle().files(), path)
    for number in range(100_000):
        (path / str(number)).mkdir()


def deep_folders(path: Path) -> None:
    """Folders in one another, with a path almost as long as the system opens."""
    write_folder(small_bundle().files(), path)
    start = os.open(path, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d" * 8, dir_fd=start)
        inner = os.open("d" * 8, os.O_RDONLY, dir_fd=start)
        os.close(start)
        start = inner
    os.close(start)


def links_in_circles(path: Path) -> None:
    write_folder(small_bundle().files(), path)
    for number in range(20_000):
        (path / f"loop{number}").symlink_to(f"loop{(number + 1) % 20_000}")
    (path / "corespace" / "again").symlink_to("..")


def special_files(path: Path) -> None:
    """FIFOs and links to devices in place of every file."""
    write_folder(small_bundle().files(), path)
    for number, file in enumerate(sorted(entry for entry in path.rglob("*") if entry.is_file())):
        file.unlink()
        if number % 2:
            os.mkfifo(file)
        else:
            file.symlink_to(DEVICES[number // 2 % len(DEVICES)])


def only_fifo(path: Path) -> None:
    path.mkdir()
    os.mkfifo(path / "form.template")


def sparse_files(path: Path) -> None:
    """Every file grown to 300 GB without a block on the disk."""
    write_folder(small_bundle().files(), path)
    for file in (entry for entry in path.rglob("*") if entry.is_file()):
        os.truncate(file, 300 << 30)


def sparse_rows(path: Path) -> None:
    """A store of 100 GB of holes behind its header page, without compression, and as many rows claimed."""
    files = claimed_rows(100 << 24)()
    files[SAMPLES] = zlib.decompress(files[SAMPLES])[:4096]
    write_folder(files, path)
    os.truncate(path / SAMPLES, 100 << 30)


FILES: tuple[tuple[str, Callable[[], Files]], ...] = (
    ("2^39 rows claimed", claimed_rows(2**39)),
    ("2^63 rows claimed", claimed_rows(2**63)),
    ("60 million rows of zeros", zero_rows),
    ("11 million good rows", good_rows),
    ("10,000 stores", lambda: many_stores(10_000)),
    ("800 runs", lambda: many_runs(800)),
    ("stacks in circles", circular_lists),
    ("an index of 7 million entries", index_of(7_000_000)),
    ("lists of 4 billion values", long_list(0xFFFF_FFFF)),
    ("lists of 7 million values", long_list(7_000_000)),
    ("three million strings", many_strings),
    ("strings that are entities", entities),
    ("arrays in 3 million arrays", deep_xml(f"{UNIQUING}/strings")),
    ("a template of 3 million arrays", deep_xml("form.template")),
    ("a template in a chain", archive_in_place_of("form.template", chain)),
    ("a template in a circle", archive_in_place_of("form.template", circle)),
    ("a template of wide arrays", archive_in_place_of("form.template", wide)),
    ("types in a circle", archive_in_place_of(f"{UNIQUING}/EngineeringTypes.etypes", circle)),
    ("types of wide arrays", archive_in_place_of(f"{UNIQUING}/EngineeringTypes.etypes", wide)),
    ("a descriptor of wide arrays", archive_in_place_of(f"{STORE}/bulkstore_descriptor", wide)),
    ("a schema of 200,000 columns", schema_columns(200_000)),
    ("a gigabyte in every file", lambda: dict.fromkeys(small_bundle().files(), zeros_stream(1 << 30))),
    ("900,000 frames", unique_stacks),
)
FOLDERS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("120,000 files", many_files),
    ("100,000 folders", many_folders),
    ("400 folders in one another", deep_folders),
    ("links in circles", links_in_circles),
    ("FIFOs and devices", special_files),
    ("nothing but a FIFO", only_fifo),
    ("files of 300 GB of holes", sparse_files),
    ("100 GB of rows of holes", sparse_rows),
)


def bundle(name: str, write: Callable[[Path], None], *command: str) -> Bomb:
    arguments = command or ("analyze", "{}/X.trace")
    return Bomb(f"bundle: {name}", lambda folder: write(folder / "X.trace"), arguments)


BOMBS: tuple[Bomb, ...] = (
    *(
        bundle(name, folder_of(make), "tables", "{}/X.trace", "--schema", "t", "--limit", "3")
        for name, make in bundle_bombs.BOMBS.items()
    ),
    *(bundle(name, folder_of(make)) for name, make in FILES),
    *(bundle(name, write) for name, write in FOLDERS),
)
