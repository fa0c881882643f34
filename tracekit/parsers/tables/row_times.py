"""Start and end of a table's rows, repaired where the recording damaged them.

An interval may have no start, no duration or 2^64-1 of it (it was open when the recording stopped), or an end
before its start. Such rows are kept where they are still meaningful, and always counted in an issue.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.schemas import METAL_COMPLETIONS, METAL_SUBMISSIONS
from tracekit.model.tables import Column, Table
from tracekit.model.trace import IssueCounter
from tracekit.parsers.tables.column_values import extract_numbers, number_rows

OPEN_NS = 2**62
"""The end of an interval that was never closed, until ``close_open_ends`` replaces it: 146 years in ns."""

_START = ("start", "time", "timestamp", "start-time")
_END = ("end", "end-time")
_MOMENTS = (METAL_COMPLETIONS, METAL_SUBMISSIONS)
_TIME_TYPES = ("start-time", "event-time", "sample-time")


@frozen
class RowTimes:
    """``table`` without the rows that have no start; ``timed`` is False where the table has no ends."""

    table: Table
    start_ns: IntArray
    end_ns: IntArray
    timed: bool


def is_time(column: Column) -> bool:
    """Return True for a column of moments since the start of the run."""
    return column.mnemonic in (*_START, *_END) or column.engineering_type in _TIME_TYPES


def read_times(table: Table, findings: IssueCounter) -> RowTimes:
    """Return the rows' spans; an unknown end is ``OPEN_NS``, see ``close_open_ends``.

    Issues: ``interval-without-start`` (the row is dropped), ``interval-open``, ``interval-backwards``.
    """
    schema = table.schema
    names = {column.mnemonic for column in table.columns}
    by_type = tuple(c.mnemonic for c in table.columns if c.engineering_type in _TIME_TYPES)
    start, has_start = extract_numbers(table, *_START, *by_type)
    # Times beyond 2^62 ns leave no room to add a duration within 64 bits, and no recording lasts 146 years.
    has_start = has_start & (start < OPEN_NS) & (start > -OPEN_NS)
    text = f"{{n}} rows of '{schema}' have no start and were left out"
    findings.add("warning", "interval-without-start", text, int((~has_start).sum()))
    if not has_start.all():
        table, start = replace(table, rows=table.rows[has_start]), start[has_start]
    # Without columns of durations or ends every row is a moment. Only a table with a "start" promises an end.
    timed = not names.isdisjoint(("duration", *_END))
    if not timed:
        text = f"{{n}} rows of '{schema}' have a start and no duration: they count as moments"
        count = len(start) if _START[0] in names and schema not in _MOMENTS else 0
        findings.add("warning", "interval-without-duration", text, count)
        return RowTimes(table, start, start, timed)
    # A duration decides, then an end; a row with neither is open. 2^64-1, which Instruments writes for an
    # interval that was open at the end of the run, is cut to int64 and counts as no duration.
    duration, measured = extract_numbers(table, "duration")
    end, has_end = extract_numbers(table, *_END)
    measured = measured & (duration < OPEN_NS)
    ends = start + np.where(measured, np.maximum(duration, 0), 0)
    ends = np.where(measured, ends, np.where(has_end, end, OPEN_NS))
    backwards = (measured & (duration < 0)) | (has_end & (end < start))
    ends = np.minimum(np.where(backwards, start, ends), OPEN_NS)
    text = f"{{n}} rows of '{schema}' end before they start; they count as moments without length"
    findings.add("warning", "interval-backwards", text, int(backwards.sum()))
    text = f"{{n}} rows of '{schema}' have no end; they continue to the end of the recording"
    findings.add("warning", "interval-open", text, int((ends == OPEN_NS).sum()))
    return RowTimes(table, start, ends, timed)


def without_spans(table: Table, start_ns: IntArray, end_ns: IntArray) -> Table:
    """Return the table without the rows that have one of these spans of start and end."""
    spans = read_times(table, IssueCounter())
    keys = number_rows([np.append(spans.start_ns, start_ns), np.append(spans.end_ns, end_ns)])
    is_dropped = np.isin(keys[: len(spans.table)], keys[len(spans.table) :])
    return replace(table, rows=table.rows.drop(index=spans.table.rows.index[is_dropped]))


def close_open_ends(frame: pd.DataFrame, end_ns: int) -> pd.DataFrame:
    """Return the frame with its open spans closed at ``end_ns``, or at their start if that is later."""
    ends = frame["end_ns"].to_numpy(np.int64)
    opened = ends >= OPEN_NS
    if not opened.any():
        return frame
    closed = np.maximum(frame["start_ns"].to_numpy(np.int64), end_ns)
    return frame.assign(end_ns=np.where(opened, closed, ends))


def find_last_time(frame: pd.DataFrame) -> int:
    """Return the latest known time in the frame; 0 without rows."""
    if not len(frame):
        return 0
    ends = frame["end_ns"].to_numpy(np.int64)
    closed = ends[ends < OPEN_NS]
    return max(int(frame["start_ns"].max()), int(closed.max()) if len(closed) else 0)
