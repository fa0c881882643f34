"""Requests that Foundation Models reports: tokens in digits are numbers, and nothing else of them is read."""

from __future__ import annotations

from typing import Any

import pytest
from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.columns import MODEL_REQUESTS
from tracekit.model.trace import TraceInfo
from tracekit.parsers.tables.model_requests import read_model_requests
from tracekit.parsers.tables.row_times import OPEN_NS

COLUMNS = {
    "start": "start-time",
    "duration": "duration",
    "model-request-id": "string",
    "prompt": "string",
    "response": "string",
    "model-information": "string",
    "total-tokens": "string",
    "prompt-tokens": "string",
    "response-tokens": "string",
    "cached-tokens": "string",
    "error-count": "string",
}


def read(
    *rows: tuple[Any, ...], columns: dict[str, str] = COLUMNS
) -> tuple[list[tuple[Any, ...]], list[tuple[str, int]]]:
    tables = tables_of(rows_of("ModelInferenceTable", columns, *rows), target_pid="SINGLE")
    frame, issues = read_model_requests(tables, TraceInfo("x", "xctrace-xml", pid=7))
    return records(frame, *MODEL_REQUESTS.required), issue_counts(issues)


def test_a_request_has_its_tokens_by_kind() -> None:
    rows, issues = read(
        (1000, 1500, "A-1", "secret", "words", "fm-1", "150", "100", "50", "0", "0"),
        (3000, 2100, "A-2", "secret", "words", "fm-1", "200", "130", "70", "10", "2"),
    )
    assert rows == [
        (1000, 2500, "A-1", "fm-1", 7, 100, 0, 50, 150, 0, False),
        (3000, 5100, "A-2", "fm-1", 7, 130, 10, 70, 200, 2, False),
    ]
    assert issues == []


@pytest.mark.parametrize("word", ["1,234", "12 tokens", "-5", "1e3", "١٢", "9999999999"])
def test_a_count_that_is_not_in_digits_is_unknown_and_counted(word: str) -> None:
    rows, issues = read((0, 5, "A", "p", "r", "fm", word, "1", "2", "", "many"))
    assert rows[0][5:10] == (1, -1, 2, -1, -1)
    assert issues == [("token-count-unreadable", 2)]


def test_a_request_without_an_end_is_cut() -> None:
    rows, issues = read((1000, None, "A", "p", "r", "fm", "150", "100", "50", "0", ""))
    assert rows == [(1000, OPEN_NS, "A", "fm", 7, 100, 0, 50, 150, -1, True)]
    assert issues == []


def test_a_table_of_an_earlier_form_has_no_tokens() -> None:
    columns = {name: COLUMNS[name] for name in ("start", "duration", "model-request-id")}
    rows, issues = read((0, 5, "A"), columns=columns)
    assert rows == [(0, 5, "A", "", 7, -1, -1, -1, -1, -1, False)]
    assert issues == []
