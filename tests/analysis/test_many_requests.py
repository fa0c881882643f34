"""Requests to language models at once, of several processes and in thousands: what each phase includes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from documents_support import python_calls
from evidence_support import OTHER_APP, Interval, Signpost, ane, core_ai, with_evidence
from generation_support import analysis_of, extend, generate, prompt, span
from trace_support import CALL, MS, RUNTIME, UI, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.model.columns import IntArray
from tracekit.report.analysis.text import to_text
from tracekit.report.viewmodel.lanes import iter_signpost_lanes


def at_once(count: int, length: float) -> list[Signpost]:
    """A request each ms, with a prefill and a second token of so many ms each."""
    posts = []
    for number in range(count):
        posts.append(prompt(number, number + length, 1 + number))
        posts.append(extend(number + length, number + 2 * length, 1, 2 + number))
    return posts


def analyze_at_once(count: int) -> Analysis:
    samples = [(number / 2, "caller", UI) for number in range(2 * count)]
    return analyze(with_evidence(trace_of(samples), [], at_once(count, count / 4)))


def sum_parts(row: dict[str, Any], phase: str) -> int:
    return sum(row[f"{phase}_{part}_ns"] for part in BudgetPart)


def test_phases_at_once_include_the_work_of_each_other_and_sum_to_their_lengths() -> None:
    posts = [*generate(0, 100, 8), *generate(20, 300, 4)]
    rows: list[Interval] = [core_ai(1, 48, model="Chat"), ane(10, 30, "Chat")]
    first, second = analysis_of(posts, rows).to_frame("requests").to_dict("records")
    assert (first["prefill_ANE_ns"], second["prefill_ANE_ns"]) == (20 * MS, 10 * MS)
    for row in (first, second):
        assert [sum_parts(row, phase) for phase in ("prefill", "decode")] == [
            row["prefill_ns"],
            row["decode_ns"],
        ]


def test_requests_at_once_have_the_parts_that_each_has_alone() -> None:
    # A short request of no work beside a long one: only the samples between its edges are in its phases.
    samples = [(float(number), "caller", RUNTIME if number < 100 else UI) for number in range(200)]
    short = generate(60, 300, 9)
    short_alone, both = (
        analyze(with_evidence(trace_of(samples), [], posts)).to_frame("requests").to_dict("records")
        for posts in (short, [*generate(0, 100, 15), *short])
    )
    parts = [f"{phase}_{part}_ns" for phase in ("prefill", "decode") for part in BudgetPart]
    assert {name: both[1][name] for name in parts} == {name: short_alone[0][name] for name in parts}
    assert both[1]["prefill_runtime_ns"] == 40 * MS


def test_a_phase_has_no_work_of_another_process() -> None:
    samples = [(float(time_ms), thread, UI) for time_ms in range(100) for thread in ("caller", "other")]
    trace = trace_of(samples[1::2] + samples[:20:2], processes={"other": OTHER_APP})
    rows = [core_ai(1, 48, model="Chat", pid=OTHER_APP), ane(2, 40, "Chat", pid=OTHER_APP)]
    posts = [*generate(0, 100, 3), *generate(0, 100, 3, pid=OTHER_APP)]
    chat, neighbour = analyze(with_evidence(trace, rows, posts)).to_frame("requests").to_dict("records")
    assert (chat["prefill_app_ns"], chat["prefill_ANE_ns"]) == (10 * MS, 0)
    assert (neighbour["prefill_app_ns"], neighbour["prefill_ANE_ns"]) == (12 * MS, 38 * MS)


def test_work_without_a_process_is_that_of_the_call_that_owns_it() -> None:
    samples = [(float(time_ms), thread, CALL) for time_ms in range(100) for thread in ("caller", "other")]
    trace = trace_of(samples, processes={"other": OTHER_APP})
    rows = [
        core_ai(1, 48, model="Chat", pid=OTHER_APP),
        ane(2, 40, "Chat"),
        core_ai(51, 59, model="Draft"),
        ane(52, 58, "Draft"),
    ]
    posts = [*generate(0, 100, 3), *generate(0, 100, 3, pid=OTHER_APP)]
    chat, neighbour = analyze(with_evidence(trace, rows, posts)).to_frame("requests").to_dict("records")
    assert (chat["prefill_ANE_ns"], chat["decode_ANE_ns"]) == (0, 6 * MS)
    assert (neighbour["prefill_ANE_ns"], neighbour["decode_ANE_ns"]) == (38 * MS, 0)


def test_no_sample_is_counted_once_per_request_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[int] = []
    pieces = IntervalSet.pieces

    def count_pieces(times: IntervalSet, starts: IntArray, ends: IntArray) -> tuple[IntArray, ...]:
        result = pieces(times, starts, ends)
        listed.append(len(result[0]))
        return result

    analysis = analyze_at_once(400)
    generations = analysis.generations
    assert generations is not None
    monkeypatch.setattr(IntervalSet, "pieces", count_pieces)
    sums = sum(generations.phase_budgets.by_part.values())
    assert np.array_equal(sums, generations.phases.length_ns)
    assert 0 < max(listed) <= len(analysis.trace.samples)


def count_python_calls(requests: int) -> int:
    generations = analyze_at_once(requests).generations
    assert generations is not None
    assert len(generations.phases.request) == 2 * requests
    return python_calls(lambda: generations.phase_budgets)


def test_the_work_of_python_does_not_grow_with_the_requests() -> None:
    assert count_python_calls(400) < 1.05 * count_python_calls(100)


@pytest.mark.integration
def test_twenty_thousand_requests_at_once_are_analyzed_in_seconds() -> None:
    # With the work of each sample in each of them, it took minutes.
    begun = time.process_time()
    analysis = analyze_at_once(20_000)
    text = to_text(analysis)
    name, rows = next(iter_signpost_lanes(analysis))
    assert time.process_time() - begun < 40
    assert "20,000 requests share time with another one of the process" in text
    assert (name, len(rows)) == ("Requests", 20_000)


def growing(number: int) -> list[Signpost]:
    """A request whose tokens take longer, each by 0.1 ms."""
    times = 1000 * number + 50 + np.cumsum(np.append(0, 5 + np.arange(29) / 10))
    return [
        prompt(1000 * number, 1000 * number + 50, 100),
        *(extend(times[step], times[step + 1], step + 1, 101 + step) for step in range(29)),
    ]


def test_a_document_lists_the_first_trends_and_models() -> None:
    posts = [post for number in range(15) for post in growing(number)]
    text = " ".join(to_text(analysis_of(posts)).split())
    assert text.count("of context, the time of a token changes by +") == 12
    assert "The JSON output has the growth of 3 more requests in which it is clear." in text


def of_processes(count: int) -> Sequence[Signpost]:
    posts = []
    for pid in range(100, 100 + count):
        posts += [span("ModelLoad", 0, 1, f"model=Chat{pid}", pid), *generate(10, 100, 3, pid=pid)]
    return posts


def test_requests_to_many_models_are_listed_for_the_first_of_them() -> None:
    text = to_text(analysis_of(of_processes(30)))
    assert "Chat119 " in text
    assert "Chat120 " not in text
    assert "… and 10 more: see the JSON output" in text
