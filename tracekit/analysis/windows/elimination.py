"""Elimination: a sample inside a prediction that lies in one row only, of all that may be its thread's.

Calls of a thread that follow one another at once have no sample between them, so nothing shows where each
begins. But a thread is in one call at a time, and a sample that lies in one row only, besides those that are
known to be of other threads, shows the thread of this row::

    rows       ├────A────┤├─────B─────┤          t1 is alone in A, so A is of t1, and C of the other thread;
                   ├─────C─────┤├────D────┤      then B is of t1, which is not in C, and D of t2
    t1         ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪
    t2             ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪

It holds for threads all of whose calls are listed: a thread with a sample inside a prediction and in no row
makes others as well, unless it is the first or the last prediction, which an edge of the recording may cut.
Where two threads may be in a row, or more threads make calls than rows are ever under way at once, nothing is
decided.
"""

from __future__ import annotations

import numpy as np

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import sum_before
from tracekit.analysis.windows.stack_windows import Inferred
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace


class Elimination:
    """The samples that can show the thread of a row, of those inside ``bursts``; edges have some slack."""

    def __init__(
        self,
        trace: Trace,
        labels: SampleLabels,
        bursts: Inferred,
        starts: IntArray,
        ends: IntArray,
        slack_ns: int,
    ) -> None:
        times, threads = (trace.samples[name].to_numpy(np.int64) for name in ("time_ns", "thread_id"))
        samples = np.flatnonzero(np.isin(threads, bursts.thread_id))
        samples = samples[np.argsort(threads[samples], kind="stable")]
        thread, time, in_call = threads[samples], times[samples], labels.in_call[samples]
        self._slack = slack_ns
        self._by_start, self._by_end = (np.argsort(edges, kind="stable") for edges in (starts, ends))
        self._starts, self._ends = starts[self._by_start], ends[self._by_end]
        begun_count, ended_count = self._count_passed(time)
        is_listed = ~in_call | (begun_count > ended_count)
        # A stretch is of samples of one thread between those outside of predictions.
        changes = np.append(True, thread[1:] != thread[:-1])[: len(thread)]
        stretch = np.cumsum(changes | ~in_call) - 1
        is_whole = np.ones(len(thread) + 1, bool)
        is_whole[stretch[~is_listed]] = False
        # A thread's first stretch and its last may be cut: they have no sample outside before or behind them.
        opens = np.flatnonzero(changes)
        edges = np.concatenate([stretch[opens], stretch[np.append(opens[1:], len(thread))[: len(opens)] - 1]])
        is_inner = ~is_whole
        is_inner[edges] = False
        makes_others = np.zeros(int(thread.max(initial=-1)) + 1, bool)
        makes_others[thread[is_inner[stretch]]] = True
        rows = np.flatnonzero(in_call)
        self.thread, self.time = thread[rows], time[rows]
        self._shows = (is_whole[stretch] & ~makes_others[thread])[rows]

    def _count_passed(self, times: IntArray) -> tuple[IntArray, IntArray]:
        """Return how many rows begin and how many end before moments."""
        begun_count = np.searchsorted(self._starts, times + self._slack, "right")
        return begun_count, np.searchsorted(self._ends, times - self._slack, "right")

    def find_only_rows(
        self, is_open: BoolArray, is_explained: BoolArray
    ) -> tuple[IntArray, IntArray, BoolArray]:
        """Return pairs of an open row and a thread whose unexplained samples lie in that row alone.

        The mask has the pairs of threads all of whose calls are listed.
        """
        unexplained = np.flatnonzero(~is_explained)
        total, count = np.zeros((2, len(unexplained)), np.int64)
        for sign, order, passed in zip(
            (1, -1), (self._by_start, self._by_end), self._count_passed(self.time[unexplained]), strict=True
        ):
            mask = is_open[order]
            total += sign * sum_before(order * mask)[passed]
            count += sign * sum_before(mask)[passed]
        is_only = count == 1
        row, thread, shows = (
            total[is_only],
            self.thread[unexplained][is_only],
            self._shows[unexplained][is_only],
        )
        changes = np.flatnonzero(np.append(True, (np.diff(row) != 0) | (np.diff(thread) != 0))[: len(row)])
        shows = np.logical_or.reduceat(shows, changes) if len(row) else shows
        return row[changes], thread[changes], shows


def has_unlisted_caller(bursts: Inferred, starts: IntArray, ends: IntArray) -> bool:
    """Return whether more threads are in predictions than rows are ever under way at once.

    Some thread makes calls that no table lists, then, or has no call at the same time as another.
    """
    edges = np.lexsort((np.repeat([1, -1], len(starts)), np.concatenate([starts, ends])))
    at_once = np.cumsum(np.where(edges < len(starts), 1, -1)).max(initial=0)
    return len(np.unique(bursts.thread_id)) > int(at_once)
