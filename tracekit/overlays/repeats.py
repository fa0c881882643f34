"""Rows of a text that repeat those of an earlier text: they count once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import POWER_RAILS
from tracekit.model.tables import Table
from tracekit.overlays.row_spans import read_spans


def mark_repeated_rows(table: Table, earlier: Iterable[Table]) -> BoolArray:
    """Mark all rows of a table that equals an earlier one, and power samples that overlap an earlier table's.

    Two tools estimate the same power: joined, their samples would follow one another at half the interval.
    """
    repeated: BoolArray = np.zeros(len(table), bool)
    for other in earlier:
        if other.schema != table.schema or not len(other) or not len(table):
            continue
        if _is_equal_table(table, other):
            repeated[:] = True
        elif table.schema == POWER_RAILS:
            repeated |= _mark_overlapping(table, other)
    return repeated


def _is_equal_table(table: Table, other: Table) -> bool:
    entities = ((table.threads, other.threads), (table.processes, other.processes))
    return table.rows.equals(other.rows) and all(these.equals(those) for these, those in entities)


def _mark_overlapping(table: Table, other: Table) -> BoolArray:
    """Mark the samples that share time with one of the other table, on any rail."""
    starts, ends = read_spans(table)
    other_starts, other_ends = _merge_spans(*read_spans(other))
    # Only the first of the other spans that ends later can have begun before.
    place = np.searchsorted(other_ends, starts, "right")
    overlapping: BoolArray = np.append(other_starts, np.iinfo(np.int64).max)[place] < ends
    return overlapping


def _merge_spans(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return the spans in order; spans that overlap or touch become one."""
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    span_rows = np.append(0, np.flatnonzero(starts[1:] > reach[:-1]) + 1)
    return starts[span_rows], reach[np.append(span_rows[1:] - 1, len(reach) - 1)]
