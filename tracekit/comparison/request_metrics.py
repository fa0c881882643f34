"""Numbers of the requests to language models of one run, with how much they vary within the run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.generation.reported import read_reported_requests
from tracekit.comparison.estimates import Estimate, estimate_within_runs
from tracekit.comparison.metrics import DECODE_RATE, INCOMPLETE, OF_REPORTED, REQUEST_LENGTH
from tracekit.comparison.observations import Observations
from tracekit.comparison.quantities import Amount
from tracekit.comparison.run_variation import RunVariation
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import Basis
from tracekit.statistics.rates import estimate_rate

REPORTED = f"{Basis.MEASURED}, tokens reported"
"""The basis of a rate with tokens as Foundation Models reports them, over measured lengths."""
NO_REPORT = "Foundation Models reports no request of the analyzed processes (its instrument shows them)"
NONE_COMPLETE = "no request that Foundation Models reports has an end and no error"
NO_RESPONSE = "Foundation Models reports no tokens of a complete response"


@dataclass(frozen=True)
class MeasuredRequests:
    """A number of a run's requests; ``variation`` is None where the run does not show how it varies."""

    amount: Amount
    variation: RunVariation | None = None


def measure_request(run: Observations, metric: str, model: str | None) -> MeasuredRequests:
    """Return a number of the requests to a model, or of all if ``model`` is None."""
    if metric in OF_REPORTED:
        return _measure_reported(run, metric, model)
    generations = run.analysis.generations
    if generations is None:
        return MeasuredRequests(Amount(None, missing="no signpost marks a request to a language model"))
    rows = np.flatnonzero([model is None or name == model for name in generations.models])
    if generations.requests.is_mixed[rows].any():
        return MeasuredRequests(Amount(None, missing="requests at once, whose tokens are not told apart"))
    if metric == DECODE_RATE:
        tokens = generations.tokens
        is_counted = ~tokens.is_first & np.isin(tokens.request, rows)
        if not is_counted.any():
            return MeasuredRequests(Amount(None, missing="no request has a second token"))
        counts, lengths = tokens.count[is_counted], tokens.length_ns[is_counted]
        return _measure_rate(counts, lengths, str(Basis.MEASURED))
    times_ns = generations.first_token_ns[rows]
    return _find_median(times_ns[times_ns > 0], "no request has a first token")


def _measure_reported(run: Observations, metric: str, model: str | None) -> MeasuredRequests:
    requests = read_reported_requests(run.analysis.trace.model_requests)
    if not len(requests):
        return MeasuredRequests(Amount(None, missing=NO_REPORT))
    if model is not None:
        requests = requests.select(requests.models == model)
    if not len(requests):
        return MeasuredRequests(Amount(None, missing="Foundation Models reports no request to this model"))
    if metric == INCOMPLETE:
        return MeasuredRequests(Amount(float((~requests.is_complete).sum()), str(Basis.MEASURED)))
    if metric == REQUEST_LENGTH:
        return _find_median(requests.length_ns[requests.is_complete], NONE_COMPLETE)
    of_rate = requests.select(requests.has_rate)
    if not of_rate.response_tokens.sum():
        return MeasuredRequests(Amount(None, missing=NO_RESPONSE))
    return _measure_rate(of_rate.response_tokens, of_rate.length_ns, REPORTED)


def _measure_rate(counts: IntArray, lengths_ns: IntArray, basis: str) -> MeasuredRequests:
    rate = estimate_rate(counts.astype(float), lengths_ns / 1e9)
    variation = None
    if math.isfinite(rate.error):
        # Of its logarithm, as differences of amounts are factors.
        variation = RunVariation(rate.value, (rate.error / rate.value) ** 2, rate.df)
    return MeasuredRequests(Amount(rate.value, basis), variation)


def _find_median(times_ns: IntArray, missing: str) -> MeasuredRequests:
    if not len(times_ns):
        return MeasuredRequests(Amount(None, missing=missing))
    median = float(np.percentile(times_ns, 50, method="inverted_cdf"))
    return MeasuredRequests(Amount(median, str(Basis.MEASURED)))


def compare_within(base: Sequence[MeasuredRequests], new: Sequence[MeasuredRequests]) -> Estimate | None:
    """Return the difference by the variation within the runs; None where a run does not show it."""
    sides = [[run.variation for run in side if run.variation is not None] for side in (base, new)]
    if not all(sides) or sum(map(len, sides)) < len(base) + len(new):
        return None
    return estimate_within_runs(sides[0], sides[1], "log", None)
