"""The tokens that Foundation Models reports of requests (Instruments of Xcode 27) → ``Trace.model_requests``.

The names and types of the table's columns are those of a public export; its rows were made by hand
(sforteln/xctrace-query-mcp-server), so that texts of other forms than digits are taken for unknown. Prompts
and answers are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from tracekit.model.columns import MODEL_REQUESTS
from tracekit.model.schemas import MODEL_INFERENCE
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter, TraceInfo
from tracekit.parsers.tables.column_values import extract_texts, join_rows
from tracekit.parsers.tables.interval_frames import extract_pids_or_target
from tracekit.parsers.tables.row_times import OPEN_NS, read_times

_COUNTS = {
    **{f"{name}_tokens": f"{name}-tokens" for name in ("prompt", "cached", "response", "total")},
    "errors": "error-count",
}
"""The columns with counts, and what the table calls them."""
_MOST_DIGITS = 9
_UNKNOWN = -1


def read_model_requests(
    tables: Callable[[str], Iterable[Table]], info: TraceInfo
) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return a row per request; an unknown end is ``row_times.OPEN_NS``.

    ``info`` names the process of the table, which has no column for it. Issue: ``token-count-unreadable``.
    """
    findings = IssueCounter()
    target = -1 if info.pid is None else info.pid
    frames = [_read_rows(table, target, findings) for table in tables(MODEL_INFERENCE)]
    return MODEL_REQUESTS.check(join_rows(frames, MODEL_REQUESTS), "model_requests"), findings.issues()


def _read_rows(table: Table, target: int, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, IssueCounter())  # the intervals of the same rows have reported their issues
    table = spans.table
    columns = {name: extract_texts(table, recorded) for name, recorded in _COUNTS.items()}
    counts = {name: texts.compute(_parse_count, np.int64) for name, texts in columns.items()}
    unreadable = sum(
        int((texts.compute(bool, np.bool_) & (counts[name] == _UNKNOWN)).sum())
        for name, texts in columns.items()
    )
    text = f"counts in '{table.schema}' that are not digits count as unknown: {{n}}"
    findings.add("info", "token-count-unreadable", text, unreadable)
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "request": extract_texts(table, "model-request-id").to_strings(),
            "model": extract_texts(table, "model-information").to_category(),
            "pid": extract_pids_or_target(table, target),
            **counts,
            "cut": spans.end_ns >= OPEN_NS,
        }
    )


def _parse_count(word: str) -> int:
    is_count = word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS
    return int(word) if is_count else _UNKNOWN
