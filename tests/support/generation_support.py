"""Literal signposts of a language model, as Apple's package writes them. Times are in ms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evidence_support import APP, Interval, Signpost, with_evidence
from trace_support import UI, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.generation.generations import Generations

PACKAGE = "com.apple.coreai-models.performance/performance"


def span(
    name: str, start: float, end: float, metadata: str = "", pid: int = APP, kind: str = "interval"
) -> Signpost:
    return Signpost(start, end, f"{PACKAGE}/{name}", 1, pid, kind, metadata)


def prompt(start: float, end: float, tokens: int, pid: int = APP) -> Signpost:
    return span("Prompt", start, end, f"engine=StaticShape, tokens={tokens}", pid)


def extend(start: float, end: float, step: int, context: int, pid: int = APP) -> Signpost:
    return span("Extend", start, end, f"step={step}, tokens={context}", pid)


def decode(start: float, step: int, pid: int = APP) -> Signpost:
    return span("Decode", start, start + 0.05, f"step={step}", pid)


def generate(
    start: float, prompt_tokens: int, tokens: int, length: float = 10.0, pid: int = APP
) -> list[Signpost]:
    """A request as the package marks it: 50 ms of prefill, a token each ``length``, and a last Extend of none."""
    first = start + 50
    posts = [prompt(start, first, prompt_tokens, pid)]
    for step in range(tokens):
        arrived = first + step * length
        posts.append(decode(arrived, step, pid))
        tail = 0.5 if step == tokens - 1 else length
        posts.append(extend(arrived + 0.1, arrived + tail, step + 1, prompt_tokens + step + 1, pid))
    return posts


def analysis_of(
    signposts: Sequence[Signpost], intervals: Sequence[Interval] = (), **options: Any
) -> Analysis:
    last = max([post.end for post in signposts] + [row.end for row in intervals])
    samples = [(float(time), "caller", UI) for time in (0, int(last) + 5)]
    return analyze(with_evidence(trace_of(samples), intervals, signposts), **options)


def generations_of(
    signposts: Sequence[Signpost], intervals: Sequence[Interval] = (), **options: Any
) -> Generations:
    generations = analysis_of(signposts, intervals, **options).generations
    assert generations is not None
    return generations
