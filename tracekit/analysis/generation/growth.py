"""How the time of a token grows with the tokens before it: a line with an interval of its slope."""

from __future__ import annotations

import math

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.statistics.distributions import t_quantile
from tracekit.statistics.share_intervals import LEVEL, compare_with_independent

FEWEST_TOKENS = 20
"""Fewer arrivals show no trend."""
PER_TOKENS = 1_000
"""Slopes are per so many tokens of context."""


@frozen
class Growth:
    """The growth of a token's time per ``PER_TOKENS`` tokens of context, with its interval at ``LEVEL``.

    ``tokens`` is the number of those that show it; ``least_context`` and ``most_context`` are theirs.
    """

    slope_ns: float
    low_ns: float
    high_ns: float
    tokens: int
    least_context: int
    most_context: int

    @property
    def is_clear(self) -> bool:
        """True where the interval lies on one side of 0."""
        return self.low_ns > 0 or self.high_ns < 0


def fit_growth(context: IntArray, length_ns: IntArray) -> Growth | None:
    """Return the growth that tokens in their order show; None for fewer than ``FEWEST_TOKENS``.

    No two tokens have the same context.
    The slope is that of least squares. Its error is that of the mean of ``(x - mean of x) * residual``, which
    needs neither equal variances nor independent tokens: those that resemble their neighbours count as fewer.
    """
    count = len(context)
    if count < FEWEST_TOKENS:
        return None
    x = context - context.mean()
    y = length_ns - length_ns.mean()
    spread = float((x * x).sum())
    slope = float((x * y).sum()) / spread
    scores = x * (y - slope * x)
    resemblance = compare_with_independent([scores])
    error = float(scores.std()) * math.sqrt(resemblance.variance * count) / spread
    reach = t_quantile((1 + LEVEL) / 2, max(1.0, min(resemblance.df, count - 1) - 1)) * error
    slope_ns, low_ns, high_ns = (value * PER_TOKENS for value in (slope, slope - reach, slope + reach))
    return Growth(slope_ns, low_ns, high_ns, count, int(context.min()), int(context.max()))
