"""Functions and lines of addresses in debug information, by pyelftools: an object for each entry and row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry

from tracekit.symbols.macho import read_builds
from tracekit.symbols.work_budget import WorkBudget

_SECTIONS = (
    "debug_info", "debug_aranges", "debug_abbrev", "debug_str", "debug_ranges", "debug_line", "debug_addr",
    "debug_str_offsets", "debug_line_str", "debug_rnglists", "debug_loclists", "debug_frame", "eh_frame", "debug_loc",
    "debug_pubtypes", "debug_pubnames", "debug_sup", "gnu_debugaltlink", "debug_types",
)  # fmt: skip
Spot = tuple[str, str, int]


def described(path: Path) -> dict[int, list[Spot]]:
    """Return (name, file, line) of the functions at each address that a function covers, innermost first."""
    info = _opened(path)
    result: dict[int, list[Spot]] = {}
    for unit in info.iter_CUs():
        rows = _rows(info, unit)
        for die in unit.get_top_DIE().iter_children():
            if die.tag == "DW_TAG_subprogram":
                for start, end in _ranges(info, die):
                    for address in range(start, end):
                        result[address] = _chain(info, unit, die, address, rows)
    return result


def _chain(
    info: DWARFInfo, unit: Any, die: Any, address: int, rows: dict[int, tuple[str, int]]
) -> list[Spot]:
    """Return the functions around an address, from the one of an entry inwards, in the other order."""
    names, spots = [_name(die)], []
    while (inner := next(_inlined(info, die, address), None)) is not None:
        call = inner.attributes
        spots.append((_path(info, unit, call["DW_AT_call_file"].value), call["DW_AT_call_line"].value))
        names.append(_name(inner))
        die = inner
    spots.append(rows.get(address, ("", -1)))
    return [(name, *spot) for name, spot in zip(reversed(names), reversed(spots), strict=True)]


def _inlined(info: DWARFInfo, die: Any, address: int) -> Iterator[Any]:
    for child in die.iter_children():
        if child.tag == "DW_TAG_inlined_subroutine":
            if any(start <= address < end for start, end in _ranges(info, child)):
                yield child
        elif child.tag == "DW_TAG_lexical_block":
            yield from _inlined(info, child, address)


def _name(die: Any) -> str:
    while True:
        for attribute in ("DW_AT_linkage_name", "DW_AT_name"):
            if attribute in die.attributes:
                name = die.attributes[attribute].value.decode()
                return f"_{name}" if attribute == "DW_AT_name" else name
        is_copy = "DW_AT_abstract_origin" in die.attributes
        die = die.get_DIE_from_attribute("DW_AT_abstract_origin" if is_copy else "DW_AT_specification")


def _ranges(info: DWARFInfo, die: Any) -> list[tuple[int, int]]:
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes:
        start, end = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        return [(start, end.value if end.form == "DW_FORM_addr" else start + end.value)]
    if "DW_AT_ranges" not in attributes:
        return []
    base = die.cu.get_top_DIE().attributes["DW_AT_low_pc"].value
    result = []
    for entry in info.range_lists().get_range_list_at_offset(attributes["DW_AT_ranges"].value, die.cu):
        if isinstance(entry, BaseAddressEntry):
            base = entry.base_address
        else:
            start = 0 if entry.is_absolute else base
            result.append((start + entry.begin_offset, start + entry.end_offset))
    return result


def _rows(info: DWARFInfo, unit: Any) -> dict[int, tuple[str, int]]:
    """Return file and line of each address."""
    states = [entry.state for entry in info.line_program_for_CU(unit).get_entries() if entry.state]
    return {
        address: (_path(info, unit, state.file), state.line)
        for state, following in pairwise(states)
        if not state.end_sequence
        for address in range(state.address, following.address)
    }


def _path(info: DWARFInfo, unit: Any, number: int) -> str:
    header = info.line_program_for_CU(unit).header
    counts_from = 0 if header["version"] >= 5 else 1
    entry = header["file_entry"][number - counts_from]
    folders = [folder.decode() for folder in header["include_directory"]]
    if counts_from:
        folders.insert(0, unit.get_top_DIE().attributes["DW_AT_comp_dir"].value.decode())
    return str(Path(folders[0], folders[entry["dir_index"]], entry["name"].decode()))


def _opened(path: Path) -> DWARFInfo:
    (build,) = read_builds(path, WorkBudget())
    parts = {section.name: section for section in build.sections}
    sections: dict[str, DebugSectionDescriptor | None] = {}
    for name in _SECTIONS:
        part = parts.get(f"__{name}"[:16])
        data = build.read_bytes(part.offset, part.size) if part else b""
        described_section = (
            DebugSectionDescriptor(io.BytesIO(data), name, None, len(data), 0) if data else None
        )
        sections[f"{name}_sec"] = described_section
    return DWARFInfo(
        DwarfConfig(little_endian=True, machine_arch="AArch64", default_address_size=8), **sections
    )
