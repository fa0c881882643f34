"""Source lines and inlined functions of addresses, from the DWARF of a dSYM.

    address ──aranges──► unit ──► function ──► inlined functions around the address, innermost first
                           └────► line table ──► file and line

Only the units with a wanted address are read, and of them only what lies around it is kept. The work
is bounded by steps and not by time, so that the same files give the same names on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tracekit.frozen import frozen
from tracekit.symbols.dwarf import abbreviations as dw
from tracekit.symbols.dwarf.address_index import AddressIndex
from tracekit.symbols.dwarf.debug_sections import Sections
from tracekit.symbols.dwarf.line_table import LineTable
from tracekit.symbols.dwarf.scopes import FunctionScope, ScopeReader
from tracekit.symbols.dwarf.units import Unit, Units
from tracekit.symbols.macho import Build
from tracekit.symbols.symbol_table import MAX_NAME
from tracekit.symbols.work_budget import BudgetSpentError, SymbolFileError, WorkBudget

MAX_INLINED = 32
"""Inlined functions around one address; the innermost ones are kept, and the function itself."""
_MAX_REFERENCES = 8
_KEPT_NAMES = 100_000
_DAMAGE = (SymbolFileError, LookupError, ValueError, OverflowError)
"""Exceptions of the readers for missing or invalid bytes."""


@frozen
class CodePlace:
    """One function at an address. ``name`` is mangled, "" for none; ``line`` is -1 where it is not known."""

    name: str
    file: str
    line: int


class DebugInfo:
    """The debug information of one build.

    ``skipped`` counts addresses that the budget did not reach; ``is_damaged`` is True where a unit cannot be
    read.
    """

    def __init__(self, build: Build, budget: WorkBudget) -> None:
        self.path = build.path
        self._sections = Sections(build, budget)
        self._units = Units(self._sections)
        self._index: AddressIndex | None = None
        self._failure: Exception | None = None
        self._known: dict[int, list[CodePlace]] = {}
        self._names: dict[int, str] = {}
        self.skipped = 0
        self.is_damaged = False

    def find_places(self, addresses: Sequence[int]) -> dict[int, list[CodePlace]]:
        """Return the functions at each address, innermost first; none if it has no debug information.

        Raises ``SymbolFileError`` for debug information that cannot be read.
        """
        new = sorted(set(addresses) - self._known.keys())
        if new:
            self._known |= {address: [] for address in new}
            with self._sections.open():
                self._read_units(new)
        return {address: self._known[address] for address in addresses}

    def _read_units(self, addresses: list[int]) -> None:
        """Read the units of addresses, those with most of them first, until the budget is spent."""
        if self._index is None and self._failure is None:
            try:
                self._index = AddressIndex(self._units)
            except _DAMAGE as error:
                self._failure = error
        if self._index is None:
            if not isinstance(self._failure, BudgetSpentError):
                raise SymbolFileError("has damaged debug information") from self._failure
            self.skipped += len(addresses)
            return
        by_unit = self._index.group_by_unit(addresses)
        remaining_count = sum(map(len, by_unit.values()))
        for offset, unit_addresses in sorted(by_unit.items(), key=lambda entry: (-len(entry[1]), entry[0])):
            try:
                self._known |= self._find_unit_places(self._units.get_unit(offset), unit_addresses)
            except BudgetSpentError:
                self.skipped += remaining_count
                return
            except _DAMAGE:
                self.is_damaged = True  # the other units are still read
            remaining_count -= len(unit_addresses)

    def _find_unit_places(self, unit: Unit, addresses: list[int]) -> dict[int, list[CodePlace]]:
        """Return the functions at the addresses of a unit."""
        scopes = ScopeReader(unit, addresses).find_innermost()
        lines = LineTable(unit)
        rows = lines.find(list(scopes))
        chains = {address: _list_scopes(scope) for address, scope in scopes.items()}
        files = {scope.call_file for chain in chains.values() for scope in chain if scope.parent}
        paths = lines.read_paths(files | {file for file, _ in rows.values()})
        places = {}
        for address, chain in chains.items():
            # The innermost function is at the line of the address itself, each outer one at its call of the
            # next inner one.
            spots = [rows.get(address, (-1, -1))]
            spots += [
                (inner.call_file, inner.call_line) if inner.parent is outer else (-1, -1)
                for inner, outer in pairwise(chain)
            ]
            places[address] = [
                CodePlace(self._get_name(unit, scope.offset), paths.get(file, ""), line)
                for scope, (file, line) in zip(chain, spots, strict=True)
            ]
        return places

    def _get_name(self, unit: Unit, offset: int) -> str:
        """Return the linker's name of a function, "" for none; that of a C function is "_" and its own."""
        if offset not in self._names:
            if len(self._names) == _KEPT_NAMES:
                self._names.clear()
            self._names[offset] = self._read_name(unit, offset)[:MAX_NAME]
        return self._names[offset]

    def _read_name(self, unit: Unit, offset: int) -> str:
        for _ in range(_MAX_REFERENCES):
            entry = unit.read_entry(offset)
            for attribute in (dw.LINKAGE_NAME, dw.MIPS_LINKAGE_NAME, dw.NAME):
                text = unit.read_text(entry, attribute)
                if text is not None:
                    name = text.decode("utf-8", "replace")
                    return f"_{name}" if attribute == dw.NAME else name
            target = unit.resolve_reference(entry, dw.ABSTRACT_ORIGIN) or unit.resolve_reference(
                entry, dw.SPECIFICATION
            )
            if target is None:
                return ""
            unit, offset = target
        return ""


def _list_scopes(scope: FunctionScope) -> list[FunctionScope]:
    """Return a scope and those around it, innermost first."""
    chain = [scope]
    while (parent := chain[-1].parent) and len(chain) < MAX_INLINED:
        chain.append(parent)
    return [*chain, scope.function] if parent and scope.function else chain
