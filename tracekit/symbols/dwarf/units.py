"""Units of debug information: a header, then entries, each described by an abbreviation."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import cached_property

from tracekit.frozen import frozen
from tracekit.symbols.dwarf import abbreviations as dw
from tracekit.symbols.dwarf.abbreviations import EntryLayout, read_layouts
from tracekit.symbols.dwarf.debug_sections import DamagedDwarfError, Sections
from tracekit.symbols.dwarf.forms import (
    ADDR,
    ADDRX_FORMS,
    IMPLICIT_CONST,
    INDIRECT,
    LINE_STRP,
    REF_ADDR,
    STRING,
    STRP,
    STRX_FORMS,
    UNIT_REFERENCES,
    UnitEncoding,
    read_number,
    read_uleb,
)
from tracekit.symbols.work_budget import WorkBudget

_TYPE_UNITS, _SPLIT_UNITS = (2, 6), (4, 5)
_MAX_HEADER_BYTES = 40
_ENTRY_BYTES = 4096
"""Bytes that are read for one entry; for a longer one, 64 times as many."""
_INT_MAX = 2**31
_STEPS_PER_HEADER, _STEPS_PER_UNIT, _STEPS_PER_ADDRESS = 8, 16, 6
_KEPT_UNITS = 256


@frozen
class Header:
    """The header of a unit: the section's distances of the unit, of its first entry and of its end."""

    offset: int
    entries: int
    end: int
    encoding: UnitEncoding
    abbreviations: int


@frozen
class UnitEntry:
    """An entry: its layout, and the position of each part in ``data``."""

    layout: EntryLayout
    starts: list[int]
    data: bytes


class Units:
    """The units of one build; abbreviations are kept."""

    def __init__(self, sections: Sections) -> None:
        self.sections = sections
        self.budget: WorkBudget = sections.budget
        self._layouts: dict[tuple[int, UnitEncoding], dict[int, EntryLayout]] = {}
        self._units: dict[int, Unit] = {}
        self._offsets: array[int] | None = None

    def get_unit(self, offset: int) -> Unit:
        """Return the unit at a distance in the section."""
        if offset not in self._units:
            header = self._read_header(offset)
            key = header.abbreviations, header.encoding
            if key not in self._layouts:
                table = self.sections.read_up_to(
                    "debug_abbrev", key[0], self.sections.get_size("debug_abbrev")
                )
                self._layouts[key] = read_layouts(table, header.encoding, self.budget)
            self.budget.spend(_STEPS_PER_UNIT)
            if len(self._units) == _KEPT_UNITS:
                self._units.clear()
            self._units[offset] = Unit(self, header, self._layouts[key])
        return self._units[offset]

    def find_unit(self, offset: int) -> Unit:
        """Return the unit with the entry at a distance in the section."""
        offsets = self.list_offsets()
        row = bisect_right(offsets, offset) - 1
        if row < 0:
            raise DamagedDwarfError
        return self.get_unit(offsets[row])

    def list_offsets(self) -> array[int]:
        """Return where each unit begins, in order."""
        if self._offsets is None:
            offsets: array[int] = array("Q")
            offset, size = 0, self.sections.get_size("debug_info")
            while offset < size:
                self.budget.spend(_STEPS_PER_HEADER)
                offsets.append(offset)
                offset = _read_length(self.sections.read_up_to("debug_info", offset, 12), offset)[0]
            self._offsets = offsets
        return self._offsets

    def _read_header(self, offset: int) -> Header:
        data = self.sections.read_up_to("debug_info", offset, _MAX_HEADER_BYTES)
        end, offset_bytes = _read_length(data, offset)
        position = 4 if offset_bytes == 4 else 12
        version = read_number(data, position, 2)
        position += 2
        if version == 5:
            kind, address_bytes = read_number(data, position, 1), read_number(data, position + 1, 1)
            abbreviations = read_number(data, position + 2, offset_bytes)
            position += 2 + offset_bytes
            position += 8 if kind in _SPLIT_UNITS else 8 + offset_bytes if kind in _TYPE_UNITS else 0
        elif 2 <= version <= 4:
            abbreviations = read_number(data, position, offset_bytes)
            address_bytes = read_number(data, position + offset_bytes, 1)
            position += offset_bytes + 1
        else:
            raise DamagedDwarfError
        if address_bytes not in (4, 8):
            raise DamagedDwarfError
        encoding = UnitEncoding(version, address_bytes, offset_bytes)
        return Header(offset, offset + position, end, encoding, abbreviations)


class Unit:
    """One unit. Values of its entries are resolved by the bases that its first entry names."""

    def __init__(self, units: Units, header: Header, layouts: dict[int, EntryLayout]) -> None:
        self.units = units
        self.sections = units.sections
        self.budget = units.budget
        self.header = header
        self.encoding = header.encoding
        self.layouts = layouts

    @cached_property
    def top(self) -> UnitEntry:
        """The first entry."""
        return self.read_entry(self.header.entries)

    @cached_property
    def low_pc(self) -> int:
        """The address from which lists of ranges count."""
        return self.read_address(self.top, dw.LOW_PC) or 0

    def read_bytes(self) -> bytes:
        """Return the bytes of the whole unit, from its header on."""
        return self.sections.read("debug_info", self.header.offset, self.header.end - self.header.offset)

    def read_entry(self, offset: int) -> UnitEntry:
        """Return the entry at a distance in the section."""
        for size in (_ENTRY_BYTES, 64 * _ENTRY_BYTES):
            data = self.sections.read_up_to("debug_info", offset, min(size, self.header.end - offset))
            try:
                code, position = read_uleb(data, 0)
                layout = self.layouts[code]
                self.budget.spend(layout.steps)
                starts = layout.find_starts(self.encoding, data, position)
            except (IndexError, ValueError):
                continue
            if starts[-1] <= len(data):
                return UnitEntry(layout, starts, data)
        raise DamagedDwarfError

    def read_number(self, entry: UnitEntry, attribute: int, missing: int) -> int:
        """Return a number of an entry; ``missing`` where it has none, or one out of bounds."""
        value = self.read_value(entry, attribute)
        return value if value is not None and 0 <= value < _INT_MAX else missing

    def read_value(self, entry: UnitEntry, attribute: int) -> int | None:
        """Return the number of an attribute, or its distance in another section; None where it is missing."""
        field = entry.layout.fields.get(attribute)
        if field is None:
            return None
        if field.form == IMPLICIT_CONST:
            return field.constant
        return self.encoding.read_value(field.form, entry.data, entry.starts[field.part] + field.distance)

    def read_address(self, entry: UnitEntry, attribute: int) -> int | None:
        """Return an address; None if the attribute is missing or of another form."""
        value, form = self.read_value(entry, attribute), self._find_form(entry, attribute)
        if value is None or form == ADDR:
            return value
        return self.look_up_address(value) if form in ADDRX_FORMS else None

    def look_up_address(self, index: int) -> int:
        """Return an address in the table of addresses."""
        self.budget.spend(_STEPS_PER_ADDRESS)
        size = self.encoding.address_bytes
        base = self.read_value(self.top, dw.ADDR_BASE) or 0
        return read_number(self.sections.read("debug_addr", base + index * size, size), 0, size)

    def read_text(self, entry: UnitEntry, attribute: int) -> bytes | None:
        """Return a text; None if the attribute is missing or of another form."""
        field = entry.layout.fields.get(attribute)
        if field is None:
            return None
        form, position = self._find_form(entry, attribute), entry.starts[field.part] + field.distance
        if field.form == INDIRECT:
            position = read_uleb(entry.data, position)[1]
        return self.read_text_of_form(form, entry.data, position)

    def read_text_of_form(self, form: int, data: bytes, position: int) -> bytes | None:
        """Return a text at a position, or in the section that its form refers to."""
        if form == STRING:
            return data[position : data.index(0, position)]
        value = self.encoding.read_value(form, data, position)
        if form == STRP:
            return self.sections.read_text("debug_str", value)
        if form == LINE_STRP:
            return self.sections.read_text("debug_line_str", value)
        if form not in STRX_FORMS:
            return None
        size = self.encoding.offset_bytes
        base = self.read_value(self.top, dw.STR_OFFSETS_BASE) or 0
        table = self.sections.read("debug_str_offsets", base + value * size, size)
        return self.sections.read_text("debug_str", read_number(table, 0, size))

    def resolve_reference(self, entry: UnitEntry, attribute: int) -> tuple[Unit, int] | None:
        """Return the entry that another refers to: its unit and its distance in the section."""
        value, form = self.read_value(entry, attribute), self._find_form(entry, attribute)
        if value is None:
            return None
        if form in UNIT_REFERENCES:
            return self, self.header.offset + value
        return (self.units.find_unit(value), value) if form == REF_ADDR else None

    def _find_form(self, entry: UnitEntry, attribute: int) -> int:
        """Return the form of an attribute: the abbreviation's, or the entry's own if it is indirect."""
        field = entry.layout.fields.get(attribute)
        if field is None or field.form != INDIRECT:
            return field.form if field else 0
        return read_uleb(entry.data, entry.starts[field.part] + field.distance)[0]


def _read_length(data: bytes, offset: int) -> tuple[int, int]:
    """Return the end of a unit, and the size of distances in it: 8 in 64-bit DWARF."""
    length = read_number(data, 0, 4)
    if length == 0xFFFF_FFFF:
        return offset + 12 + read_number(data, 4, 8), 8
    if length >= 0xFFFF_FFF0:
        raise DamagedDwarfError
    return offset + 4 + length, 4
