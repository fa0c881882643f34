"""Comparisons of requests to language models: literal signposts on both sides, rows out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compare_support import row
from generation_support import analysis_of, generate, span

from tracekit import Analysis, compare
from tracekit.model.trace import TraceInfo


def chat(length: float, name: str, prompts: int = 1, steps: int = 40) -> Analysis:
    """Requests whose tokens take this long each, in ms."""
    posts = [span("ModelLoad", 0, 1, "model=Chat")]
    for number in range(prompts):
        posts += generate(10 + 2000 * number, 500 + number, steps, length + (number % 2) / 10)
    analysis = analysis_of(posts)
    info = TraceInfo(name, "xctrace-xml", start=f"2026-01-01T12:00:0{len(name)}.000Z")
    return replace(analysis, trace=replace(analysis.trace, info=info))


def test_single_runs_are_compared_by_how_their_tokens_vary() -> None:
    comparison = compare(chat(10, "a", 3), chat(14, "bb", 3))
    rate, first = (row(comparison, name) for name in ("tokens per second in decode", "time to first token"))
    assert (rate.unit, rate.judgement) == ("tokens/s", "lower in these recordings")
    assert rate.base.value == pytest.approx(39 * 3 / 1.1739, rel=1e-2)
    assert (first.unit, first.base.value, first.judgement) == ("ns", 50e6, "too few to tell")


@pytest.mark.integration
def test_several_runs_are_compared_between_runs() -> None:
    sides = [[chat(length + run / 10, f"{length}{'x' * run}") for run in range(4)] for length in (10, 14)]
    rate = row(compare(*sides), "tokens per second in decode")
    assert (rate.judgement, rate.tested) == ("lower", "between runs")
    assert rate.relative_high is not None
    assert rate.relative_high < 0


def test_recordings_without_requests_have_no_such_rows() -> None:
    empty = analysis_of([span("Reset", 0, 1)])
    names = {difference.metric for group in compare(empty, empty).groups for difference in group.rows}
    assert "time to first token" not in names


def test_one_side_without_requests_is_not_measurable() -> None:
    comparison = compare(analysis_of([span("Reset", 0, 1)]), chat(10, "a"))
    rate = row(comparison, "tokens per second in decode")
    assert (rate.judgement, rate.base.missing) == (
        "not measurable",
        "no signpost marks a request to a language model",
    )
