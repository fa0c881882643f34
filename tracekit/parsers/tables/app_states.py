"""States of an app, in the foreground or not → intervals of ``Trace.signposts``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from tracekit.model.columns import SIGNPOSTS
from tracekit.model.schemas import LIFE_CYCLE
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter
from tracekit.parsers.tables.column_values import Texts, concat_rows, pids_of, texts_of
from tracekit.parsers.tables.row_times import read_times

_CATEGORY = "App state"


def read_app_states(
    tables: Callable[[str], Iterable[Table]],
) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return a row of ``SIGNPOSTS`` per period. An unknown end is ``row_times.OPEN_NS``."""
    findings = IssueCounter()
    frames = [_periods(table, findings) for table in tables(LIFE_CYCLE)]
    return SIGNPOSTS.check(concat_rows(frames, SIGNPOSTS), "app states"), findings.issues()


def _periods(table: Table, findings: IssueCounter) -> pd.DataFrame:
    spans = read_times(table, findings)
    table = spans.table
    rows = len(table)
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "kind": Texts.same("interval", rows).category(),
            "name": texts_of(table, "period").category(),
            "subsystem": Texts.same("", rows).category(),
            "category": Texts.same(_CATEGORY, rows).category(),
            "identifier": np.zeros(rows, np.uint64),
            "pid": pids_of(table),
            "tid": np.full(rows, -1, np.int64),
            "message": texts_of(table, "narrative").strings(),
            "source": Texts.same(table.schema, rows).category(),
        }
    )
