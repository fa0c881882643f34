"""Sets of time as disjoint spans: unions, intersections, and how much of them lies in a window.

All of it is exact integer arithmetic on sorted arrays, linear but for the sorting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracekit.model.columns import BoolArray, IntArray


@dataclass(frozen=True)
class Spans:
    """Half-open spans that neither touch nor overlap, in order of time."""

    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, starts: IntArray, ends: IntArray) -> Spans:
        """Return the union of any spans; empty ones hold no time and vanish."""
        real = ends > starts
        order = np.argsort(starts[real], kind="stable")
        begin, end = starts[real][order], ends[real][order]
        if not len(begin):
            return NOTHING
        reach = np.maximum.accumulate(end)
        opens = np.append(True, begin[1:] > reach[:-1])
        closes = np.append(np.flatnonzero(opens)[1:] - 1, len(begin) - 1)
        return cls(begin[opens], reach[closes])

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def _before(self) -> IntArray:
        """How much time lies before each span's start; one entry more than spans."""
        return np.concatenate([[0], np.cumsum(self.ends - self.starts)]).astype(np.int64)

    @property
    def total_ns(self) -> int:
        """The time that the spans hold."""
        return int(self._before[-1])

    def until(self, times: IntArray) -> IntArray:
        """Return how much of the spans lies before each time."""
        at = np.searchsorted(self.starts, times, "right")
        last = np.maximum(at - 1, 0)
        if not len(self.starts):
            return np.zeros(len(times), np.int64)
        overshoot = np.where(at > 0, np.maximum(self.ends[last] - times, 0), 0)
        held: IntArray = self._before[at] - overshoot
        return held

    def within(self, starts: IntArray, ends: IntArray) -> IntArray:
        """Return how much of the spans lies in each window ``[start, end)``: one int64 per window."""
        return self.until(ends) - self.until(starts)

    def touches(self, starts: IntArray, ends: IntArray) -> BoolArray:
        """Mark the windows ``[start, end)`` in which any of the spans lies."""
        at = np.searchsorted(self.ends, starts, "right")
        touched: BoolArray = np.append(self.starts, np.iinfo(np.int64).max)[at] < ends
        return touched

    def pieces(self, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the spans cut to the windows, as (row of the window, start, end), window by window."""
        first = np.searchsorted(self.ends, starts, "right")
        counts = np.maximum(np.searchsorted(self.starts, ends, "left") - first, 0)
        window = np.repeat(np.arange(len(starts)), counts)
        at = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        begin, end = np.maximum(self.starts[at], starts[window]), np.minimum(self.ends[at], ends[window])
        real = end > begin  # a window without length holds nothing
        return window[real], begin[real], end[real]

    def __and__(self, other: Spans) -> Spans:
        _, starts, ends = self.pieces(other.starts, other.ends)
        return Spans(starts, ends)

    def __or__(self, other: Spans) -> Spans:
        return union([self, other])

    def __sub__(self, other: Spans) -> Spans:
        if not len(self) or not len(other):
            return self
        low, high = self.starts[0], self.ends[-1]
        gaps = Spans.of(np.append(min(low, other.starts[0]), other.ends), np.append(other.starts, high))
        return self & gaps


NOTHING = Spans(np.zeros(0, np.int64), np.zeros(0, np.int64))


def union(sets: Sequence[Spans]) -> Spans:
    """Return the time that any of the sets holds."""
    filled = [one for one in sets if len(one)]
    if len(filled) < 2:
        return filled[0] if filled else NOTHING
    return Spans.of(
        np.concatenate([one.starts for one in filled]), np.concatenate([one.ends for one in filled])
    )


def held_twice(sets: Sequence[Spans]) -> Spans:
    """Return the time that at least two of the sets hold."""
    pairs = [one & other for at, one in enumerate(sets) for other in sets[at + 1 :]]
    return union(pairs)


def union_by_group(group: IntArray, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the union of spans within each group, as (group, start, end) sorted by group and start."""
    real = ends > starts
    group, starts, ends = group[real], starts[real], ends[real]
    order = np.lexsort((starts, group))
    group, starts, ends = group[order], starts[order], ends[order]
    if not len(group):
        return group, starts, ends
    changes = group[1:] != group[:-1]
    reach = _reach_by_lane(np.cumsum(np.append(0, changes)), ends)
    opens = np.append(True, changes | (starts[1:] > reach[:-1]))
    closes = np.append(np.flatnonzero(opens)[1:] - 1, len(group) - 1)
    return group[opens], starts[opens], reach[closes]


def _reach_by_lane(lane: IntArray, ends: IntArray) -> IntArray:
    """Return the largest end so far in each lane, of lanes in ascending order.

    It is a running maximum of ends that are lifted by lane: of their ranks, where the times are too long.
    """
    low, high = int(ends.min()), int(ends.max())
    if (int(lane[-1]) + 1) * (high - low + 1) < 2**62:
        lift = lane * (high - low + 1)
        reach: IntArray = np.maximum.accumulate(ends - low + lift) - lift + low
        return reach
    distinct, rank = np.unique(ends, return_inverse=True)
    lift = lane * len(distinct)
    return distinct[np.maximum.accumulate(rank + lift) - lift]
