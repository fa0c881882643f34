"""States of an app become intervals beside its signposts, and alone are nothing to analyze."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents_support import write
from table_support import issue_counts, records, rows_of, tables_of

from tracekit import analyze
from tracekit.detect import open_source
from tracekit.errors import UsageError
from tracekit.load import trace_of
from tracekit.parsers.tables.app_states import read_app_states

COLUMNS = {
    "start": "start-time",
    "group": "string",
    "lane": "layout-id",
    "duration": "duration",
    "process": "process",
    "period": "app-period",
}
APP = (7, "App")
DOCUMENT = rows_of(
    "life-cycle-period",
    COLUMNS,
    (0, "States", 0, 40, APP, "Initializing - Process Creation"),
    (40, "States", 0, 60, APP, "Foreground - Active"),
    (100, "States", 0, None, None, None),
    (None, "States", 0, 5, APP, "Background"),
)


def test_a_period_is_an_interval_of_its_process() -> None:
    frame, issues = read_app_states(tables_of(DOCUMENT))
    columns = ("start_ns", "kind", "name", "subsystem", "category", "pid", "tid", "source")
    rest = ("", "App state", 7, -1, "life-cycle-period")
    assert records(frame, *columns)[:2] == [
        (0, "interval", "Initializing - Process Creation", *rest),
        (40, "interval", "Foreground - Active", *rest),
    ]
    assert records(frame, "end_ns")[:2] == [(40,), (100,)]
    assert records(frame, "name", "pid")[2] == ("", -1)
    assert issue_counts(issues) == [("interval-without-start", 1), ("interval-open", 1)]


def test_states_alone_are_an_analysis_without_calls(tmp_path: Path) -> None:
    trace = trace_of(open_source(write(tmp_path, DOCUMENT)))
    assert (len(trace.samples), trace.samples_source) == (0, "")
    (issue,) = [issue for issue in trace.issues if issue.code == "no-samples"]
    assert issue.message.endswith("It holds life-cycle-period: see tracekit tables")
    assert [table.schema for table in trace.tables] == ["life-cycle-period"]
    assert trace.info.duration_ns == 100  # nothing states a length: the tables' rows have one
    assert len(analyze(trace).window_rows) == 0
    with pytest.raises(UsageError, match="--samples"):  # a table of samples was named, and is not there
        trace_of(open_source(write(tmp_path, DOCUMENT)), samples="time-profile")
