"""The innermost function around each wanted address of a unit, inlined ones included.

The entries of a unit are a tree, written depth first: an entry with children is followed by them, and by a
zero. They are skipped one after the other; only those around a wanted address become objects:

    function 0x10-0x80            wanted 0x24: in this function
      variable
      inlined 0x20-0x30             and innermost in this one
        inlined 0x28-0x2c
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.symbols.dwarf import abbreviations as dw
from tracekit.symbols.dwarf.abbreviations import Bounds, EntryLayout
from tracekit.symbols.dwarf.address_ranges import read_ranges
from tracekit.symbols.dwarf.forms import read_uleb
from tracekit.symbols.dwarf.units import Unit, UnitEntry

_STEPS_AT_ONCE = 1_000
_STEPS_PER_ENTRY, _STEPS_PER_SCOPE = 8, 8


@dataclass(frozen=True, slots=True, eq=False)
class FunctionScope:
    """A function with wanted addresses in it, or one inlined into another."""

    offset: int
    """The entry's distance in the section."""
    depth: int
    parent: FunctionScope | None = None
    """The function around an inlined one."""
    function: FunctionScope | None = None
    """The outermost one, for an inlined one."""
    call_file: int = -1
    call_line: int = -1


class ScopeReader:
    """Reads the entries of one unit."""

    def __init__(self, unit: Unit, addresses: Sequence[int]) -> None:
        self._unit = unit
        self._data = unit.read_bytes()
        self._wanted = sorted(addresses)
        self._open: list[FunctionScope] = []
        """The scopes around the current entry, outermost first."""
        self._innermost: dict[int, FunctionScope] = {}

    def find_innermost(self) -> dict[int, FunctionScope]:
        """Return the innermost scope around each address that has one."""
        unit, data, encoding = self._unit, self._data, self._unit.encoding
        layouts, budget, scopes = unit.layouts, unit.budget, self._open
        position, end = unit.header.entries - unit.header.offset, len(data)
        depth = steps = 0
        while position < end:
            start = position
            code = data[position]
            position += 1
            if code >= 0x80:
                code, position = read_uleb(data, start)
            if code == 0:
                depth -= 1
                steps += 1
                if depth <= 0 or (scopes and self._close_scope(depth)):
                    break
                continue
            layout = layouts[code]
            steps += layout.steps
            if steps > _STEPS_AT_ONCE:
                budget.spend(steps)
                steps = 0
            if layout.is_scope and (scopes or layout.tag == dw.SUBPROGRAM):
                self._enter_function(layout, start, position, depth)
            if layout.size >= 0:
                position += layout.size
            else:
                position = layout.skip(encoding, data, position)
            if layout.has_children:
                depth += 1
        budget.spend(steps)
        return self._innermost

    def _close_scope(self, depth: int) -> bool:
        """Close the scope whose children end at a depth; return True if every address has its scope."""
        if self._open[-1].depth == depth:
            self._open.pop()
        return not self._open and len(self._innermost) == len(self._wanted)

    def _has_wanted(self, bounds: Bounds, position: int) -> bool:
        """Return True for an entry with wanted addresses; most have none."""
        data = self._data
        low, high = position + bounds.low, position + bounds.high
        start = int.from_bytes(data[low : low + self._unit.encoding.address_bytes], "little")
        end = int.from_bytes(data[high : high + bounds.high_bytes], "little")
        row = bisect_left(self._wanted, start)
        return row < len(self._wanted) and self._wanted[row] < (end if bounds.is_address else start + end)

    def _enter_function(self, layout: EntryLayout, start: int, position: int, depth: int) -> None:
        """Record a function as the innermost one of its addresses; keep it open for its children."""
        unit = self._unit
        if layout.bounds and not self._has_wanted(layout.bounds, position):
            return
        unit.budget.spend(_STEPS_PER_ENTRY)
        entry = UnitEntry(layout, layout.find_starts(unit.encoding, self._data, position), self._data)
        parent = self._open[-1] if layout.tag == dw.INLINED_SUBROUTINE else None
        entry_addresses = self._find_addresses(entry)
        if parent is not None:
            # Of several inlined functions at an address the first counts.
            entry_addresses = {
                address for address in entry_addresses if self._innermost.get(address) is parent
            }
        if not entry_addresses:
            return
        unit.budget.spend(len(entry_addresses) + _STEPS_PER_SCOPE)
        scope = FunctionScope(unit.header.offset + start, depth)
        if parent is not None:
            call = (unit.read_number(entry, attribute, -1) for attribute in (dw.CALL_FILE, dw.CALL_LINE))
            scope = FunctionScope(scope.offset, depth, parent, parent.function or parent, *call)
        self._innermost.update(dict.fromkeys(entry_addresses, scope))
        if layout.has_children:
            self._open.append(scope)

    def _find_addresses(self, entry: UnitEntry) -> set[int]:
        """Return the wanted addresses in an entry's ranges."""
        addresses, entry_addresses = self._wanted, set()
        for start, end in read_ranges(self._unit, entry):
            covered = addresses[bisect_left(addresses, start) : bisect_left(addresses, end)]
            self._unit.budget.spend(len(covered) + 2)
            entry_addresses.update(covered)
        return entry_addresses
