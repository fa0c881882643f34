"""The forms of DWARF: how the value of an attribute is written, and where the next one begins.

Source: DWARF 5, section 7.5.6 and figure 7.6; the forms of GNU are those of ``include/dwarf2.def`` of GCC.
"""

from __future__ import annotations

from typing import NamedTuple

from tracekit.symbols.dwarf.debug_sections import DamagedDwarfError

ADDR, STRING, SDATA, STRP, REF_ADDR, REF_UDATA = 0x01, 0x08, 0x0D, 0x0E, 0x10, 0x15
INDIRECT, SEC_OFFSET, FLAG_PRESENT, LINE_STRP, IMPLICIT_CONST, RNGLISTX = 0x16, 0x17, 0x19, 0x1F, 0x21, 0x23
STRX_FORMS = frozenset((0x1A, 0x25, 0x26, 0x27, 0x28))
ADDRX_FORMS = frozenset((0x1B, 0x29, 0x2A, 0x2B, 0x2C))
UNIT_REFERENCES = frozenset((0x11, 0x12, 0x13, 0x14, REF_UDATA))

# Variable sizes, as negative numbers: a part of an entry is a size or one of these.
LEB, TEXT, BLOCK, BLOCK1, BLOCK2, BLOCK4, DIRECT = -1, -2, -3, -4, -5, -6, -7
_VARIABLE = {
    **dict.fromkeys((SDATA, 0x0F, REF_UDATA, 0x1A, 0x1B, 0x22, RNGLISTX, 0x1F01, 0x1F02), LEB),
    **dict.fromkeys((0x09, 0x18), BLOCK),
    0x0A: BLOCK1,
    0x03: BLOCK2,
    0x04: BLOCK4,
    STRING: TEXT,
    INDIRECT: DIRECT,
}
_FIXED = {
    **dict.fromkeys((FLAG_PRESENT, IMPLICIT_CONST), 0),
    **dict.fromkeys((0x0B, 0x0C, 0x11, 0x25, 0x29), 1),
    **dict.fromkeys((0x05, 0x12, 0x26, 0x2A), 2),
    **dict.fromkeys((0x27, 0x2B), 3),
    **dict.fromkeys((0x06, 0x13, 0x1C, 0x28, 0x2C), 4),
    **dict.fromkeys((0x07, 0x14, 0x20, 0x24), 8),
    0x1E: 16,
}
_OFFSETS = frozenset((STRP, SEC_OFFSET, LINE_STRP, 0x1D, 0x1F20, 0x1F21))
_LEB_BYTES = 10


class UnitEncoding(NamedTuple):
    """The sizes on which that of a value depends; ``offset_bytes`` is 8 in 64-bit DWARF."""

    version: int
    address_bytes: int
    offset_bytes: int

    def get_part(self, form: int) -> int:
        """Return the size of a form, or one of the negative numbers."""
        if form in _FIXED:
            return _FIXED[form]
        if form in _OFFSETS:
            return self.offset_bytes
        if form == ADDR or (form == REF_ADDR and self.version == 2):
            return self.address_bytes
        if form == REF_ADDR:
            return self.offset_bytes
        if form not in _VARIABLE:
            raise DamagedDwarfError
        return _VARIABLE[form]

    def skip(self, part: int, data: bytes, position: int) -> int:
        """Return the end of a part. Raises ``LookupError`` or ``ValueError`` at the data's end."""
        if part >= 0:
            return position + part
        if part == BLOCK:
            length, position = read_uleb(data, position)
            return position + length
        if part == LEB:
            return read_uleb(data, position)[1]
        if part == TEXT:
            return data.index(0, position) + 1
        if part == DIRECT:
            form, position = read_uleb(data, position)
            if form in (INDIRECT, IMPLICIT_CONST):
                raise DamagedDwarfError
            return self.skip(self.get_part(form), data, position)
        size = {BLOCK1: 1, BLOCK2: 2, BLOCK4: 4}[part]
        return position + size + read_number(data, position, size)

    def read_value(self, form: int, data: bytes, position: int) -> int:
        """Return the number that a value is, or its distance in another section; -1 for a text or a block."""
        if form == INDIRECT:
            form, position = read_uleb(data, position)
        if form == FLAG_PRESENT:
            return 1
        if form == SDATA:
            return read_sleb(data, position)[0]
        part = self.get_part(form)
        if part == LEB:
            return read_uleb(data, position)[0]
        return read_number(data, position, part) if part > 0 else -1


def read_number(data: bytes, position: int, size: int) -> int:
    """Return an unsigned number. Raises ``IndexError`` at the end of the data."""
    if position + size > len(data):
        raise IndexError
    return int.from_bytes(data[position : position + size], "little")


def read_uleb(data: bytes, position: int) -> tuple[int, int]:
    """Return an unsigned LEB128 number and its end. Raises ``IndexError`` at the end."""
    value = data[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    for count in range(1, _LEB_BYTES):
        byte = data[position + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, position + count + 1
    raise DamagedDwarfError


def read_sleb(data: bytes, position: int) -> tuple[int, int]:
    """Return a signed LEB128 number and its end. Raises ``IndexError`` at the end."""
    value, end = read_uleb(data, position)
    return (value - (1 << 7 * (end - position)) if data[end - 1] & 0x40 else value), end
