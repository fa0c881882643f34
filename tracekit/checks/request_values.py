"""Numbers of requests to language models: the time to the first token, and tokens per second of a phase."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracekit.analysis.generation.generations import Generations
from tracekit.checks.call_notes import MOST_LISTED_NAMES
from tracekit.checks.requirements import Metric
from tracekit.checks.results import MetricValue
from tracekit.comparison.metrics import FIRST_TOKEN
from tracekit.comparison.observations import Observations, is_named
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import Basis
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.rates import estimate_rate
from tracekit.text import plural


def measure_requests(
    observations: Observations, metric: Metric, scope: str, confidence: float
) -> MetricValue:
    """Return a number of the requests to a model, which ``scope`` names, or to all models."""
    generations = observations.analysis.generations
    if generations is None:
        return MetricValue(metric.kind, missing=_NONE)
    rows = np.array(
        [row for row, name in enumerate(generations.models) if not scope or is_named(str(name), scope)],
        np.int64,
    )
    if not len(rows):
        names = sorted({str(name) for name in generations.models if name})
        listed = ", ".join(names[:MOST_LISTED_NAMES]) or "no name"
        return MetricValue(
            metric.kind, missing=f"no request is to a model '{scope}'; the requests have {listed}"
        )
    mixed = int(generations.requests.is_mixed[rows].sum())
    if mixed:
        reason = f"{plural(mixed, 'request')} at once with others, whose tokens are not told apart"
        return MetricValue(metric.kind, missing=f"there {'is' if mixed == 1 else 'are'} {reason}")
    if metric.quantity == FIRST_TOKEN:
        return _measure_first_token(generations, metric, rows)
    return _measure_rate(generations, metric, rows, confidence)


def _measure_first_token(generations: Generations, metric: Metric, rows: IntArray) -> MetricValue:
    """Return the statistic of all requests; one that the recording's end cuts takes at least until there."""
    times = generations.first_token_ns[rows].astype(np.float64)
    is_open = times < 0
    least = np.where(is_open, (generations.requests.end_ns - generations.requests.start_ns)[rows], times)
    most = np.where(is_open, np.inf, times)
    low, high = (_compute_statistic(values, metric.statistic) for values in (least, most))
    cut = int(is_open.sum())
    note = f"the recording ends before the first token of {plural(cut, 'request')}" if cut else ""
    return MetricValue("time", low, high, str(Basis.MEASURED), len(rows), note=note, noun="request")


def _compute_statistic(values: FloatArray, statistic: str) -> float:
    if statistic in ("max", "min", "mean"):
        return float(getattr(np, statistic)(values))
    return float(np.percentile(values, float(statistic[1:]), method="inverted_cdf"))


def _measure_rate(generations: Generations, metric: Metric, rows: IntArray, confidence: float) -> MetricValue:
    counts, lengths = _collect(generations, metric.part, rows)
    if not len(counts):
        reason = (
            "no request shows the tokens of its prompt"
            if metric.part == "prefill"
            else "no request has a second token"
        )
        return MetricValue("rate", missing=reason)
    noun = "prompt" if metric.part == "prefill" else "token"
    size = len(counts) if metric.part == "prefill" else int(counts.sum())
    if metric.statistic in ("max", "min"):
        rates = generations.prefill_rates if metric.part == "prefill" else generations.rates
        extreme = _compute_statistic(rates[rows][~np.isnan(rates[rows])], metric.statistic)
        return MetricValue("rate", extreme, extreme, str(Basis.MEASURED), size, noun=noun)
    rate = estimate_rate(counts, lengths)
    value = MetricValue("rate", rate.value, rate.value, str(Basis.MEASURED), size, noun=noun)
    if not confidence:
        return value
    return replace(value, interval=rate.compute_interval(confidence), confidence=confidence)


def _collect(generations: Generations, phase: str, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return tokens and seconds of each event of a phase: a prefill, or the arrival of tokens in decode."""
    if phase == "prefill":
        counts, lengths = generations.requests.prompt_tokens[rows], generations.first_token_ns[rows]
        is_known = (counts > 0) & (lengths > 0)
    else:
        tokens = generations.tokens
        counts, lengths = tokens.count, tokens.length_ns
        is_known = ~tokens.is_first & np.isin(tokens.request, rows)
    return counts[is_known].astype(np.float64), lengths[is_known] / 1e9


_NONE = "no signpost marks a request to a language model (--request-spans names those of an app)"
