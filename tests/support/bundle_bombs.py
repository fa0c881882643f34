"""Decompression bombs: small bundles that expand to many bytes, and a bounded process that reads one.

python bundle_bombs.py NAME      reads the bomb and prints the outcome
"""

from __future__ import annotations

import plistlib
import struct
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

if __name__ == "__main__":
    TESTS = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(TESTS), str(TESTS / "support"), str(TESTS.parent)]

from bundle_support import (
    APP,
    BINARY,
    CLOCK,
    SAMPLES,
    TEXT_AT,
    UNIQUING,
    app_stack,
    changed,
    cpp_bomb,
    loaded,
    new_run,
    rust_bomb,
    small_bundle,
    source_of,
    with_column,
    with_stacks,
)

from sample_generator.bundle_document import SharedCache
from sample_generator.bundle_images import Image, Loaded, Symbol
from sample_generator.bundle_tables import Col
from sample_generator.bundle_values import Array, Raw, Typed
from sample_generator.bundle_writer import BundleWriter, Files
from tracekit.errors import TracekitError

MEMORY_BYTES = 3 << 29
"""The limit for reading, beside the memory of the libraries."""
CPU_SECONDS = 6
ARCHIVE = f"symbols/stores/{BINARY}.symbolsarchive"
LISTS = f"{UNIQUING}/arrayUniquer/integeruniquer.data"


# Sharing --------------------------------------------------------------------------------------------------


def shared_chunk(padding: int = 0) -> Files:
    """A chunk of 100,000 frames, and 200 stacks that have it 1, 2, … 200 times: 2 * 10^9 frames."""
    chunk = 3  # its number: the app and two threads come before it
    often = [Array((chunk,) * times) for times in range(2, 200)]
    bundle = with_column("XRBacktraceTypeID", app_stack(list(range(1, 100_001))), *often)
    return changed(bundle.files(), LISTS, lambda data: data + bytes(padding))


def nested_messages(width: int, levels: int, rows: int) -> Files:
    """Each message has the last one `width` times."""
    first = Typed((("XRCPUCoreTypeID", 1),))
    kind = "XROSLogMetadataTypeID"
    nested = [Typed(((kind, Raw(level)),) * width) for level in range(levels)]
    return with_column(kind, first, *nested, *[Raw(levels)] * rows).files()


def shared_names() -> Files:
    """200 names, each a byte shorter than the last, in one string of 40 MB."""
    count, size = 200, 40_000_000
    symbols = [Symbol(16 * number, 16, f"_n{number}", f"d{number}") for number in range(count)]
    stack = app_stack([TEXT_AT + 16 * number + 1 for number in range(count)])
    files = with_stacks(stack, images=[loaded(*symbols)]).files()
    strings = b"MACH_HEADER\0" + b"a" * size + b"\0"
    body = bytearray(files[ARCHIVE][: -struct.unpack_from("<I", files[ARCHIVE], 0x54)[0]])
    segments, sections = struct.unpack_from("<2I", body, 8)
    for number in range(count):
        struct.pack_into("<I", body, 0x60 + 32 * segments + 24 * sections + 24 * number + 12, 12 + number)
    struct.pack_into("<I", body, 0x54, len(strings))
    return {**files, ARCHIVE: zlib.compress(bytes(body) + strings)}


def long_demangled_names() -> Files:
    """40 names of 180 bytes that are 100 MB each when demangled: less than is allowed of one name."""
    nested, last = "PFvvE", 0
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for _ in range(13):
        ref = f"S{digits[last]}_"
        nested += f"PF{ref}{ref}{ref}E"
        last += 2
    symbols = [Symbol(16 * number, 16, f"__Z3f{number:02}{nested}") for number in range(40)]
    stack = app_stack([TEXT_AT + 16 * number + 1 for number in range(40)])
    return with_stacks(stack, images=[loaded(*symbols)]).files()


def doubling_names() -> Files:
    """Two names of which each part has the last one twice: 2^60 characters."""
    names = cpp_bomb(60), rust_bomb(60)
    symbols = [Symbol(16 * number, 16, name) for number, name in enumerate(names)]
    return with_stacks(app_stack([TEXT_AT + 1, TEXT_AT + 17]), images=[loaded(*symbols)]).files()


def shared_images() -> Files:
    """A process that names the same 20,000 images of the shared cache 3,000 times."""
    bundle = BundleWriter()
    run = new_run(bundle)
    nothing = Image(UUID(int=0), "", (), ())
    cache = SharedCache(UUID(int=6), {77: Loaded(nothing, ())})
    run.load(APP, loaded())
    run.load_shared_cache(APP, cache, 0)
    run.table("t", (CLOCK, Col("value", "Stack", "XRBacktraceTypeID")), [(0, app_stack([5]))])
    files = bundle.files()
    document = plistlib.loads(files["form.template"])
    objects = document["$objects"]
    for entry in [part for part in objects if isinstance(part, dict)]:
        if (
            len(entry.get("NS.objects", [])) == 1
            and "NS.keys" not in entry
            and objects[entry["NS.objects"][0].data] == 77
        ):
            entry["NS.objects"] *= 3000
        if "NS.data" in entry and b"SampleApp" not in entry["NS.data"]:
            head = struct.pack("<6I", 0xFF01FF02, 1, 1, 0, 0, 20_000)
            entry["NS.data"] = head + bytes(64) * 20_000
    files["form.template"] = plistlib.dumps(document, fmt=plistlib.FMT_BINARY)
    return files


# Property lists -------------------------------------------------------------------------------------------


def bplist(objects: list[bytes]) -> bytes:
    data, places = b"bplist00", []
    for entry in objects:
        places.append(len(data))
        data += entry
    table = b"".join(struct.pack(">Q", place) for place in places)
    return data + table + struct.pack(">6xBBQQQ", 8, 1, len(objects), 0, len(data))


def doubling(before: list[bytes]) -> bytes:
    """Return a list in which each array has the next one twice: 2^40 elements."""
    first = len(before)
    arrays = [bytes([0xA2, first + number + 1, first + number + 1]) for number in range(40)]
    return bplist([*before, *arrays, b"\x51x"])


def doubling_strings() -> Files:
    return {**small_bundle().files(), f"{UNIQUING}/strings": zlib.compress(doubling([b"\xa1\x01"]))}


def doubling_requirements() -> Files:
    key = b"com.apple.dt.etype.X"
    before = [b"\xd1\x01\x02", b"\x5f\x10" + bytes([len(key)]) + key, b"\xa1\x03"]
    return {**small_bundle().files(), "open.creq": doubling(before)}


def many_objects() -> Files:
    """A document of 15 million references to one object."""
    count = 15_000_000
    array = b"\xaf\x12" + struct.pack(">I", count) + b"\x01" * count
    content = bplist([b"\xd2\x01\x02\x03\x04", b"\x54$top", b"\x58$objects", b"\xd0", array])
    return {**small_bundle().files(), "form.template": zlib.compress(content)}


def zeros_in_place_of_each_file() -> dict[str, Files]:
    """A gigabyte of zeros in a megabyte; of the stores, which are alike, one is enough."""
    packer = zlib.compressobj(9)
    zeros = b"".join(packer.compress(bytes(1 << 24)) for _ in range(64)) + packer.flush()
    good = small_bundle().files()
    return {
        name: {**good, name: zeros} for name in good if "/indexed-store-" not in name or "-store-2" in name
    }


ENTITIES = (
    b'<!DOCTYPE s [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(
        f'<!ENTITY {chr(98 + number)} "{f"&{chr(97 + number)};" * 10}">'.encode() for number in range(20)
    )
    + b']><schema name="t"><column mnemonic="&u;"/></schema>'
)

BOMBS: dict[str, Callable[[], Files]] = {
    "a chunk that many stacks share": shared_chunk,
    "a chunk that many stacks share, and padding": lambda: shared_chunk(60_000_000),
    "messages that double": lambda: nested_messages(2, 15, 1000),
    "messages that double too often": lambda: nested_messages(2, 40, 1),
    "messages of ten messages": lambda: nested_messages(10, 8, 1),
    "names that share their bytes": shared_names,
    "names that double": doubling_names,
    "names that grow": long_demangled_names,
    "images that repeat": shared_images,
    "strings that double": doubling_strings,
    "requirements that double": doubling_requirements,
    "many objects": many_objects,
    "a schema": lambda: {
        **small_bundle().files(),
        SAMPLES.replace("bulkstore", "schema.xml"): zlib.compress(ENTITIES),
    },
}


def outcome(files: Files) -> str:
    """Return the tables with their rows and the codes of the issues, or the error."""
    try:
        source = source_of(files)
        rows = [f"{t.schema} {sum(map(len, source.tables(t.schema)))}" for t in source.toc()[0].tables[2:]]
    except TracekitError as error:
        return f"error: {error}"
    return ", ".join([*rows, *(issue.code for issue in source.issues())])


def main(name: str) -> None:
    import resource

    outcome(small_bundle().files())  # loads what is loaded late
    bombs = {name: BOMBS[name]()} if name in BOMBS else zeros_in_place_of_each_file()
    seconds = int(time.process_time()) + CPU_SECONDS * (1 if name in BOMBS else 4)
    most = MEMORY_BYTES + _address_space()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for what, bomb in bombs.items():
        sys.stdout.write(f"{what}: {outcome(bomb)}\n")


def _address_space() -> int:
    """Return the address space that this process has already: libraries map more than they use."""
    import resource

    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else 2 << 30


if __name__ == "__main__":
    main(sys.argv[1])
