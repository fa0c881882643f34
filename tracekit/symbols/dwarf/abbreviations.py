"""Abbreviations: the attributes that an entry has, as a layout by which entries are passed over.

    DW_FORM_strp DW_FORM_data1 DW_FORM_exprloc DW_FORM_ref4 DW_FORM_flag_present
    └────────── 5 bytes ─────┘ └── a block ──┘ └─────────── 4 bytes ───────────┘

What lies between two values of variable size is one part, so a million attributes without bytes cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tracekit.symbols.dwarf.forms import ADDR, ADDRX_FORMS, IMPLICIT_CONST, UnitEncoding, read_sleb, read_uleb
from tracekit.symbols.work_budget import WorkBudget

SUBPROGRAM, INLINED_SUBROUTINE = 0x2E, 0x1D
NAME, STMT_LIST, LOW_PC, HIGH_PC, COMP_DIR, ABSTRACT_ORIGIN, SPECIFICATION = (
    0x03, 0x10, 0x11, 0x12, 0x1B, 0x31, 0x47,
)  # fmt: skip
RANGES, CALL_FILE, CALL_LINE, LINKAGE_NAME, MIPS_LINKAGE_NAME = 0x55, 0x58, 0x59, 0x6E, 0x2007
STR_OFFSETS_BASE, ADDR_BASE, RNGLISTS_BASE = 0x72, 0x73, 0x74
# fmt: off
_USED = frozenset((
    NAME, STMT_LIST, LOW_PC, HIGH_PC, COMP_DIR, ABSTRACT_ORIGIN, SPECIFICATION, RANGES, CALL_FILE, CALL_LINE,
    LINKAGE_NAME, MIPS_LINKAGE_NAME, STR_OFFSETS_BASE, ADDR_BASE, RNGLISTS_BASE,
))
# fmt: on
_STEPS_PER_LAYOUT, _STEPS_PER_ATTRIBUTE = 40, 2
"""A layout is a dozen objects, and half a kilobyte."""


class AttributeField(NamedTuple):
    """One attribute: its part, the distance in it, its form, and the value of the abbreviation itself."""

    part: int
    distance: int
    form: int
    constant: int


class Bounds(NamedTuple):
    """The places of first and last address in an entry that begins with parts of fixed size."""

    low: int
    high: int
    high_bytes: int
    is_address: bool


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """The entries of one abbreviation. ``size`` is -1 where it varies; ``steps`` is what one costs."""

    tag: int
    has_children: bool
    parts: tuple[int, ...]
    fields: dict[int, AttributeField]
    size: int
    steps: int
    is_scope: bool
    """True for a function or an inlined one with addresses."""
    bounds: Bounds | None

    def find_starts(self, encoding: UnitEncoding, data: bytes, position: int) -> list[int]:
        """Return the position of each part of an entry, and its end."""
        starts = [position]
        for part in self.parts:
            position = position + part if part >= 0 else encoding.skip(part, data, position)
            starts.append(position)
        return starts

    def skip(self, encoding: UnitEncoding, data: bytes, position: int) -> int:
        """Return the end of an entry."""
        for part in self.parts:
            position = position + part if part >= 0 else encoding.skip(part, data, position)
        return position


def read_layouts(data: bytes, encoding: UnitEncoding, budget: WorkBudget) -> dict[int, EntryLayout]:
    """Return the layouts of a table of abbreviations by their codes."""
    layouts: dict[int, EntryLayout] = {}
    position = 0
    while position < len(data):
        code, position = read_uleb(data, position)
        if not code:
            break
        budget.spend(_STEPS_PER_LAYOUT)
        tag, position = read_uleb(data, position)
        has_children = bool(data[position])
        layouts[code], position = _read_layout(tag, has_children, data, position + 1, encoding, budget)
    return layouts


def _read_layout(
    tag: int, has_children: bool, data: bytes, position: int, encoding: UnitEncoding, budget: WorkBudget
) -> tuple[EntryLayout, int]:
    """Return a layout from its list of attributes, and the end of the list."""
    parts: list[int] = []
    fields: dict[int, AttributeField] = {}
    while True:
        budget.spend(_STEPS_PER_ATTRIBUTE)
        attribute, position = read_uleb(data, position)
        form, position = read_uleb(data, position)
        constant = 0
        if form == IMPLICIT_CONST:
            constant, position = read_sleb(data, position)
        if not attribute and not form:
            break
        part = encoding.get_part(form)
        starts_part = part < 0 or not parts or parts[-1] < 0
        if starts_part:
            parts.append(part)
        if attribute in _USED and attribute not in fields:
            distance = 0 if starts_part else parts[-1]
            fields[attribute] = AttributeField(len(parts) - 1, distance, form, constant)
        if not starts_part:
            parts[-1] += part
    size = sum(parts) if all(part >= 0 for part in parts) else -1
    is_scope = tag in (SUBPROGRAM, INLINED_SUBROUTINE) and not {LOW_PC, RANGES}.isdisjoint(fields)
    bounds = _find_bounds(fields, encoding) if is_scope else None
    steps = 1 + sum(part < 0 for part in parts)
    return EntryLayout(tag, has_children, tuple(parts), fields, size, steps, is_scope, bounds), position


def _find_bounds(fields: dict[int, AttributeField], encoding: UnitEncoding) -> Bounds | None:
    low, high = fields.get(LOW_PC), fields.get(HIGH_PC)
    if low is None or high is None or low.part or high.part or low.form != ADDR or high.form in ADDRX_FORMS:
        return None
    size = encoding.get_part(high.form)
    return Bounds(low.distance, high.distance, size, high.form == ADDR) if size > 0 else None
