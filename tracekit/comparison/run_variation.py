"""The variation of a number of one run by chance, from the calls of this run alone.

Calls that follow each other are alike (caches, clocks, temperature), so they count for fewer than they are:
for as many independent ones as explain the variance of means of blocks of neighbours. A percentile varies as
far as the order statistics between which it lies (Woodruff 1952). Where few calls are independent, none of
them bounds a percentile of the tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.call_statistics import Statistic, estimate, find_percentile_ends
from tracekit.statistics.distributions import normal_quantile
from tracekit.statistics.share_intervals import LEVEL, compare_with_independent

Scale: TypeAlias = Literal["log", "linear"]


@dataclass(frozen=True)
class RunVariation:
    """The value of a run and how much it varies within the run: on the scale, with degrees of freedom."""

    value: float
    variance: float
    df: float


def measure_variation(values: FloatArray, statistic: Statistic, scale: Scale) -> RunVariation | None:
    """Return how much a statistic of calls in their order varies; None where the calls do not bound it."""
    value = estimate(values, statistic)
    if statistic == "mean":
        resemblance = compare_with_independent([values])
        error = math.sqrt(resemblance.variance * float(values.var(ddof=1)) / len(values))
        error /= value if scale == "log" else 1.0
        return RunVariation(value, error**2, resemblance.df)
    resemblance = compare_with_independent([(values <= value).astype(np.float64)])
    low, high = find_percentile_ends(values, float(statistic), len(values) / resemblance.variance, LEVEL)
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    width = math.log(high / low) if scale == "log" else high - low
    error = width / (2 * normal_quantile((1 + LEVEL) / 2))
    return RunVariation(value, error**2, resemblance.df)
