"""The rate of events of unequal lengths: the sum of counts over the sum of lengths, with its error."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.distributions import t_quantile
from tracekit.statistics.share_intervals import compare_with_independent


@dataclass(frozen=True)
class Rate:
    """A rate with its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    df: float

    def compute_interval(self, level: float) -> tuple[float, float]:
        """Return the interval of the rate."""
        if not math.isfinite(self.error):
            return 0.0, math.inf
        reach = t_quantile((1 + level) / 2, self.df) * self.error
        return max(0.0, self.value - reach), self.value + reach


def estimate_rate(counts: FloatArray, lengths: FloatArray) -> Rate:
    """Return the rate of events in their order; those that resemble their neighbours count as fewer.

    The error of a ratio of two sums is that of the mean of ``count - rate * length`` (Cochran 1977, 6.3).
    """
    rate = float(counts.sum() / lengths.sum())
    if len(counts) < 2:
        return Rate(rate, math.inf, 1.0)
    residuals = (counts - rate * lengths) / lengths.mean()
    resemblance = compare_with_independent([residuals])
    error = math.sqrt(resemblance.variance * float(residuals.var(ddof=1)) / len(counts))
    return Rate(rate, error, min(resemblance.df, len(counts) - 1))
