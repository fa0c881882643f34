"""The limits on the page give each count once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from trace_support import UI, trace_of

from tracekit import analyze
from tracekit.model.trace import Issue
from tracekit.report.html.sections import SECTIONS, section
from tracekit.report.viewmodel.view import Extras


@pytest.mark.parametrize(
    ("message", "count", "shown"),
    [
        ("1,519 rows were left out", 1519, "1,519 rows were left out"),
        ("1519 rows were left out", 1519, "1519 rows were left out"),
        ("rows were left out", 1519, "rows were left out (1,519)"),
        ("the table has 31,519 rows", 1519, "the table has 31,519 rows (1,519)"),
        ("a row was left out", 1, "a row was left out"),
    ],
)
def test_a_count_is_given_once(message: str, count: int, shown: str) -> None:
    analysis = analyze(trace_of([(0.0, "main", UI)]))
    limited = replace(analysis, diagnostics=(Issue("warning", "files-ignored", message, count),))
    entry = next(entry for entry in SECTIONS if entry[0] == "issues")
    assert f"</strong> {shown}</li>" in str(section(entry, limited, Extras()))
