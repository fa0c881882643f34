"""Calls that an edge of the recording cuts, and that no table lists.

A thread whose first sample lies inside a prediction may have been in it since before the recording, and one
whose last sample does may be in it until after the recording. What an engine does meanwhile may be work of
that call as well as of another thread's.
"""

from __future__ import annotations

import numpy as np

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.ownership.calls import Calls
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace


@frozen(eq=False)
class ThreadEdges:
    """The first and the last samples of threads that are ever inside a prediction, as parallel arrays."""

    thread: IntArray
    pid: IntArray
    first_ns: IntArray
    """The time of the first sample."""
    first_inside: IntArray
    """The time of the last sample of the prediction that the first one lies in; -1 for none."""
    last_ns: IntArray
    last_inside: IntArray
    """The time of the first sample of the prediction that the last one lies in; the largest for none."""

    @classmethod
    def of(cls, trace: Trace, labels: SampleLabels) -> ThreadEdges:
        """Return the edges of the callers of a trace."""
        never = np.iinfo(np.int64).max
        threads = trace.samples["thread_id"].to_numpy(np.int64)
        callers = np.unique(threads[labels.in_call])
        callers = callers[callers >= 0]
        samples = np.flatnonzero(np.isin(threads, callers))
        if not len(samples):
            nothing = np.zeros(0, np.int64)
            return cls(nothing, nothing, nothing, nothing, nothing, nothing)
        samples = samples[np.argsort(threads[samples], kind="stable")]
        times = trace.samples["time_ns"].to_numpy(np.int64)[samples]
        in_call = labels.in_call[samples]
        begin = np.flatnonzero(np.append(True, np.diff(threads[samples]) != 0))
        end = np.append(begin[1:], len(samples)) - 1
        # The first and the last sample of each thread outside of predictions.
        position = np.arange(len(samples))
        outside_first = np.minimum.reduceat(np.where(in_call, len(samples), position), begin)
        outside_last = np.maximum.reduceat(np.where(in_call, -1, position), begin)
        first_inside = np.where(in_call[begin], times[np.clip(outside_first - 1, begin, end)], -1)
        last_inside = np.where(in_call[end], times[np.clip(outside_last + 1, begin, end)], never)
        pids = trace.threads["pid"].to_numpy(np.int64)[callers]
        return cls(callers, pids, times[begin], first_inside, times[end], last_inside)

    def may_be_cut(self, calls: Calls, call: IntArray, moments: IntArray) -> BoolArray:
        """Mark the pairs of a call and a moment at which another thread may be in a cut call."""
        mask = np.zeros(len(call), bool)
        size = int(self.thread.max(initial=-1)) + 2
        starts, ends = np.full((2, size), [[np.iinfo(np.int64).max], [-1]])
        of_callers = np.flatnonzero(calls.is_listed & np.isin(calls.thread, self.thread))
        np.minimum.at(starts, calls.thread[of_callers], calls.starts[of_callers])
        np.maximum.at(ends, calls.thread[of_callers], calls.ends[of_callers])
        # A call without a thread may be the one that the sample lies in.
        threadless = np.flatnonzero(calls.is_listed & (calls.thread < 0))
        threadless_time = IntervalSet.of(calls.starts[threadless], calls.ends[threadless])
        has_before, has_after = (
            threadless_time.within(edge, edge + 1) > 0 for edge in (self.first_ns, self.last_ns)
        )
        has_before |= starts[self.thread] <= self.first_ns
        has_after |= ends[self.thread] > self.last_ns
        edge_before = np.where(has_before, -1, self.first_inside)
        edge_after = np.where(has_after, np.iinfo(np.int64).max, self.last_inside)
        for edge, sign in ((edge_before, 1), (-edge_after, -1)):
            furthest = _Furthest(edge, self.thread, self.pid)
            mask |= sign * moments <= furthest.find_of_others(calls.pid[call], calls.thread[call])
        return mask


class _Furthest:
    """The furthest edge of each process' threads, and the furthest of all but that thread's."""

    def __init__(self, edge: IntArray, thread: IntArray, pid: IntArray) -> None:
        never = np.iinfo(np.int64).min
        # A call of an unknown process may be of any process: -1 stands for all of them.
        edge, thread, pid = np.tile(edge, 2), np.tile(thread, 2), np.append(pid, np.full(len(pid), -1))
        order = np.lexsort((-edge, pid))
        self._pids, first_row = np.unique(pid[order], return_index=True)
        second_row = np.minimum(first_row + 1, len(order) - 1)
        is_same = (second_row > first_row) & (pid[order][second_row] == self._pids)
        self._thread = thread[order][first_row]
        self._edge = edge[order][first_row]
        self._second = np.where(is_same, edge[order][second_row], never)

    def find_of_others(self, pid: IntArray, thread: IntArray) -> IntArray:
        """Return the furthest edge of a thread of each process that is not the given one."""
        if not len(self._pids):
            return np.full(len(pid), np.iinfo(np.int64).min)
        place = np.minimum(np.searchsorted(self._pids, pid), len(self._pids) - 1)
        edge = np.where(self._thread[place] == thread, self._second[place], self._edge[place])
        return np.where(self._pids[place] == pid, edge, np.iinfo(np.int64).min)
