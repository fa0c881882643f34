"""Matching of calls that tables report to the threads that made them, by their prediction frames.

A synchronous call is on one thread, and the table's row lies around its samples: a thread enters the
prediction as the row begins, and no sample of it inside the row is outside of a prediction. A burst is a
stretch of samples of one thread inside a prediction without a long hole::

    rows         ┌───A───┐      ┌────────B────────┐
                     ┌────────C────────┐
    bursts t1    ▓▓▓▓▓▓▓▓         begins with A
           t2        ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓     begins with C
           t3                   ▓▓          begins with B

A row has a thread whose burst begins with it, or lies in no other row, if no burst of another thread, which
no other row explains yet, reaches over the row's beginning: that thread may have entered the row's call
without a sample between. What a round decides explains bursts in the next. Where that decides nothing,
``elimination.py`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_keys, group_positions, sum_before
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.engines.span_counts import SpanCounts
from tracekit.analysis.windows.elimination import Elimination, has_unlisted_caller
from tracekit.analysis.windows.stack_windows import Inferred
from tracekit.analysis.windows.window import Window, get_edges, mark_overlapping, sampling_period_ns
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace

_MAX_ROUNDS = 16
_SLACK_DIVISOR = 4
"""The clocks of samples and rows may differ by a quarter of a period: a choice."""
_BEGIN_PERIODS = 2
"""In sampling periods: a thread that enters a prediction is sampled so soon, if it is before it waits."""


def find_threads(
    trace: Trace, labels: SampleLabels, windows: Sequence[Window], bursts: Inferred, runs: Inferred
) -> IntArray:
    """Return the thread of each window, -1 where it is not known.

    Of windows that no other one overlaps, it is also the thread whose ``runs`` cover half, if no other
    thread is inside a prediction there.
    """
    starts, ends = get_edges(windows)
    pids = np.array([window.pid for window in windows], np.int64)
    thread = np.full(len(windows), -1, np.int64)
    if len(bursts) and len(windows):
        matcher = _Matcher(trace, labels, bursts, starts, ends, pids)
        thread = matcher.threads()
    calls = runs.select(runs.thread_id >= 0)
    is_clear = ~mark_overlapping(starts, ends) & ~_is_shared(bursts, starts, ends, pids)
    unbound = np.flatnonzero((thread < 0) & is_clear)
    if len(calls) and len(unbound):
        thread[unbound] = find_covering_threads(
            calls, starts[unbound], ends[unbound], pids[unbound], sampling_period_ns(trace)
        )
    return thread


def _is_shared(bursts: Inferred, starts: IntArray, ends: IntArray, pids: IntArray) -> BoolArray:
    """Mark the windows in which several threads have a burst."""
    spans = BurstSpans(bursts, bursts.starts_ns, bursts.ends_ns)
    return spans.mark_of_others(spans.find_thread_inside(pids, ends), pids, starts, ends)


class BurstSpans:
    """Spans of bursts, by thread and by process; a thread is of one process."""

    def __init__(self, bursts: Inferred, starts: IntArray, ends: IntArray) -> None:
        self._thread = bursts.thread_id.astype(np.int64)
        self._of_threads = SpanCounts(self._thread, starts, ends)
        # Group 0 has the bursts of all processes, the others those of one each.
        code, self._pids = pd.factorize(bursts.pid, sort=True)
        self._copies = 2 if len(self._pids) > 1 else 1
        groups = np.append(np.zeros(len(code), np.int64), code + 1)[: len(code) * self._copies]
        self._of_processes = SpanCounts(groups, *(np.tile(edges, self._copies) for edges in (starts, ends)))

    def _group(self, pids: IntArray) -> IntArray:
        """Return the group of each process, 0 for an unknown one, and -1 for one without bursts."""
        if not len(self._pids):
            return np.zeros(len(pids), np.int64)
        position = np.minimum(np.searchsorted(self._pids, pids), len(self._pids) - 1)
        group = (position + 1) * (self._copies - 1)
        return np.where(pids < 0, 0, np.where(self._pids[position] == pids, group, -1))

    def find_thread_inside(self, pids: IntArray, ends: IntArray) -> IntArray:
        """Return the thread whose burst ends last, of those of the process that begin before each end."""
        if not len(self._thread):
            return np.zeros(len(pids), np.int64)
        furthest = self._of_processes.find_furthest(self._group(pids), ends)
        return self._thread[furthest % len(self._thread)]

    def touch(self, pids: IntArray, starts: IntArray, ends: IntArray) -> BoolArray:
        """Mark the windows with which bursts share time that may be of the process."""
        return self._of_processes.count(self._group(pids), starts, ends) > 0

    def mark_of_others(
        self,
        thread: IntArray,
        pids: IntArray,
        starts: IntArray,
        ends: IntArray,
        mask: BoolArray | None = None,
    ) -> BoolArray:
        """Mark the windows with which bursts share time that are of the process and of another thread."""
        tiled_mask = None if mask is None else np.tile(mask, self._copies)
        every = self._of_processes.count(self._group(pids), starts, ends, tiled_mask)
        return every > self._of_threads.count(thread, starts, ends, mask)


class _Matcher:
    """Windows and bursts of one runtime, matched round by round."""

    def __init__(
        self,
        trace: Trace,
        labels: SampleLabels,
        bursts: Inferred,
        starts: IntArray,
        ends: IntArray,
        pids: IntArray,
    ) -> None:
        self._trace, self._labels = trace, labels
        self._bursts, self._starts, self._ends, self._pids = bursts, starts, ends, pids
        self._pid_of = trace.threads["pid"].to_numpy(np.int64)
        self._period = sampling_period_ns(trace)
        self._slack = self._period // _SLACK_DIVISOR
        self._lasts = np.maximum(bursts.ends_ns - self._period, bursts.starts_ns)
        self._by_start = np.argsort(starts, kind="stable")
        self._rank = np.empty(len(starts), np.int64)
        self._rank[self._by_start] = np.arange(len(starts))
        self._by_end = np.argsort(ends, kind="stable")
        sorted_starts, begins = starts[self._by_start], bursts.starts_ns
        # So many windows begin or end before moments of each burst.
        self._begun_early = np.searchsorted(sorted_starts, begins - _BEGIN_PERIODS * self._period)
        self._begun_then, self._begun_last = (
            np.searchsorted(sorted_starts, moments + self._slack, "right")
            for moments in (begins, self._lasts)
        )
        self._ended_then = np.searchsorted(ends[self._by_end], begins - self._slack, "right")
        self._begun_before_end = np.searchsorted(sorted_starts, ends)
        self._reaching = BurstSpans(bursts, begins + self._slack, self._lasts - self._slack)
        self._thread = np.full(len(starts), -1, np.int64)
        times, threads = (trace.samples[name].to_numpy(np.int64) for name in ("time_ns", "thread_id"))
        outside_samples = np.flatnonzero(~labels.in_call & (threads >= 0))
        # Thread and sample as one number: a search finds a thread's samples in a stretch of time.
        self._times, self._width = times, len(times) + 1
        self._select_outside = np.sort(threads[outside_samples] * self._width + outside_samples)

    def threads(self) -> IntArray:
        """Return the thread of each window, -1 where it is not known."""
        for _ in range(_MAX_ROUNDS):
            window, thread = self._match_entered()
            if not len(window) and (self._thread < 0).any():
                window, thread = self._match_left_over()
            if not len(window):
                break
            self._thread[window] = thread
            self._clear_overlapping()
        return self._thread

    def _match_entered(self) -> tuple[IntArray, IntArray]:
        """Return windows that one thread may have entered only, and that thread."""
        is_open = ~self._mark_explained()
        window, thread = self._match_begun(is_open)
        is_free = self._is_free(window, thread)
        window, thread = window[is_free], thread[is_free]
        start = self._starts[window]
        # A burst of another thread that reaches over the row's beginning may be of the row's call.
        fits = ~self._reaching.mark_of_others(thread, self._pids[window], start, start + 1, is_open)
        return window[fits], thread[fits]

    def _match_left_over(self) -> tuple[IntArray, IntArray]:
        """Return windows without a thread that samples of one thread lie in alone, and that thread."""
        samples = self._elimination
        if samples is None:
            return self._by_start[:0], self._by_start[:0]
        bound_rows = self._by_start[self._thread[self._by_start] >= 0]
        begun_count = np.searchsorted(self._starts[self._by_start], samples.time + self._slack, "right")
        row = self._find_latest(bound_rows, samples.thread, begun_count)
        is_explained = (row >= 0) & (samples.time < self._ends[row] + self._slack)
        window, thread, shows = samples.find_only_rows(self._thread < 0, is_explained)
        fits = (self._pids[window] < 0) | (self._pids[window] == self._pid_of[thread])
        fits &= self._is_free(window, thread)
        rows, only = _find_only_values(window[fits], thread[fits], len(self._thread))
        has_listed = np.zeros(len(self._thread), bool)
        has_listed[window[fits & shows]] = True
        return rows[has_listed[rows]], only[has_listed[rows]]

    @cached_property
    def _elimination(self) -> Elimination | None:
        of_process = np.isin(self._bursts.pid, self._pids) | (self._pids < 0).any()
        bursts = self._bursts.select(of_process)
        if has_unlisted_caller(bursts, self._starts, self._ends):
            return None
        return Elimination(self._trace, self._labels, bursts, self._starts, self._ends, self._slack)

    def _match_begun(self, is_open: BoolArray) -> tuple[IntArray, IntArray]:
        """Return the open windows that unexplained bursts of one thread begin with, and that thread."""
        is_unbound = self._thread < 0
        open_rows = self._by_start[is_unbound[self._by_start]]
        passed = sum_before(is_unbound[self._by_start])
        of_thread, pid = self._bursts.thread_id, self._bursts.pid
        start, stop = passed[self._begun_early], passed[self._begun_then]
        is_one = np.flatnonzero((stop - start == 1) & is_open)
        within = np.flatnonzero((stop == start) & is_open & np.isin(of_thread, self._thread))
        row, burst = self._find_only_around(is_unbound, within)
        window, burst = np.append(open_rows[start[is_one]], row), np.append(is_one, burst)
        fits_process = (self._pids[window] < 0) | (self._pids[window] == pid[burst])
        window, thread = window[fits_process], of_thread[burst[fits_process]]
        return _find_only_values(window, thread, len(self._starts))

    def _find_only_around(self, is_unbound: BoolArray, bursts: IntArray) -> tuple[IntArray, IntArray]:
        """Return the bursts that lie in one of the unbound windows only, and that window."""
        total, count = np.zeros((2, len(bursts)), np.int64)
        for sign, order, passed in (
            (1, self._by_start, self._begun_then[bursts]),
            (-1, self._by_end, self._ended_then[bursts]),
        ):
            mask = is_unbound[order]
            total += sign * sum_before(order * mask)[passed]
            count += sign * sum_before(mask)[passed]
        is_only = np.flatnonzero(count == 1)
        window = total[is_only]
        fits = self._lasts[bursts[is_only]] < self._ends[window] + self._slack
        return window[fits], bursts[is_only][fits]

    def _mark_explained(self) -> BoolArray:
        """Mark the bursts that lie in windows of their own thread, which follow one another."""
        bound_rows = self._by_start[self._thread[self._by_start] >= 0]
        of_thread, explained = self._bursts.thread_id, np.ones(len(self._bursts), bool)
        rows = self._find_latest(
            bound_rows, np.tile(of_thread, 2), np.append(self._begun_then, self._begun_last)
        )
        first_row, last_row = np.split(rows, 2)
        for moments, row in ((self._bursts.starts_ns, first_row), (self._lasts, last_row)):
            explained &= (row >= 0) & (moments < self._ends[row] + self._slack)
        # A thread that is sampled between two of its windows may be in another one's call there.
        order = bound_rows[np.lexsort((self._starts[bound_rows], self._thread[bound_rows]))]
        chain = np.zeros(len(self._thread), np.int64)
        is_apart = self._starts[order[1:]] - self._ends[order[:-1]] > self._period
        chain[order[1:]] = np.cumsum(is_apart)
        explained &= chain[first_row] == chain[last_row]
        return explained

    def _is_free(self, window: IntArray, thread: IntArray) -> BoolArray:
        """Mark the pairs in which the thread is in no other place during the window."""
        edges = (self._starts[window] + self._slack, self._ends[window] - self._slack)
        start, stop = (
            np.searchsorted(self._select_outside, thread * self._width + np.searchsorted(self._times, edge))
            for edge in edges
        )
        is_bound = (self._thread >= 0) & (self._ends > self._starts)
        bound_rows = self._by_start[is_bound[self._by_start]]
        row = self._find_latest(bound_rows, thread, self._begun_before_end[window])
        is_busy = (row >= 0) & (self._ends[row] > self._starts[window])
        free: BoolArray = (stop <= start) & ~is_busy
        return free

    def _find_latest(self, bound_rows: IntArray, thread: IntArray, begun_count: IntArray) -> IntArray:
        """Return the last of a thread's windows among the first ones of all windows, -1 for none.

        ``bound_rows`` are the windows that have a thread, in order of start; ``begun_count`` is how many
        come first.
        """
        if not len(bound_rows):
            return np.full(len(thread), -1)
        # Windows of one thread do not overlap: the last that began is the only one that may reach on.
        width = len(self._starts) + 1
        keys = self._thread[bound_rows] * width + self._rank[bound_rows]
        order = np.argsort(keys, kind="stable")
        position = np.searchsorted(keys[order], thread * width + begun_count) - 1
        row = bound_rows[order[np.maximum(position, 0)]]
        return np.where((position >= 0) & (self._thread[row] == thread), row, -1)

    def _clear_overlapping(self) -> None:
        """Take the thread from windows of the same thread that overlap: it made one of them."""
        bound_rows = np.flatnonzero(self._thread >= 0)
        order = bound_rows[np.lexsort((self._starts[bound_rows], self._thread[bound_rows]))]
        earlier, later = order[:-1], order[1:]
        clash = (self._thread[earlier] == self._thread[later]) & (self._starts[later] < self._ends[earlier])
        self._thread[earlier[clash]] = self._thread[later[clash]] = -1


def _find_only_values(rows: IntArray, values: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return the rows, out of ``count``, that have a single distinct value, and that value."""
    lowest, highest = np.full((2, count), [[np.iinfo(np.int64).max], [-1]])
    np.minimum.at(lowest, rows, values)
    np.maximum.at(highest, rows, values)
    only = np.flatnonzero(lowest == highest)
    return only, highest[only]


def find_covering_threads(
    runs: Inferred, starts: IntArray, ends: IntArray, pids: IntArray, period_ns: int
) -> IntArray:
    """Return the thread whose runs cover half of each window, and a period more than any other's."""
    best, second = np.zeros((2, len(starts)), np.int64)
    owner = np.full(len(starts), -1, np.int64)
    for members in _group_by_thread(runs, np.arange(len(runs))):
        spans = IntervalSet.of(runs.starts_ns[members], runs.ends_ns[members])
        covered = spans.within(starts, ends) * _is_same_process(pids, int(runs.pid[members[0]]))
        better = covered > best
        second = np.where(better, best, np.maximum(second, covered))
        owner[better] = int(runs.thread_id[members[0]])
        best = np.maximum(best, covered)
    only_candidate = (second == 0) & (best > 0)
    is_certain = (2 * best >= ends - starts) & (only_candidate | (best - second > period_ns))
    return np.where(is_certain, owner, -1)


def _group_by_thread(runs: Inferred, selected_runs: IntArray) -> list[IntArray]:
    """Return some runs by thread, in order of time; a thread is of one process."""
    order = selected_runs[np.argsort(runs.starts_ns[selected_runs], kind="stable")]
    codes = group_keys(runs.thread_id[order].astype(np.int64))[1]
    return [order[members] for members in group_positions(codes, int(codes.max(initial=-1)) + 1)]


def _is_same_process(pids: IntArray, pid: int) -> BoolArray:
    mask: BoolArray = (pids < 0) | (pids == pid)
    return mask
