"""The levels of a whole series, for its picture: an optimal partition, looked at once and never an alarm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.fleet.history.levels import LEAST_SPREAD, Floats

_PENALTY = 4.0
"""Times variance and log n: what a further segment must explain (Yao 1988, twice his)."""
_SHORTEST = 2
_CLIP = 3.0
_NEIGHBOURS = 2
_DIFFERENCE_OF_NORMAL = 1.4826 / np.sqrt(2)


@dataclass(frozen=True)
class Segment:
    """Values from ``first`` until before ``last`` around one level."""

    first: int
    last: int
    level: float


def partition(values: Floats) -> list[Segment]:
    """Return the segments of a series whose squared deviations and penalties are least.

    Single values far from their neighbours are clipped first. O(n²): 300 values take some milliseconds.
    """
    count = len(values)
    if not count:
        return []
    steps = np.diff(values)
    spread = _DIFFERENCE_OF_NORMAL * float(np.median(np.abs(steps))) if count > 1 else 0.0
    spread = max(spread, LEAST_SPREAD)
    clipped = _clipped(values, _CLIP * spread)
    penalty = _PENALTY * spread**2 * np.log(max(count, 2))
    return [
        Segment(first, last, float(np.mean(clipped[first:last])))
        for first, last in _best(clipped - clipped.mean(), penalty)
    ]


def _clipped(values: Floats, reach: float) -> Floats:
    """Return values that are at most ``reach`` from the median of themselves and their neighbours."""
    padded = np.pad(values, _NEIGHBOURS, mode="edge")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1), axis=1)
    return np.clip(values, medians - reach, medians + reach)


def _best(values: Floats, penalty: float) -> list[tuple[int, int]]:
    """Return the ends of the segments (Jackson and others 2005)."""
    count = len(values)
    if count < 2 * _SHORTEST:
        return [(0, count)]
    sums = np.concatenate([[0.0], np.cumsum(values)])
    squares = np.concatenate([[0.0], np.cumsum(values**2)])
    least = np.full(count + 1, np.inf)
    least[0] = -penalty
    begins = np.zeros(count + 1, np.int64)
    for end in range(_SHORTEST, count + 1):
        starts = np.arange(0, end - _SHORTEST + 1)
        within = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        costs = least[starts] + within + penalty
        begins[end] = int(np.argmin(costs))
        least[end] = costs[begins[end]]
    ends = []
    end = count
    while end > 0:
        ends.append((int(begins[end]), end))
        end = int(begins[end])
    return ends[::-1]
