"""Language models whose decode leaves an engine as the context grows, or that sample slowly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.finding import Finding, Support, WindowRanges
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import SERVING, Basis, Engine


class LeftEngineNumbers(TypedDict):
    """The tokens of decode with and without an engine, which their context separates.

    ``least_context`` is that of the first token without it, ``most_context`` that of the last one with it,
    ``crossing`` the requests that have both. ``engines`` are those of the tokens without it; ``unknown``
    counts the tokens whose engine no call shows.
    """

    engine: Engine
    engines: tuple[Engine, ...]
    least_context: int
    most_context: int
    with_engine: int
    without_engine: int
    requests: int
    crossing: int
    with_ns: int
    without_ns: int
    is_slower: bool
    unknown: int


class SamplingNumbers(TypedDict):
    """The time of decode in steps of sampling and in no call; ``cpu_ns`` while their threads were sampled."""

    sampling_ns: int
    decode_ns: int
    cpu_ns: int
    tokens: int
    requests: int


DECODE_LEFT_ENGINE = Kind[LeftEngineNumbers]("decode-left-engine", Need.TOKEN_ENGINES)
SLOW_SAMPLING = Kind[SamplingNumbers]("slow-sampling", Need.LANGUAGE_MODEL)
_ACCELERATORS = (Engine.ANE, Engine.GPU)
_FEWEST_TOKENS = 5
"""Fewer tokens on a side of the edge may be off the engine for any reason."""
_LEAST_SAMPLING = 0.1


def find_decode_leaving_engine(calls: Calls) -> Iterator[Finding[LeftEngineNumbers]]:
    """Yield a finding per model whose tokens are all on an engine up to a context, and none from there on."""
    generations = calls.generations
    if generations is None:
        return
    tokens = generations.tokens
    for model, requests in generations.requests_by_model.items():
        decoded = generations.list_decode_tokens(requests)
        rows = decoded[(tokens.engines[decoded] > 0) & (tokens.context[decoded] >= 0)]
        for engine in _ACCELERATORS:
            has_engine = (tokens.engines[rows] >> SERVING.index(engine) & 1) > 0
            if _is_separated(tokens.context[rows], has_engine):
                yield _make_left_finding(calls, model, engine, decoded, rows, has_engine)
                break


def _is_separated(context: IntArray, has_engine: BoolArray) -> bool:
    """Return whether all tokens with the engine have less context than those without; of enough of both."""
    count = int(has_engine.sum())
    if min(count, len(has_engine) - count) < _FEWEST_TOKENS:
        return False
    return int(context[has_engine].max()) < int(context[~has_engine].min())


def _make_left_finding(
    calls: Calls, model: str, engine: Engine, decoded: IntArray, rows: IntArray, has_engine: BoolArray
) -> Finding[LeftEngineNumbers]:
    generations = calls.generations
    assert generations is not None
    tokens = generations.tokens
    with_engine, without = rows[has_engine], rows[~has_engine]
    lengths = tokens.length_ns // tokens.count
    with_ns, without_ns = calls.median(lengths[with_engine]), calls.median(lengths[without])
    # Half of the tokens with it are shorter than nearly all of those without.
    is_slower = with_ns < int(np.percentile(lengths[without], 10, method="inverted_cdf"))
    lost_ns = int((tokens.length_ns[without] - with_ns * tokens.count[without]).sum()) if is_slower else None
    bits = int(np.bitwise_or.reduce(tokens.engines[without]))
    off_calls = np.unique(tokens.called.row[np.isin(tokens.called.token, without)])
    crossing = set(tokens.request[with_engine].tolist()) & set(tokens.request[without].tolist())
    is_measured = calls.is_measured(engine)
    return Finding(
        kind=DECODE_LEFT_ENGINE,
        severity="warning",
        confidence="certain" if is_measured else "likely",
        basis=Basis.MEASURED if is_measured else Basis.SAMPLED,
        numbers=LeftEngineNumbers(
            engine=engine,
            engines=tuple(other for bit, other in enumerate(SERVING) if bits >> bit & 1),
            least_context=int(tokens.context[without].min()),
            most_context=int(tokens.context[with_engine].max()),
            with_engine=int(tokens.count[with_engine].sum()),
            without_engine=int(tokens.count[without].sum()),
            requests=len(set(tokens.request[rows].tolist())),
            crossing=len(crossing),
            with_ns=with_ns,
            without_ns=without_ns,
            is_slower=is_slower,
            unknown=int(tokens.count[decoded][tokens.engines[decoded] == 0].sum()),
        ),
        model=model,
        windows=WindowRanges.of(off_calls),
        start_ns=int(calls.starts[off_calls].min()),
        end_ns=int(calls.ends[off_calls].max()),
        lost_ns=lost_ns,
        actions=(calls.show_call(int(off_calls[0])), Action("timeline")),
        support=_support(calls),
    )


def find_slow_sampling(calls: Calls) -> Iterator[Finding[SamplingNumbers]]:
    """Yield a finding per model that spends a tenth of decode or more in sampling, and in no call."""
    generations = calls.generations
    if generations is None:
        return
    phases, tokens = generations.phases, generations.tokens
    for model, requests in generations.requests_by_model.items():
        rows = generations.decode_rows[requests]
        rows = rows[(rows >= 0) & ~generations.requests.overlaps[requests]]
        sampling_ns, decode_ns = int(phases.sampling_ns[rows].sum()), int(phases.length_ns[rows].sum())
        count = int(generations.decode_tokens[phases.request[rows]].sum())
        if count < _FEWEST_TOKENS or sampling_ns < _LEAST_SAMPLING * decode_ns:
            continue
        is_own = np.isin(tokens.called.token, generations.list_decode_tokens(phases.request[rows]))
        in_tokens = np.unique(tokens.called.row[is_own])
        yield Finding(
            kind=SLOW_SAMPLING,
            severity="warning",
            confidence="certain",
            basis=Basis.MEASURED,
            numbers=SamplingNumbers(
                sampling_ns=sampling_ns,
                decode_ns=decode_ns,
                cpu_ns=int(phases.sampling_cpu_ns[rows].sum()),
                tokens=count,
                requests=len(rows),
            ),
            model=model,
            windows=WindowRanges.of(in_tokens),
            start_ns=int(calls.starts[in_tokens[0]]) if len(in_tokens) else int(phases.start_ns[rows].min()),
            end_ns=int(phases.end_ns[rows].max()),
            lost_ns=sampling_ns,
            actions=(Action("sample-less"), *([Action("timeline")] if len(in_tokens) else [])),
            support=_support(calls),
        )


def _support(calls: Calls) -> tuple[Support, ...]:
    """Return the table of the signposts that mark the steps."""
    assert calls.generations is not None
    sources = calls.trace.signposts["source"].cat
    names = sources.categories[np.unique(sources.codes.to_numpy())].tolist()
    return (Support("table", ", ".join(sorted(names)), f"{len(calls.generations.spans):,} steps"),)
