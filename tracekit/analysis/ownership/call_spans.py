"""Intervals of calls: the work that each call owns, cut to the call."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from tracekit.analysis.engines.codes import sum_before, sum_by_code
from tracekit.analysis.engines.interval_sets import IntervalSet, merge_by_group
from tracekit.analysis.engines.ranges import list_positions, sum_per_range
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray


class Spans(Protocol):
    """What both an ``IntervalSet`` and the spans of calls answer about windows ``[start, end)``."""

    def within(self, starts: IntArray, ends: IntArray) -> IntArray:
        """Return how much time lies in each window."""

    def count(self, starts: IntArray, ends: IntArray) -> IntArray:
        """Return how many intervals lie in each window, or reach into it."""

    def pieces(self, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the intervals cut to the windows, as (row of the window, start, end), window by window."""

    def __and__(self, times: IntervalSet) -> IntervalSet:
        """Return the time of the intervals that others cover as well."""


@frozen(eq=False)
class CallSpans:
    """Intervals of windows, cut to them: disjoint within a window, in order of window and time."""

    window: IntArray
    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, window: IntArray, starts: IntArray, ends: IntArray) -> CallSpans:
        """Return the union of any intervals of each window."""
        return cls(*merge_by_group(window, starts, ends))

    def __len__(self) -> int:
        return len(self.window)

    @cached_property
    def _edges(self) -> IntArray:
        """The position of the first span of each window, and the end of the last one's."""
        return sum_before(np.bincount(self.window))

    def sum_per_window(self, count: int) -> IntArray:
        """Return the time of each of ``count`` windows."""
        return sum_by_code(self.window, self.ends - self.starts, count)

    def of_windows(self, windows: IntArray) -> SelectedSpans:
        """Return the spans of some windows, which are then numbered by their position."""
        # A window after the last one with a span has none: its range begins and ends at the end.
        edges = self._edges
        start, stop = (edges[np.minimum(windows + shift, len(edges) - 1)] for shift in (0, 1))
        return SelectedSpans(self, start, stop)

    def everything(self) -> IntervalSet:
        """Return the time of all windows together."""
        return IntervalSet.of(self.starts, self.ends)


NO_SPANS = CallSpans(*[np.zeros(0, np.int64)] * 3)


def merge_spans(spans: list[CallSpans]) -> CallSpans:
    """Return the time that any of the spans covers, window by window."""
    filled = [part for part in spans if len(part)]
    if len(filled) < 2:
        return filled[0] if filled else NO_SPANS
    return CallSpans.of(
        *(np.concatenate([getattr(part, name) for part in filled]) for name in ("window", "starts", "ends"))
    )


def measure_overlap(spans: list[CallSpans], count: int) -> IntArray:
    """Return for how long at least two of the spans cover each of ``count`` windows at once."""
    window, starts, ends = (
        np.concatenate([getattr(part, name) for part in spans]) if spans else np.zeros(0, np.int64)
        for name in ("window", "starts", "ends")
    )
    # +1 where a span begins and -1 where it ends: the running sum is the number of spans at once, and comes
    # back to zero at the end of each window.
    edges, steps = np.concatenate([starts, ends]), np.repeat([1, -1], len(window))
    of_window = np.concatenate([window, window])
    order = np.lexsort((edges, of_window))
    depth = np.cumsum(steps[order])[:-1]
    lasts = np.flatnonzero(depth >= 2)
    return sum_by_code(of_window[order][lasts], np.diff(edges[order])[lasts], count)


@frozen(eq=False)
class SelectedSpans:
    """The spans of some windows: it answers as an ``IntervalSet`` does that these windows alone count.

    The edges of the windows are not needed again, because the spans are cut to them.
    """

    spans: CallSpans
    start: IntArray
    stop: IntArray

    def within(self, starts: IntArray, ends: IntArray) -> IntArray:  # noqa: ARG002
        """Return how much time each window has."""
        return sum_per_range(self.spans.ends - self.spans.starts, self.start, self.stop)

    def count(self, starts: IntArray, ends: IntArray) -> IntArray:  # noqa: ARG002
        """Return how many intervals each window has."""
        return self.stop - self.start

    def pieces(
        self,
        starts: IntArray,  # noqa: ARG002
        ends: IntArray,  # noqa: ARG002
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return the intervals as (row of the window, start, end), window by window."""
        positions = list_positions(self.start, self.stop)
        row = np.repeat(np.arange(len(self.start)), self.stop - self.start)
        return row, self.spans.starts[positions], self.spans.ends[positions]

    def __and__(self, times: IntervalSet) -> IntervalSet:
        """Return the time of these windows that others cover as well."""
        positions = list_positions(self.start, self.stop)
        return IntervalSet.of(self.spans.starts[positions], self.spans.ends[positions]) & times
