"""The values of an export: an id-indexed value store plus an int matrix of cell ids.

An export writes a value once, with a document-wide ``id``, and afterwards only ``<tag ref="id"/>``. Ids are
dense from 1 in document order and refs only point backward (counted over 206,000 refs of real exports), so a
document *is* this store plus, per table, a matrix of ids in which 0 is ``<sentinel/>`` (null).
A column is then one vectorised take. Any reader that fills these arrays serves every schema.

A *slot* is a position in the store. It equals the id in every document that ``xctrace`` writes; documents
that other tools have re-serialised or stripped of ids get slots in document order.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray

SENTINEL = 0

Rows: TypeAlias = npt.NDArray[np.int32]
Slots: TypeAlias = "npt.NDArray[np.int32] | npt.NDArray[np.int64]"


class ValueForm(IntEnum):
    """The meaning of a slot's number in ``ValueStore.value``."""

    NONE = 0
    """No text: a frame, a binary, or an empty element."""
    INT = 1
    """A number from 0 to 2^64-1 in canonical decimal form."""
    NEGATIVE = 2
    """A number from -2^63 to -1, in two's complement."""
    TEXT = 3
    """A row of ``strings``."""
    CHILDREN = 4
    """Elements: the position of the first in ``children``, shifted by 32 bits, and how many there are."""


class DamagedCellError(ValueError):
    """A cell that does not fit its column; ``slot`` is the cell's, or that of an element inside it."""

    def __init__(self, slot: int, message: str) -> None:
        super().__init__(message)
        self.slot = slot


@frozen
class FmtColumns:
    """The ``fmt`` of every element where it was kept, in slot order; ``fmt`` is a row of ``strings``."""

    slot: Rows
    fmt: Rows


@frozen
class FrameColumns:
    """The attributes of every ``<frame>``, in slot order. ``name`` and so on are rows of ``strings``."""

    slot: Rows
    name: Rows
    address: npt.NDArray[np.uint64]
    inlined: npt.NDArray[np.bool_]
    source_line: Rows  # -1 = none
    source_path: Rows  # slot, 0 = none
    binary: Rows  # slot, 0 = none


@frozen
class BinaryColumns:
    """The attributes of every ``<binary>``, in slot order, as rows of ``strings``."""

    slot: Rows
    name: Rows
    path: Rows
    uuid: Rows
    arch: Rows
    load_address: npt.NDArray[np.uint64]


@frozen
class ValueStore:
    """Every value of one document. Arrays are indexed by slot; slot 0 is the sentinel.

    A ``fmt`` is kept only for tags in ``FMT_TAGS`` and ``STACK_FMT_TAGS``: elsewhere it repeats the value in
    the locale of the recording Mac.
    """

    tags: tuple[str, ...]
    strings: tuple[str, ...]
    tag: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
    form: npt.NDArray[np.uint8]
    value: npt.NDArray[np.uint64]
    fmts: FmtColumns
    children: Rows
    frames: FrameColumns
    binaries: BinaryColumns

    def get_tag_code(self, tag: str) -> int:
        """Return the code of ``tag``, or -1 when the document has no such element."""
        return self.tags.index(tag) if tag in self.tags else -1

    def count_children(self, slots: Slots) -> IntArray:
        """Return the number of children of each of ``slots``; for frames 0."""
        has_any = self.form[slots] == ValueForm.CHILDREN
        return np.where(has_any, self.value[slots] & np.uint64(0xFFFFFFFF), 0).astype(np.int64)

    def find_child_starts(self, slots: Slots) -> IntArray:
        """Return the index in ``children`` of each slot's first child; 0 without children."""
        has_any = self.form[slots] == ValueForm.CHILDREN
        return np.where(has_any, self.value[slots] >> np.uint64(32), 0).astype(np.int64)

    def find_children(self, slots: Slots) -> tuple[IntArray, Rows]:
        """Return (position in ``slots``, child slot) for every child of ``slots``, in order."""
        return np.repeat(np.arange(len(slots)), self.count_children(slots)), self.join_children(slots)

    def join_children(self, slots: Slots) -> Rows:
        """Return the children of the first of ``slots``, then those of the second, and so on."""
        slots = slots[self.form[slots] == ValueForm.CHILDREN]
        counts = self.count_children(slots)
        starts = (self.value[slots] >> np.uint64(32)).astype(np.int64)
        # Children of successive slots mostly lie side by side, so few slices cover them all:
        #   children  | of slot 5 | of slot 6 | … | of slot 9 |
        #   slices    |------------------------|   |----------|
        breaks = np.flatnonzero(starts[1:] != starts[:-1] + counts[:-1]) + 1
        run_starts, run_ends = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(slots)]]) - 1
        if not len(slots):
            return self.children[:0]
        runs = zip(starts[run_starts].tolist(), (starts[run_ends] + counts[run_ends]).tolist(), strict=True)
        return np.concatenate([self.children[start:end] for start, end in runs])

    def list_child_slots(self, slot: int) -> list[int]:
        """Return the children of one slot."""
        start, count = divmod(int(self.value[slot]), 2**32)
        return self.children[start : start + count].tolist() if self.form[slot] == ValueForm.CHILDREN else []

    def map_rows(self, slots: Slots, rows: Rows | None = None) -> Rows:
        """Return a map from every slot to its row, or position, among ``slots``; -1 for others."""
        row_of = np.full(len(self.tag), -1, np.int32)
        row_of[slots] = np.arange(len(slots), dtype=np.int32) if rows is None else rows
        return row_of

    def get_text(self, slot: int) -> str:
        """Return the text of an element; "" for none."""
        form = self.form[slot]
        if form == ValueForm.TEXT:
            return self.strings[int(self.value[slot])]
        return str(self.get_number(slot)) if form in (ValueForm.INT, ValueForm.NEGATIVE) else ""

    def get_number(self, slot: int) -> int:
        """Return the number of an element, exact; 0 when it has none."""
        form = self.form[slot]
        if form == ValueForm.INT:
            return int(self.value[slot])
        return int(self.value[slot].astype(np.int64)) if form == ValueForm.NEGATIVE else 0

    def get_fmt(self, slot: int) -> str:
        """Return the kept ``fmt``, or ""."""
        # An int32 like the column: to search for another type, numpy would copy the column.
        row = int(np.searchsorted(self.fmts.slot, np.int32(slot)))
        is_kept = row < len(self.fmts.slot) and self.fmts.slot[row] == slot
        return self.strings[self.fmts.fmt[row]] if is_kept else ""

    def get_fmts(self, slots: Slots) -> list[str]:
        """Return the kept ``fmt`` of each slot, or ""."""
        kept, fmts = np.append(self.fmts.slot, -1), np.append(self.fmts.fmt, -1)
        rows = np.searchsorted(self.fmts.slot, slots)
        texts = np.where(kept[rows] == slots, fmts[rows], -1).tolist()
        return [self.strings[text] if text >= 0 else "" for text in texts]


FMT_TAGS = frozenset({"core", "thread", "process"})
"""Tags whose ``fmt`` is the only carrier: names of threads and processes, the kind of a core."""

STACK_FMT_TAGS = frozenset({"backtrace", "tagged-backtrace"})
"""The same, unless the first child is a frame or a backtrace: ``fmt`` names the leaf of mere addresses."""


@frozen
class ColumnDefinition:
    """One ``<col>`` of a ``<schema>``."""

    mnemonic: str
    title: str
    engineering_type: str


@frozen
class Schema:
    """A ``<schema>`` element."""

    name: str
    columns: tuple[ColumnDefinition, ...]


@frozen
class TableNode:
    """One ``<node>`` of a query result: a table's rows as a matrix of slots, one line per row."""

    schema: Schema
    run: int
    index: int  # position in the table of contents, 0 = unknown
    cells: npt.NDArray[np.int32]


@frozen
class QueryResult:
    """One ``<trace-query-result>`` document."""

    store: ValueStore
    nodes: tuple[TableNode, ...]


def make_array(values: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a numpy copy of an ``array.array`` in another dtype, empty ones included."""
    return np.array(values, dtype=dtype) if len(values) else np.zeros(0, dtype)
