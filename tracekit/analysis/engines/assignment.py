"""The assignment of samples to windows: a call's own thread, and the work of other threads that joins it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_keys, group_rows, is_among
from tracekit.analysis.engines.interval_sets import merge_by_group
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.windows.stack_windows import Inferred
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace


def assign_samples(
    trace: Trace, labels: SampleLabels, windows: pd.DataFrame, runs: Inferred | None = None
) -> Membership:
    """Return the samples of each window.

    A window that the user gave, or that spans the run, counts every sample in its time; of its thread and its
    process, if it has one. A call counts its own thread's samples and the process's ML work on other threads,
    unless that work lies in several calls of different threads at once: then it could belong to any of them,
    and counts in none. Of a window from stacks, such work is that of the runtime's workers; other sources may
    not name the calling thread, and count all ML work, unless they name no process either. ``runs`` are calls
    that have no window of their own, and may be what another thread's work is for.
    """
    is_range = is_among(windows["source"], *GIVEN_SOURCES) & (windows["thread_id"] < 0).to_numpy(bool)
    if is_range.all():
        return _assign_to_ranges(trace, labels, windows)
    return _Assignment(trace, labels, windows, runs).assign()


def _assign_to_ranges(trace: Trace, labels: SampleLabels, ranges: pd.DataFrame) -> Membership:
    """Return the samples of ranges that count every sample of their process in their time, or of any."""
    times, pids = trace.samples["time_ns"].to_numpy(), ranges["pid"].to_numpy(np.int64)
    every = np.arange(len(times))
    start, stop = np.zeros((2, len(ranges)), np.int64)
    lists, list_starts, size = [every[:0]], [0], 0
    for pid in np.unique(pids).tolist():
        samples = every if pid < 0 else np.flatnonzero(labels.pid == pid)
        times_of_list = times if len(samples) == len(times) else times[samples]
        rows = np.flatnonzero(pids == pid)
        for edge, name in ((start, "start_ns"), (stop, "end_ns")):
            edge[rows] = size + np.searchsorted(times_of_list, ranges[name].to_numpy()[rows])
        lists.append(samples)
        list_starts.append(size)
        size += len(samples)
    return Membership(np.concatenate(lists), np.array(list_starts), start, stop, every[:0])


class _Lists:
    """Samples in numbered lists, one after another, each in order of time."""

    def __init__(self, number: IntArray, sample: IntArray, count: int) -> None:
        # List and sample as one number: sorting is one pass, and a range of a list is found by two searches.
        self._width = count + 1
        self._keys = number * self._width
        self._keys += sample
        self._keys.sort()

    @cached_property
    def samples(self) -> IntArray:
        """The samples of all lists."""
        return self._keys % self._width

    def find_starts(self, count: int) -> IntArray:
        """Return the position at which each of ``count`` lists begins."""
        return np.searchsorted(self._keys, np.arange(count) * self._width)

    def find_edges(self, number: IntArray, start: IntArray, stop: IntArray) -> tuple[IntArray, IntArray]:
        """Return the positions at which lists reach the samples ``start`` and ``stop``."""
        low, high = (np.searchsorted(self._keys, number * self._width + edge) for edge in (start, stop))
        return low, high

    def sum_around(self, start: IntArray, stop: IntArray, amount: IntArray) -> IntArray:
        """Return, per sample, the sum of the amounts of the ranges around it."""
        edges = np.zeros(len(self._keys) + 1, np.int64)
        np.add.at(edges, start, amount)
        np.subtract.at(edges, stop, amount)
        totals = np.empty(len(self._keys), np.int64)
        totals[self.samples] = np.cumsum(edges, out=edges)[:-1]
        return totals


class _Assignment:
    """The samples of one trace, and its windows with edges in samples."""

    def __init__(
        self, trace: Trace, labels: SampleLabels, windows: pd.DataFrame, runs: Inferred | None
    ) -> None:
        self._labels = labels
        self._thread = trace.samples["thread_id"].to_numpy()
        self._count = len(self._thread)
        times = trace.samples["time_ns"].to_numpy()
        edges = (np.searchsorted(times, windows[name].to_numpy()) for name in ("start_ns", "end_ns"))
        start, stop = edges
        is_call = ~is_among(windows["source"], *GIVEN_SOURCES)
        owner, pid = (windows[name].to_numpy(np.int64) for name in ("thread_id", "pid"))
        # The windows of one thread have one caller. A call without a thread is a caller of its own, with a
        # number beyond the threads'; windows that count everything share the last number.
        threads, self._everyone = len(trace.threads), len(trace.threads) + len(windows)
        threadless_caller = np.where(is_call, threads + np.arange(len(windows)), self._everyone)
        # Processes are numbered from 1; 0 is any. The last of the threads' is for samples without a thread.
        pids = np.concatenate([trace.threads["pid"].to_numpy(np.int64), [-1], pid])
        process = np.unique(pids, return_inverse=True)[1] + 1
        self._process_of_thread = process[: threads + 1]
        self._process = self._process_of_thread[self._thread]
        self._processes = int(process.max()) + 1
        self._windows = pd.DataFrame(
            {
                "start": start,
                "stop": stop,
                "is_call": is_call,
                "counts_workers": is_among(windows["source"], "stacks"),
                "is_of_any": is_among(windows["source"], *ANE_TABLES) & (pid < 0) & (owner < 0),
                "has_thread": owner >= 0,
                "caller": np.where(owner >= 0, owner, threadless_caller),
                "process": np.where(pid >= 0, process[threads + 1 :], 0),
            }
        )
        self._beside = self._windows[:0] if runs is None else self._build_frame(runs, times)

    def _build_frame(self, runs: Inferred, times: IntArray) -> pd.DataFrame:
        """Return calls on stacks in the form of ``_windows``; their threads are known.

        A thread that is first sampled inside a prediction, or last, may have waited in it since before the
        recording, or until after it, unless a table has the call. Where no table has any, a call that an edge
        cuts is assumed to be no longer than the longest: else a thread that ends leaves all later work open.
        """
        start, stop = (np.searchsorted(times, edges) for edges in (runs.starts_ns, runs.ends_ns))
        table_calls = self._windows[
            (self._windows["is_call"] & ~self._windows["counts_workers"]).to_numpy(bool)
        ]
        unlisted = np.flatnonzero(~self._mark_inside_own_call(table_calls))
        every = np.arange(self._count)
        edges = np.full((2, len(self._process_of_thread)), [[self._count], [-1]])
        np.minimum.at(edges[0], self._thread, every)
        np.maximum.at(edges[1], self._thread, every)
        earliest, latest = np.where(np.isin(edges, unlisted), edges, [[-1], [self._count]])
        is_cut = np.ones((2, len(runs)), bool)
        if not len(table_calls) and self._count:
            longest_ns = (runs.ends_ns - runs.starts_ns).max(initial=0)
            is_cut[0] = runs.ends_ns - times[0] <= longest_ns
            is_cut[1] = times[-1] - runs.starts_ns <= longest_ns
        return pd.DataFrame(
            {
                "start": np.where((earliest[runs.thread_id] >= start) & is_cut[0], 0, start),
                "stop": np.where((latest[runs.thread_id] < stop) & is_cut[1], self._count, stop),
                "is_call": True,
                "counts_workers": True,
                "is_of_any": False,
                "has_thread": True,
                "caller": runs.thread_id,
                "process": self._process_of_thread[runs.thread_id],
            }
        )

    def assign(self) -> Membership:
        """Return the samples of each window."""
        windows, every = self._windows, np.arange(self._count)
        # Work on another thread joins the windows of one caller at most. So each caller has a list of its own
        # samples and of those that join it, and all lists are about as long as the samples together.
        served_caller, is_ambiguous = self._find_callers_served()
        start, stop = np.zeros(len(windows), np.int64), np.zeros(len(windows), np.int64)
        samples, starts, size = [every[:0]], [every[:0]], 0
        for rows, number, lists in self._iter_lists(served_caller):
            edges = lists.find_edges(number, *_get_edges(windows.iloc[rows]))
            start[rows], stop[rows] = (size + edge for edge in edges)
            samples.append(lists.samples)
            starts.append(size + lists.find_starts(int(number.max()) + 1))
            size += len(samples[-1])
        return Membership(
            np.concatenate(samples), np.concatenate(starts), start, stop, np.flatnonzero(is_ambiguous)
        )

    def _iter_lists(self, served_caller: IntArray) -> Iterator[tuple[IntArray, IntArray, _Lists]]:
        """Yield windows that are alike in what they count, the numbers of their lists, and the lists."""
        windows = self._windows
        kinds = windows[["is_call", "counts_workers"]].assign(
            counts_all=windows["caller"] == self._everyone, of_any=windows["process"] == 0
        )
        for (is_call, counts_workers, counts_all, of_any), rows in group_rows(kinds, *kinds):
            distinct, number = np.unique(self._number_callers(windows.iloc[rows]), return_inverse=True)
            # A thread is of one process, so its list is found once for all its samples; the last entry is for
            # samples without a thread.
            process = 0 if of_any else self._process_of_thread
            callers: IntArray = np.append(np.arange(len(self._process_of_thread) - 1), -1)
            if counts_all:
                callers = np.full(len(callers), self._everyone)
            own = _find_positions(distinct, callers * self._processes + process)[self._thread]
            sample = np.flatnonzero(own >= 0)
            list_number = own[sample]
            if is_call:
                joins = np.flatnonzero((served_caller >= 0) & (self._labels.is_worker | (not counts_workers)))
                process = 0 if of_any else self._process[joins]
                places = _find_positions(distinct, served_caller[joins] * self._processes + process)
                counts = places >= 0
                sample, list_number = np.append(sample, joins[counts]), np.append(list_number, places[counts])
            yield rows, number, _Lists(list_number, sample, self._count)

    def _number_callers(self, windows: pd.DataFrame) -> IntArray:
        """Return one number per caller and process."""
        return (windows["caller"] * self._processes + windows["process"]).to_numpy(np.int64)

    def _find_callers_served(self) -> tuple[IntArray, BoolArray]:
        """Return the caller that other threads' work joins, -1 for none, and mark what several claim."""
        if not self._windows["is_call"].any():
            return np.full(self._count, -1, np.int64), np.zeros(self._count, bool)
        # Calls of no known process have no samples.
        is_call = self._windows["is_call"] & ~self._windows["is_of_any"]
        labels, calls = self._labels, self._windows[is_call.to_numpy(bool)]
        calls = pd.concat([calls, self._beside]) if len(self._beside) else calls
        called = self._mark_inside_own_call(calls)
        # A thread inside its own call works for that call, so its samples join no other one, unless they are
        # a worker's.
        at_work = labels.is_worker | ((labels.is_ml | labels.in_call) & ~called)
        count, total = self._count_claims(calls)
        count -= called
        total[called] -= self._thread[called]
        if calls["counts_workers"].any():
            claims = self._count_claims(calls[~calls["counts_workers"].to_numpy(bool)])
            count, total = (
                np.where(labels.is_worker, *pair) for pair in zip((count, total), claims, strict=True)
            )
        served_caller = np.where(at_work & (count == 1), total, -1)
        unclaimed = self._mark_of_other_calls(served_caller)
        return np.where(unclaimed, -1, served_caller), (at_work & (count > 1)) | unclaimed

    def _mark_of_other_calls(self, served_caller: IntArray) -> BoolArray:
        """Mark the samples that would join a call, and are of calls that no table reports.

        A thread inside a prediction works for its own call: not for the call of another thread, and of a call
        whose thread is not known, for it or for another one where several threads are inside predictions.
        """
        labels, threads = self._labels, len(self._process_of_thread) - 1
        is_inside = (served_caller >= 0) & labels.in_call & ~labels.is_worker
        if not is_inside.any():
            return is_inside
        rows = np.flatnonzero(is_inside & (served_caller >= threads))
        callers = int(served_caller.max()) + 1
        lowest_thread, highest_thread = np.full((2, callers), [[threads + 1], [-1]])
        np.minimum.at(lowest_thread, served_caller[rows], self._thread[rows])
        np.maximum.at(highest_thread, served_caller[rows], self._thread[rows])
        has_several_threads: BoolArray = (served_caller >= 0) & np.append(
            highest_thread > lowest_thread, False
        )[served_caller]
        return has_several_threads | (is_inside & (served_caller < threads))

    def _mark_inside_own_call(self, calls: pd.DataFrame) -> BoolArray:
        """Mark the samples that lie in a call of their own thread."""
        by_thread = _Lists(self._thread.astype(np.int64) + 1, np.arange(self._count), self._count)
        owned = calls[calls["has_thread"].to_numpy(bool)]
        own_process = self._process_of_thread[owned["caller"].to_numpy()]
        fits = (owned["process"] == 0) | (owned["process"] == own_process)
        owned = owned[fits.to_numpy(bool)]
        edges = by_thread.find_edges(owned["caller"].to_numpy() + 1, *_get_edges(owned))
        return by_thread.sum_around(*edges, np.ones(len(owned), np.int64)) > 0

    @cached_property
    def _everything(self) -> _Lists:
        return _Lists(np.zeros(self._count, np.int64), np.arange(self._count), self._count)

    @cached_property
    def _by_process(self) -> _Lists:
        return _Lists(self._process, np.arange(self._count), self._count)

    def _count_claims(self, calls: pd.DataFrame) -> tuple[IntArray, IntArray]:
        """Return how many callers have a call around each sample that may be of its process, and their sum.

        Where there is a single caller, the sum is its number.
        """
        of_any, of_process = calls[calls["process"] == 0], calls[calls["process"] > 0]
        # A caller may have calls of a process and calls of any: those of any are added per process, and what
        # they would count twice is taken off.
        duplicates = of_any[:0]
        if len(of_any) and len(of_process):
            pairs = of_process[["caller", "process"]].drop_duplicates()
            duplicates = of_any.drop(columns="process").merge(pairs)
        count, total = np.zeros(self._count, np.int64), np.zeros(self._count, np.int64)
        for sign, lists, rows in (
            (1, self._everything, of_any),
            (1, self._by_process, pd.concat([of_process, duplicates])),
            (-1, self._by_process, duplicates),
        ):
            if not len(rows):
                continue
            distinct, number = group_keys(self._number_callers(rows))
            group, start, stop = merge_by_group(number, *_get_edges(rows))
            caller, process = np.divmod(distinct[group], self._processes)
            edges = lists.find_edges(process, start, stop)
            count += sign * lists.sum_around(*edges, np.ones(len(caller), np.int64))
            total += sign * lists.sum_around(*edges, caller)
        return count, total


def _find_positions(distinct: IntArray, numbers: IntArray) -> IntArray:
    """Return the position of each number among distinct ascending ones, -1 where it is not there."""
    places = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
    return np.where(distinct[places] == numbers, places, -1)


def _get_edges(windows: pd.DataFrame) -> tuple[IntArray, IntArray]:
    return windows["start"].to_numpy(np.int64), windows["stop"].to_numpy(np.int64)
