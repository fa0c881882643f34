"""Debug information is read as pyelftools reads it, whatever the forms of its values."""

from __future__ import annotations

import struct
from pathlib import Path

import dwarf_oracle
import pytest
from dwarf_support import (
    ADDR,
    CALL_FILE,
    CALL_LINE,
    DATA1,
    DATA4,
    END_SEQUENCE,
    FUNCTION,
    HIGH_PC,
    INLINED,
    LOW_PC,
    NAME,
    ORIGIN,
    RANGES,
    SEC_OFFSET,
    STMT_LIST,
    STRING,
    SUBPROGRAM,
    UNIT,
    Abbreviation,
    abbreviations,
    aranges,
    bounds,
    line_table,
    line_table_5,
    set_address,
    unit,
)
from macho_support import TEXT, dsym, dwarf_5, macho, uleb

from tracekit.symbols.debug_info import DebugInfo
from tracekit.symbols.macho import read_builds
from tracekit.symbols.work_budget import SymbolFileError, WorkBudget

TOP = b"\x01" + bounds(0, 0x4000)
ALL = aranges([(0, 0x4000)])


def info_of(path: Path) -> DebugInfo:
    (build,) = read_builds(path, WorkBudget())
    return DebugInfo(build, WorkBudget())


def names_at(tmp_path: Path, debug: dict[str, bytes], *offsets: int) -> list[list[str]]:
    """Return the names at each offset from the start of the text segment, innermost first."""
    path = tmp_path / "App"
    path.write_bytes(macho([], debug=debug))
    info = info_of(path)
    result = info.find_places([TEXT + offset for offset in offsets])
    assert not info.is_damaged
    return [[place.name for place in result[TEXT + offset]] for offset in offsets]


@pytest.mark.parametrize("write", [dsym, dwarf_5])
def test_every_address_of_real_debug_information_is_read_as_by_pyelftools(
    tmp_path: Path, write: object
) -> None:
    path = write(tmp_path)  # type: ignore[operator]
    path = path / "Contents" / "Resources" / "DWARF" / "App" if path.is_dir() else path
    expected = dwarf_oracle.described(path)
    assert len(expected) > 100
    result = info_of(path).find_places(sorted(expected))
    assert {
        address: [(place.name, place.file, place.line) for place in places]
        for address, places in result.items()
    } == expected


FORMS = [
    (0x0B, b"\1"),  # data1
    (0x05, b"\1\2"),
    (0x06, b"\1\2\3\4"),
    (0x07, bytes(8)),
    (0x1E, bytes(16)),
    (0x0D, b"\xff\x7f"),  # sdata
    (0x0F, b"\x80\x01"),  # udata
    (0x08, b"text\0"),
    (0x0E, bytes(4)),  # strp
    (0x1F, bytes(4)),  # line_strp
    (0x0A, b"\3abc"),  # block1
    (0x03, b"\3\0abc"),
    (0x04, b"\3\0\0\0abc"),
    (0x09, b"\x83\0abc"),
    (0x18, b"\1\x9c"),  # exprloc
    (0x0C, b"\1"),  # flag
    (0x19, b""),  # flag_present
    (0x10, bytes(4)),  # ref_addr
    (0x11, b"\1"),
    (0x12, bytes(2)),
    (0x13, bytes(4)),
    (0x14, bytes(8)),
    (0x15, b"\x81\1"),
    (0x20, bytes(8)),  # ref_sig8
    (0x17, bytes(4)),
    (0x1A, b"\x81\1"),  # strx
    (0x1B, b"\1"),  # addrx
    (0x25, b"\1"),
    (0x26, bytes(2)),
    (0x27, bytes(3)),
    (0x28, bytes(4)),
    (0x29, b"\1"),
    (0x2A, bytes(2)),
    (0x2B, bytes(3)),
    (0x2C, bytes(4)),
    (0x22, b"\1"),  # loclistx
    (0x16, b"\x0b\1"),  # indirect: data1
    (0x16, b"\x0a\3abc"),
]


@pytest.mark.parametrize(("form", "value"), FORMS, ids=[f"{form:#x}-{len(value)}" for form, value in FORMS])
@pytest.mark.parametrize("version", [4, 5])
def test_a_value_of_any_form_is_passed_over(tmp_path: Path, form: int, value: bytes, version: int) -> None:
    """0x2000 is an attribute that nothing reads: before, between and behind those that are read."""
    other = (0x2000, form)
    function: Abbreviation = (
        2, SUBPROGRAM, False, [other, (LOW_PC, ADDR), other, other, (HIGH_PC, DATA4), other, (NAME, STRING), other],
    )  # fmt: skip
    entry = b"\x02" + value + struct.pack("<Q", TEXT + 0x1000) + 2 * value + struct.pack("<I", 0x10) + value
    debug = {
        "debug_info": unit(TOP + b"\x03" + value + entry + b"run\0" + value + b"\0", version),
        "debug_abbrev": abbreviations(UNIT, function, (3, 0x34, False, [other])),
        "debug_aranges": ALL,
    }
    assert names_at(tmp_path, debug, 0xFFF, 0x1000, 0x100F, 0x1010) == [[], ["_run"], ["_run"], []]


def test_a_form_that_does_not_exist_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "App"
    table = abbreviations(UNIT, (2, SUBPROGRAM, False, [(NAME, 0x7F)]))
    debug = {"debug_info": unit(TOP + b"\x02"), "debug_abbrev": table, "debug_aranges": ALL}
    path.write_bytes(macho([], debug=debug))
    info = info_of(path)
    assert info.find_places([TEXT + 0x1000]) == {TEXT + 0x1000: []}
    assert info.is_damaged


def test_constants_of_abbreviations_are_values(tmp_path: Path) -> None:
    table = abbreviations(UNIT)[:-1] + uleb(2) + uleb(SUBPROGRAM) + b"\0"
    table += bytes([LOW_PC, ADDR, HIGH_PC, 0x21, 0x10, NAME, STRING, 0, 0, 0])
    entry = b"\x02" + struct.pack("<Q", TEXT + 0x1000) + b"run\0"
    debug = {"debug_info": unit(TOP + entry), "debug_abbrev": table, "debug_aranges": ALL}
    assert names_at(tmp_path, debug, 0x1000, 0x100F, 0x1010) == [["_run"], ["_run"], []]


def _address(offset: int) -> bytes:
    return struct.pack("<Q", TEXT + offset)


LISTS = {
    "offset pairs": (b"\x04\x10\x20" + b"\x04\x30\x40", [(0x10, 0x20), (0x30, 0x40)]),
    "base address": (b"\x05" + _address(0x1000) + b"\x04\x10\x20", [(0x1010, 0x1020)]),
    "start and end": (b"\x06" + _address(0x1000) + _address(0x1008), [(0x1000, 0x1008)]),
    "start and length": (b"\x07" + _address(0x1000) + b"\x08", [(0x1000, 0x1008)]),
    "base by index": (b"\x01\x01\x04\x10\x20", [(0x2010, 0x2020)]),
    "start and end by index": (b"\x02\x00\x01", [(0x1000, 0x2000)]),
    "start by index and length": (b"\x03\x01\x08", [(0x2000, 0x2008)]),
}


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("form", [SEC_OFFSET, 0x23])
def test_ranges_of_version_5(tmp_path: Path, kind: str, form: int) -> None:
    content, expected = LISTS[kind]
    top: Abbreviation = (
        1,
        UNIT[1],
        True,
        [(LOW_PC, ADDR), (HIGH_PC, DATA4), (0x73, SEC_OFFSET), (0x74, SEC_OFFSET)],
    )
    function: Abbreviation = (2, SUBPROGRAM, False, [(RANGES, form), (NAME, STRING)])
    lists = struct.pack("<I", 4) + content + b"\0"
    place = struct.pack("<I", 4) if form == SEC_OFFSET else b"\0"
    debug = {
        "debug_info": unit(TOP + struct.pack("<2I", 8, 0) + b"\x02" + place + b"run\0", version=5),
        "debug_abbrev": abbreviations(top, function),
        "debug_aranges": ALL,
        "debug_rnglists": lists,
        "debug_addr": bytes(8) + _address(0x1000) + _address(0x2000),
    }
    inside = [offset for start, end in expected for offset in (start, end - 1)]
    outside = [offset for start, end in expected for offset in (start - 1, end)]
    assert names_at(tmp_path, debug, *inside) == [["_run"]] * len(inside)
    assert names_at(tmp_path, debug, *outside) == [[]] * len(outside)


def test_ranges_of_version_4(tmp_path: Path) -> None:
    function: Abbreviation = (2, SUBPROGRAM, False, [(RANGES, SEC_OFFSET), (NAME, STRING)])
    pairs = [(0x10, 0x20), (2**64 - 1, TEXT + 0x1000), (0x30, 0x40), (0, 0)]
    debug = {
        "debug_info": unit(TOP + b"\x02" + bytes(4) + b"run\0"),
        "debug_abbrev": abbreviations(UNIT, function),
        "debug_aranges": ALL,
        "debug_ranges": b"".join(struct.pack("<2Q", *pair) for pair in pairs),
    }
    assert names_at(tmp_path, debug, 0x0F, 0x10, 0x1F, 0x20) == [[], ["_run"], ["_run"], []]
    assert names_at(tmp_path, debug, 0x30, 0x102F, 0x1030, 0x103F, 0x1040) == [[], [], ["_run"], ["_run"], []]


def test_a_list_of_thousands_of_ranges_is_read_whole(tmp_path: Path) -> None:
    function: Abbreviation = (2, SUBPROGRAM, False, [(RANGES, SEC_OFFSET), (NAME, STRING)])
    pairs = b"".join(struct.pack("<2Q", 2 * row + 1, 2 * row + 2) for row in range(6_000)) + bytes(16)
    debug = {
        "debug_info": unit(TOP + b"\x02" + bytes(4) + b"run\0"),
        "debug_abbrev": abbreviations(UNIT, function),
        "debug_aranges": ALL,
        "debug_ranges": pairs,
    }
    assert names_at(tmp_path, debug, 1, 2, 11_999, 12_000) == [["_run"], [], ["_run"], []]


def test_units_are_found_without_a_table_of_ranges(tmp_path: Path) -> None:
    units = b"".join(
        unit(b"\x01" + bounds(start, 0x100) + b"\x02" + bounds(start, 0x80) + name + b"\0")
        for start, name in ((0x1000, b"first"), (0x1200, b"second"))
    )
    debug = {"debug_info": units, "debug_abbrev": abbreviations(UNIT, FUNCTION)}
    assert names_at(tmp_path, debug, 0x1000, 0x1080, 0x1100, 0x127F) == [["_first"], [], [], ["_second"]]


def test_a_name_in_another_unit_is_found(tmp_path: Path) -> None:
    """dsymutil keeps one description of a type or function for all units."""
    shared = unit(b"\x01" + bounds(0, 0) + b"\x03shared\0\0")
    origin: Abbreviation = (2, SUBPROGRAM, False, [(LOW_PC, ADDR), (HIGH_PC, DATA4), (ORIGIN, 0x10)])
    target = 11 + len(TOP)
    first = unit(TOP + b"\x02" + bounds(0x1000, 0x10) + struct.pack("<I", target) + b"\0")
    debug = {
        "debug_info": shared + first,
        "debug_abbrev": abbreviations(UNIT, origin, (3, SUBPROGRAM, False, [(NAME, STRING)])),
        "debug_aranges": aranges([(0, 0x4000)], len(shared)),
    }
    assert names_at(tmp_path, debug, 0x1000) == [["_shared"]]


def test_inlined_functions_in_blocks_and_beside_others(tmp_path: Path) -> None:
    entries = (
        b"\x02" + bounds(0x1000, 0x100) + b"main\0"
        + b"\x04" + b"\x03" + bounds(0x1010, 0x20) + b"outer\0"
        + b"\x03" + bounds(0x1018, 0x8) + b"inner\0\0\0"  # no children
        + b"\x03" + bounds(0x1040, 0x10) + b"beside\0\0\0\0"
        + b"\x02" + bounds(0x1100, 0x10) + b"next\0\0"
    )  # fmt: skip
    declared: tuple[Abbreviation, ...] = (
        UNIT, (2, SUBPROGRAM, True, FUNCTION[3]), (3, INLINED, True, FUNCTION[3]), (4, 0x0B, True, []),
    )  # fmt: skip
    debug = {
        "debug_info": unit(TOP + entries),
        "debug_abbrev": abbreviations(*declared),
        "debug_aranges": ALL,
    }
    assert names_at(tmp_path, debug, 0x1000, 0x1010, 0x1018, 0x1020, 0x1045, 0x1108) == [
        ["_main"],
        ["_outer", "_main"],
        ["_inner", "_outer", "_main"],
        ["_outer", "_main"],
        ["_beside", "_main"],
        ["_next"],
    ]


def lines_at(tmp_path: Path, program: bytes, *offsets: int) -> list[int]:
    top: Abbreviation = (1, UNIT[1], True, [*UNIT[3], (STMT_LIST, SEC_OFFSET)])
    debug = {
        "debug_info": unit(TOP + bytes(4) + b"\x02" + bounds(0, 0x4000) + b"run\0"),
        "debug_abbrev": abbreviations(top, FUNCTION),
        "debug_aranges": ALL,
        "debug_line": line_table(program),
    }
    path = tmp_path / "App"
    path.write_bytes(macho([], debug=debug))
    result = info_of(path).find_places([TEXT + offset for offset in offsets])
    return [result[TEXT + offset][0].line for offset in offsets]


def test_files_of_version_5_count_from_0(tmp_path: Path) -> None:
    """The inlined functions were called in file 2 and in one that is not given; the rows name files 1 and 0."""
    program = set_address(0x1000) + b"\x01" + b"\x02\x08\x04\x00\x01" + b"\x02\x08" + END_SEQUENCE
    top: Abbreviation = (1, UNIT[1], True, [*UNIT[3], (STMT_LIST, SEC_OFFSET)])
    called: Abbreviation = (3, INLINED, False, [*FUNCTION[3], (CALL_FILE, DATA1), (CALL_LINE, DATA1)])
    nowhere: Abbreviation = (4, INLINED, False, FUNCTION[3])
    entries = b"\x02" + bounds(0x1000, 0x10) + b"f\0" + b"\x03" + bounds(0x1000, 8) + b"g\0\x02\x07"
    entries += b"\x04" + bounds(0x1008, 8) + b"h\0" + bytes(2)
    path = tmp_path / "App"
    debug = {
        "debug_info": unit(TOP + bytes(4) + entries, version=5),
        "debug_abbrev": abbreviations(top, (2, SUBPROGRAM, True, FUNCTION[3]), called, nowhere),
        "debug_aranges": ALL,
        "debug_line": line_table_5(program, ["/src", "/src/inc"], [("a.c", 0), ("b.h", 1), ("/c.h", 1)]),
    }
    path.write_bytes(macho([], debug=debug))
    places = info_of(path).find_places([TEXT + 0x1000, TEXT + 0x1008])
    assert [[(place.name, place.file, place.line) for place in chain] for chain in places.values()] == [
        [("_g", "/src/inc/b.h", 1), ("_f", "/c.h", 7)],
        [("_h", "/src/a.c", 1), ("_f", "", -1)],
    ]


def test_lines_of_sequences_in_any_order(tmp_path: Path) -> None:
    # Special opcodes: 13 + (lines + 5) + 14 * bytes.
    later = set_address(0x1010) + b"\x03\x13\x01" + bytes([13 + 6 + 14 * 4]) + b"\x02\x04" + END_SEQUENCE
    earlier = set_address(0x1000) + b"\x03\x09\x01" + b"\x02\x10" + END_SEQUENCE
    program = later + earlier
    assert lines_at(tmp_path, program, 0xFFF, 0x1000, 0x100F, 0x1010, 0x1013, 0x1014, 0x1017, 0x1018) == [
        -1, 10, 10, 20, 20, 21, 21, -1,
    ]  # fmt: skip


def test_the_last_of_several_rows_of_an_address_counts(tmp_path: Path) -> None:
    program = set_address(0x1000) + b"\x01\x03\x04\x01\x02\x08\x03\x01\x01\x02\x08" + END_SEQUENCE
    assert lines_at(tmp_path, program, 0x1000, 0x1007, 0x1008, 0x100F, 0x1010) == [5, 5, 6, 6, -1]


def test_the_nearest_row_of_overlapping_sequences_counts(tmp_path: Path) -> None:
    wide = set_address(0x1000) + b"\x01\x02\xff\x01" + END_SEQUENCE
    narrow = set_address(0x1010) + b"\x03\x06\x01\x02\x08" + END_SEQUENCE
    for program in (wide + narrow, narrow + wide):
        assert lines_at(tmp_path, program, 0x100F, 0x1010, 0x1017, 0x1018) == [1, 7, 7, 1]


def test_a_line_table_that_is_cut_off_is_damage(tmp_path: Path) -> None:
    path = dsym(tmp_path) / "Contents" / "Resources" / "DWARF" / "App"
    (build,) = read_builds(path, WorkBudget())
    (section,) = [section for section in build.sections if section.name == "__debug_line"]
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, section.offset, 2**31)
    path.write_bytes(content)
    info = info_of(path)
    assert info.find_places([build.text_address + 0x2F0])[build.text_address + 0x2F0] == []
    assert info.is_damaged


def test_a_table_of_ranges_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "App"
    debug = {"debug_info": unit(TOP), "debug_abbrev": abbreviations(UNIT), "debug_aranges": ALL[:20]}
    path.write_bytes(macho([], debug=debug))
    with pytest.raises(SymbolFileError, match="damaged debug information"):
        info_of(path).find_places([TEXT])
