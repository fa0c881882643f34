"""Source lines and inlined functions of addresses, from the DWARF of a dSYM.

    address ──aranges──► unit ──► function ──► inlined functions around the address, outermost first
                           └────► line table ──► file and line

pyelftools reads DWARF. Only the units with a wanted address are read, in one pass, and no entry of them is
kept: a unit of a megabyte has a hundred thousand entries. What a file may make tracekit read is bounded by
numbers, not by time, so that the same files give the same names on every machine.
"""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from tracekit.symbols.lines import LineTable
from tracekit.symbols.macho import Build, SymbolFileError
from tracekit.symbols.symbol_table import MAX_NAME

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo

MAX_UNIT_BYTES = 24 << 20
"""Bytes of all units that are read for one build: about three million entries, and half a minute."""
MAX_INLINED = 32
"""Inlined functions around one address; the innermost ones are kept."""
_MAX_REFERENCES = 8
_MAX_RANGES = 100_000

_SECTIONS = (
    "debug_info", "debug_aranges", "debug_abbrev", "debug_str", "debug_ranges", "debug_line", "debug_addr",
    "debug_str_offsets", "debug_line_str", "debug_rnglists", "debug_loclists",
)  # fmt: skip
_UNUSED = (
    "debug_frame", "eh_frame", "debug_loc", "debug_pubtypes", "debug_pubnames", "debug_sup",
    "gnu_debugaltlink", "debug_types",
)  # fmt: skip
_MACHO_NAME = 16


@dataclass(frozen=True)
class Place:
    """One function at an address. ``name`` is mangled, "" for none; ``line`` is -1 where it is not known."""

    name: str
    file: str
    line: int


@dataclass
class _Scope:
    """A function, or one inlined into it, with the wanted addresses in it."""

    depth: int
    addresses: frozenset[int]
    origin: DIE
    call: tuple[int, int] = (0, -1)
    """File and line of the call, for an inlined one."""
    inner: list[_Scope] = field(default_factory=list)


def is_readable() -> bool:
    """Return True where the library that reads DWARF is installed."""
    from importlib.util import find_spec

    return find_spec("elftools") is not None


class DebugInfo:
    """The debug information of one build.

    ``skipped`` counts addresses in units beyond the limit; ``is_damaged`` is True where a unit cannot be
    read.
    """

    def __init__(self, build: Build) -> None:
        self._build = build
        self._bytes_left = MAX_UNIT_BYTES
        self._known: dict[int, list[Place]] = {}
        self.skipped = 0
        self.is_damaged = False

    def places(self, addresses: Sequence[int]) -> dict[int, list[Place]]:
        """Return the functions at each address, innermost first; none for one that is not described.

        Raises ``SymbolFileError`` for debug information that cannot be read.
        """
        new = sorted(set(addresses) - self._known.keys())
        try:
            found = self._places(new) if new else {}
        except SymbolFileError:
            raise
        except Exception as error:  # the library raises any kind for damaged data
            raise SymbolFileError("has damaged debug information") from error
        self._known |= {address: found.get(address, []) for address in new}
        return {address: self._known[address] for address in addresses}

    def _places(self, addresses: list[int]) -> dict[int, list[Place]]:
        info, strings = _open(self._build)
        by_unit: dict[int, list[int]] = {}
        unit_at = _UnitIndex(info)
        for address in addresses:
            offset = unit_at.find(address)
            if offset is not None:
                by_unit.setdefault(offset, []).append(address)
        places: dict[int, list[Place]] = {}
        # The units with most of the wanted addresses come first.
        for offset, wanted in sorted(by_unit.items(), key=lambda entry: (-len(entry[1]), entry[0])):
            unit = info.get_CU_at(offset)
            if unit.size > self._bytes_left:
                self.skipped += len(wanted)
                continue
            self._bytes_left -= unit.size
            try:
                places.update(_Unit(info, unit, strings).places(wanted))
            except Exception:  # noqa: BLE001 - as above; the other units are still read
                self.is_damaged = True
        return places


class _UnitIndex:
    """The unit of each address, by the table of ranges, or by the units' own where there is none."""

    def __init__(self, info: DWARFInfo) -> None:
        ranges = info.get_aranges()
        if ranges is not None and ranges.entries:
            found = [(entry.begin_addr, entry.length, entry.info_offset) for entry in ranges.entries]
        else:
            found = [
                (start, end - start, unit.cu_offset)
                for unit in info.iter_CUs()
                for start, end in _ranges(info, unit.get_top_DIE())
            ]
        self._ranges = sorted(found)
        self._starts = [start for start, _, _ in self._ranges]

    def find(self, address: int) -> int | None:
        """Return the offset of the unit around an address."""
        row = bisect_left(self._starts, address + 1) - 1
        if row < 0:
            return None
        start, length, offset = self._ranges[row]
        return offset if address < start + length else None


class _Unit:
    """One unit: its functions and lines."""

    def __init__(self, info: DWARFInfo, unit: CompileUnit, strings: bytes) -> None:
        self._info = info
        self._unit = unit
        self._strings = strings

    def places(self, addresses: list[int]) -> dict[int, list[Place]]:
        """Return the functions at each address, innermost first."""
        lines = LineTable(self._info, self._unit, self._text)
        innermost = lines.find(addresses)
        places: dict[int, list[Place]] = {}
        names: dict[int, str] = {}
        for function in self._functions(addresses):
            for address in function.addresses:
                chain = _chain(function, address)
                # Each function was left at the call of the next inner one; the innermost is at the line of
                # the address itself.
                calls = [(lines.file(scope.call[0]), scope.call[1]) for scope in chain[1:]]
                spots = [*calls, innermost.get(address, ("", -1))]
                for scope in chain:
                    if scope.origin.offset not in names:
                        names[scope.origin.offset] = self._name(scope.origin)
                places[address] = [
                    Place(names[scope.origin.offset], *spot)
                    for scope, spot in zip(reversed(chain), reversed(spots), strict=True)
                ][: MAX_INLINED + 1]
        return places

    def _functions(self, addresses: list[int]) -> list[_Scope]:
        """Return the functions with a wanted address, each with the inlined ones in it."""
        functions: list[_Scope] = []
        open_scopes: list[_Scope] = []
        for depth, die in self._entries():
            while open_scopes and open_scopes[-1].depth >= depth:
                open_scopes.pop()
            is_inlined = die.tag == "DW_TAG_inlined_subroutine"
            if not is_inlined and die.tag != "DW_TAG_subprogram":
                continue
            inside = _covered(self._info, die, addresses)
            if is_inlined:
                inside = inside & open_scopes[-1].addresses if open_scopes else frozenset()
            if not inside:
                continue
            scope = _Scope(depth, inside, die)
            if is_inlined:
                scope.call = (_number(die, "DW_AT_call_file", 0), _number(die, "DW_AT_call_line", -1))
                open_scopes[-1].inner.append(scope)
            else:
                functions.append(scope)
            open_scopes.append(scope)
        return functions

    def _entries(self) -> Iterator[tuple[int, DIE]]:
        """Yield each entry of the unit with its depth, in order; none is kept."""
        from elftools.dwarf.die import DIE

        self._unit.get_top_DIE()
        offset = self._unit.cu_die_offset
        end = self._unit.cu_offset + self._unit.size
        section, depth = self._info.debug_info_sec, 0
        assert section is not None
        while offset < end:
            die = DIE(self._unit, section.stream, offset)
            offset += die.size
            if die.is_null():
                depth -= 1
                continue
            yield depth, die
            depth += bool(die.has_children)

    def _name(self, die: DIE) -> str:
        """Return the linker's name of a function, "" for none; that of a C function is "_" and its own."""
        for _ in range(_MAX_REFERENCES):
            for attribute in ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name"):
                if attribute in die.attributes:
                    return self._text(die.attributes[attribute].value)
            if "DW_AT_name" in die.attributes:
                return f"_{self._text(die.attributes['DW_AT_name'].value)}"
            reference = next(
                (name for name in ("DW_AT_abstract_origin", "DW_AT_specification") if name in die.attributes),
                None,
            )
            if reference is None:
                return ""
            die = die.get_DIE_from_attribute(reference)
        return ""

    def _text(self, value: Any) -> str:
        """Return a string of the file: the value is the text itself, or its place in the table of strings."""
        if isinstance(value, int):
            end = self._strings.find(b"\0", value, value + MAX_NAME)
            value = self._strings[value : end if end >= 0 else value + MAX_NAME]
        return value[:MAX_NAME].decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _chain(function: _Scope, address: int) -> list[_Scope]:
    """Return the function and the inlined ones around an address, outermost first."""
    chain = [function]
    while inner := next((scope for scope in chain[-1].inner if address in scope.addresses), None):
        chain.append(inner)
    return chain


def _covered(info: DWARFInfo, die: DIE, addresses: list[int]) -> frozenset[int]:
    """Return the addresses, of a sorted list, in the ranges of an entry."""
    return frozenset(
        address
        for start, end in _ranges(info, die)
        for address in addresses[bisect_left(addresses, start) : bisect_left(addresses, end)]
    )


def _ranges(info: DWARFInfo, die: DIE) -> list[tuple[int, int]]:
    """Return the address ranges of an entry, half-open."""
    from elftools.dwarf.ranges import BaseAddressEntry

    attributes = die.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        start, end = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        # An address, or a distance from the start.
        is_address = end.form in ("DW_FORM_addr", "DW_FORM_addrx")
        return [(start, end.value if is_address else start + end.value)]
    if "DW_AT_ranges" not in attributes:
        return []
    lists = info.range_lists()
    if lists is None:
        return []
    top = die.cu.get_top_DIE().attributes
    base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
    found = []
    unit = cast("CompileUnit", die.cu)
    for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit)[:_MAX_RANGES]:
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        else:
            start = 0 if entry.is_absolute else base
            found.append((start + entry.begin_offset, start + entry.end_offset))
    return found


def _number(die: DIE, name: str, missing: int) -> int:
    value = die.attributes[name].value if name in die.attributes else missing
    return value if isinstance(value, int) and 0 <= value < 2**31 else missing


def _open(build: Build) -> tuple[DWARFInfo, bytes]:
    """Return the debug information, and the table of strings that its entries refer to."""
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    class Info(DWARFInfo):
        """Leaves strings in their table: most entries are read for their addresses alone."""

        def get_string_from_table(self, offset: int) -> Any:
            return offset

    parts = {section.name: section for section in build.sections}
    sections: dict[str, DebugSectionDescriptor | None] = dict.fromkeys(f"{name}_sec" for name in _UNUSED)
    strings = b""
    for name in _SECTIONS:
        section = parts.get(f"__{name}"[:_MACHO_NAME])
        data = build.bytes_at(section.offset, section.size) if section else b""
        strings = data if name == "debug_str" else strings
        descriptor = DebugSectionDescriptor(io.BytesIO(data), name, None, len(data), 0) if data else None
        sections[f"{name}_sec"] = descriptor
    config = DwarfConfig(
        little_endian=True,
        machine_arch="AArch64" if build.arch.startswith("arm") else "x64",
        default_address_size=8 if build.is_64 else 4,
    )
    return Info(config, **sections), strings
