"""Numbers of the requests to language models of one run, with how much they vary within the run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.comparison.estimates import Estimate, estimate_within_runs
from tracekit.comparison.metrics import DECODE_RATE
from tracekit.comparison.observations import Observations
from tracekit.comparison.quantities import Amount
from tracekit.comparison.run_variation import RunVariation
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import Basis
from tracekit.statistics.rates import estimate_rate


@dataclass(frozen=True)
class MeasuredRequests:
    """A number of a run's requests; ``variation`` is None where the run does not show how it varies."""

    amount: Amount
    variation: RunVariation | None = None


def measure_request(run: Observations, metric: str, model: str | None) -> MeasuredRequests:
    """Return a number of the requests to a model, or of all if ``model`` is None."""
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
        rate = estimate_rate(tokens.count[is_counted].astype(float), tokens.length_ns[is_counted] / 1e9)
        variation = None
        if math.isfinite(rate.error):
            # Of its logarithm, as differences of amounts are factors.
            variation = RunVariation(rate.value, (rate.error / rate.value) ** 2, rate.df)
        return MeasuredRequests(Amount(rate.value, str(Basis.MEASURED)), variation)
    return _measure_first_token(generations.first_token_ns[rows])


def _measure_first_token(times_ns: IntArray) -> MeasuredRequests:
    known = times_ns[times_ns > 0]
    if not len(known):
        return MeasuredRequests(Amount(None, missing="no request has a first token"))
    median = float(np.percentile(known, 50, method="inverted_cdf"))
    return MeasuredRequests(Amount(median, str(Basis.MEASURED)))


def compare_within(base: Sequence[MeasuredRequests], new: Sequence[MeasuredRequests]) -> Estimate | None:
    """Return the difference by the variation within the runs; None where a run does not show it."""
    sides = [[run.variation for run in side if run.variation is not None] for side in (base, new)]
    if not all(sides) or sum(map(len, sides)) < len(base) + len(new):
        return None
    return estimate_within_runs(sides[0], sides[1], "log", None)
