"""States of each thread → ``Trace.thread_states``: Running, Blocked, Runnable, as the kernel reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from tracekit.model.columns import THREAD_STATES
from tracekit.model.schemas import THREAD_STATE
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter
from tracekit.parsers.tables.column_values import (
    extract_entity_numbers,
    extract_pids,
    extract_small_numbers,
    extract_texts,
    join_rows,
)
from tracekit.parsers.tables.row_times import read_times


def read_thread_states(
    tables: Callable[[str], Iterable[Table]],
) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the rows of ``thread-state``. An unknown end is ``row_times.OPEN_NS``."""
    findings = IssueCounter()
    frames = [_read_states(table, findings) for table in tables(THREAD_STATE)]
    return THREAD_STATES.check(join_rows(frames, THREAD_STATES), "thread states"), findings.issues()


def _read_states(table: Table, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, findings)
    table = spans.table
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "state": extract_texts(table, "state", "thread-state").to_category(),
            "core": extract_small_numbers(table, "core", missing=-1),
            "tid": extract_entity_numbers(table, "thread", "tid", "thread"),
            "pid": extract_pids(table),
        }
    )
