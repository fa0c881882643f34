"""Metrics per thread: one of the two kinds that are there, and the value that is one."""

from __future__ import annotations

from typing import Any

from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.columns import METRICS
from tracekit.parsers.tables.thread_metrics import read_metrics

COLUMNS = {
    "start": "start-time",
    "duration": "duration",
    "thread": "thread",
    "process": "process",
    "uint64": "uint64",
    "fixed-decimal": "fixed-decimal",
    "metric-name": "string",
    "is-precise": "boolean",
}
MAIN = (31, "Main Thread", 7, "App")
APP = (7, "App")


def read(
    *rows: tuple[Any, ...], columns: dict[str, str] = COLUMNS
) -> tuple[list[tuple[Any, ...]], list[tuple[str, int]]]:
    frame, issues = read_metrics(tables_of(rows_of("MetricAggregationForThread", columns, *rows)))
    return records(METRICS.check(frame, "metrics"), *METRICS.required), issue_counts(issues)


def test_precise_rows_go_before_the_imprecise_that_repeat_them() -> None:
    rows, issues = read(
        (0, 5, MAIN, APP, 100, None, "Cycles", 1),
        (0, 10, MAIN, APP, 150, None, "Cycles", 0),
        (5, 5, MAIN, APP, 50, None, "Cycles", 1),
    )
    assert rows == [(0, 5, "Cycles", 100.0, 31, 7), (5, 10, "Cycles", 50.0, 31, 7)]
    assert issues == [("metrics-imprecise", 1)]


def test_imprecise_rows_are_better_than_none() -> None:
    rows, issues = read((0, 10, MAIN, APP, 150, None, "Cycles", 0))
    assert rows == [(0, 10, "Cycles", 150.0, 31, 7)]
    assert issues == []


def test_the_value_is_the_whole_number_or_else_the_fraction() -> None:
    rows, issues = read(
        (0, 1, MAIN, APP, 5, "0.5", "both", 1),
        (0, 1, MAIN, APP, 0, "0.25", "fraction", 1),
        (0, 1, MAIN, APP, None, "0.75", "fraction", 1),
        (0, 1, MAIN, APP, 0, "0", "zero", 1),
        (0, 1, MAIN, APP, None, None, "nothing", 1),
    )
    assert [(row[2], row[3]) for row in rows] == [
        ("both", 5.0),
        ("fraction", 0.25),
        ("fraction", 0.75),
        ("zero", 0.0),
    ]
    assert issues == [("metrics-without-value", 1)]


def test_values_that_no_count_can_have_are_left_out_and_counted() -> None:
    rows, issues = read(
        (0, 1, MAIN, APP, None, "1e308", "infinite in sum", 1),
        (0, 1, MAIN, APP, 2**64 - 1, None, "all ones", 1),
        (0, 1, MAIN, APP, None, "-5", "negative", 1),
        (0, 1, MAIN, APP, 7, None, "fine", 1),
    )
    assert [(row[2], row[3]) for row in rows] == [("fine", 7.0)]
    assert issues == [("metrics-without-value", 3)]


def test_columns_under_other_names_go_by_their_types() -> None:
    names = ("start", "duration", "thread", "process", "value", "ratio", "metric", "precise")
    columns = dict(zip(names, COLUMNS.values(), strict=True))
    rows, issues = read(
        (0, 5, MAIN, APP, 100, None, "Cycles", 1), (0, 5, MAIN, APP, 100, None, "Cycles", 0), columns=columns
    )
    assert rows == [(0, 5, "Cycles", 100.0, 31, 7)]
    assert issues == [("metrics-imprecise", 1)]
