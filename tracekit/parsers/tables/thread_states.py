"""States of each thread → ``Trace.thread_states``: Running, Blocked, Runnable, as the kernel reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from tracekit.model.columns import THREAD_STATES
from tracekit.model.schemas import THREAD_STATE
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter
from tracekit.parsers.tables.column_values import (
    concat_rows,
    entity_numbers,
    pids_of,
    small_numbers_of,
    texts_of,
)
from tracekit.parsers.tables.row_times import read_times


def read_thread_states(
    tables: Callable[[str], Iterable[Table]],
) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the rows of ``thread-state``. An unknown end is ``row_times.OPEN_NS``."""
    findings = IssueCounter()
    frames = [_states(table, findings) for table in tables(THREAD_STATE)]
    return THREAD_STATES.check(concat_rows(frames, THREAD_STATES), "thread states"), findings.issues()


def _states(table: Table, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, findings)
    table = spans.table
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "state": texts_of(table, "state", "thread-state").category(),
            "core": small_numbers_of(table, "core", missing=-1),
            "tid": entity_numbers(table, "thread", "tid", "thread"),
            "pid": pids_of(table),
        }
    )
