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
from tracekit.comparison.quantities import Names
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Basis
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.rates import estimate_rate
from tracekit.text import plural

NO_PROMPT = "no request shows the tokens of its prompt"
NO_DECODE = "no request has a second token"


def measure_requests(
    observations: Observations, metric: Metric, scope: str, confidence: float
) -> MetricValue:
    """Return a number of the requests to a model, which ``scope`` names, or to all models."""
    generations = observations.analysis.generations
    if generations is None:
        return MetricValue(metric.kind, missing=_NONE)
    rows = np.flatnonzero(mark_scope(generations.models, scope))
    if not len(rows):
        return MetricValue(metric.kind, missing=explain_other_models(generations.models, scope))
    mixed = int(generations.requests.is_mixed[rows].sum())
    if mixed:
        return MetricValue(metric.kind, missing=explain_mixed(mixed))
    if metric.quantity == FIRST_TOKEN:
        return _measure_first_token(generations, metric, rows)
    return _measure_rate(generations, metric, rows, confidence)


def _measure_first_token(generations: Generations, metric: Metric, rows: IntArray) -> MetricValue:
    """Return the statistic of all requests; one that the recording's end cuts takes at least until there."""
    times = generations.first_token_ns[rows].astype(np.float64)
    least = (generations.requests.end_ns - generations.requests.start_ns)[rows].astype(np.float64)
    return summarize_first_tokens(np.where(times < 0, np.nan, times), least, metric.statistic)


def mark_scope(models: Names, scope: str) -> BoolArray:
    """Mark the requests to a model; "" is any."""
    return np.array([not scope or is_named(str(name), scope) for name in models], bool)


def explain_other_models(models: Names, scope: str) -> str:
    """Return why no request is meant, with the models that requests have."""
    names = sorted({str(name) for name in models if name})
    listed = ", ".join(names[:MOST_LISTED_NAMES]) or "no name"
    return f"no request is to a model '{scope}'; the requests have {listed}"


def explain_mixed(count: int) -> str:
    """Return why requests at once have no numbers."""
    verb = "is" if count == 1 else "are"
    return f"there {verb} {plural(count, 'request')} at once with others, whose tokens are not told apart"


def summarize_first_tokens(times: FloatArray, least: FloatArray, statistic: str) -> MetricValue:
    """Return the statistic of times to the first token; where it is NaN, it is ``least`` or longer."""
    is_open = np.isnan(times)
    low, high = (compute_statistic(np.where(is_open, ends, times), statistic) for ends in (least, np.inf))
    open_count = int(is_open.sum())
    note = f"the recording has no first token of {plural(open_count, 'request')}" if open_count else ""
    return MetricValue("time", low, high, str(Basis.MEASURED), len(times), note=note, noun="request")


def compute_statistic(values: FloatArray, statistic: str) -> float:
    """Return an extreme, the mean or a nearest-rank percentile of numbers of requests."""
    if statistic in ("max", "min", "mean"):
        return float(getattr(np, statistic)(values))
    return float(np.percentile(values, float(statistic[1:]), method="inverted_cdf"))


def _measure_rate(generations: Generations, metric: Metric, rows: IntArray, confidence: float) -> MetricValue:
    counts, lengths = _collect(generations, metric.part, rows)
    if not len(counts):
        return MetricValue("rate", missing=NO_PROMPT if metric.part == "prefill" else NO_DECODE)
    noun = "prompt" if metric.part == "prefill" else "token"
    size = len(counts) if metric.part == "prefill" else int(counts.sum())
    rates = generations.prefill_rates if metric.part == "prefill" else generations.rates
    value = summarize_rates(counts, lengths, rates[rows], metric.statistic, confidence)
    return replace(value, windows=size, noun=noun)


def summarize_rates(
    counts: FloatArray, lengths: FloatArray, rates: FloatArray, statistic: str, confidence: float
) -> MetricValue:
    """Return the rate of all events, of tokens in seconds, or the extreme of the requests' ``rates``."""
    basis = str(Basis.MEASURED)
    if statistic in ("max", "min"):
        extreme = compute_statistic(rates[~np.isnan(rates)], statistic)
        return MetricValue("rate", extreme, extreme, basis, len(rates), noun="request")
    rate = estimate_rate(counts, lengths)
    value = MetricValue("rate", rate.value, rate.value, basis, len(rates), noun="request")
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
