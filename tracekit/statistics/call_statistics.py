"""Statistics of the calls of one run, and the order statistics between which a percentile lies."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.distributions import binomial_at_most

Statistic: TypeAlias = Literal["mean"] | float
"""The mean, or a nearest-rank percentile as a fraction."""

FEWEST = 5
"""Calls that a run needs for an interval."""


def estimate(values: FloatArray, statistic: Statistic) -> float:
    """Return a statistic of the values that are not NaN; NaN where there is none."""
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan")
    if statistic == "mean":
        return float(values.mean())
    return float(np.sort(values)[rank(len(values), float(statistic)) - 1])


def rank(count: int, fraction: float) -> int:
    """Return the nearest rank of a percentile, from 1, as numpy's "inverted_cdf" defines it."""
    return max(1, int(np.ceil(np.float64(fraction) * count - 1e-9)))


def count_required_values(statistic: Statistic) -> int:
    """Return the number of values that a statistic needs: of fewer than 100, the p99 is only the largest."""
    if statistic == "mean":
        return FEWEST
    fraction = min(float(statistic), 1 - 1e-6)
    return max(FEWEST, int(np.ceil(1 / (1 - fraction) - 1e-9)))


def find_percentile_ends(
    values: FloatArray, fraction: float, independent: float, level: float
) -> tuple[float, float]:
    """Return the order statistics between which a percentile lies; infinite where no value bounds it.

    The values count for as many independent ones, of which the number below the true percentile is binomial::

        rank    1 … low … high … trials      P(fewer than low) <= tail, P(high or more) <= tail
    """
    count, trials, tail = len(values), max(1, int(independent)), (1 - level) / 2
    ordered = np.sort(values)
    low = _find_first_rank(trials, fraction, tail) - 1
    high = _find_first_rank(trials, fraction, 1 - tail)
    lower = -math.inf if low < 1 else float(ordered[max(1, low * count // trials) - 1])
    upper = math.inf if high > trials else float(ordered[min(count, -(-high * count // trials)) - 1])
    return lower, upper


@lru_cache(4096)
def _find_first_rank(trials: int, fraction: float, probability: float) -> int:
    """Return the first rank with P(fewer than rank calls are below) >= probability; trials + 1 if none."""
    lowest_rank, highest_rank = 1, trials + 1
    while lowest_rank < highest_rank:
        middle = (lowest_rank + highest_rank) // 2
        if binomial_at_most(middle - 1, trials, fraction) >= probability:
            highest_rank = middle
        else:
            lowest_rank = middle + 1
    return lowest_rank
