"""The parts of a call's time in which two groups of calls differ, tested.

Calls near each other are alike, and a group may be a stretch of the run. So what counts is not the calls but
blocks of neighbours: each block adds its share of the difference, and the blocks' shares, around the groups'
means, show how far the difference varies by chance (the cluster-robust variance of Liang and Zeger 1986,
with two degrees of freedom taken by the two means). Blocks of few calls resemble the next block; then the
error is not below that of calls of which each resembles the last (autoregression). Each part has its share
of the 5 %.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.findings.series import FloatArray
from tracekit.model.columns import BoolArray, IntArray

_ALPHA = 0.05
_BLOCKS = 10
"""Of 20 calls, blocks of two; more blocks of many calls would be blocks of calls that are alike."""
_FEW_CALLS = 200
_MOST_ALIKE = 0.98
_NOTABLE_SHARE = 0.05
"""Of the difference in length: a part that differs by less explains nothing, however certain it is."""


class PartDifference(NamedTuple):
    """How much longer a part is in the longer calls: the difference of means, negative where it is shorter.

    ``error_ns`` is the half width of its interval; the intervals of all parts hold together at 95 %.
    """

    part: BudgetPart
    difference_ns: int
    error_ns: int


def find_different_parts(
    is_long: BoolArray, parts: tuple[BudgetPart, ...], part_ns: IntArray
) -> tuple[PartDifference, ...]:
    """Return the parts that differ between the calls marked and the rest, the one that grew most first.

    ``part_ns`` has a row per call, in order of time, and a column for each of ``parts``; a row sums to the
    length of the call. Each group has two calls or more.
    """
    present = np.flatnonzero((part_ns > 0).any(axis=0))
    times = part_ns[:, present].astype(np.float64)
    difference = times[is_long].mean(axis=0) - times[~is_long].mean(axis=0)
    errors = _estimate_errors(is_long, times, 1 - _ALPHA / (2 * max(1, len(present))))
    least = _NOTABLE_SHARE * abs(difference.sum())
    is_different = (np.abs(difference) > errors) & (np.abs(difference) >= least)
    found = [
        PartDifference(parts[present[position]], round(difference[position]), round(errors[position]))
        for position in np.flatnonzero(is_different).tolist()
    ]
    return tuple(sorted(found, key=lambda part: -part.difference_ns))


def _estimate_errors(is_long: BoolArray, times: FloatArray, level: float) -> FloatArray:
    from tracekit.statistics.distributions import t_quantile

    residuals, weights = times.copy(), np.empty(len(times))
    for group in (is_long, ~is_long):
        residuals[group] -= times[group].mean(axis=0)
        weights[group] = 1 / group.sum()
    weights[~is_long] *= -1
    edges = np.linspace(0, len(times), _BLOCKS + 1).astype(int)[:-1]
    shares = np.add.reduceat(weights[:, None] * residuals, edges)
    variance = (shares**2).sum(axis=0) * _BLOCKS / (_BLOCKS - 2)
    if len(times) <= _FEW_CALLS:
        variance = np.maximum(variance, _estimate_alike_variance(is_long, weights, residuals))
    errors: FloatArray = t_quantile(level, _BLOCKS - 2) * np.sqrt(variance)
    return errors


def _estimate_alike_variance(is_long: BoolArray, weights: FloatArray, residuals: FloatArray) -> FloatArray:
    """Return the variance of the difference if each call resembles the last by the correlation that is seen.

    A correlation around the mean of n values is seen too small, by about (1 + 4r) / n (Kendall 1954); n is
    of the smaller group.
    """
    count, fewest = len(weights), int(min(is_long.sum(), (~is_long).sum()))
    squares = np.maximum((residuals**2).sum(axis=0), 1)
    seen = (residuals[1:] * residuals[:-1]).sum(axis=0) / squares
    alike = np.clip(seen + (1 + 4 * seen) / fewest, 0, _MOST_ALIKE)
    distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    pairs = np.outer(weights, weights)
    factor = np.array([(pairs * correlation**distance).sum() for correlation in alike.tolist()])
    # The values spread more than around their own mean, which follows them where they are alike.
    near = distance[:fewest, :fewest]
    inner = np.array([1 - (correlation**near).mean() for correlation in alike.tolist()])
    variance: FloatArray = factor * squares / (count - 2) / inner
    return variance
