"""Intervals of one recording's numbers, and of the numbers of several runs.

A recording is a sample of what the program does. Percentiles have intervals from order statistics, shares
Wilson's, means Student's t; correlated calls count as fewer (``count_independent_calls``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracekit.checks.requirements import AMOUNTS, Kind
from tracekit.comparison.estimates import compute_centre, scale_of
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.call_statistics import (
    Statistic,
    count_required_values,
    estimate,
    find_percentile_ends,
)
from tracekit.statistics.distributions import normal_quantile, t_quantile
from tracekit.statistics.share_intervals import compute_wilson_interval, count_independent_calls

Interval = tuple[float, float]


def estimate_interval(values: FloatArray, statistic: Statistic, confidence: float) -> Interval:
    """Return the interval of a statistic of calls in their order; an end that nothing bounds is infinite."""
    if len(values) < count_required_values(statistic) or not np.isfinite(values).all():
        return -math.inf, math.inf
    if statistic == "mean":
        return _estimate_mean_interval(values, confidence)
    return _estimate_percentile_interval(values, float(statistic), confidence)


def estimate_ratio_interval(parts: FloatArray, totals: FloatArray, confidence: float) -> Interval:
    """Return the interval of the ratio of two sums over calls, not narrower than that of a share of calls."""
    ratio = float(parts.sum() / totals.sum())
    residuals = (parts - ratio * totals) / totals.mean()
    low, high = _estimate_mean_interval(residuals, confidence)
    share_low, share_high = compute_wilson_interval(ratio, int((totals > 0).sum()), confidence)
    return max(0.0, min(share_low, ratio + low)), min(1.0, max(share_high, ratio + high))


def estimate_runs_interval(
    values: FloatArray, is_amount: bool, confidence: float, noise: Sequence[FloatArray] = ()
) -> Interval:
    """Return the interval of the mean of several runs' values, of amounts by their logarithms.

    ``noise`` has groups of other recordings with the same spread as these runs: the spread is pooled. An
    interval is unbounded if neither shows a spread.
    """
    pools = [values, *(group for group in noise if len(group))]
    df = float(sum(len(pool) - 1 for pool in pools))
    if not df or not all(np.isfinite(pool).all() for pool in pools):
        return -math.inf, math.inf
    scale = scale_of(is_amount, *pools)
    scaled = [np.log(pool) if scale == "log" else pool for pool in pools]
    variance = sum(float(((pool - pool.mean()) ** 2).sum()) for pool in scaled) / df
    middle = float(scaled[0].mean())
    half = t_quantile((1 + confidence) / 2, df) * math.sqrt(variance / len(values))
    ends = np.array([middle - half, middle + half])
    low, high = np.exp(np.clip(ends, -700, 700)).tolist() if scale == "log" else ends.tolist()
    return low, high


def add_run_spread(
    ends: Sequence[Interval], calls: Sequence[Interval], spread: float, kind: Kind, confidence: float
) -> Interval:
    """Return the interval of the mean of runs from those of their calls, and a normal spread between runs.

    The distances of the ends from the numbers are added in squares (Zou and Donner 2008), of amounts by their
    logarithms. ``ends`` has each run's number, with the lowest and the highest value that calls without one
    could have. ``spread`` is a standard deviation: of shares as a fraction of 1, of other numbers as a
    fraction of the number.
    """
    lows, highs, call_lows, call_highs = np.array(
        [[*end, *interval] for end, interval in zip(ends, calls, strict=True)]
    ).T
    reach = normal_quantile((1 + confidence) / 2) * spread / math.sqrt(len(ends))
    if kind in AMOUNTS and min(lows.min(), call_lows.min()) > 0:
        lows, highs, call_lows, call_highs = (
            np.log(values) for values in (lows, highs, call_lows, call_highs)
        )
        low = lows.mean() - _measure_distance(lows, call_lows, reach)
        return math.exp(low), math.exp(highs.mean() + _measure_distance(highs, call_highs, reach))
    units = (1.0, 1.0) if kind == "share" else (abs(lows.mean()), abs(highs.mean()))
    return (
        float(lows.mean()) - _measure_distance(lows, call_lows, reach * units[0]),
        float(highs.mean()) + _measure_distance(highs, call_highs, reach * units[1]),
    )


def _measure_distance(values: FloatArray, ends: FloatArray, reach: float) -> float:
    """Return the distance of a mean from its end: the root of the summed squares of all distances."""
    if not (np.isfinite(values).all() and np.isfinite(ends).all()):
        return math.inf
    return math.hypot(math.hypot(*(values - ends)) / len(values), reach)


def compute_run_mean(values: FloatArray, is_amount: bool) -> float:
    """Return the mean of several runs' values, as ``compare`` has it."""
    if not np.isfinite(values).all():
        return math.inf
    return compute_centre(values, scale_of(is_amount, values))


def parse_statistic(name: str) -> Statistic:
    """Return the statistic that a metric names: "mean", or a percentile as a fraction."""
    return "mean" if name == "mean" else float(name[1:]) / 100


def count_fewest_calls(statistic: str, otherwise: int) -> int:
    """Return the number of calls that a percentile needs in a run; ``otherwise`` for other statistics."""
    return count_required_values(float(statistic[1:]) / 100) if statistic.startswith("p") else otherwise


def _estimate_mean_interval(values: FloatArray, confidence: float) -> Interval:
    count = len(values)
    if count < 2:
        return -math.inf, math.inf
    error = math.sqrt(float(values.var(ddof=1)) / count_independent_calls(values))
    half = t_quantile((1 + confidence) / 2, count - 1.0) * error
    return float(values.mean()) - half, float(values.mean()) + half


def _estimate_percentile_interval(values: FloatArray, fraction: float, confidence: float) -> Interval:
    is_below = (values <= estimate(values, fraction)).astype(np.float64)
    return find_percentile_ends(values, fraction, count_independent_calls(is_below), confidence)
