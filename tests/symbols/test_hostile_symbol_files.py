"""Damaged and hostile files of symbols: a sentence, and the analysis goes on with the rest."""

from __future__ import annotations

import os
import random
import struct
import zipfile
from pathlib import Path

import pytest
from macho_support import UUID_OF_APP, dsym, fat, macho, recording

import tracekit
from tracekit.model.trace import Trace
from tracekit.symbols import search, symbol_map, symbol_table
from tracekit.symbols.work_budget import WorkBudget

pytestmark = pytest.mark.integration

MAP = f"UUID: {UUID_OF_APP} (arm64) App\n".encode()


def opened(tmp_path: Path, name: str, content: bytes) -> Trace:
    """Return a recording, read with a file of symbols of this content."""
    path = tmp_path / name
    path.write_bytes(content)
    return tracekit.open_trace(recording(tmp_path, (0x1001, 0x1018)), symbols=[path])


def symbols_of(trace: Trace) -> list[str]:
    return [str(trace.stacks.symbols[frame]) for frame in trace.stacks.stack(0)]


def unreadable(trace: Trace) -> list[str]:
    return [issue.message for issue in trace.issues if issue.code == "symbols-unreadable"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (macho([(0x1000, "_first")])[:100], "App is cut off, or its header is damaged"),
        (macho([(0x1000, "_first")])[:-8], "App is cut off"),
        (b"\xcf\xfa\xed\xfe", "App is cut off"),
        (b"\xca\xfe\xba\xbe" + struct.pack(">I", 2**31), "App has a header of 2,147,483,648 architectures"),
        (b"\xca\xfe\xba\xbe" + struct.pack(">6I", 1, 7, 3, 2**31, 2**31, 0), "App is cut off"),
        (fat(b"\x00" * 64), "App holds an architecture that is no little-endian Mach-O file"),
        (b"PK\x03\x04", "App is a damaged zip, or has a password"),
        (b"\x1f\x8b", "App is packed: unpack it and name the folder"),
        (
            b"\x7fELF" + bytes(100),
            "App is neither a Mach-O file nor a symbol map, which names the build first",
        ),
        (b"", "App is neither a Mach-O file nor a symbol map, which names the build first"),
    ],
    ids=["commands", "names", "magic", "architectures", "fat", "slice", "zip", "gzip", "elf", "empty"],
)
def test_a_damaged_file_is_named_and_the_rest_is_used(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "good").mkdir()
    good = tmp_path / "good" / "App"
    good.write_bytes(macho([(0x1000, "_first")]))
    bad = tmp_path / "App"
    bad.write_bytes(content)
    trace = tracekit.open_trace(recording(tmp_path, (0x1001,)), symbols=[bad, good])
    assert symbols_of(trace) == ["first"]
    assert [text.partition(": UUID")[0] for text in unreadable(trace)] == [message]


def test_claims_of_a_header_cost_nothing(tmp_path: Path) -> None:
    content = bytearray(macho([(0x1000, "_first")]))
    # The number of symbols: behind the header, the UUID, and the segment with its section.
    at = 32 + 24 + 8 + 144 + 8 + 4
    assert struct.unpack_from("<I", content, at) == (1,)
    struct.pack_into("<I", content, at, 2**32 - 1)
    trace = opened(tmp_path, "App", bytes(content))
    assert unreadable(trace) == ["App has 4,294,967,295 symbols, and at most 10,000,000 are read"]


def test_a_file_without_a_uuid_is_not_used(tmp_path: Path) -> None:
    content = macho([(0x1000, "_first")]).replace(struct.pack("<2I", 0x1B, 24), struct.pack("<2I", 0x1C, 24))
    trace = opened(tmp_path, "App", content)
    assert unreadable(trace) == ["App has no UUID, so nothing shows which build it is"]


def test_hostile_addresses_and_names_in_a_map(tmp_path: Path) -> None:
    lines = [
        b"-0000000000000010 T _negative",
        b"fffffffffffffffff T _longer_than_64_bits",
        b"ffffffffffffffff T _last",
        b"0000000000001000 T _first",
        b"0000000000001000 T _overlapping",
        b"0000000000001010 T _con\x00trol\x1b[31m",
        b"0000000000001020 T _" + b"x" * 100_000,
        b"\xff\xfe\x00\x00" * 10,
        b"0000000000001030 T _not\xff utf8",
    ]
    trace = opened(tmp_path, "App.symbols", MAP + b"\n".join(lines))
    assert symbols_of(trace) == ["first", "con\ufffdtrol\ufffd[31m"]
    path = recording(tmp_path, (0x1028,), (0x1038,))
    other = tracekit.open_trace(path, symbols=[tmp_path / "App.symbols"])
    names = [str(name) for name in other.stacks.symbols]
    assert sorted(map(len, names)) == [len("not\ufffd utf8"), symbol_table.MAX_NAME - 1]


def test_a_text_without_a_build_is_left_soon(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"no map\n" * 2_000_000)
    with pytest.raises(search.SymbolFileError, match="neither a Mach-O file nor a symbol map"):
        symbol_map.read_map(path, WorkBudget())


def test_links_and_deep_folders_end(tmp_path: Path) -> None:
    folder = tmp_path / "Builds"
    folder.mkdir()
    os.symlink(folder, folder / "again")
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    deep = folder.joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    (deep / "App").write_bytes(macho([(0x1000, "_deep")]))
    (folder / "App").write_bytes(macho([(0x1000, "_first")]))
    trace = tracekit.open_trace(recording(tmp_path, (0x1001,)), symbols=[folder, folder / "again"])
    assert symbols_of(trace) == ["first"]


def test_a_folder_of_many_files_is_searched_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_ENTRIES", 3)
    folder = tmp_path / "Builds"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}").write_bytes(macho([(0x1000, "_first")]))
    trace = tracekit.open_trace(recording(tmp_path, (0x1001,)), symbols=[folder])
    assert symbols_of(trace) == ["first"]
    assert unreadable(trace) == [f"{folder} holds more than 3 files; name a folder in it"]


def test_a_fifo_in_a_folder_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "Builds"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "App").write_bytes(macho([(0x1000, "_first")]))
    trace = tracekit.open_trace(recording(tmp_path, (0x1001,)), symbols=[folder / "pipe", folder])
    assert symbols_of(trace) == ["first"]
    assert unreadable(trace) == ["pipe is no file"]


def test_damaged_debug_information_leaves_the_names(tmp_path: Path) -> None:
    path = dsym(tmp_path) / "Contents" / "Resources" / "DWARF" / "App"
    content = path.read_bytes()
    export = recording(tmp_path, (0x2F1, 0x338))
    chance = random.Random(7)
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(chance.randrange(1, 40)):
            damaged[chance.randrange(0x1000, len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        trace = tracekit.open_trace(export, symbols=[path])
        assert len(trace.samples) == 1
        assert len(trace.stacks.stack(0)) >= 2


def test_a_zip_that_unpacks_to_too_much_is_left(tmp_path: Path) -> None:
    path = tmp_path / "dSYMs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../../App", macho([(0x1000, "_first")]) + bytes(40 << 20))
    trace = tracekit.open_trace(recording(tmp_path, (0x1001,)), symbols=[path])
    assert unreadable(trace) == ["dSYMs.zip unpacks to more than files of symbols do"]


def test_paths_in_a_zip_lead_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "work" / "dSYMs.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("../../outside", "/absolute", "..", "a/../b", "x.dSYM/" * 5000 + "y"):
            archive.writestr(name, macho([(0x1000, "_first")]))
    trace = tracekit.open_trace(recording(tmp_path, (0x1001,)), symbols=[path])
    assert symbols_of(trace) == ["first"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["export.xml", "work"]
