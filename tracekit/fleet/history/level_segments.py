"""The levels of a whole series, for its picture: an optimal partition, looked at once and never an alarm."""

from __future__ import annotations

import numpy as np

from tracekit.fleet.history.levels import MIN_SPREAD, Floats
from tracekit.frozen import frozen

_PENALTY = 4.0
"""Times variance and log n: what a further segment must explain (Yao 1988, twice his)."""
_MIN_SEGMENT_BUILDS = 2
_CLIP = 3.0
_NEIGHBOURS = 2
_DIFFERENCE_OF_NORMAL = 1.4826 / np.sqrt(2)


@frozen
class Segment:
    """Values from ``first`` until before ``last`` around one level."""

    first: int
    last: int
    level: float


def split_into_segments(values: Floats) -> list[Segment]:
    """Return the segments of a series whose squared deviations and penalties are least.

    Single values far from their neighbours are clipped first. O(n²): 300 values take some milliseconds.
    """
    count = len(values)
    if not count:
        return []
    steps = np.diff(values)
    spread = _DIFFERENCE_OF_NORMAL * float(np.median(np.abs(steps))) if count > 1 else 0.0
    spread = max(spread, MIN_SPREAD)
    clipped_values = _clip_outliers(values, _CLIP * spread)
    penalty = _PENALTY * spread**2 * np.log(max(count, 2))
    return [
        Segment(segment_start, segment_end, float(np.mean(clipped_values[segment_start:segment_end])))
        for segment_start, segment_end in _find_best_segments(clipped_values - clipped_values.mean(), penalty)
    ]


def _clip_outliers(values: Floats, reach: float) -> Floats:
    """Return values that are at most ``reach`` from the median of themselves and their neighbours."""
    padded = np.pad(values, _NEIGHBOURS, mode="edge")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1), axis=1)
    return np.clip(values, medians - reach, medians + reach)


def _find_best_segments(values: Floats, penalty: float) -> list[tuple[int, int]]:
    """Return the ends of the segments (Jackson and others 2005)."""
    count = len(values)
    if count < 2 * _MIN_SEGMENT_BUILDS:
        return [(0, count)]
    sums = np.concatenate([[0.0], np.cumsum(values)])
    squares = np.concatenate([[0.0], np.cumsum(values**2)])
    lowest_costs = np.full(count + 1, np.inf)
    lowest_costs[0] = -penalty
    begins = np.zeros(count + 1, np.int64)
    for end in range(_MIN_SEGMENT_BUILDS, count + 1):
        starts = np.arange(0, end - _MIN_SEGMENT_BUILDS + 1)
        within = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        costs = lowest_costs[starts] + within + penalty
        begins[end] = int(np.argmin(costs))
        lowest_costs[end] = costs[begins[end]]
    ends = []
    end = count
    while end > 0:
        ends.append((int(begins[end]), end))
        end = int(begins[end])
    return ends[::-1]
