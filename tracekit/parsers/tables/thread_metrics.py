"""Metrics that Instruments sums up per thread (CPU Counters' guided modes, Xcode 26) → ``Trace.metrics``.

No export of this table was available: its columns are named by a public reader. Every interval appears twice
in it, precise and in imprecise buckets of 10 ms, so only one of the two may be summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from tracekit.model.columns import METRICS
from tracekit.model.schemas import THREAD_METRICS
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter
from tracekit.parsers.tables.column_values import (
    Mask,
    extract_entity_numbers,
    extract_numbers,
    extract_pids,
    extract_texts,
    find_column,
    join_rows,
)
from tracekit.parsers.tables.row_times import read_times

_MAX_VALUE = 2.0**62


def read_metrics(tables: Callable[[str], Iterable[Table]]) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the rows of ``MetricAggregationForThread``: the precise ones, else all of them.

    An unknown end is ``row_times.OPEN_NS``.
    """
    findings = IssueCounter()
    read = [_read_rows(table, findings) for table in tables(THREAD_METRICS)]
    if any(precise.any() for _, precise in read):
        imprecise = sum(int((~precise).sum()) for _, precise in read)
        text = f"{{n}} imprecise rows of '{THREAD_METRICS}' repeat the precise ones and were left out"
        findings.add("info", "metrics-imprecise", text, imprecise)
        read = [(frame[precise], precise) for frame, precise in read]
    frames = [frame for frame, _ in read]
    return METRICS.check(join_rows(frames, METRICS), "metrics"), findings.issues()


def _read_rows(table: Table, findings: IssueCounter) -> tuple[pd.DataFrame, Mask]:
    """Return the rows, and which of them are precise."""
    spans = read_times(table, findings)
    table = spans.table
    # A value is in one of two columns, an integer or a fixed-point number; the other one is null or 0.
    whole, has_integer = extract_numbers(table, *_list_columns(table, "uint64"))
    fraction = find_column(table, _list_columns(table, "fixed-decimal"))
    values = np.where(has_integer, whole, np.nan).astype(np.float64)
    if fraction is not None and fraction.kind in ("int", "float"):
        decimal = table.rows[fraction.mnemonic].to_numpy(np.float64, na_value=np.nan)
        values = np.where(
            (~has_integer | (whole == 0)) & np.isfinite(decimal) & (decimal != 0), decimal, values
        )
    values = np.where((values >= 0) & (values < _MAX_VALUE), values, np.nan)
    text = f"{{n}} rows of '{table.schema}' have no valid count and were left out"
    findings.add("warning", "metrics-without-value", text, int(np.isnan(values).sum()))
    # A boolean is 1 and 0 in some exports, and the words Yes and No in others.
    precise, has_number = extract_numbers(table, *_list_columns(table, "boolean", "is-precise"))
    words = extract_texts(table, *_list_columns(table, "boolean", "is-precise"))
    frame = pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "name": extract_texts(table, *_list_columns(table, "string", "metric-name")).to_category(),
            "value": values,
            "tid": extract_entity_numbers(table, "thread", "tid", "thread"),
            "pid": extract_pids(table),
        }
    )
    is_precise = (has_number & (precise != 0)) | words.compute(lambda word: word in ("Yes", "true"), np.bool_)
    has_value = np.isfinite(values)
    return frame[has_value].reset_index(drop=True), is_precise[has_value]


def _list_columns(table: Table, engineering_type: str, mnemonic: str = "") -> tuple[str, ...]:
    """Return the column of that mnemonic, then those of that type."""
    return (
        mnemonic or engineering_type,
        *(column.mnemonic for column in table.columns if column.engineering_type == engineering_type),
    )
