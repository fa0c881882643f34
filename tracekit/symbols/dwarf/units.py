"""Units of debug information: a header, and behind it entries, each described by an abbreviation."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from tracekit.symbols.budget import Budget
from tracekit.symbols.dwarf import abbreviations as dw
from tracekit.symbols.dwarf.abbreviations import Layout, read_layouts
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
    Encoding,
    number,
    uleb,
)
from tracekit.symbols.dwarf.sections import DamagedDwarfError, Sections

_TYPE_UNITS, _SPLIT_UNITS = (2, 6), (4, 5)
_MAX_HEADER_BYTES = 40
_ENTRY_BYTES = 4096
"""Bytes that are read for one entry; one that is longer is read with 64 times as many."""
_INT_MAX = 2**31
_STEPS_PER_HEADER, _STEPS_PER_UNIT, _STEPS_PER_ADDRESS = 8, 16, 6
_KEPT_UNITS = 256


@dataclass(frozen=True)
class Header:
    """The header of a unit: the section's distances of the unit, of its first entry and of its end."""

    offset: int
    entries: int
    end: int
    encoding: Encoding
    abbreviations: int


@dataclass(frozen=True)
class Entry:
    """An entry: its layout, and the position of each part in ``data``."""

    layout: Layout
    starts: list[int]
    data: bytes


class Units:
    """The units of one build; abbreviations are kept."""

    def __init__(self, sections: Sections) -> None:
        self.sections = sections
        self.budget: Budget = sections.budget
        self._layouts: dict[tuple[int, Encoding], dict[int, Layout]] = {}
        self._units: dict[int, Unit] = {}
        self._offsets: array[int] | None = None

    def at(self, offset: int) -> Unit:
        """Return the unit at a distance in the section."""
        if offset not in self._units:
            header = self._header(offset)
            key = header.abbreviations, header.encoding
            if key not in self._layouts:
                table = self.sections.read_up_to("debug_abbrev", key[0], self.sections.size("debug_abbrev"))
                self._layouts[key] = read_layouts(table, header.encoding, self.budget)
            self.budget.spend(_STEPS_PER_UNIT)
            if len(self._units) == _KEPT_UNITS:
                self._units.clear()
            self._units[offset] = Unit(self, header, self._layouts[key])
        return self._units[offset]

    def around(self, offset: int) -> Unit:
        """Return the unit with the entry at a distance in the section."""
        offsets = self.offsets()
        row = bisect_right(offsets, offset) - 1
        if row < 0:
            raise DamagedDwarfError
        return self.at(offsets[row])

    def offsets(self) -> array[int]:
        """Return where each unit begins, in order."""
        if self._offsets is None:
            offsets: array[int] = array("Q")
            offset, size = 0, self.sections.size("debug_info")
            while offset < size:
                self.budget.spend(_STEPS_PER_HEADER)
                offsets.append(offset)
                offset = _length(self.sections.read_up_to("debug_info", offset, 12), offset)[0]
            self._offsets = offsets
        return self._offsets

    def _header(self, offset: int) -> Header:
        data = self.sections.read_up_to("debug_info", offset, _MAX_HEADER_BYTES)
        end, offset_bytes = _length(data, offset)
        position = 4 if offset_bytes == 4 else 12
        version = number(data, position, 2)
        position += 2
        if version == 5:
            kind, address_bytes = number(data, position, 1), number(data, position + 1, 1)
            abbreviations = number(data, position + 2, offset_bytes)
            position += 2 + offset_bytes
            position += 8 if kind in _SPLIT_UNITS else 8 + offset_bytes if kind in _TYPE_UNITS else 0
        elif 2 <= version <= 4:
            abbreviations = number(data, position, offset_bytes)
            address_bytes = number(data, position + offset_bytes, 1)
            position += offset_bytes + 1
        else:
            raise DamagedDwarfError
        if address_bytes not in (4, 8):
            raise DamagedDwarfError
        encoding = Encoding(version, address_bytes, offset_bytes)
        return Header(offset, offset + position, end, encoding, abbreviations)


class Unit:
    """One unit. Values of its entries are resolved by the bases that its first entry names."""

    def __init__(self, units: Units, header: Header, layouts: dict[int, Layout]) -> None:
        self.units = units
        self.sections = units.sections
        self.budget = units.budget
        self.header = header
        self.encoding = header.encoding
        self.layouts = layouts

    @cached_property
    def top(self) -> Entry:
        """The first entry."""
        return self.entry(self.header.entries)

    @cached_property
    def low_pc(self) -> int:
        """The address from which lists of ranges count."""
        return self.address(self.top, dw.LOW_PC) or 0

    def data(self) -> bytes:
        """Return the bytes of the whole unit, from its header on."""
        return self.sections.read("debug_info", self.header.offset, self.header.end - self.header.offset)

    def entry(self, offset: int) -> Entry:
        """Return the entry at a distance in the section."""
        for size in (_ENTRY_BYTES, 64 * _ENTRY_BYTES):
            data = self.sections.read_up_to("debug_info", offset, min(size, self.header.end - offset))
            try:
                code, position = uleb(data, 0)
                layout = self.layouts[code]
                self.budget.spend(layout.steps)
                starts = layout.starts(self.encoding, data, position)
            except (IndexError, ValueError):
                continue
            if starts[-1] <= len(data):
                return Entry(layout, starts, data)
        raise DamagedDwarfError

    def number(self, entry: Entry, attribute: int, missing: int) -> int:
        """Return a number of an entry; ``missing`` where it has none, or one out of bounds."""
        value = self.value(entry, attribute)
        return value if value is not None and 0 <= value < _INT_MAX else missing

    def value(self, entry: Entry, attribute: int) -> int | None:
        """Return the number of an attribute, or its distance in another section; None where it is missing."""
        field = entry.layout.fields.get(attribute)
        if field is None:
            return None
        if field.form == IMPLICIT_CONST:
            return field.constant
        return self.encoding.value(field.form, entry.data, entry.starts[field.part] + field.distance)

    def address(self, entry: Entry, attribute: int) -> int | None:
        """Return an address; None where the attribute is missing or no address."""
        value, form = self.value(entry, attribute), self._form(entry, attribute)
        if value is None or form == ADDR:
            return value
        return self.address_of(value) if form in ADDRX_FORMS else None

    def address_of(self, index: int) -> int:
        """Return an address in the table of addresses."""
        self.budget.spend(_STEPS_PER_ADDRESS)
        size = self.encoding.address_bytes
        base = self.value(self.top, dw.ADDR_BASE) or 0
        return number(self.sections.read("debug_addr", base + index * size, size), 0, size)

    def text(self, entry: Entry, attribute: int) -> bytes | None:
        """Return a text; None where the attribute is missing or no text."""
        field = entry.layout.fields.get(attribute)
        if field is None:
            return None
        form, position = self._form(entry, attribute), entry.starts[field.part] + field.distance
        if field.form == INDIRECT:
            position = uleb(entry.data, position)[1]
        return self.text_of(form, entry.data, position)

    def text_of(self, form: int, data: bytes, position: int) -> bytes | None:
        """Return a text that stands at a position, or in the section that its form refers to."""
        if form == STRING:
            return data[position : data.index(0, position)]
        value = self.encoding.value(form, data, position)
        if form == STRP:
            return self.sections.text("debug_str", value)
        if form == LINE_STRP:
            return self.sections.text("debug_line_str", value)
        if form not in STRX_FORMS:
            return None
        size = self.encoding.offset_bytes
        base = self.value(self.top, dw.STR_OFFSETS_BASE) or 0
        table = self.sections.read("debug_str_offsets", base + value * size, size)
        return self.sections.text("debug_str", number(table, 0, size))

    def reference(self, entry: Entry, attribute: int) -> tuple[Unit, int] | None:
        """Return the entry that another refers to: its unit and its distance in the section."""
        value, form = self.value(entry, attribute), self._form(entry, attribute)
        if value is None:
            return None
        if form in UNIT_REFERENCES:
            return self, self.header.offset + value
        return (self.units.around(value), value) if form == REF_ADDR else None

    def _form(self, entry: Entry, attribute: int) -> int:
        """Return the form of an attribute; that in the entry, where the abbreviation leaves it to it."""
        field = entry.layout.fields.get(attribute)
        if field is None or field.form != INDIRECT:
            return field.form if field else 0
        return uleb(entry.data, entry.starts[field.part] + field.distance)[0]


def _length(data: bytes, offset: int) -> tuple[int, int]:
    """Return the end of a unit, and the size of distances in it: 8 in 64-bit DWARF."""
    length = number(data, 0, 4)
    if length == 0xFFFF_FFFF:
        return offset + 12 + number(data, 4, 8), 8
    if length >= 0xFFFF_FFF0:
        raise DamagedDwarfError
    return offset + 4 + length, 4
