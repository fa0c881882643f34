"""The limits in a list give each count once."""

from __future__ import annotations

import pytest

from tracekit.model.trace import Issue
from tracekit.report.analysis.limits import list_limits


@pytest.mark.parametrize(
    ("message", "count", "text"),
    [
        ("1,519 rows were left out", 1519, "1,519 rows were left out (files-ignored)"),
        ("1519 rows were left out", 1519, "1519 rows were left out (files-ignored)"),
        ("rows were left out", 1519, "rows were left out (1,519 × files-ignored)"),
        ("the table has 31,519 rows", 1519, "the table has 31,519 rows (1,519 × files-ignored)"),
        ("a row was left out", 1, "a row was left out (files-ignored)"),
    ],
)
def test_a_count_is_given_once(message: str, count: int, text: str) -> None:
    (limits,) = list_limits([Issue("warning", "files-ignored", message, count)], 3)
    assert [(item.text, item.severity) for item in limits.items] == [(text, "warning")]


def test_many_of_one_code_are_counted() -> None:
    (limits,) = list_limits([Issue("info", "odd", f"row {number}") for number in range(5)], 3)
    assert [item.text for item in limits.items][2:] == ["row 2 (odd)", "… and 2 others (odd)"]
    assert list_limits([], 3) == ()
