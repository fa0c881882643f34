"""The columns of a stored table: how each is shown, and which of them hold a row's time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import IntArray
from tracekit.model.tables import Column, Table
from tracekit.model.trace import IssueCounter
from tracekit.parsers.tables.column_values import extract_numbers
from tracekit.parsers.tables.row_times import read_times

_TIMES = frozenset({"sample-time", "start-time", "event-time"})
_DURATIONS = frozenset({"duration", "duration-on-core", "duration-waiting", "weight"})
_SIZES = frozenset({"size-in-bytes", "network-size-in-bytes", "disk-size-in-bytes"})
_RATES = frozenset({"size-in-bytes-per-second", "network-size-in-bytes-per-second"})
_PERCENT = frozenset({"percent", "cpu-percent-loads", "system-cpu-percent"})
_UNITS = {"cycle-weight": "cycles", "fps": "1/s", "events-per-second": "1/s", "size-in-pages": "pages"}
_HEX = """address connection-uuid64 kdebug-arg mach-port metal-command-buffer-id os-signpost-identifier
packed-identifier syscall-arg uint64-hex-lowercase vnode"""
_NAMES = "pid tid core fd process-uid process-gid layout-id kdebug-class kdebug-code"
"""Numbers that count nothing: a line of their values would mean nothing."""
_LENGTHS = ("period",)
OPEN_NS = 2**62


@dataclass(frozen=True)
class ShownColumn:
    """A column as the pages show it.

    ``shape`` is "time", "duration", "size", "number", "hex", "boolean" or "text"; ``unit`` stands in the
    heading. ``is_value`` is True for a number that can be drawn as a line.
    """

    name: str
    title: str
    engineering_type: str
    kind: str
    shape: str
    unit: str
    is_value: bool


def describe_column(column: Column, cells: pd.Series[Any]) -> ShownColumn:
    """Return how a column with these cells is shown."""
    shape, unit = _choose_shape(column)
    if shape == "duration":
        unit = _choose_duration_unit(cells)
    name, title = column.mnemonic, column.title or column.mnemonic
    is_value = column.kind in ("int", "float") and shape in ("duration", "size", "number")
    return ShownColumn(
        name,
        title,
        column.engineering_type,
        column.kind,
        shape,
        unit,
        is_value and column.engineering_type not in _NAMES.split(),
    )


def _choose_shape(column: Column) -> tuple[str, str]:
    if column.kind not in ("int", "float"):
        return "text", ""
    kind = column.engineering_type
    if kind in _TIMES:
        return "time", "s"
    if kind in _DURATIONS:
        return "duration", "ns"
    if kind in _SIZES or kind in _RATES:
        return "size", "B/s" if kind in _RATES else "B"
    if kind in _HEX.split() or kind == "boolean":
        return ("boolean" if kind == "boolean" else "hex"), ""
    return "number", "%" if kind in _PERCENT else _UNITS.get(kind, "")


def _choose_duration_unit(cells: pd.Series[Any]) -> str:
    """Return the unit in which a usual duration of the column has one to three digits before the point."""
    lengths = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    lengths = np.abs(lengths[np.isfinite(lengths) & (lengths != 0) & (np.abs(lengths) < OPEN_NS)])
    usual = float(np.median(lengths)) if len(lengths) else 0
    units = (("s", 1e9), ("ms", 1e6), ("µs", 1e3))
    return next((unit for unit, size in units if usual >= size), "ns")


@dataclass(frozen=True)
class RowSpans:
    """Start and end of each row; ``has_start`` is False for a row without a time.

    ``is_timed`` is True if rows have a length, else each is a moment. ``notes`` are the doubts about them.
    """

    start_ns: IntArray
    end_ns: IntArray
    has_start: npt.NDArray[np.bool_]
    is_timed: bool
    notes: tuple[str, ...]


def find_row_spans(table: Table) -> RowSpans:
    """Return the rows' spans by the rules of the analysis (``read_times``), with every row in its place.

    An interval that was open at the end of the recording ends at ``OPEN_NS``.
    """
    counter = IssueCounter()
    read = read_times(table, counter)
    rows: npt.NDArray[Any] = read.table.rows.index.to_numpy()
    start, end = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
    has_start = np.zeros(len(table), np.bool_)
    start[rows], end[rows], has_start[rows] = read.start_ns, read.end_ns, True
    is_timed = read.timed
    if not is_timed and (name := _find_length_column(table)) and has_start.any():
        # A table without "duration" may have its rows' length under another name: of Core Animation's frames
        # it is "period", of Core Data's faults "fault-duration".
        length, measured = extract_numbers(table, name)
        is_timed = True
        end = start + np.where(measured & (length > 0) & (length < OPEN_NS), length, 0)
    notes = tuple(issue.message for issue in counter.issues()) if has_start.any() else ()
    return RowSpans(start, end, has_start, is_timed, notes)


def _find_length_column(table: Table) -> str:
    names = (c.mnemonic for c in table.columns if c.engineering_type == "duration")
    return next((name for name in names if name in _LENGTHS or name.endswith("-duration")), "")
