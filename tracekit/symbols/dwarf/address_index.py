"""The unit of each address: from the table of ranges, or from the units' own ranges."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from tracekit.symbols.dwarf.address_ranges import read_ranges
from tracekit.symbols.dwarf.debug_sections import DamagedDwarfError
from tracekit.symbols.dwarf.forms import read_number
from tracekit.symbols.dwarf.units import Units
from tracekit.symbols.symbol_table import Addresses

_HEADER_BYTES = 24
_STEPS_PER_UNIT, _STEPS_PER_RANGE = 32, 6
_BYTES_PER_RANGE = 64
"""Start, end and unit of a range, and the memory for sorting them."""

Rows = tuple[Addresses, Addresses, Addresses]
"""Starts and ends of ranges, and the distances of their units."""


class AddressIndex:
    """The ranges of all units, sorted by their starts."""

    def __init__(self, units: Units) -> None:
        blocks = list(
            _iter_table_ranges(units)
            if units.sections.get_size("debug_aranges")
            else _iter_unit_ranges(units)
        )
        starts, ends, of_units = (
            np.concatenate([np.zeros(0, np.uint64), *(block[column] for block in blocks)])
            for column in range(3)
        )
        del blocks
        units.budget.take(_BYTES_PER_RANGE * len(starts))
        order = np.argsort(starts, kind="stable")
        self._starts, self._ends, self._units = starts[order], ends[order], of_units[order]

    def group_by_unit(self, addresses: Sequence[int]) -> dict[int, list[int]]:
        """Return the addresses by unit, which is given by its offset in the section."""
        values = np.array(addresses, np.uint64)
        rows = np.searchsorted(self._starts, values, side="right").astype(np.int64) - 1
        in_range = rows >= 0
        in_range[in_range] = values[in_range] < self._ends[rows[in_range]]
        by_unit: dict[int, list[int]] = {}
        for address, unit in zip(
            values[in_range].tolist(), self._units[rows[in_range]].tolist(), strict=True
        ):
            by_unit.setdefault(unit, []).append(address)
        return by_unit


def _iter_table_ranges(units: Units) -> Iterator[Rows]:
    """Read ``debug_aranges``: for each unit a header and its ranges, up to a pair of zeros."""
    sections = units.sections
    offset, size = 0, sections.get_size("debug_aranges")
    while offset < size:
        units.budget.spend(_STEPS_PER_UNIT)
        head = sections.read_up_to("debug_aranges", offset, _HEADER_BYTES)
        wide = read_number(head, 0, 4) == 0xFFFF_FFFF
        offset_bytes, start = (8, 12) if wide else (4, 4)
        length = read_number(head, 4, 8) if wide else read_number(head, 0, 4)
        unit = read_number(head, start + 2, offset_bytes)
        address_bytes = read_number(head, start + 2 + offset_bytes, 1)
        if address_bytes not in (4, 8) or not length:
            raise DamagedDwarfError
        # The first pair begins at a multiple of the size of one.
        pair = 2 * address_bytes
        first_pair = -(-(start + 4 + offset_bytes) // pair) * pair
        count = max(start + length - first_pair, 0) // pair
        data = sections.read("debug_aranges", offset + first_pair, count * pair)
        units.budget.take(2 * len(data))
        pairs = np.frombuffer(data, f"<u{address_bytes}").reshape(-1, 2).astype(np.uint64)
        pairs = pairs[pairs[:, 1] > 0]
        if len(pairs):
            yield pairs[:, 0], pairs[:, 0] + pairs[:, 1], np.full(len(pairs), unit, np.uint64)
        offset += start + length


def _iter_unit_ranges(units: Units) -> Iterator[Rows]:
    """Read the ranges that the first entry of each unit has."""
    columns: tuple[array[int], array[int], array[int]] = (array("Q"), array("Q"), array("Q"))
    for offset in units.list_offsets():
        unit = units.get_unit(offset)
        ranges = read_ranges(unit, unit.top)
        units.budget.spend(_STEPS_PER_RANGE * len(ranges))
        for row in ranges:
            for column, value in zip(columns, (*row, offset), strict=True):
                column.append(value % 2**64)
    starts, ends, offsets = (np.frombuffer(column, np.uint64) for column in columns)
    yield starts, ends, offsets
