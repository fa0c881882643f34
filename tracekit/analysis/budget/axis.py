"""Calls laid out end to end on one axis, so that sets of time of all calls are plain interval sets."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.engines.codes import sum_before
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.model.columns import IntArray


class CallAxis:
    """The time of some calls, one call after another: calls that overlap are apart on it.

        call 0  [100, 130)      on the axis  [ 0, 30)
        call 1  [110, 115)                   [30, 35)

    A moment of a call is its distance from the call's start, added to the call's place. The lengths must sum
    to less than 2**63.
    """

    def __init__(self, starts: IntArray, ends: IntArray) -> None:
        self.starts, self.ends = starts, ends
        self._edges = sum_before(ends - starts)
        self.begins: IntArray = self._edges[:-1]
        """The place of each call."""
        self.stops: IntArray = self._edges[1:]
        self._shift = self.begins - starts

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def whole(self) -> IntervalSet:
        """The time of all calls."""
        return IntervalSet.of(self.begins[:1], self.stops[-1:])

    def lay(self, calls: IntArray, starts: IntArray, ends: IntArray) -> IntervalSet:
        """Return intervals of calls on the axis, each cut to its call."""
        cut_starts, cut_ends = np.maximum(starts, self.starts[calls]), np.minimum(ends, self.ends[calls])
        shift = self._shift[calls]
        return IntervalSet.of(cut_starts + shift, cut_ends + shift)

    def lay_everywhere(self, times: IntervalSet) -> IntervalSet:
        """Return times of the recording on the axis: in each call those that lie in it."""
        return self.lay(*times.pieces(self.starts, self.ends))

    def measure(self, times: IntervalSet) -> IntArray:
        """Return how much of the axis' times lies in each call."""
        return np.diff(times.until(self._edges))

    def cut(self, times: IntervalSet) -> tuple[IntArray, IntArray, IntArray]:
        """Return the axis' times cut to the calls, as (call, start, end) in the recording's time."""
        call, starts, ends = times.pieces(self.begins, self.stops)
        shift = self._shift[call]
        return call, starts - shift, ends - shift
