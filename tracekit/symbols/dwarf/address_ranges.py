"""The address ranges of an entry: first and last address, or a list in a section of lists."""

from __future__ import annotations

from tracekit.symbols.dwarf import abbreviations as dw
from tracekit.symbols.dwarf.debug_sections import DamagedDwarfError
from tracekit.symbols.dwarf.forms import RNGLISTX, read_number, read_uleb
from tracekit.symbols.dwarf.units import Unit, UnitEntry

_LIST_READ_BYTES = (512, 64 << 10, 4 << 20)
"""Bytes of a list to read, in turn: most lists have only a few ranges."""
_STEPS_PER_READING, _STEPS_PER_RANGE = 4, 4

Ranges = list[tuple[int, int]]


def read_ranges(unit: Unit, entry: UnitEntry) -> Ranges:
    """Return the address ranges of an entry, half-open."""
    start = unit.read_address(entry, dw.LOW_PC)
    end = unit.read_value(entry, dw.HIGH_PC)
    if start is not None and end is not None:
        # The end is an address, or a distance from the start.
        address = unit.read_address(entry, dw.HIGH_PC)
        return [(start, start + end if address is None else address)]
    offset = unit.read_value(entry, dw.RANGES)
    if offset is None:
        return []
    if unit.encoding.version < 5:
        return _read_list(unit, "debug_ranges", offset)
    if entry.layout.fields[dw.RANGES].form == RNGLISTX:
        # An index into a table of distances, which count from the table itself.
        base, size = unit.read_value(unit.top, dw.RNGLISTS_BASE) or 0, unit.encoding.offset_bytes
        offset = base + read_number(unit.sections.read("debug_rnglists", base + offset * size, size), 0, size)
    return _read_list(unit, "debug_rnglists", offset)


def _read_list(unit: Unit, section: str, offset: int) -> Ranges:
    """Return the ranges of a list, which has no size but an end mark."""
    read = _read_ranges_4 if section == "debug_ranges" else _read_ranges_5
    for size in _LIST_READ_BYTES:
        unit.budget.spend(_STEPS_PER_READING)
        data = unit.sections.read_up_to(section, offset, size)
        try:
            return read(unit, data)
        except IndexError:
            if len(data) < size:
                break
    raise DamagedDwarfError


def _read_ranges_4(unit: Unit, data: bytes) -> Ranges:
    """Read pairs of addresses up to one of zeros; a pair that begins with the largest one sets the base."""
    size = unit.encoding.address_bytes
    largest = 256**size - 1
    base, position = unit.low_pc, 0
    ranges: Ranges = []
    while True:
        unit.budget.spend(_STEPS_PER_RANGE)
        start, end = read_number(data, position, size), read_number(data, position + size, size)
        position += 2 * size
        if not start and not end:
            return ranges
        if start == largest:
            base = end
        else:
            ranges.append((base + start, base + end))


def _read_ranges_5(unit: Unit, data: bytes) -> Ranges:
    """Read entries of seven kinds up to the end of the list. Source: DWARF 5, section 2.17.3."""
    size = unit.encoding.address_bytes
    base, position = unit.low_pc, 0
    ranges: Ranges = []

    def read_index() -> int:
        nonlocal position
        value, position = read_uleb(data, position)
        return value

    def read_address() -> int:
        nonlocal position
        position += size
        return read_number(data, position - size, size)

    while True:
        unit.budget.spend(_STEPS_PER_RANGE)
        kind, position = read_number(data, position, 1), position + 1
        if kind == 0:
            return ranges
        if kind == 1:
            base = unit.look_up_address(read_index())
        elif kind == 2:
            ranges.append((unit.look_up_address(read_index()), unit.look_up_address(read_index())))
        elif kind == 3:
            start = unit.look_up_address(read_index())
            ranges.append((start, start + read_index()))
        elif kind == 4:
            ranges.append((base + read_index(), base + read_index()))
        elif kind == 5:
            base = read_address()
        elif kind == 6:
            ranges.append((read_address(), read_address()))
        elif kind == 7:
            start = read_address()
            ranges.append((start, start + read_index()))
        else:
            raise DamagedDwarfError
