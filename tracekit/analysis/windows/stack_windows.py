"""Windows inferred from stacks.

A sampled stack shows that a prediction was running at that moment, but not how many: samples under one
prediction frame may be one call or several back-to-back calls. The rules:

* A run is a sequence of samples of one thread that all lie inside a prediction call. A sample of that thread
  outside any call, or inside another entry point's call, ends it.
* A thread that waits for an engine is off the CPU and is not sampled. A hole of up to ``SHORT_HOLE`` sampling
  periods belongs to the run; a longer one, up to ``LONG_HOLE_NS``, only if the sample before it hands work to
  an engine or waits (phase dispatch or wait). Samples of the runtime's workers in the process fill holes:
  Core ML runs E5RT operations on a queue of its own, whose stacks have no prediction frame.
* Worker samples just before or after a run extend it, up to the thread's next sample outside the call. Those
  away from every run are an asynchronous window of their own, without a thread.

For example (c: inside the call, o: outside it, w: a worker's sample, x: no sample)::

    caller    o c c x x x c o x x x
    workers             w       w w
    windows     ────────────    ────  (the second without a thread)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from heapq import heappop, heappush

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_positions, is_phase
from tracekit.analysis.windows.window import Window, sampling_period_ns
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Basis, Phase

SHORT_HOLE = 5
"""In sampling periods: a computing thread is sampled more often than this."""
LONG_HOLE_NS = 250_000_000
"""The longest wait for an engine inside one call, at any sampling rate: a choice, not a documented limit."""
_NEVER = 2**62


@frozen
class _Runs:
    """Samples that belong together, as parallel arrays: by the times of the first and of the last."""

    first_ns: IntArray
    last_ns: IntArray
    last_sample: IntArray
    thread_id: IntArray
    entry_stack: IntArray
    """The stack of the thread's first sample; a run may grow, but not over another sample of its thread."""
    after_ns: IntArray
    """The thread's sample before the run and (``before_ns``) after it: limits of the run's growth."""
    before_ns: IntArray

    def __len__(self) -> int:
        return len(self.first_ns)

    def select(self, mask: BoolArray) -> _Runs:
        """Return the marked runs."""
        return _Runs(*(column[mask] for column in self._iter_columns()))

    @staticmethod
    def concatenate(parts: Sequence[_Runs]) -> _Runs:
        """Return the runs of all parts, one part after another."""
        none = _Runs(*[np.empty(0, np.int64)] * len(fields(_Runs)))
        columns = zip(*(part._iter_columns() for part in (none, *parts)), strict=True)
        return _Runs(*(np.concatenate(column) for column in columns))

    def _iter_columns(self) -> Iterator[IntArray]:
        return (getattr(self, field.name) for field in fields(self))


@frozen
class Inferred:
    """Windows from stacks as parallel arrays: there may be several for each window of a table.

    ``name`` is a position in ``names``. ``bridged`` is the number of holes beyond ``SHORT_HOLE`` that count
    as waiting inside a window, ``longest_ns`` the longest of them.
    """

    starts_ns: IntArray
    ends_ns: IntArray
    thread_id: IntArray
    pid: IntArray
    name: IntArray
    names: Sequence[str]
    bridged: int
    longest_ns: int

    def __len__(self) -> int:
        return len(self.starts_ns)

    def select(self, mask: BoolArray) -> Inferred:
        """Return the marked windows."""
        arrays = ("starts_ns", "ends_ns", "thread_id", "pid", "name")
        return replace(self, **{name: getattr(self, name)[mask] for name in arrays})

    def windows(self) -> list[Window]:
        """Return the windows as records."""
        columns = (self.starts_ns, self.ends_ns, self.name, self.thread_id, self.pid)
        return [
            Window(start_ns, end_ns, self.names[name], "stacks", Basis.INFERRED, thread, pid)
            for start_ns, end_ns, name, thread, pid in zip(
                *(column.tolist() for column in columns), strict=True
            )
        ]


def build_windows_from_stacks(trace: Trace, labels: SampleLabels) -> Inferred:
    """Return the windows by the rules in the module's docstring. Expects ``trace.samples`` in time order."""
    return _StackReader(trace, labels).find_windows()


def find_bursts(trace: Trace, labels: SampleLabels) -> Inferred:
    """Return the stretches of samples of one thread inside one entry point's call, without any long hole.

    A call that waits for an engine is several of them; no hole is taken for a wait.
    """
    return _StackReader(trace, labels).find_bursts()


class _StackReader:
    """One pass over a trace; samples are referred to by position, and positions are in time order."""

    def __init__(self, trace: Trace, labels: SampleLabels) -> None:
        self._trace = trace
        self._labels = labels
        self._times = trace.samples["time_ns"].to_numpy(np.int64)
        self._threads = trace.samples["thread_id"].to_numpy()
        self._stacks = trace.samples["stack_id"].to_numpy()
        self._period = sampling_period_ns(trace)
        # A sample represents the period that it opens; weights in cycles and events have no length in time.
        self._tail = self._period if trace.weight_unit == "ns" else 1
        waits_for_engine = is_phase(labels.phase, Phase.DISPATCH, Phase.WAIT)
        self._bridged = self._longest_bridged_ns = 0
        self._long = max(LONG_HOLE_NS, SHORT_HOLE * self._period)
        self._longest_hole = np.where(waits_for_engine, self._long, SHORT_HOLE * self._period)

    def find_windows(self) -> Inferred:
        """Return the windows of all processes."""
        by_process = list(self._iter_runs())
        runs = _Runs.concatenate([of_process for _, of_process in by_process])
        pids = np.array([pid for pid, _ in by_process], np.int64)
        name, stacks = pd.factorize(runs.entry_stack)
        return Inferred(
            runs.first_ns,
            np.minimum(runs.last_ns + self._tail, np.maximum(runs.before_ns, runs.last_ns + 1)),
            runs.thread_id,
            np.repeat(pids, [len(of_process) for _, of_process in by_process]),
            name,
            [self._find_entry_point(number) for number in stacks.tolist()],
            self._bridged,
            self._longest_bridged_ns,
        )

    def find_bursts(self) -> Inferred:
        """Return the stretches of in-call samples; all threads at once, because nothing joins them."""
        order = np.argsort(self._threads, kind="stable")  # samples are in order of time
        order = order[self._threads[order] >= 0]
        thread, time = self._threads[order], self._times[order]
        in_call, entry = self._labels.in_call[order], self._labels.boundary_rule[order]
        is_joined = in_call[1:] & in_call[:-1] & (entry[1:] == entry[:-1]) & (thread[1:] == thread[:-1])
        is_joined &= np.diff(time) <= SHORT_HOLE * self._period
        first_row = np.flatnonzero(in_call & ~np.append(False, is_joined)[: len(order)])
        last_row = np.flatnonzero(in_call & ~np.append(is_joined, False)[: len(order)])
        name, stacks = pd.factorize(self._stacks[order[first_row]].astype(np.int64))
        return Inferred(
            time[first_row],
            time[last_row] + self._tail,
            thread[first_row].astype(np.int64),
            self._labels.pid[order[first_row]],
            name,
            [self._find_entry_point(number) for number in stacks.tolist()],
            0,
            0,
        )

    def _iter_runs(self) -> Iterator[tuple[int, _Runs]]:
        """Yield each process and its runs."""
        labels = self._labels
        # Loops run over processes and callers; everything per sample is an array operation.
        of_thread = group_positions(self._threads.astype(np.int64) + 1, len(self._trace.threads) + 1)
        at_work = np.flatnonzero(labels.in_call | labels.is_worker)
        pids, process = np.unique(labels.pid[at_work], return_inverse=True)
        for pid, positions in zip(pids.tolist(), group_positions(process, len(pids)), strict=True):
            rows = at_work[positions]
            workers, in_call_rows = rows[labels.is_worker[rows]], rows[labels.in_call[rows]]
            callers = np.unique(self._threads[in_call_rows]).tolist()
            runs = _Runs.concatenate([self._call_runs(of_thread[c + 1], c, workers) for c in callers])
            yield int(pid), self._extend_runs(runs, self._find_clusters(self._select_outside(workers, runs)))

    def _call_runs(self, samples: IntArray, thread: int, workers: IntArray) -> _Runs:
        """Cut one thread's samples into runs inside a call."""
        # Arrays of the thread's n samples, and of the n - 1 gaps between neighbours:
        #   in_call    0 1 1 1 1 0 1
        #   is_joined   0 1 1 1 0 0      both sides are inside the same entry point's call
        #   opens      0 1 0 0 0 0 1     in a call, and not joined to the sample before
        #   closes     0 0 0 0 1 0 1     in a call, and not joined to the sample after
        times = self._times[samples]
        in_call = self._labels.in_call[samples]
        entry = self._labels.boundary_rule[samples]
        is_joined = in_call[1:] & in_call[:-1] & (entry[1:] == entry[:-1])
        hole = np.diff(times)
        is_short = hole <= self._longest_hole[samples][:-1]
        # Only holes too long for the caller itself, and not longer than any wait, are worth a look at the
        # workers.
        gaps = np.flatnonzero(is_joined & ~is_short & (hole <= self._long))
        is_short[gaps] = self._mark_filled_holes(samples[gaps], samples[gaps + 1], workers)
        self._note_bridged(hole[is_joined & is_short])
        opens = in_call & ~np.append(False, is_joined & is_short)
        closes = in_call & ~np.append(is_joined & is_short, False)
        first_row, last_row = np.flatnonzero(opens), np.flatnonzero(closes)
        return _Runs(
            times[first_row],
            times[last_row],
            samples[last_row],
            np.full(len(first_row), thread),
            self._stacks[samples[first_row]].astype(np.int64),
            np.append(-_NEVER, times)[first_row],
            np.append(times, _NEVER)[last_row + 1],
        )

    def _note_bridged(self, holes: IntArray) -> None:
        long = holes[holes > SHORT_HOLE * self._period]
        self._bridged += len(long)
        self._longest_bridged_ns = max(self._longest_bridged_ns, int(long.max(initial=0)))

    def _mark_filled_holes(self, earlier: IntArray, later: IntArray, workers: IntArray) -> BoolArray:
        """Mark the holes, between samples of a caller, that worker samples leave no unexplained part of."""
        # Positions of samples are in time order, so the workers between two samples are a slice:
        #   earlier ─── w ── w ───── w ── later     each step short enough for the sample before it
        low, high = np.searchsorted(workers, earlier), np.searchsorted(workers, later)
        filled = low < high
        low, last_worker = low[filled], high[filled] - 1
        long_steps = np.append(0, np.cumsum(~self._mark_connected(workers[:-1], workers[1:])))
        filled[filled] = (
            self._mark_connected(earlier[filled], workers[low])
            & self._mark_connected(workers[last_worker], later[filled])
            & (long_steps[last_worker] == long_steps[low])
        )
        return filled

    def _mark_connected(self, earlier: IntArray, later: IntArray) -> BoolArray:
        """Mark the pairs of samples that have no unexplained hole between them."""
        mask: BoolArray = self._times[later] - self._times[earlier] <= self._longest_hole[earlier]
        return mask

    def _select_outside(self, workers: IntArray, runs: _Runs) -> IntArray:
        """Return the worker samples that lie in no run."""
        # +1 where a run begins and -1 after it ends: the running sum counts the runs around each sample.
        times = self._times[workers]
        begins, ends = (
            np.bincount(edges, minlength=len(workers) + 1)
            for edges in (
                np.searchsorted(times, runs.first_ns),
                np.searchsorted(times, runs.last_ns, "right"),
            )
        )
        outside_workers: IntArray = workers[np.cumsum(begins - ends)[:-1] == 0]
        return outside_workers

    def _find_clusters(self, samples: IntArray) -> _Runs:
        """Return groups of samples without an unexplained hole."""
        is_joined = self._mark_connected(samples[:-1], samples[1:])
        self._note_bridged(np.diff(self._times[samples])[is_joined])
        first_sample = samples[np.append(True, ~is_joined)[: len(samples)]]
        last_sample = samples[np.append(~is_joined, True)[: len(samples)]]
        unlimited = (np.full(len(first_sample), value, np.int64) for value in (-1, -1, -_NEVER, _NEVER))
        return _Runs(self._times[first_sample], self._times[last_sample], last_sample, *unlimited)

    def _extend_runs(self, runs: _Runs, clusters: _Runs) -> _Runs:
        """Extend each run over the cluster next to it.

        A cluster adjacent to zero or several runs becomes a run of its own.

        A cluster may lie beside runs of several callers. Which of them it served is then unknown, and a guess
        would move its time into the wrong call. A run that it follows goes before one that it precedes.
        """
        if not len(clusters):
            return runs
        # A run grows up to, and not over, its thread's next sample outside the call (``before_ns``,
        # ``after_ns``). Clusters lie further apart than the samples of one: a run that one follows is out of
        # reach for the next.
        reach_ns = np.minimum(runs.before_ns - 1, runs.last_ns + self._longest_hole[runs.last_sample])
        start = np.searchsorted(clusters.first_ns, runs.last_ns, "left")
        stop = np.searchsorted(clusters.first_ns, reach_ns, "right")
        attached, followed, contested = _find_reachable(start, stop, len(clusters))
        last_ns = runs.last_ns.copy()
        last_ns[followed] = np.minimum(clusters.last_ns[attached], runs.before_ns[followed] - 1)

        # Likewise, no cluster but the last before a run reaches it.
        latest = np.searchsorted(clusters.last_ns, runs.first_ns, "right") - 1
        earliest_ns = runs.after_ns + self._tail
        hole = runs.first_ns - clusters.last_ns[latest]
        is_near = (hole <= self._longest_hole[clusters.last_sample[latest]]) & (latest >= 0)
        precedes = is_near & (earliest_ns <= clusters.last_ns[latest])
        is_free = np.bincount(latest[precedes], minlength=len(clusters)) == 1
        is_free[attached] = is_free[contested] = False
        run = np.flatnonzero(precedes & is_free[latest])
        first_ns = runs.first_ns.copy()
        first_ns[run] = np.maximum(clusters.first_ns[latest[run]], earliest_ns[run])

        is_alone = np.ones(len(clusters), bool)
        is_alone[attached] = is_alone[latest[run]] = False
        grown = replace(runs, first_ns=first_ns, last_ns=last_ns)
        return _Runs.concatenate([grown, clusters.select(is_alone)])

    def _find_entry_point(self, stack: int) -> str:
        """Return the symbol of a stack's prediction frame; workers of a runtime have no such stack, -1."""
        if stack < 0:
            return "asynchronous execution"
        stacks = self._trace.stacks
        frame = stacks.stack(stack)[self._labels.classification.boundary[stack]]
        return str(stacks.symbols[frame])


def _find_reachable(start: IntArray, stop: IntArray, clusters: int) -> tuple[list[int], list[int], list[int]]:
    """Return the clusters that are within reach of one run, their runs, and those within reach of several.

    Each run reaches the clusters from ``start`` to ``stop``, and is closed by the one that it gets.
    """
    runs = np.flatnonzero(start < stop)
    runs = runs[np.argsort(start[runs], kind="stable")]
    in_reach = np.bincount(start[runs], minlength=clusters + 1) - np.bincount(
        stop[runs], minlength=clusters + 1
    )
    opening = deque(zip(start[runs].tolist(), stop[runs].tolist(), runs.tolist(), strict=True))
    closing: list[tuple[int, int]] = []
    opened: set[int] = set()
    attached, owners, contested = [], [], []
    for cluster in np.flatnonzero(np.cumsum(in_reach)).tolist():
        while opening and opening[0][0] <= cluster:
            _, end, run = opening.popleft()
            opened.add(run)
            heappush(closing, (end, run))
        while closing and closing[0][0] <= cluster:
            opened.discard(heappop(closing)[1])
        if len(opened) == 1:
            attached.append(cluster)
            owners.append(opened.pop())
        elif opened:
            contested.append(cluster)
    return attached, owners, contested
