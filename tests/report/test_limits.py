"""Each limit stands at the numbers that it limits, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit import analyze, open_trace
from tracekit.analysis.result import Analysis
from tracekit.model.issue_codes import ANE_BUSY, CALLS, RUN, SAMPLES, TABLES, Reach, reach_of
from tracekit.report.analysis.json import to_dict

SAMPLE_TRACES = Path(__file__).resolve().parents[2] / "sample_traces"


def analysis_of(name: str) -> Analysis:
    return analyze(open_trace(SAMPLE_TRACES / name))


@pytest.mark.parametrize(
    ("code", "message", "reach"),
    [
        ("windows-inferred", "", CALLS),
        ("table-unreadable", "'ane-hw-intervals' cannot be read; it is left out", ANE_BUSY),
        ("null-values", "3 rows of 'time-profile' without 'weight': 0 is used", SAMPLES),
        ("interval-open", "2 rows of 'hitches' have no end; they continue", TABLES),
        ("table-damaged", "stores/7 is cut off; a table cannot be read", RUN),
        ("a-code-of-tomorrow", "as a newer pack may hold", RUN),
    ],
)
def test_what_an_issue_limits(code: str, message: str, reach: Reach) -> None:
    assert reach_of(code, message) == reach


def test_the_json_has_what_each_issue_affects() -> None:
    issues = {
        issue["code"]: issue["affects"]
        for issue in to_dict(analysis_of("failing-requests-macos27"))["issues"]
    }
    assert issues["ane-requests-failed"] == {
        "part": "verdicts",
        "engine": None,
        "windows": [3, 7, 8],
        "models": None,
    }
    assert issues["ane-requests-of-others"] == {
        "part": "busy",
        "engine": "ANE",
        "windows": None,
        "models": None,
    }
