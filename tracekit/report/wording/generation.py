"""Requests to language models in words: the same in every output."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracekit.analysis.generation.generations import Generations
from tracekit.analysis.generation.growth import PER_TOKENS, Growth
from tracekit.analysis.generation.tokens import name_engine_bits
from tracekit.analysis.result import Analysis
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import Engine
from tracekit.report.wording.names import engine_name
from tracekit.text import format_rounded, join_words, plural

ABOUT = "requests by phase; times by the app's signposts, measured"
MEANING = (
    "Prefill is the time to the first token, decode the time from the first token to the last; tokens per"
    " second are those of decode. The parts of a phase are all work of the app in its time; gaps are time in"
    " no call, sampling and cache the parts of the gaps in such steps."
)
REPORTED_ABOUT = "requests to Foundation Models: lengths measured, tokens reported"
REPORTED_MEANING = (
    "Foundation Models reports a request as a whole: its tables have no first token, and no engine. So"
    " response/s counts the tokens of the response over the whole request, with the time before the first of"
    " them; with errors it is empty. Whether the prompt's tokens include cached ones is not documented."
)
_MOST_TRENDS = 12


def format_rate(rate: float) -> str:
    """Return ``64.6``, with three significant digits; "" where the rate is not known."""
    if not np.isfinite(rate):
        return ""
    return f"{rate:,.{0 if rate >= 99.95 else 1 if rate >= 9.995 else 2}f}"


def format_growth(growth: Growth | None) -> str:
    """Return ``+0.81 ms (0.62 … 1.00)``, the slope with its interval; "" without one."""
    if growth is None:
        return ""
    slope, low, high = (f"{value / 1e6:+.3g}" for value in (growth.slope_ns, growth.low_ns, growth.high_ns))
    return f"{slope} ms ({low} … {high})"


def describe_token_engines(generations: Generations, rows: IntArray) -> str:
    """Return the engines of some tokens with their numbers: ``ANE 28, GPU 32``; "" where none is shown."""
    bits, first, counts = np.unique(generations.tokens.engines[rows], return_index=True, return_counts=True)
    if not bits.any():
        return ""
    # In the order in which they served tokens.
    order = np.argsort(first)
    names = [
        (name_engine_bits(served).replace(", ", "+") or "not shown", count)
        for served, count in zip(bits[order].tolist(), counts[order].tolist(), strict=True)
    ]
    if len(names) == 1:
        return names[0][0]
    return ", ".join(f"{name} {count:,}" for name, count in names)


def iter_generation_notes(analysis: Analysis, generations: Generations) -> Iterator[str]:
    """Yield what limits the numbers of requests, as sentences."""
    requests = generations.requests
    if mixed := int(requests.is_mixed.sum()):
        yield (
            f"{_count_sharing(mixed)}, and no number in the signposts shows which token is whose: these"
            " tokens are not counted."
        )
    if at_once := int((requests.overlaps & ~requests.is_mixed).sum()):
        yield (
            f"{_count_sharing(at_once)}: the parts of their phases include its work, and no call shows"
            " the engine of their tokens."
        )
    if cut := int(requests.is_cut.sum()):
        yield f"The end of the recording cuts {plural(cut, 'request')}: later tokens are not in it."
    if requests.orphans:
        yield (
            f"{plural(requests.orphans, 'token')} before the first prefill of the process: the request began"
            " before the recording, so they are not counted."
        )
    missing = [engine for engine in (Engine.ANE, Engine.GPU) if engine not in analysis.measured.engines]
    if missing:
        yield f"No table with rows measured {join_words([engine_name(engine) for engine in missing])}."
    trends = [(number, growth) for number, growth in enumerate(generations.growth, 1) if growth is not None]
    clear = [(number, growth) for number, growth in trends if growth.is_clear]
    for number, growth in clear[:_MOST_TRENDS]:
        yield (
            f"Request {number:,}: per {PER_TOKENS:,} tokens of context, the time of a token changes by"
            f" {format_growth(growth)} ({growth.tokens:,} of its tokens, from {growth.least_context:,} to"
            f" {growth.most_context:,}; 95 % interval)."
        )
    if len(clear) > _MOST_TRENDS:
        further = plural(len(clear) - _MOST_TRENDS, "more request")
        yield f"The JSON output has the growth of {further} in which it is clear."


def _count_sharing(count: int) -> str:
    verb = "shares" if count == 1 else "share"
    return f"{plural(count, 'request')} {verb} time with another one of the process"


def describe_rates(generations: Generations) -> str:
    """Return how fast prefill and decode of the requests are, and on which engines, in two sentences."""
    first_token_ns, has_decode = generations.first_token_ns, generations.decode_tokens > 0
    known = first_token_ns[first_token_ns >= 0]
    if not len(known):
        return "No request shows its first token."
    median = int(np.percentile(known, 50, method="inverted_cdf"))
    median_note = "" if len(known) == 1 else f" (median of {len(known):,} requests)"
    rate = ""
    if decode_ns := int(generations.decode_ns[has_decode].sum()):
        tokens = int(generations.decode_tokens[has_decode].sum())
        rate = f"; decode made {format_rate(tokens * 1e9 / decode_ns)} tokens per second"
    is_first = generations.tokens.is_first
    engines = [
        f"{name} {text}"
        for name, mask in (("prefill", is_first), ("decode", ~is_first))
        if (text := describe_token_engines(generations, np.flatnonzero(mask)))
    ]
    on = f" Engines by token: {', '.join(engines)}." if engines else " No call shows the engine of a token."
    return f"The first token took {format_rounded(median)}{median_note}{rate}.{on}"
