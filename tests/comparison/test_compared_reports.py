"""Comparisons of requests as Foundation Models reports them: literal requests on both sides, rows out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compare_support import row
from generation_support import generate
from reported_support import Reported, analyze_reported

from tracekit import Analysis, compare
from tracekit.checks.changes import check_changes
from tracekit.checks.parser import parse_change
from tracekit.comparison.metrics import OF_REPORTED
from tracekit.model.trace import TraceInfo


def report(scale: float, name: str, *others: Reported) -> Analysis:
    """Six requests of about this many tokens per second of the whole request."""
    lengths = [1000, 2000, 1500, 1010, 2020, 1490]
    requests = [
        Reported(length, round(length * scale / 1000) + number % 2) for number, length in enumerate(lengths)
    ]
    analysis = analyze_reported([*requests, *others], last=100_000 + scale + 10 * len(name))
    info = TraceInfo(name, "xctrace-xml", start=f"2026-01-01T12:00:0{len(name)}.000Z")
    return replace(analysis, trace=replace(analysis.trace, info=info))


def metrics(base: Analysis, new: Analysis) -> set[str]:
    return {difference.metric for group in compare(base, new).groups for difference in group.rows}


def test_single_runs_are_compared_by_how_their_requests_vary() -> None:
    comparison = compare(report(40, "a"), report(20, "bb"))
    rate, length = (row(comparison, name) for name in ("response tokens per second", "request length"))
    assert (rate.unit, rate.judgement, rate.base.basis) == (
        "tokens/s",
        "lower in these recordings",
        "measured, tokens reported",
    )
    assert rate.base.value == pytest.approx(364 / 9.02)
    assert (length.unit, length.base.value, length.judgement) == ("ns", 1490e6, "too few to tell")


def test_several_runs_are_compared_between_runs() -> None:
    sides = [[report(scale + run, f"{scale}{'x' * run}") for run in range(4)] for scale in (40, 20)]
    comparison = compare(*sides)
    rate = row(comparison, "response tokens per second")
    assert (rate.judgement, rate.tested) == ("lower", "between runs")
    (result,) = check_changes(comparison, [parse_change("response tokens per second < -10%")])
    assert result.outcome == "failed"


def test_incomplete_requests_are_counted_where_there_are_any() -> None:
    assert "incomplete requests" not in metrics(report(40, "a"), report(40, "bb"))
    failing = report(40, "bb", Reported(9000, 1, errors=1), Reported(None, 1))
    comparison = compare(report(40, "a"), failing)
    count = row(comparison, "incomplete requests")
    assert (count.base.value, count.new.value, count.difference) == (0, 2, 2)
    lengths = row(comparison, "request length")
    assert lengths.base.value == lengths.new.value


def test_only_reported_requests_have_such_rows() -> None:
    marked = analyze_reported([], generate(10, 500, 60))
    assert not {*OF_REPORTED} & metrics(marked, marked)
    assert "time to first token" not in metrics(report(40, "a"), report(40, "bb"))


def test_one_side_without_them_is_not_measurable() -> None:
    rate = row(compare(analyze_reported([]), report(40, "a")), "response tokens per second")
    assert (rate.judgement, rate.base.missing) == (
        "not measurable",
        "Foundation Models reports no request of the analyzed processes (its instrument shows them)",
    )
