"""Spans in groups: how many of a group share time with a window, without a loop over groups."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.engines.codes import sum_before
from tracekit.model.columns import BoolArray, IntArray


class SpanCounts:
    """Spans ``[start, end)`` by group, a number from 0 on; those without a length share no time.

    Group and rank of a time are one number, so that a search in one group is a search among all of them.
    """

    def __init__(self, group: IntArray, starts: IntArray, ends: IntArray) -> None:
        self._spans = np.flatnonzero(ends > starts)
        group, starts, ends = (values[self._spans] for values in (group, starts, ends))
        self._edges = np.sort(np.append(starts, ends))
        self._width = len(self._edges) + 1
        start_keys, end_keys = (
            group * self._width + np.searchsorted(self._edges, edges) for edges in (starts, ends)
        )
        self._by_start, self._by_end = (np.argsort(keys, kind="stable") for keys in (start_keys, end_keys))
        self._start_keys, self._end_keys = start_keys[self._by_start], end_keys[self._by_end]
        # The span that lasts longest of those that began so far in its group, which is that of all spans.
        keys = end_keys[self._by_start]
        is_furthest = keys >= np.maximum.accumulate(keys)
        self._furthest = np.maximum.accumulate(np.where(is_furthest, np.arange(len(keys)), 0))

    def __len__(self) -> int:
        return len(self._spans)

    def count(
        self, group: IntArray, starts: IntArray, ends: IntArray, mask: BoolArray | None = None
    ) -> IntArray:
        """Return how many spans of its group share time with each window, all or the marked ones."""
        begun_count, ended_count = self._count_begun(group, ends), self._count_ended(group, starts)
        if mask is None:
            return begun_count - ended_count
        span_mask = mask[self._spans]
        count: IntArray = (
            sum_before(span_mask[self._by_start])[begun_count]
            - sum_before(span_mask[self._by_end])[ended_count]
        )
        return count

    def find_furthest(self, group: IntArray, ends: IntArray) -> IntArray:
        """Return the span of its group that ends last, of those that begin before each window's end.

        Any span where none does.
        """
        if not len(self._spans):
            return np.zeros(len(group), np.int64)
        last_position = np.maximum(self._count_begun(group, ends) - 1, 0)
        span: IntArray = self._spans[self._by_start[self._furthest[last_position]]]
        return span

    def _count_begun(self, group: IntArray, moments: IntArray) -> IntArray:
        rank = np.searchsorted(self._edges, moments)
        return np.searchsorted(self._start_keys, group * self._width + rank)

    def _count_ended(self, group: IntArray, moments: IntArray) -> IntArray:
        rank = np.searchsorted(self._edges, moments, "right")
        return np.searchsorted(self._end_keys, group * self._width + rank)
