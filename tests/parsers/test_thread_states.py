"""When threads ran and waited."""

from __future__ import annotations

from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.columns import THREAD_STATES
from tracekit.parsers.tables.row_times import OPEN_NS
from tracekit.parsers.tables.thread_states import read_thread_states

COLUMNS = {
    "start": "start-time",
    "thread": "thread",
    "state": "thread-state",
    "duration": "duration",
    "process": "process",
    "core": "core",
}
MAIN = (31, "Main Thread", 7, "App")


def test_every_row_is_a_state() -> None:
    text = rows_of(
        "thread-state",
        COLUMNS,
        (0, MAIN, "Running", 10, (7, "App"), 3),
        (10, MAIN, "Blocked", 5, None, None),
        (15, None, "Runnable", None, (8, "Other"), 2**40),
        (None, MAIN, "Running", 5, None, 1),
    )
    frame, issues = read_thread_states(tables_of(text))
    assert records(THREAD_STATES.check(frame, "states"), *THREAD_STATES.required) == [
        (0, 10, "Running", 3, 31, 7),
        (10, 15, "Blocked", -1, 31, 7),
        (15, OPEN_NS, "Runnable", -1, -1, 8),
    ]
    assert issue_counts(issues) == [("interval-without-start", 1), ("interval-open", 1)]


def test_no_table_is_no_state() -> None:
    frame, issues = read_thread_states(tables_of(rows_of("tick", {"time": "sample-time"})))
    assert (len(THREAD_STATES.check(frame, "states")), issues) == (0, ())


def test_a_table_without_its_columns_is_still_rows() -> None:
    frame, _ = read_thread_states(tables_of(rows_of("thread-state", {"start": "start-time"}, (4,))))
    assert records(frame, *THREAD_STATES.required) == [(4, 4, "", -1, -1, -1)]
