"""Files of symbols whose debug information, tables or maps take much: entries, lists, rows, names, copies."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

from dwarf_support import (
    CALL_FILE,
    CALL_LINE,
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
from macho_support import TEXT, UUID_OF_APP, fat, macho, recording, uleb

from attack.bomb import Bomb

ALL = aranges([(0, 0x4000)])
TOP = b"\x01" + bounds(0, 0x4000)
AROUND = bounds(0x1000, 0x1000)
STACK = (0x1001, 0x1018, 0x1200, 0x1300)
HEADER = f"UUID: {UUID_OF_APP} (arm64) App\n".encode()
WITH_CHILDREN: Abbreviation = (2, SUBPROGRAM, True, FUNCTION[3])
WITH_LINES: Abbreviation = (1, UNIT[1], True, [*UNIT[3], (STMT_LIST, SEC_OFFSET)])
_RANGE_LIST = b"".join(struct.pack("<2Q", row + 1, row + 2) for row in range(250_000)) + bytes(16)


def _bomb(name: str, write: Callable[[], bytes], file: str = "App", *stack: int) -> Bomb:
    """Return a bomb of a recording and one file of symbols for it."""

    def written(folder: Path) -> None:
        recording(folder, stack or STACK)
        (folder / file).write_bytes(write())

    return Bomb(f"symbols: {name}", written, ("analyze", "{}/export.xml", "--symbols", f"{{}}/{file}"))


def _described(
    entries: bytes, *declared: Abbreviation, ranges: bytes = ALL, top: bytes = TOP, **more: bytes
) -> bytes:
    """Return a dSYM's file with one unit."""
    first = WITH_LINES if "debug_line" in more else UNIT
    debug = {"debug_info": unit(top + entries), "debug_abbrev": abbreviations(first, *declared), **more}
    return macho([(0x1000, "_first")], debug={**debug, "debug_aranges": ranges} if ranges else debug)


def _flags(count: int) -> Abbreviation:
    return (2, SUBPROGRAM, False, [(EXTERNAL, FLAG_PRESENT)] * count)


def _many_abbreviations() -> bytes:
    declared = b"".join(uleb(code) + b"\x2e\0\0\0" for code in range(3, 10_000_000))
    debug = {
        "debug_info": unit(TOP + b"\0"),
        "debug_abbrev": abbreviations(UNIT, FUNCTION)[:-1] + declared + b"\0",
    }
    return macho([(0x1000, "_first")], debug={**debug, "debug_aranges": ALL})


def _units_without_table(entry: bytes, count: int, declared: Abbreviation, **more: bytes) -> bytes:
    debug = {"debug_info": unit(entry) * count, "debug_abbrev": abbreviations(declared), **more}
    return macho([(0x1000, "_first")], debug=debug)


def _lines(program: bytes, names: bytes = b"\0a.c\0\0\0\0\0") -> bytes:
    return _described(
        b"\x02" + AROUND + b"x\0", FUNCTION, top=TOP + bytes(4), debug_line=line_table(program, names)
    )


def _units_of_one_line_table() -> bytes:
    units = ranges = b""
    for offset in STACK:
        ranges += aranges([(offset - 1, 8)], len(units))
        units += unit(b"\x01" + bounds(offset, 16) + bytes(4) + b"\x02" + bounds(offset - 1, 16) + b"x\0")
    debug = {
        "debug_info": units,
        "debug_abbrev": abbreviations(WITH_LINES, FUNCTION),
        "debug_aranges": ranges,
    }
    return macho([(0x1000, "_first")], debug={**debug, "debug_line": line_table(b"\x01" * 3_900_000)})


def _references(target: int, suffix: bytes = b"") -> bytes:
    origin: Abbreviation = (2, SUBPROGRAM, False, [*FUNCTION[3][:2], (ORIGIN, REF4)])
    return _described(b"\x02" + AROUND + struct.pack("<I", target) + suffix, origin, _empty(3))


def _empty(code: int) -> Abbreviation:
    return (code, SUBPROGRAM, False, [])


def _inlined(count: int, *, has_children: bool) -> bytes:
    calls = [(CALL_FILE, DATA1), (CALL_LINE, DATA1)]
    inlined: Abbreviation = (3, INLINED, has_children, [*FUNCTION[3], *calls])
    entry = b"\x03" + AROUND + b"y\0\x01\x07"
    return _described(b"\x02" + AROUND + b"x\0" + entry * count, WITH_CHILDREN, inlined)


def _claimed(content: bytes, command: int, values: bytes, suffix: bytes) -> bytes:
    """Return a binary one of whose load commands has other values, and further bytes at the end."""
    damaged = bytearray(content)
    position = damaged.index(struct.pack("<2I", command, 8 + len(values))) + 8
    damaged[position : position + len(values)] = values
    return bytes(damaged) + suffix


def _symbols() -> bytes:
    content = macho([(0x1000, "_first")])
    rows = struct.pack("<IBBHQ", 1, 0x0F, 1, 0, TEXT + 0x1000) * 6_000_000
    values = struct.pack("<4I", len(content), 6_000_000, len(content), len(rows))
    return _claimed(content, 0x2, values, rows)


def _sections() -> bytes:
    content = bytearray(macho([(0x1000, "_first")]))
    section = struct.pack("<16s16s2Q8I", b"a", b"b", *bytes(10))
    segment = struct.pack("<16s4Q4I", b"__X", 0, 0, 0, 0, 7, 3, 200_000, 0) + section * 200_000
    count, size = struct.unpack_from("<2I", content, 16)
    struct.pack_into("<2I", content, 16, count + 1, size + 8 + len(segment))
    end = 32 + size
    return bytes(content[:end]) + struct.pack("<2I", 0x19, 8 + len(segment)) + segment + bytes(content[end:])


def _slices_that_overlap() -> bytes:
    """Thirty-two architectures, each a header over the same sections."""
    inner = _described(b"\x02" * 12_000_000, _empty(2))
    entry = struct.pack(">5I", 0x0100_000C, 0, 8 + 20 * 32, len(inner), 0)
    return struct.pack(">2I", 0xCAFE_BABE, 32) + entry * 32 + inner


def _overlapping_sections() -> bytes:
    names = (
        "info",
        "aranges",
        "abbrev",
        "str",
        "ranges",
        "line",
        "addr",
        "str_offsets",
        "line_str",
        "rnglists",
    )
    content = bytearray(macho([(0x1000, "_first")], debug={f"debug_{name}": b"" for name in names}))
    for name in names:
        position = content.index(f"__debug_{name}".encode()[:16]) + 32
        struct.pack_into("<2QI", content, position, 0, 60_000_000, 4096)
    return bytes(content) + b"\x01" * 60_100_000


def _packed_flags(folder: Path) -> None:
    recording(folder, STACK)
    with zipfile.ZipFile(folder / "App.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "App.dSYM/Contents/Resources/DWARF/App", _described(b"\x02" * 1_000_000, _flags(100_000))
        )


def _copies(folder: Path) -> None:
    recording(folder, STACK)
    (folder / "Builds").mkdir()
    content = _inlined(2_000, has_children=True)
    for number in range(1_500):
        (folder / "Builds" / f"App{number}").write_bytes(content)


def _line_files_5() -> bytes:
    """A table of version 5 with 30 million files of one byte."""
    formats = b"\x01\x01\x08" + b"\x01/\0" + b"\x01\x01\x0b" + uleb(30_000_000)
    header = bytes([1, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + formats + bytes(30_000_000)
    program = set_address(0x1000) + b"\x04" + uleb(29_999_999) + b"\x01\x02\xf0\x20" + END_SEQUENCE
    body = struct.pack("<HBBI", 5, 8, 0, len(header)) + header + program
    table = struct.pack("<I", len(body)) + body
    return _described(b"\x02" + AROUND + b"x\0", FUNCTION, top=TOP + bytes(4), debug_line=table)


def _sequences() -> bytes:
    """A million sequences, each around all wanted addresses."""
    return _lines((set_address(0x1000) + b"\x01\x02\xf0\x20" + END_SEQUENCE) * 1_000_000)


def _ranges_of_indexes() -> bytes:
    """Functions of version 5 with one list, whose ranges refer to a table of addresses."""
    debug = {
        "debug_info": unit(TOP + (b"\x02" + bytes(4)) * 1_000, version=5),
        "debug_abbrev": abbreviations(UNIT, _LISTED),
        "debug_aranges": ALL,
        "debug_rnglists": b"\x02\x00\x01" * 1_000_000 + b"\0",
        "debug_addr": struct.pack("<2Q", TEXT + 1, TEXT + 2),
    }
    return macho([(0x1000, "_first")], debug=debug)


def _wide_aranges() -> bytes:
    return aranges([(row, 1) for row in range(6_000_000)])


def _slow_names() -> bytes:
    names = ("__T" + "0" * 9000, "_$s" + "4main" * 1900, "__ZN" + "1a" * 4000 + "Ev", "__R" + "I" * 9000)
    return HEADER + b"".join(
        f"{0x1000 + 0x10 * row:016x} T {name}\n".encode() for row, name in enumerate(names)
    )


_MANY = tuple(range(0x1000, 0x2000))
_VARIED: Abbreviation = (2, SUBPROGRAM, False, [(EXTERNAL, UDATA)] * 20)
_LISTED: Abbreviation = (2, SUBPROGRAM, False, [(RANGES, SEC_OFFSET)])
_LISTED_UNIT: Abbreviation = (1, UNIT[1], False, [(RANGES, SEC_OFFSET)])

BOMBS: tuple[Bomb, ...] = (
    _bomb("entries of a million attributes without bytes", lambda: _described(b"\x02" * 20_000_000, _flags(1_000_000))),
    _bomb("entries of a thousand attributes without bytes", lambda: _described(b"\x02" * 20_000_000, _flags(1_000))),
    _bomb("entries of twenty numbers", lambda: _described((b"\x02" + b"\x01" * 20) * 4_000_000, _VARIED)),
    _bomb("entries of one byte", lambda: _described(b"\x02" * 24_000_000, _empty(2))),
    _bomb("ten million abbreviations", _many_abbreviations),
    _bomb("functions that share a list of ranges", lambda: _described((b"\x02" + bytes(4)) * 1_000_000, _LISTED, debug_ranges=_RANGE_LIST)),
    _bomb("functions that share a list of indexes", _ranges_of_indexes),
    _bomb("a table of six million ranges", lambda: _described(b"\0", ranges=_wide_aranges())),
    _bomb("a table of two million headers", lambda: _described(b"\0", ranges=aranges([]) * 2_000_000)),
    _bomb("units without a table of ranges", lambda: _units_without_table(b"\x01", 6_000_000, (1, UNIT[1], False, []))),
    _bomb("units that share a list of ranges", lambda: _units_without_table(b"\x01" + bytes(4), 100_000, _LISTED_UNIT, debug_ranges=_RANGE_LIST)),
    _bomb("a line table of rows of one byte", lambda: _lines(b"\x01" * 39_000_000)),
    _bomb("a line table of opcodes without effect", lambda: _lines(b"\x06" * 39_000_000)),
    _bomb("a line table of moves", lambda: _lines(b"\x03\x01" * 19_000_000)),
    _bomb("a line table of ten million files", lambda: _lines(set_address(0x1000) + b"\x04" + uleb(9_999_999) + b"\x01\x02\xf0\x20" + END_SEQUENCE, b"a\0" * 10_000_000 + b"\0" + b"a\0\0\0\0" * 10_000_000 + b"\0")),
    _bomb("a line table of thirty million files of version 5", _line_files_5),
    _bomb("line sequences around all addresses", _sequences, "App", *_MANY),
    _bomb("units that share a line table", _units_of_one_line_table),
    _bomb("inlined functions in inlined functions", lambda: _inlined(1_000_000, has_children=True)),
    _bomb("inlined functions, thousands of addresses", lambda: _inlined(1_000_000, has_children=True), "App", *_MANY),
    _bomb("inlined functions beside one another", lambda: _inlined(1_500_000, has_children=False)),
    _bomb("functions that all cover the address", lambda: _described((b"\x02" + AROUND + b"x\0") * 1_600_000, FUNCTION)),
    _bomb("an origin that is its own", lambda: _references(11 + len(TOP))),
    _bomb("an origin behind 23 million entries", lambda: _references(23_000_000, b"\x03" * 23_500_000)),
    _bomb("six million symbols", _symbols),
    _bomb("sixty million starts of functions", lambda: macho([(0x1000, "_first")], starts_as_written=b"\x01" * 60_000_000)),
    _bomb("starts of functions without an end", lambda: macho([(0x1000, "_first")], starts_as_written=b"\x81" * 60_000_000)),
    _bomb("two hundred thousand sections", _sections),
    _bomb("sections that overlap", _overlapping_sections),
    _bomb("sections that claim to be compressed", lambda: _described(b"\0", zdebug_info=b"ZLIB" + struct.pack(">Q", 1 << 40) + bytes(1000))),
    _bomb("architectures of the same bytes", _slices_that_overlap),
    _bomb("architectures that are alike", lambda: fat(*[_described(b"\x02" * 3_000_000, _empty(2))] * 32)),
    _bomb("a map of four million functions", lambda: HEADER + b"0000000000001000 T _f\n" * 4_000_000, "App.symbols"),
    _bomb("a map of builds", lambda: b"".join(b"UUID: %08X-5555-3144-A13B-07BCCE70BA25 (arm64) App\n" % row for row in range(1_500_000)), "App.symbols"),
    _bomb("a map of one build, over and over", lambda: HEADER * 1_600_000, "App.symbols"),
    _bomb("a map of blanks", lambda: HEADER + (b" " * 10_000 + b"\n") * 8_000, "App.symbols"),
    _bomb("a map of names that are slow to read", _slow_names, "App.symbols"),
    Bomb("symbols: a small zip of many attributes", _packed_flags, ("analyze", "{}/export.xml", "--symbols", "{}/App.zip")),
    Bomb("symbols: copies of a build", _copies, ("analyze", "{}/export.xml", "--symbols", "{}/Builds")),
)  # fmt: skip
