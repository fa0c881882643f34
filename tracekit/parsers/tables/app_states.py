"""States of an app, in the foreground or not → intervals of ``Trace.signposts``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from tracekit.model.columns import SIGNPOSTS
from tracekit.model.schemas import LIFE_CYCLE
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter
from tracekit.parsers.tables.column_values import TextColumn, extract_pids, extract_texts, join_rows
from tracekit.parsers.tables.row_times import read_times

_CATEGORY = "App state"


def read_app_states(
    tables: Callable[[str], Iterable[Table]],
) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return a row of ``SIGNPOSTS`` per period. An unknown end is ``row_times.OPEN_NS``."""
    findings = IssueCounter()
    frames = [_read_periods(table, findings) for table in tables(LIFE_CYCLE)]
    return SIGNPOSTS.check(join_rows(frames, SIGNPOSTS), "app states"), findings.issues()


def _read_periods(table: Table, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, findings)
    table = spans.table
    rows = len(table)
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "kind": TextColumn.repeat("interval", rows).to_category(),
            "name": extract_texts(table, "period").to_category(),
            "subsystem": TextColumn.repeat("", rows).to_category(),
            "category": TextColumn.repeat(_CATEGORY, rows).to_category(),
            "identifier": np.zeros(rows, np.uint64),
            "pid": extract_pids(table),
            "tid": np.full(rows, -1, np.int64),
            "message": extract_texts(table, "narrative").to_strings(),
            "source": TextColumn.repeat(table.schema, rows).to_category(),
        }
    )
