"""Sets of time as disjoint intervals: unions, intersections, and how much of them lies in a window.

All of it is exact integer arithmetic on sorted arrays, linear but for the sorting.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from tracekit.analysis.engines.codes import sum_before
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray

_MERGED_VALUES = 1_000
"""Fewer values are searched one by one: a merge has more steps before the first."""
_MERGED_SHARE = 8
"""As are values that are fewer than 1/8 of the keys."""


@frozen(eq=False)
class IntervalSet:
    """Half-open intervals that neither touch nor overlap, in order of time."""

    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, starts: IntArray, ends: IntArray) -> IntervalSet:
        """Return the union of any intervals; those without a length are dropped."""
        has_length = ends > starts
        if len(starts) and has_length.all() and (starts[1:] > ends[:-1]).all():
            return cls(starts, ends)  # most already are a set
        # Sorted by start, an interval opens a new one of the union where it begins after everything before it
        # has ended:
        #   starts   0  2  3  9     reach is the running maximum of ends
        #   ends     5  4  7 11
        #   reach    5  5  7 11
        #   opens    T  F  F  T     2 and 3 are ≤ the reach before them
        starts, ends = (starts, ends) if has_length.all() else (starts[has_length], ends[has_length])
        if not len(starts):
            return EMPTY
        sorted_starts, sorted_ends = starts, ends
        if (starts[1:] < starts[:-1]).any():
            order = np.argsort(starts, kind="stable")
            sorted_starts, sorted_ends = starts[order], ends[order]
        reach = np.maximum.accumulate(sorted_ends)
        opens = np.append(True, sorted_starts[1:] > reach[:-1])
        closes = np.append(np.flatnonzero(opens)[1:] - 1, len(sorted_starts) - 1)
        return cls(sorted_starts[opens], reach[closes])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends)

    __hash__ = None  # type: ignore[assignment] # arrays can be changed in place

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def _time_before(self) -> IntArray:
        """The time that the intervals before each one cover; one entry more than intervals."""
        return sum_before(self.ends - self.starts)

    @property
    def total_ns(self) -> int:
        """The time that the intervals cover."""
        return int(self._time_before[-1])

    def until(self, times: IntArray) -> IntArray:
        """Return how much time the intervals cover before each moment."""
        if not len(self.starts):
            return np.zeros(len(times), np.int64)
        # All intervals that began by then count in full, and the last of them loses what lies after the
        # moment:
        #          ──a──     ──b──┊──
        #                         time     until = a + b − (end of b − time)
        # Only the last can reach past the moment, because the intervals are disjoint.
        begun_count = find_places(self.starts, times, "right")
        last_row = np.maximum(begun_count - 1, 0)
        remaining = np.where(begun_count > 0, np.maximum(self.ends[last_row] - times, 0), 0)
        covered: IntArray = self._time_before[begun_count] - remaining
        return covered

    def within(self, starts: IntArray, ends: IntArray) -> IntArray:
        """Return how much time the intervals cover in each window ``[start, end)``: one int64 per window."""
        return self.until(ends) - self.until(starts)

    def touches(self, starts: IntArray, ends: IntArray) -> BoolArray:
        """Mark the windows ``[start, end)`` in which any of the intervals lies."""
        # The first interval that ends after the window's start must begin before the window's end.
        first_row = find_places(self.ends, starts, "right")
        mask: BoolArray = np.append(self.starts, np.iinfo(np.int64).max)[first_row] < ends
        return mask

    def count(self, starts: IntArray, ends: IntArray) -> IntArray:
        """Return how many of the intervals lie in each window ``[start, end)``, or reach into it."""
        return self._find_rows(starts, ends)[1]

    def _find_rows(self, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first interval of each window, and how many from it on lie in the window."""
        first_row = find_places(self.ends, starts, "right")
        return first_row, np.maximum(find_places(self.starts, ends, "left") - first_row, 0)

    def pieces(self, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the intervals cut to the windows, as (row of the window, start, end), window by window."""
        # Window w has ``counts[w]`` consecutive intervals from ``first_row[w]`` on. All of them in one array:
        #   first_row 4 9    counts 2 3    →    4 5 9 10 11
        first_row, counts = self._find_rows(starts, ends)
        if counts.max(initial=0) > 1:
            window = np.repeat(np.arange(len(starts)), counts)
            interval = np.repeat(first_row - np.cumsum(counts) + counts, counts) + np.arange(len(window))
        else:
            window = np.flatnonzero(counts)
            interval = first_row[window]
        piece_starts = np.maximum(self.starts[interval], starts[window])
        piece_ends = np.minimum(self.ends[interval], ends[window])
        has_length = piece_ends > piece_starts  # a window without a length has no piece
        if has_length.all():
            return window, piece_starts, piece_ends
        return window[has_length], piece_starts[has_length], piece_ends[has_length]

    def __and__(self, other: IntervalSet) -> IntervalSet:
        _, starts, ends = self.pieces(other.starts, other.ends)
        return IntervalSet(starts, ends)

    def __or__(self, other: IntervalSet) -> IntervalSet:
        return merge_sets([self, other])

    def __sub__(self, other: IntervalSet) -> IntervalSet:
        if not len(self) or not len(other):
            return self
        low, high = self.starts[0], self.ends[-1]
        # The complement of ``other`` between the outer bounds: each gap runs from an end to the next start.
        starts, ends = np.append(min(low, other.starts[0]), other.ends), np.append(other.starts, high)
        _, *edges = self.pieces(starts, ends)  # a gap at the bounds without a length has no piece
        return IntervalSet(*edges)


def find_places(keys: IntArray, values: IntArray, side: Literal["left", "right"]) -> IntArray:
    """Return what ``np.searchsorted`` returns for sorted keys, sooner where the values are sorted, too."""
    if len(values) < max(_MERGED_VALUES, len(keys) // _MERGED_SHARE) or (values[1:] < values[:-1]).any():
        return np.searchsorted(keys, values, side)
    # A stable sort merges two sorted runs in linear time. Of equal entries, those of the run that is named
    # first come first: each value stands behind all keys that are less, or not greater.
    #   keys 1 4 6   values 4 5   side right   →   1 4 4' 5' 6   places of the values 2 3, less 0 1: 2 2
    runs = (keys, values) if side == "right" else (values, keys)
    order = np.argsort(np.concatenate(runs), kind="stable")
    is_value = order >= len(keys) if side == "right" else order < len(values)
    places: IntArray = np.flatnonzero(is_value) - np.arange(len(values))
    return places


EMPTY = IntervalSet(np.zeros(0, np.int64), np.zeros(0, np.int64))


def merge_sets(sets: Sequence[IntervalSet]) -> IntervalSet:
    """Return the time that any of the sets covers."""
    filled = [intervals for intervals in sets if len(intervals)]
    if len(filled) < 2:
        return filled[0] if filled else EMPTY
    return IntervalSet.of(
        np.concatenate([intervals.starts for intervals in filled]),
        np.concatenate([intervals.ends for intervals in filled]),
    )


def find_covered_twice(sets: Sequence[IntervalSet]) -> IntervalSet:
    """Return the time that at least two of the sets cover."""
    # A pair for every two sets: there are as many sets as engines, so the square of their number is small.
    pairs = [
        first_set & second_set for index, first_set in enumerate(sets) for second_set in sets[index + 1 :]
    ]
    return merge_sets(pairs)


def merge_by_group(group: IntArray, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the union of intervals within each group, as (group, start, end) sorted by group and start."""
    has_length = ends > starts
    group, starts, ends = group[has_length], starts[has_length], ends[has_length]
    # As in ``IntervalSet.of``, and a change of the group opens an interval as well.
    order = np.lexsort((starts, group))
    group, starts, ends = group[order], starts[order], ends[order]
    if not len(group):
        return group, starts, ends
    changes = group[1:] != group[:-1]
    reach = find_reach_by_group(np.cumsum(np.append(0, changes)), ends)
    opens = np.append(True, changes | (starts[1:] > reach[:-1]))
    closes = np.append(np.flatnonzero(opens)[1:] - 1, len(group) - 1)
    return group[opens], starts[opens], reach[closes]


def find_reach_by_group(group: IntArray, ends: IntArray) -> IntArray:
    """Return the largest end so far in each group, of groups numbered in ascending order."""
    # One running maximum over all groups would carry a large end into the next group. So each group is lifted
    # above all ends of the group before it, and lowered again afterwards:
    #   group   0  0  1  1     ends (of 0 … 9)   5  3  2  4
    #   lifted  5  3 12 14     running maximum   5  5 12 14     lowered  5  5  2  4
    # Where lifted times do not fit 64 bits, the ranks of the ends are lifted instead.
    low, high = int(ends.min()), int(ends.max())
    if (int(group[-1]) + 1) * (high - low + 1) < 2**62:
        lift = group * (high - low + 1)
        reach: IntArray = np.maximum.accumulate(ends - low + lift) - lift + low
        return reach
    distinct, rank = np.unique(ends, return_inverse=True)
    lift = group * len(distinct)
    return distinct[np.maximum.accumulate(rank + lift) - lift]
