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

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import is_phase, positions_by
from tracekit.analysis.windows.window import Window, sampling_period_ns
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Basis, Phase

SHORT_HOLE = 5
"""In sampling periods: a computing thread is sampled more often than this."""
LONG_HOLE_NS = 250_000_000
"""The longest wait for an engine inside one call, at any sampling rate: a choice, not a documented limit."""
_NEVER = 2**62


@dataclass
class _Run:
    """Samples that belong together, by the times of the first and the last; the ends may still grow."""

    first_ns: int
    last_ns: int
    first_sample: int
    last_sample: int
    thread_id: int = -1
    entry_stack: int = -1
    """The stack of the thread's first sample; the run may grow, but not over another sample of its thread."""
    after_ns: int = -_NEVER
    """The thread's sample before the run and (``before_ns``) after it: limits of the run's growth."""
    before_ns: int = _NEVER


@dataclass(frozen=True)
class _Caller:
    """One thread's runs, in order of time; none reaches into the next, however they grow."""

    runs: list[_Run]

    def until(self, time_ns: int) -> list[_Run]:
        """Return the last run that begins no later, if there is one."""
        index = bisect_right(self.runs, time_ns, key=lambda run: run.first_ns)
        return self.runs[index - 1 : index] if index else []

    def since(self, time_ns: int) -> list[_Run]:
        """Return the first run that begins no earlier, if there is one."""
        index = bisect_left(self.runs, time_ns, key=lambda run: run.first_ns)
        return self.runs[index : index + 1]


@dataclass(frozen=True)
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

    def part(self, marked: BoolArray) -> Inferred:
        """Return the marked windows."""
        arrays = ("starts_ns", "ends_ns", "thread_id", "pid", "name")
        return replace(self, **{name: getattr(self, name)[marked] for name in arrays})

    def windows(self) -> list[Window]:
        """Return the windows as records."""
        columns = (self.starts_ns, self.ends_ns, self.name, self.thread_id, self.pid)
        return [
            Window(start_ns, end_ns, self.names[name], "stacks", Basis.INFERRED, thread, pid)
            for start_ns, end_ns, name, thread, pid in zip(
                *(column.tolist() for column in columns), strict=True
            )
        ]


def windows_from_stacks(trace: Trace, labels: SampleLabels) -> Inferred:
    """Return the windows by the rules in the module's docstring. Expects ``trace.samples`` in time order."""
    return _StackReader(trace, labels).inferred()


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
        self.bridged_ns: list[int] = []
        self._long = max(LONG_HOLE_NS, SHORT_HOLE * self._period)
        self._longest_hole = np.where(waits_for_engine, self._long, SHORT_HOLE * self._period)

    def inferred(self) -> Inferred:
        """Return the windows of all processes."""
        by_process = list(self._runs())
        runs = [run for _, of_process in by_process for run in of_process]
        first, last, before, thread, stack = (
            np.array([getattr(run, name) for run in runs], np.int64)
            for name in ("first_ns", "last_ns", "before_ns", "thread_id", "entry_stack")
        )
        pids = [pid for pid, of_process in by_process for _ in of_process]
        name, stacks = pd.factorize(stack)
        return Inferred(
            first,
            np.minimum(last + self._tail, np.maximum(before, last + 1)),
            thread,
            np.array(pids, np.int64),
            name,
            [self._entry_point(number) for number in stacks.tolist()],
            len(self.bridged_ns),
            max(self.bridged_ns, default=0),
        )

    def _runs(self) -> Iterator[tuple[int, list[_Run]]]:
        """Yield each process and its runs."""
        labels = self._labels
        # Loops run over processes, callers and runs; everything per sample is an array operation.
        of_thread = positions_by(self._threads.astype(np.int64) + 1, len(self._trace.threads) + 1)
        at_work = np.flatnonzero(labels.in_call | labels.is_worker)
        pids, process = np.unique(labels.pid[at_work], return_inverse=True)
        for pid, positions in zip(pids.tolist(), positions_by(process, len(pids)), strict=True):
            rows = at_work[positions]
            workers, inside = rows[labels.is_worker[rows]], rows[labels.in_call[rows]]
            callers = np.unique(self._threads[inside]).tolist()
            by_caller = [_Caller(list(self._call_runs(of_thread[c + 1], c, workers))) for c in callers]
            runs = [run for caller in by_caller for run in caller.runs]
            clusters = list(self._clusters(self._outside(workers, runs)))
            runs += [cluster for cluster in clusters if not self._attach(cluster, by_caller)]
            yield int(pid), runs

    def _call_runs(self, samples: IntArray, thread: int, workers: IntArray) -> Iterator[_Run]:
        """Cut one thread's samples into runs inside a call."""
        # Arrays of the thread's n samples, and of the n - 1 gaps between neighbours:
        #   inside   0 1 1 1 1 0 1
        #   joined    0 1 1 1 0 0      both sides are inside the same entry point's call
        #   opens    0 1 0 0 0 0 1     inside, and not joined to the sample before
        #   closes   0 0 0 0 1 0 1     inside, and not joined to the sample after
        times = self._times[samples]
        inside = self._labels.in_call[samples]
        entry = self._labels.boundary_rule[samples]
        joined = inside[1:] & inside[:-1] & (entry[1:] == entry[:-1])
        hole = np.diff(times)
        is_short = hole <= self._longest_hole[samples][:-1]
        # Only holes too long for the caller itself, and not longer than any wait, are worth a look at the
        # workers.
        for gap in np.flatnonzero(joined & ~is_short & (hole <= self._long)).tolist():
            is_short[gap] = self._filled(samples[gap], samples[gap + 1], workers)
        self._note_bridged(hole[joined & is_short])
        opens = inside & ~np.append(False, joined & is_short)
        closes = inside & ~np.append(joined & is_short, False)
        first, last = np.flatnonzero(opens), np.flatnonzero(closes)
        after, before = np.append(-_NEVER, times)[first], np.append(times, _NEVER)[last + 1]
        stacks = self._stacks[samples[first]]
        arrays = (times[first], times[last], samples[first], samples[last], stacks, after, before)
        for first_ns, last_ns, first_sample, last_sample, stack, after_ns, before_ns in zip(
            *(array.tolist() for array in arrays), strict=True
        ):
            yield _Run(first_ns, last_ns, first_sample, last_sample, thread, stack, after_ns, before_ns)

    def _note_bridged(self, holes: IntArray) -> None:
        self.bridged_ns += holes[holes > SHORT_HOLE * self._period].tolist()

    def _filled(self, before: int, after: int, workers: IntArray) -> bool:
        """Return whether worker samples leave no unexplained hole between two samples of the caller."""
        # Positions of samples are in time order, so the workers between two samples are a slice:
        #   before ─── w ── w ───── w ── after     each step short enough for the sample before it
        low, high = np.searchsorted(workers, [before, after])
        chain = np.concatenate([[before], workers[low:high], [after]])
        return len(chain) > 2 and bool((np.diff(self._times[chain]) <= self._longest_hole[chain[:-1]]).all())

    def _outside(self, workers: IntArray, runs: list[_Run]) -> IntArray:
        """Return the worker samples that lie in no run."""
        # +1 where a run begins and -1 after it ends: the running sum counts the runs around each sample.
        edges = np.zeros(len(workers) + 1, np.int64)
        times = self._times[workers]
        np.add.at(edges, np.searchsorted(times, [run.first_ns for run in runs], "left"), 1)
        np.add.at(edges, np.searchsorted(times, [run.last_ns for run in runs], "right"), -1)
        outside: IntArray = workers[np.cumsum(edges[:-1]) == 0]
        return outside

    def _clusters(self, samples: IntArray) -> Iterator[_Run]:
        """Yield groups of samples without an unexplained hole."""
        if not len(samples):
            return
        hole = np.diff(self._times[samples])
        is_apart = hole > self._longest_hole[samples[:-1]]
        self._note_bridged(hole[~is_apart])
        cuts = np.flatnonzero(is_apart)
        firsts = samples[np.append(0, cuts + 1)]
        lasts = samples[np.append(cuts, len(samples) - 1)]
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            yield _Run(int(self._times[first]), int(self._times[last]), first, last)

    def _attach(self, cluster: _Run, callers: Sequence[_Caller]) -> bool:
        """Extend the run next to the cluster over it; return False where there is none, or several."""
        # A cluster may lie beside runs of several callers. Which of them it served is then unknown, and a
        # guess would move its time into the wrong call: it stays a window of its own.
        after = [
            run for caller in callers for run in caller.until(cluster.first_ns) if self._follows(cluster, run)
        ]
        before = [
            run for caller in callers for run in caller.since(cluster.last_ns) if self._precedes(cluster, run)
        ]
        candidates = after or before
        if len(candidates) != 1:
            return False
        run = candidates[0]
        # The run grows up to, and not over, its thread's next sample outside the call (``before_ns``,
        # ``after_ns``).
        if after:
            run.last_ns, run.last_sample = min(cluster.last_ns, run.before_ns - 1), cluster.last_sample
        else:
            run.first_ns = max(cluster.first_ns, run.after_ns + self._tail)
            run.first_sample = cluster.first_sample
        return True

    def _follows(self, cluster: _Run, run: _Run) -> bool:
        hole = cluster.first_ns - run.last_ns
        return 0 <= hole <= self._longest_hole[run.last_sample] and cluster.first_ns < run.before_ns

    def _precedes(self, cluster: _Run, run: _Run) -> bool:
        hole = run.first_ns - cluster.last_ns
        is_after_caller = run.after_ns + self._tail <= cluster.last_ns
        return is_after_caller and 0 <= hole <= self._longest_hole[cluster.last_sample]

    def _entry_point(self, stack: int) -> str:
        """Return the symbol of a stack's prediction frame; workers of a runtime have no such stack, -1."""
        if stack < 0:
            return "asynchronous execution"
        stacks = self._trace.stacks
        frame = stacks.stack(stack)[self._labels.classification.boundary[stack]]
        return str(stacks.symbols[frame])
