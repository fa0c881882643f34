"""Intervals of differences of shares, from those of both sides: Newcombe's, never 0 … 0."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracekit.comparison.estimates import Estimate
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.distributions import normal_quantile
from tracekit.statistics.share_intervals import LEVEL, compute_wilson_interval, count_independent_calls


def compute_newcombe_interval(
    shares: tuple[float, float], counts: tuple[float, float], level: float = LEVEL
) -> tuple[float, float]:
    """Return the interval of the second share minus the first (Newcombe 1998, method 10)."""
    (base, new), change = shares, shares[1] - shares[0]
    base_low, base_high = compute_wilson_interval(base, counts[0], level)
    new_low, new_high = compute_wilson_interval(new, counts[1], level)
    return (
        change - math.hypot(new - new_low, base_high - base),
        change + math.hypot(new_high - new, base - base_low),
    )


def compute_share_interval(
    base: Sequence[FloatArray],
    new: Sequence[FloatArray],
    spread: Estimate | None,
    run_noise: float | None,
    level: float = LEVEL,
    session_noise: float | None = None,
) -> tuple[float, float]:
    """Return the interval of the difference of two sides' shares; each array has a run's calls as 1 or 0.

    ``spread`` is the difference by the shares of the runs, where these are several. The interval is then
    never narrower than the one that takes all calls for independent. ``run_noise`` is a given spread
    between runs, as a fraction of 1, and ``session_noise`` one between sessions, where ``spread`` has none.
    """
    sides = base, new
    if spread is not None:
        counts = [float(sum(len(run) for run in side)) for side in sides]
        calls = compute_newcombe_interval((spread.base, spread.new), (counts[0], counts[1]), level)
        runs = spread.interval(level)
        return _limit_to_one(min(calls[0], runs[0])), _limit_to_one(max(calls[1], runs[1]))
    shares = [float(np.mean([run.mean() for run in side])) for side in sides]
    counts = [sum(count_independent_calls(run, [*base, *new]) for run in side) for side in sides]
    low, high = compute_newcombe_interval((shares[0], shares[1]), (counts[0], counts[1]), level)
    change = shares[1] - shares[0]
    of_runs = (run_noise or 0.0) * math.sqrt(sum(1 / len(side) for side in sides))
    of_sessions = (session_noise or 0.0) * math.sqrt(2)
    given = normal_quantile((1 + level) / 2) * math.hypot(of_runs, of_sessions)
    return (
        _limit_to_one(change - math.hypot(change - low, given)),
        _limit_to_one(change + math.hypot(high - change, given)),
    )


def _limit_to_one(difference: float) -> float:
    return min(1.0, max(-1.0, difference))
