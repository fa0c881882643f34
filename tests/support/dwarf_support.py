"""Debug information from literal entries: abbreviations, units, tables of ranges and of lines."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from macho_support import TEXT, uleb

COMPILE_UNIT, SUBPROGRAM, INLINED = 0x11, 0x2E, 0x1D
NAME, STMT_LIST, LOW_PC, HIGH_PC, ORIGIN, EXTERNAL, RANGES = 0x03, 0x10, 0x11, 0x12, 0x31, 0x3F, 0x55
CALL_FILE, CALL_LINE = 0x58, 0x59
ADDR, DATA4, STRING, DATA1, UDATA, REF4 = 0x01, 0x06, 0x08, 0x0B, 0x0F, 0x13
SEC_OFFSET, FLAG_PRESENT = 0x17, 0x19

Abbreviation = tuple[int, int, bool, Sequence[tuple[int, int]]]
"""Code, tag, whether it has children, and (attribute, form) of each attribute."""

UNIT: Abbreviation = (1, COMPILE_UNIT, True, [(LOW_PC, ADDR), (HIGH_PC, DATA4)])
FUNCTION: Abbreviation = (2, SUBPROGRAM, False, [(LOW_PC, ADDR), (HIGH_PC, DATA4), (NAME, STRING)])


def abbreviations(*declared: Abbreviation) -> bytes:
    """Return a table of abbreviations."""
    table = b""
    for code, tag, has_children, attributes in declared:
        table += uleb(code) + uleb(tag) + bytes([has_children])
        table += b"".join(uleb(attribute) + uleb(form) for attribute, form in attributes) + b"\0\0"
    return table + b"\0"


def unit(entries: bytes, version: int = 4) -> bytes:
    """Return a unit of these entries, whose abbreviations are the first ones."""
    header = struct.pack("<HIB", version, 0, 8) if version < 5 else struct.pack("<HBBI", version, 1, 8, 0)
    return struct.pack("<I", len(header) + len(entries)) + header + entries


def bounds(start: int, size: int) -> bytes:
    """Return the values of ``LOW_PC`` and ``HIGH_PC``."""
    return struct.pack("<QI", TEXT + start, size)


def aranges(ranges: Sequence[tuple[int, int]], unit_at: int = 0) -> bytes:
    """Return the table of a unit's ranges, (start, size) of each."""
    pairs = b"".join(struct.pack("<2Q", TEXT + start, size) for start, size in ranges) + bytes(16)
    body = struct.pack("<HIBB", 2, unit_at, 8, 0) + bytes(4) + pairs
    return struct.pack("<I", len(body)) + body


def line_table(program: bytes, names: bytes = b"\0a.c\0\0\0\0\0") -> bytes:
    """Return a line table of version 4: opcodes from 13 on are special, lines move by -5 to 8."""
    header = bytes([1, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + names
    body = struct.pack("<HI", 4, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


def line_table_5(program: bytes, folders: Sequence[str], files: Sequence[tuple[str, int]]) -> bytes:
    """Return a line table of version 5, with files as (name, number of the folder)."""
    names = b"\x01\x01\x08" + uleb(len(folders)) + b"".join(folder.encode() + b"\0" for folder in folders)
    names += b"\x02\x01\x08\x02\x0b" + uleb(len(files))
    names += b"".join(name.encode() + b"\0" + bytes([folder]) for name, folder in files)
    header = bytes([1, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + names
    body = struct.pack("<HBBI", 5, 8, 0, len(header)) + header + program
    return struct.pack("<I", len(body)) + body


def set_address(address: int) -> bytes:
    """Return the opcode that sets the address."""
    return b"\0\x09\x02" + struct.pack("<Q", TEXT + address)


END_SEQUENCE = b"\0\x01\x01"
