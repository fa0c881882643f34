"""Signposts: Begin and End find each other, an interval that two tables report counts once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from documents_support import python_calls
from hypothesis import given
from hypothesis import strategies as st
from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.columns import PROCESSES, SIGNPOSTS, THREADS
from tracekit.model.tables import Column, StackTable, Table
from tracekit.parsers.tables.signposts import read_signposts

EVENTS = {
    "time": "event-time",
    "thread": "thread",
    "process": "process",
    "event-type": "event-type",
    "scope": "string",
    "identifier": "os-signpost-identifier",
    "name": "signpost-name",
    "subsystem": "subsystem",
    "category": "category",
    "message": "os-log-metadata",
}
SPANS = {
    "start": "start-time",
    "duration": "duration",
    "name": "string",
    "category": "category",
    "subsystem": "subsystem",
    "identifier": "os-signpost-identifier",
    "process": "process",
    "start-thread": "thread",
    "start-message": "os-log-metadata",
}
MAIN = (31, "Main Thread", 7, "App")
WORKER = (32, "Worker", 7, "App")
APP = (7, "App")
SERVER = (8, "Server")


def event(
    time: int | None,
    kind: str | None,
    name: str = "encode",
    identifier: int | None = 1,
    thread: tuple[Any, ...] | None = MAIN,
    process: tuple[Any, ...] | None = APP,
    scope: str = "Process",
    message: Any = None,
) -> tuple[Any, ...]:
    return time, thread, process, kind, scope, identifier, name, "org.example", "Inference", message


def events(*rows: tuple[Any, ...]) -> str:
    return rows_of("os-signpost", EVENTS, *rows)


def span(
    start: int, duration: int | None, name: str = "encode", identifier: int = 1, message: Any = None
) -> tuple[Any, ...]:
    return start, duration, name, "Inference", "org.example", identifier, APP, MAIN, message


def read(*documents: str) -> tuple[list[tuple[Any, ...]], list[tuple[str, int]]]:
    frame, issues = read_signposts(tables_of(*documents))
    return records(frame, "start_ns", "end_ns", "kind", "name"), issue_counts(issues)


def test_a_begin_and_its_end_are_an_interval_of_the_begins_thread() -> None:
    text = events(
        event(10, "Begin", identifier=2**63 + 1, message=["model=", "tagger"]),
        event(15, "Event", "tick"),
        event(20, "End", identifier=2**63 + 1, thread=WORKER, message="done"),
    )
    frame, issues = read_signposts(tables_of(text))
    assert list(frame.columns) == list(SIGNPOSTS.required)
    assert records(frame, *SIGNPOSTS.required) == [
        (
            10,
            20,
            "interval",
            "encode",
            "org.example",
            "Inference",
            2**63 + 1,
            7,
            31,
            "model=tagger",
            "os-signpost",
        ),
        (15, 15, "event", "tick", "org.example", "Inference", 1, 7, 31, "", "os-signpost"),
    ]
    assert issues == ()


def test_innermost_first() -> None:
    rows, issues = read(events(event(1, "Begin"), event(2, "Begin"), event(3, "End"), event(5, "End")))
    assert rows == [(1, 5, "interval", "encode"), (2, 3, "interval", "encode")]
    assert issues == []


def test_rows_out_of_order_are_paired_by_time() -> None:
    assert read(events(event(9, "End"), event(4, "Begin")))[0] == [(4, 9, "interval", "encode")]


def test_what_has_no_partner_stays_and_is_counted() -> None:
    rows, issues = read(
        events(event(1, "End"), event(2, "Begin"), event(3, "End"), event(4, "End"), event(5, "Begin"))
    )
    assert rows == [
        (1, 1, "end", "encode"),
        (2, 3, "interval", "encode"),
        (4, 4, "end", "encode"),
        (5, 5, "begin", "encode"),
    ]
    assert issues == [("signposts-unpaired", 3)]


@pytest.mark.parametrize(
    ("ending", "pairs"),
    [
        ({}, True),
        ({"name": "decode"}, False),
        ({"identifier": 2}, False),
        ({"process": SERVER}, False),  # two processes of one name are two processes
        ({"process": (9, "App")}, False),
        ({"thread": WORKER}, True),
        ({"thread": WORKER, "scope": "Thread"}, False),
        ({"thread": WORKER, "scope": "System", "process": SERVER}, False),
    ],
)
def test_partners_agree(ending: dict[str, Any], pairs: bool) -> None:
    rows, _ = read(events(event(1, "Begin"), event(2, "End", **ending)))
    assert (len(rows) == 1) == pairs


def test_scopes_limit_where_the_partner_is() -> None:
    """A client begins what the window server ends: real recordings have it so, and pair it so."""
    rows, _ = read(
        events(
            event(1, "Begin", scope="System"),
            event(2, "Begin", scope="Thread", thread=WORKER),
            event(3, "End", scope="Thread", thread=MAIN),
            event(4, "End", scope="Thread", thread=WORKER),
            event(5, "End", scope="System", process=SERVER, thread=None),
        )
    )
    assert rows == [(1, 5, "interval", "encode"), (2, 4, "interval", "encode"), (3, 3, "end", "encode")]


@pytest.mark.parametrize(("begin", "end"), [("Begin Interval", "End Interval"), ("begin", "END")])
def test_other_spellings(begin: str, end: str) -> None:
    assert read(events(event(1, begin), event(2, end))) == ([(1, 2, "interval", "encode")], [])


def test_an_unknown_type_is_an_event() -> None:
    rows, issues = read(events(event(1, "Emit"), event(2, None)))
    assert [row[2] for row in rows] == ["event", "event"]
    assert issues == [("signpost-type-unknown", 2)]


def test_tables_of_intervals_stand_as_they_are() -> None:
    text = rows_of("OSSignpostIntervals", SPANS, span(5, 10, message="go"), span(6, 2**64 - 1))
    points = rows_of(
        "PointsOfInterestEvents",
        {
            "time": "event-time",
            "process": "process",
            "thread": "thread",
            "subsystem": "subsystem",
            "name": "signpost-name",
            "message": "os-log-metadata",
        },
        (3, APP, WORKER, "org.example", "tap", "ouch"),
    )
    frame, issues = read_signposts(tables_of(text, points))
    assert records(frame, "start_ns", "kind", "name", "category", "pid", "tid", "message", "source") == [
        (5, "interval", "encode", "Inference", 7, 31, "go", "OSSignpostIntervals"),
        (6, "interval", "encode", "Inference", 7, 31, "", "OSSignpostIntervals"),
        (3, "event", "tap", "", 7, 32, "ouch", "PointsOfInterestEvents"),
    ]
    assert issue_counts(issues) == [("interval-open", 1)]


def test_an_interval_that_two_tables_report_counts_once() -> None:
    table = rows_of("os-signpost-interval", SPANS, span(1, 4), span(10, 2), span(30, 5))
    raw = events(
        *(event(1, "Begin"), event(5, "End"), event(20, "Begin"), event(21, "End")),
        *(event(30, "Begin"), event(99, "End")),  # the table of intervals ends with the run
    )
    frame, issues = read_signposts(tables_of(raw, table))
    assert records(frame, "start_ns", "end_ns", "source") == [
        (1, 5, "os-signpost-interval"),
        (10, 12, "os-signpost-interval"),
        (30, 35, "os-signpost-interval"),
        (20, 21, "os-signpost"),
    ]
    assert issue_counts(issues) == [("signposts-repeated", 2)]


def test_equal_intervals_of_one_table_all_count() -> None:
    rows, issues = read(rows_of("os-signpost-interval", SPANS, span(1, 4), span(1, 4)))
    assert (len(rows), issues) == (2, [])


def test_rows_that_a_second_table_repeats_count_once() -> None:
    first = events(event(1, "Begin"), event(2, "Event"), event(2, "Event"), event(9, "End"))
    two = events(event(1, "Begin"), event(9, "End"), event(12, "Event"))
    rows, issues = read(first, two)
    assert rows == [
        (1, 9, "interval", "encode"),
        (2, 2, "event", "encode"),
        (2, 2, "event", "encode"),
        (12, 12, "event", "encode"),
    ]
    assert issues == [("signposts-repeated", 2)]


def test_a_begin_may_stand_in_one_table_and_its_end_in_another() -> None:
    assert read(events(event(1, "Begin")), events(event(9, "End")))[0] == [(1, 9, "interval", "encode")]


def test_a_row_without_a_time_is_counted() -> None:
    rows, issues = read(events(event(None, "Begin"), event(3, "End")))
    assert rows == [(3, 3, "end", "encode")]
    assert issues == [("interval-without-start", 1), ("signposts-unpaired", 1)]


KEYS = st.tuples(st.sampled_from(["Begin", "End", "Event"]), st.integers(0, 2), st.sampled_from(["a", "b"]))


@pytest.mark.integration
@given(st.lists(KEYS, max_size=40))
def test_pairs_are_those_of_a_stack_per_key(marks: list[tuple[str, int, str]]) -> None:
    """The rule in its plain words: an End closes the latest open Begin of its key."""
    stacks: dict[tuple[int, str], list[int]] = {}
    expected = []
    for time, (kind, identifier, name) in enumerate(marks):
        stack = stacks.setdefault((identifier, name), [])
        if kind == "Event":
            expected.append((time, time, "event", name))
        elif kind == "Begin":
            stack.append(time)
        elif stack:
            expected.append((stack.pop(), time, "interval", name))
        else:
            expected.append((time, time, "end", name))
    expected += [(time, time, "begin", key[1]) for key, stack in stacks.items() for time in stack]
    text = events(
        *(event(time, kind, name, identifier) for time, (kind, identifier, name) in enumerate(marks))
    )
    rows, issues = read(text)
    assert sorted(rows) == sorted(expected)
    unpaired = sum(row[2] in ("begin", "end") for row in expected)
    assert dict(issues).get("signposts-unpaired", 0) == unpaired
    # Every row is there: one each, two for an interval.
    assert len(rows) + sum(row[2] == "interval" for row in rows) == len(marks)


@pytest.mark.integration
@pytest.mark.parametrize("kinds", ["unpaired", "paired", "nested"])
def test_a_million_signposts(kinds: str) -> None:
    count = 1_000_000
    code = {
        "unpaired": np.zeros(count, np.int64),
        "paired": np.arange(count) % 2,
        "nested": np.repeat([0, 1], count // 2),
    }[kinds]
    rows = pd.DataFrame(
        {
            "time": pd.array(np.arange(count), dtype="Int64"),
            "event-type": pd.Categorical.from_codes(code, categories=["Begin", "End"]),
            "name": pd.Categorical.from_codes(np.zeros(count, np.int64), categories=["encode"]),
            "identifier": pd.array(np.ones(count, np.uint64), dtype="UInt64"),
        }
    )
    columns = tuple(
        Column(name, name, EVENTS[name], "int" if name in ("time", "identifier") else "text") for name in rows
    )
    table = Table("os-signpost", columns, rows, THREADS.empty(), PROCESSES.empty(), StackTable.empty())
    results = []
    calls = python_calls(
        lambda: results.append(read_signposts(lambda name: [table] if name == "os-signpost" else []))
    )
    assert calls < 20_000  # in columns, not by row
    ((frame, issues),) = results
    assert len(frame) == (count if kinds == "unpaired" else count // 2)
    assert issue_counts(issues) == ([("signposts-unpaired", count)] if kinds == "unpaired" else [])
