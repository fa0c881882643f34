"""Matching of calls that tables report to the threads that made them, by their prediction frames.

A synchronous call is on one thread, and the table's row lies around its samples: a thread enters the
prediction as the row begins, and leaves it before the row ends. So a burst of such samples is of the row that
it lies in and that began last before it; the row of another call at the same time began earlier, or ends too
soon::

    rows         ┌───A───┐      ┌────────B────────┐
                     ┌────────C────────┐
    bursts t1    ▓▓▓▓▓▓▓▓         of A
           t2        ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓     of C (it lies in neither A nor B)
           t3                   ▓▓          of B (C began earlier)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.analysis.engines.codes import group_codes, positions_by
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.windows.stack_windows import Inferred
from tracekit.analysis.windows.window import Window, edges_of, overlapping
from tracekit.model.columns import BoolArray, IntArray

_ROUNDS = 3
_SLACK = 4
"""The clocks of samples and rows may differ by a quarter of a period: a choice."""
_MOST_AROUND = 8
"""A burst is compared with so many rows that began before it: of more calls at once, its row is not known."""


def covering_threads(windows: Sequence[Window], runs: Inferred, period_ns: int) -> IntArray:
    """Return the thread whose runs cover each window of an engine's own time, -1 where it is not known."""
    starts, ends = edges_of(windows)
    calls = runs.part(runs.thread_id >= 0)
    if not len(calls) or not len(windows):
        return np.full(len(windows), -1, np.int64)
    pids = np.array([window.pid for window in windows], np.int64)
    return _covering(calls, starts, ends, pids, period_ns)


def threads_of(windows: Sequence[Window], bursts: Inferred, runs: Inferred, period_ns: int) -> IntArray:
    """Return the thread of each window, -1 where it is not known.

    A window that a burst reaches beyond, because no sample lies between two calls, has the burst's thread if
    no other burst is around it; of windows that no other one overlaps, the thread whose ``runs`` cover most.
    A thread is in one call at a time: of two that overlap, the one that begins with its burst has it.
    """
    starts, ends = edges_of(windows)
    pids = np.array([window.pid for window in windows], np.int64)
    thread = np.full(len(windows), -1, np.int64)
    if not len(windows):
        return thread
    delay = np.zeros(len(windows), np.int64)
    if len(bursts):
        # A window that has its thread is no candidate for bursts of others, which then may have one left.
        for _ in range(_ROUNDS):
            window = _rows_of(bursts, starts, ends, pids, thread, period_ns)
            thread, delay = _only_threads(window, bursts, len(windows), starts, period_ns)
        rest = np.flatnonzero(thread < 0)
        thread[rest] = _around(bursts, starts[rest], ends[rest], pids[rest], period_ns)
        delay[rest] = 0
        _part(thread, delay, starts, ends, period_ns)
    calls = runs.part(runs.thread_id >= 0)
    rest = np.flatnonzero((thread < 0) & ~overlapping(starts, ends))
    if len(calls) and len(rest):
        thread[rest] = _covering(calls, starts[rest], ends[rest], pids[rest], period_ns)
    return thread


def _part(thread: IntArray, delay: IntArray, starts: IntArray, ends: IntArray, period_ns: int) -> None:
    """Take the thread from windows that overlap one of the same thread that begins nearer to its burst."""
    for _ in range(_MOST_AROUND):
        bound = np.flatnonzero(thread >= 0)
        order = bound[np.lexsort((-ends[bound], starts[bound], thread[bound]))]
        before, after = order[:-1], order[1:]
        # A window inside another one is a part of it: they nest.
        clash = (
            (thread[before] == thread[after]) & (starts[after] < ends[before]) & (ends[after] > ends[before])
        )
        if not clash.any():
            return
        before, after = before[clash], after[clash]
        lost = np.concatenate(
            [
                before[delay[before] + period_ns >= delay[after]],
                after[delay[after] + period_ns >= delay[before]],
            ]
        )
        thread[lost] = -1


def _rows_of(
    runs: Inferred, starts: IntArray, ends: IntArray, pids: IntArray, thread: IntArray, period_ns: int
) -> IntArray:
    """Return the row that each burst lies in and that began last before it; -1 for none, or where two did."""
    order = np.lexsort((ends, starts))
    ordered = starts[order]
    slack_ns = period_ns // _SLACK
    # A sample is a moment: the last one lies in the row, not the period that it stands for.
    lasts = np.maximum(runs.ends_ns - period_ns, runs.starts_ns)
    latest = np.searchsorted(ordered, runs.starts_ns + slack_ns, "right") - 1
    best = np.full(len(runs), -1, np.int64)
    distance, second = np.full((2, len(runs)), np.iinfo(np.int64).max // 2)
    for step in range(_MOST_AROUND):
        position = latest - step
        row = order[np.maximum(position, 0)]
        fits = (position >= 0) & (ends[row] + slack_ns > lasts)
        fits &= (thread[row] < 0) | (thread[row] == runs.thread_id)
        fits &= (pids[row] < 0) | (runs.pid < 0) | (pids[row] == runs.pid)
        # Where two rows begin together, the one that ends sooner after the run is nearer.
        away = np.abs(runs.starts_ns - starts[row]) + np.maximum(ends[row] - runs.ends_ns, 0) // _MOST_AROUND
        nearer = fits & (away < distance)
        second = np.where(nearer, distance, np.where(fits, np.minimum(second, away), second))
        best = np.where(nearer, row, best)
        distance = np.where(nearer, away, distance)
    is_clear = second - distance > period_ns
    return np.where(is_clear, best, -1)


def _only_threads(
    window: IntArray, runs: Inferred, count: int, starts: IntArray, period_ns: int
) -> tuple[IntArray, IntArray]:
    """Return the thread of the bursts of each row, and how long after the row its first one begins.

    Of several threads, it is the one whose burst began with the row.
    """
    thread, late = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    known = np.flatnonzero(window >= 0)
    if not len(known):
        return thread, late
    row, of_thread = window[known], runs.thread_id[known]
    pair = group_codes(row, of_thread)
    distinct = np.unique(pair, return_index=True)[1]
    threads_per_row = np.bincount(row[distinct], minlength=count)
    is_only = threads_per_row[row] == 1
    thread[row[is_only]] = of_thread[is_only]
    delay = runs.starts_ns[known] - starts[row]
    first, second = np.full((2, count), np.iinfo(np.int64).max // 2)
    np.minimum.at(first, row, delay)
    owner = np.full(count, -1, np.int64)
    is_first = delay == first[row]
    owner[row[is_first]] = of_thread[is_first]
    is_other = of_thread != owner[row]
    np.minimum.at(second, row[is_other], delay[is_other])
    is_clear = (threads_per_row > 1) & (second - first > period_ns)
    thread[is_clear] = owner[is_clear]
    return thread, np.where(threads_per_row > 0, first, 0)


def _around(runs: Inferred, starts: IntArray, ends: IntArray, pids: IntArray, period_ns: int) -> IntArray:
    """Return the only thread with a burst around each window, -1 where there is none or several."""
    thread, count = np.full(len(starts), -1, np.int64), np.zeros(len(starts), np.int64)
    for members in _by_thread(runs):
        first = np.searchsorted(runs.starts_ns[members], starts + period_ns, "right") - 1
        run = members[np.maximum(first, 0)]
        fits = (first >= 0) & (runs.ends_ns[run] + period_ns >= ends) & _same(pids, int(runs.pid[members[0]]))
        thread[fits], count[fits] = int(runs.thread_id[members[0]]), count[fits] + 1
    return np.where(count == 1, thread, -1)


def _covering(runs: Inferred, starts: IntArray, ends: IntArray, pids: IntArray, period_ns: int) -> IntArray:
    """Return the thread whose runs cover half of each window, and a period more than any other's."""
    best, second = np.zeros((2, len(starts)), np.int64)
    owner = np.full(len(starts), -1, np.int64)
    for members in _by_thread(runs):
        spans = IntervalSet.of(runs.starts_ns[members], runs.ends_ns[members])
        covered = spans.within(starts, ends) * _same(pids, int(runs.pid[members[0]]))
        better = covered > best
        second = np.where(better, best, np.maximum(second, covered))
        owner[better] = int(runs.thread_id[members[0]])
        best = np.maximum(best, covered)
    only_candidate = (second == 0) & (best > 0)
    is_certain = (2 * best >= ends - starts) & (only_candidate | (best - second > period_ns))
    return np.where(is_certain, owner, -1)


def _by_thread(runs: Inferred) -> list[IntArray]:
    """Return the runs of each thread in order of time; a thread is of one process."""
    codes = np.unique(runs.thread_id, return_inverse=True)[1]
    order = np.argsort(runs.starts_ns, kind="stable")
    return [order[members] for members in positions_by(codes[order], int(codes.max()) + 1)]


def _same(pids: IntArray, pid: int) -> BoolArray:
    marked: BoolArray = (pids < 0) | (pids == pid)
    return marked
