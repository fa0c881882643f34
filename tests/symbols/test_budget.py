"""The files of symbols of one command have a budget: beyond it the names stay, and an issue names the file."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from dwarf_support import (
    DATA1,
    END_SEQUENCE,
    EXTERNAL,
    FLAG_PRESENT,
    FUNCTION,
    INLINED,
    ORIGIN,
    RANGES,
    REF4,
    SEC_OFFSET,
    STMT_LIST,
    SUBPROGRAM,
    UDATA,
    UNIT,
    Abbreviation,
    abbreviations,
    aranges,
    bounds,
    line_table,
    set_address,
    unit,
)
from macho_support import UUID_OF_APP, fat, macho, recording, uleb

import tracekit
from tracekit.model.trace import Trace
from tracekit.parsers.limits import DEFAULT_LIMITS
from tracekit.symbols import macho as macho_files
from tracekit.symbols import symbol_table
from tracekit.symbols.work_budget import WorkBudget

pytestmark = pytest.mark.integration

TOP = b"\x01" + bounds(0, 0x4000)
AROUND = bounds(0x1000, 0x1000)
FEW_STEPS = replace(DEFAULT_LIMITS, symbol_steps=20_000)


def opened(tmp_path: Path, content: bytes, limits: object = FEW_STEPS, *, name: str = "App") -> Trace:
    path = tmp_path / name
    path.write_bytes(content)
    return tracekit.open_trace(recording(tmp_path, (0x1001, 0x1018)), symbols=[path], limits=limits)  # type: ignore[arg-type]


def frames_of(trace: Trace) -> list[tuple[str, int]]:
    rows = trace.stacks.frames.iloc[trace.stacks.stack(0)]
    return list(zip(rows["symbol"].astype(str), rows["source_line"].tolist(), strict=True))


def messages(trace: Trace, code: str) -> list[str]:
    return [issue.message for issue in trace.issues if issue.code == code]


def described(entries: bytes, *declared: Abbreviation, **sections: bytes) -> bytes:
    debug = {"debug_info": unit(TOP + entries), "debug_abbrev": abbreviations(UNIT, *declared)}
    return macho([(0x1000, "_first")], debug={**debug, "debug_aranges": aranges([(0, 0x4000)]), **sections})


def many_units() -> bytes:
    debug = {"debug_info": unit(b"\x01") * 10_000, "debug_abbrev": abbreviations((1, 0x11, False, []))}
    return macho([(0x1000, "_first")], debug=debug)


def many_rows() -> bytes:
    lines: Abbreviation = (1, 0x11, True, [*UNIT[3], (STMT_LIST, SEC_OFFSET)])
    debug = {
        "debug_info": unit(TOP + bytes(4) + b"\x02" + AROUND + b"x\0"),
        "debug_abbrev": abbreviations(lines, FUNCTION),
        "debug_aranges": aranges([(0, 0x4000)]),
        "debug_line": line_table(set_address(0x1000) + b"\x01" * 50_000 + END_SEQUENCE),
    }
    return macho([(0x1000, "_first")], debug=debug)


WITH_CHILDREN: Abbreviation = (2, SUBPROGRAM, True, FUNCTION[3])
CALLED: Abbreviation = (3, INLINED, True, FUNCTION[3])
FLAGS: Abbreviation = (2, SUBPROGRAM, False, [(EXTERNAL, FLAG_PRESENT)] * 30_000)
NUMBERS: Abbreviation = (2, SUBPROGRAM, False, [(EXTERNAL, UDATA)] * 10)
LISTED: Abbreviation = (2, SUBPROGRAM, False, [(RANGES, SEC_OFFSET)])
LIST = b"".join(struct.pack("<2Q", row + 1, row + 2) for row in range(1_000)) + bytes(16)
COSTLY = {
    "entries": described(b"\x02" * 30_000, (2, SUBPROGRAM, False, [])),
    "numbers": described((b"\x02" + b"\x01" * 10) * 3_000, NUMBERS),
    "attributes": described(b"\x02", FLAGS),
    "abbreviations": described(b"", *((code, SUBPROGRAM, False, []) for code in range(2, 1_000))),
    "ranges": described((b"\x02" + bytes(4)) * 100, LISTED, debug_ranges=LIST),
    "headers": described(b"", debug_aranges=aranges([]) * 1_000),
    "units": many_units(),
    "rows": many_rows(),
    "deep": described(b"\x02" + AROUND + b"x\0" + (b"\x03" + AROUND + b"y\0") * 2_000, WITH_CHILDREN, CALLED),
    "functions": described((b"\x02" + AROUND + b"x\0") * 2_000, FUNCTION),
}


@pytest.mark.parametrize("kind", COSTLY)
def test_debug_information_beyond_the_budget_leaves_the_names(tmp_path: Path, kind: str) -> None:
    trace = opened(tmp_path, COSTLY[kind])
    assert frames_of(trace) == [("first", -1), ("first", -1)]
    assert messages(trace, "symbols-without-lines") == [
        "the debug information of App was not read to its end, because it takes more steps than are made for"
        " symbols: 2 addresses got no source line and no inlined functions. If you trust the file, add"
        " --raise-limits 4"
    ]
    assert messages(trace, "symbols-unreadable") == []


@pytest.mark.parametrize("kind", COSTLY)
def test_a_larger_budget_reads_it(tmp_path: Path, kind: str) -> None:
    trace = opened(tmp_path, COSTLY[kind], FEW_STEPS.times(10_000))
    assert messages(trace, "symbols-without-lines") == []
    assert messages(trace, "symbols-unreadable") == []


def test_attributes_without_bytes_cost_nothing(tmp_path: Path) -> None:
    entries = b"\x02" * 10_000 + b"\x03" + AROUND + b"run\0"
    flags: Abbreviation = (2, SUBPROGRAM, False, [(EXTERNAL, FLAG_PRESENT)] * 1_000)
    trace = opened(tmp_path, described(entries, flags, (3, *FUNCTION[1:])))
    assert messages(trace, "symbols-without-lines") == []


def test_what_was_read_before_stays(tmp_path: Path) -> None:
    """The unit with more of the addresses is read first, and the budget ends in the other."""
    calls = [*FUNCTION[3], (0x58, DATA1), (0x59, DATA1)]
    called: Abbreviation = (3, INLINED, False, calls)
    cheap = unit(
        b"\x01" + bounds(0x1000, 0x100) + b"\x02" + bounds(0x1000, 0x100) + b"f\0"
        + b"\x03" + bounds(0x1000, 0x100) + b"g\0\x01\x07" + bytes(2)
    )  # fmt: skip
    costly = unit(b"\x01" + bounds(0x1200, 0x100) + b"\x04" * 30_000)
    debug = {
        "debug_info": costly + cheap,
        "debug_abbrev": abbreviations(UNIT, WITH_CHILDREN, called, (4, SUBPROGRAM, False, [])),
        "debug_aranges": aranges([(0x1200, 0x100)]) + aranges([(0x1000, 0x100)], len(costly)),
    }
    path = tmp_path / "App"
    path.write_bytes(macho([(0x1000, "_first"), (0x1200, "_second")], debug=debug))
    export = recording(tmp_path, (0x1001, 0x1018, 0x1218))
    trace = tracekit.open_trace(export, symbols=[path], limits=FEW_STEPS)
    assert frames_of(trace) == [("g", -1), ("first", 7), ("g", -1), ("first", 7), ("second", -1)]
    (message,) = messages(trace, "symbols-without-lines")
    assert "1 address got no source line" in message


def test_all_files_share_the_budget(tmp_path: Path) -> None:
    content = described(b"\x02" * 9_000, (2, SUBPROGRAM, False, []))
    assert messages(opened(tmp_path, content), "symbols-without-lines") == []
    folder = tmp_path / "Builds"
    folder.mkdir()
    for number in range(5):
        (folder / f"App{number}").write_bytes(content)
    trace = tracekit.open_trace(recording(tmp_path, (0x2001,)), symbols=[folder], limits=FEW_STEPS)
    assert len(messages(trace, "symbols-without-lines")) == 3


def test_tables_beyond_the_budget_are_not_read(tmp_path: Path) -> None:
    few_bytes = replace(DEFAULT_LIMITS, symbol_bytes=50_000)
    symbols = macho([(0x1000 + row, f"_f{row}") for row in range(2_000)])
    starts = macho([(0x1000, "_first")], starts=range(0x1000, 0x3000))
    table = f"UUID: {UUID_OF_APP} (arm64) App\n".encode() + b"0000000000001000 T _f\n" * 1_000
    for content in (symbols, starts, table):
        trace = opened(tmp_path, content, few_bytes)
        (message,) = messages(trace, "symbols-unreadable")
        assert message == (
            "App is not read: with the files before it, it needs more memory than symbols get (--raise-limits 4"
            " allows more)"
        )
        assert messages(opened(tmp_path, content), "symbols-unreadable") == []


def test_a_map_of_many_builds_is_not_read(tmp_path: Path) -> None:
    content = b"UUID: FA32EC0E-3304-35C1-BC5B-05F8345C58FE (arm64) App\n" * 100
    (message,) = messages(opened(tmp_path, content, name="App.symbols"), "symbols-unreadable")
    assert message == "App.symbols needs more steps than are made for symbols (--raise-limits 4 allows more)"


def test_architectures_of_the_same_bytes_are_one(tmp_path: Path) -> None:
    inner = macho([(0x1000, "_first")])
    entry = struct.pack(">5I", 0x0100_000C, 0, 8 + 20 * 32, len(inner), 0)
    path = tmp_path / "App"
    path.write_bytes(struct.pack(">2I", 0xCAFE_BABE, 32) + entry * 32 + inner)
    assert len(macho_files.read_builds(path, WorkBudget())) == 1
    path.write_bytes(fat(inner, inner))
    assert len(macho_files.read_builds(path, WorkBudget())) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_starts_of_functions_are_the_same_in_blocks_of_any_size(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = [0x1000, 0x1001, 0x1081, 0x1482, 0x9482, 0x9483, 0x209483]
    path = tmp_path / "App"
    path.write_bytes(macho([(start, f"_{start:x}") for start in starts[::2]], starts=starts))
    monkeypatch.setattr(symbol_table, "_STARTS_BLOCK_BYTES", size)
    (build,) = macho_files.read_builds(path, WorkBudget())
    addresses = symbol_table._read_function_starts(build, WorkBudget())
    assert [address - build.text_address for address in addresses.tolist()] == starts


def test_more_functions_than_are_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbol_table, "MAX_SYMBOLS", 100)
    trace = opened(tmp_path, macho([(0x1000, "_first")], starts=range(0x1000, 0x1100)))
    assert messages(trace, "symbols-unreadable") == ["App lists more than 100 functions"]


def test_an_origin_that_is_its_own_ends(tmp_path: Path) -> None:
    origin: Abbreviation = (2, SUBPROGRAM, False, [*FUNCTION[3][:2], (ORIGIN, REF4)])
    content = described(b"\x02" + AROUND + struct.pack("<I", 11 + len(TOP)), origin)
    trace = opened(tmp_path, content)
    assert frames_of(trace) == [("first", -1), ("first", -1)]


def test_the_innermost_inlined_functions_of_many_are_kept(tmp_path: Path) -> None:
    calls = [*FUNCTION[3], (0x58, DATA1), (0x59, DATA1)]
    called: Abbreviation = (3, INLINED, True, calls)
    entries = b"\x02" + AROUND + b"outer\0"
    entries += b"".join(b"\x03" + AROUND + b"f%d\0\x01" % row + bytes([row]) for row in range(60))
    trace = opened(tmp_path, described(entries, WITH_CHILDREN, called))
    names = [name for name, _ in frames_of(trace)]
    assert names[:33] == [f"f{row}" for row in reversed(range(28, 60))] + ["first"]
    lines = [line for _, line in frames_of(trace)]
    assert lines[:33] == [-1, *reversed(range(29, 60)), -1]


def test_numbers_without_an_end_are_damage(tmp_path: Path) -> None:
    content = described(b"\x02" + b"\x80" * 10_000, NUMBERS)
    assert messages(opened(tmp_path, content), "symbols-unreadable") == [
        "App has debug information that is damaged in part"
    ]
    assert uleb(300) == b"\xac\x02"
