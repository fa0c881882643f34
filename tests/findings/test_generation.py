"""Findings about language models: literal signposts and engine rows in, findings out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from evidence_support import Interval, Signpost, ane, core_ai, gpu
from generation_support import analysis_of, generate, span
from trace_support import MS

from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.finding import Finding
from tracekit.checks.check import check
from tracekit.report.wording.findings import finding_text

pytestmark = pytest.mark.slow

PLACEMENT = ("decode-left-engine", "fell-back")
KINDS = ("decode-left-engine", "slow-sampling")


def work(start: float, tokens: int, on_gpu: Sequence[int], length: float = 10.0) -> list[Interval]:
    """The calls of a request: its prefill and a call per token after the first, all of 8 ms."""
    rows: list[Interval] = [core_ai(start + 1, start + 48, model="Chat"), ane(start + 2, start + 40, "Chat")]
    for number in range(1, tokens):
        begin = start + 50 + (number - 1) * length + 1
        rows.append(core_ai(begin, begin + 8, model="Chat"))
        rows.append(gpu(begin + 1, begin + 7) if number in on_gpu else ane(begin + 1, begin + 7, "Chat"))
    return rows


def findings_of(signposts: Sequence[Signpost], intervals: Sequence[Interval]) -> list[Finding[Any]]:
    posts = [span("ModelLoad", 0, 0.5, "model=Chat"), *signposts]
    return [finding for finding in analysis_of(posts, intervals).findings if finding.kind in KINDS]


def title(finding: Finding[Any]) -> str:
    return finding_text(finding, analysis_of([span("Reset", 0, 1)]).trace.info).title


def test_tokens_that_leave_at_a_context() -> None:
    posts, rows = generate(10, 100, 21), work(10, 21, range(11, 21))
    (finding,) = findings_of(posts, rows)
    assert title(finding) == "Decode of Chat leaves the Neural Engine at 111 tokens of context."
    assert (finding.numbers["most_context"], finding.numbers["with_engine"]) == (110, 10)
    assert (finding.windows.count, finding.lost_ns) == (10, None)  # the tokens are not longer
    first_off = {"start_ns": 161 * MS, "end_ns": 169 * MS}
    assert finding.actions == (Action("analyze-time", first_off), Action("timeline"))


def test_one_event_is_one_finding() -> None:
    # The calls off the engine are those of the tokens: a fall-back of the model says nothing else.
    posts, rows = generate(10, 100, 21), work(10, 21, range(11, 21))
    loaded = [span("ModelLoad", 0, 0.5, "model=Chat"), *posts]
    analysis = analysis_of(loaded, rows)
    assert [finding.kind for finding in analysis.findings if finding.kind in PLACEMENT] == [
        "decode-left-engine"
    ]
    (result,) = check(analysis, ["no finding fell-back in Chat"])
    assert result.outcome == "failed"


def test_calls_beyond_the_tokens_are_an_event_of_their_own() -> None:
    posts, rows = generate(10, 100, 21), work(10, 21, range(11, 21))
    later = [core_ai(start, start + 8, model="Chat") for start in (400, 410)]
    later += [gpu(start + 1, start + 7) for start in (400, 410)]
    analysis = analysis_of([span("ModelLoad", 0, 0.5, "model=Chat"), *posts], [*rows, *later])
    kinds = {finding.kind for finding in analysis.findings}
    assert kinds.issuperset(PLACEMENT)


def test_the_cost_is_the_time_beyond_the_tokens_on_the_engine() -> None:
    # Two requests: one stays below the context, the other begins beyond it, with tokens of 25 ms.
    posts = [*generate(10, 100, 11), *generate(500, 400, 11, length=25)]
    rows = [*work(10, 11, []), *work(500, 11, range(1, 11), length=25)]
    (finding,) = findings_of(posts, rows)
    assert finding.lost_ns is not None
    assert abs(finding.lost_ns - 10 * 15 * MS) <= 1.5 * MS
    assert (finding.numbers["requests"], finding.numbers["crossing"]) == (2, 0)


def test_tokens_that_alternate_do_not_leave_at_a_context() -> None:
    assert findings_of(generate(10, 100, 21), work(10, 21, range(2, 21, 2))) == []


def test_a_later_request_on_the_engine_with_more_context_refutes_it() -> None:
    posts = [*generate(10, 100, 21), *generate(900, 500, 11)]
    assert findings_of(posts, [*work(10, 21, range(11, 21)), *work(900, 11, [])]) == []


def test_few_tokens_off_the_engine_prove_nothing() -> None:
    assert findings_of(generate(10, 100, 21), work(10, 21, range(17, 21))) == []
    assert len(findings_of(generate(10, 100, 21), work(10, 21, range(16, 21)))) == 1


def test_tokens_at_once_have_no_engine_to_leave() -> None:
    posts = [*generate(10, 100, 21), *generate(12, 700, 21)]
    assert findings_of(posts, work(10, 21, range(11, 21))) == []


def with_sampling(share: float, tokens: int = 21) -> list[Signpost]:
    """Sampling of this share of each token of 10 ms, at its end and after the call."""
    posts = generate(10, 100, tokens)
    ends = [60 + 10 * number for number in range(1, tokens)]
    return [*posts, *(span("Sample", end - 10 * share, end) for end in ends)]


def test_slow_sampling() -> None:
    rows = [row for row in work(10, 21, []) if row.end - row.start != 8]
    for number in range(1, 21):
        begin = 60 + 10 * (number - 1)
        rows.append(core_ai(begin, begin + 8, model="Chat"))
    (finding,) = findings_of(with_sampling(0.2), rows)
    assert title(finding) == "Sampling takes 20 % of each token of Chat on average."  # no sample shows a CPU
    assert finding.lost_ns == 20 * 2 * MS
    assert finding.actions == (Action("sample-less"), Action("timeline"))
    assert findings_of(with_sampling(0.09), rows) == []


def test_a_timeline_has_no_calls_to_show_where_none_is_recorded() -> None:
    (finding,) = findings_of(with_sampling(0.2), [])
    assert finding.actions == (Action("sample-less"),)


def test_sampling_inside_of_calls_is_part_of_them() -> None:
    rows = [core_ai(10, 260, model="Chat")]
    assert findings_of(with_sampling(0.2), rows) == []
