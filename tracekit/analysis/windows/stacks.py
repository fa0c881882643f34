"""Windows inferred from stacks.

A sampled stack shows that a prediction was running at that moment, never how many: samples under one
prediction frame may be one call or several back to back. The rules:

* A run is a sequence of samples of one thread that all lie inside a prediction call. A sample of that thread
  outside any call, or inside another entry point's call, ends it.
* A thread that waits for an engine is off the CPU and not sampled. A hole of up to ``SHORT_HOLE`` sampling
  periods belongs to the run; a longer one, up to ``LONG_HOLE_NS``, only if the sample before it hands work to
  an engine or waits (phase dispatch or wait). The runtime's workers in the process fill holes: Core ML runs
  E5RT operations on a queue of its own, whose stacks hold no prediction frame.
* Such work just before or just after a run extends it, up to the thread's next sample outside the call. Such
  work away from every run is an asynchronous window of its own, with no thread.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import is_phase
from tracekit.analysis.windows.window import Window, sampling_period_ns
from tracekit.model.columns import IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Basis, Phase

SHORT_HOLE = 5
"""In sampling periods: a thread that computes is sampled more often than this."""
LONG_HOLE_NS = 250_000_000
"""A choice, not a fact: how long a thread may wait for an engine inside one call, at any sampling rate."""
_NEVER = 2**62


@dataclass
class _Run:
    """Samples that belong together, as times of the first and the last; the ends may still grow."""

    first_ns: int
    last_ns: int
    first_sample: int
    last_sample: int
    thread_id: int = -1
    after_ns: int = -_NEVER
    """The thread's sample before the run; with ``before_ns``, the one after it, a bound of the run's ends."""
    before_ns: int = _NEVER


@dataclass(frozen=True)
class _Caller:
    """One thread's runs, in order of time; none reaches into the next, however they grow."""

    runs: list[_Run]

    def until(self, time_ns: int) -> list[_Run]:
        """Return the last run that begins no later, if there is one."""
        at = bisect_right(self.runs, time_ns, key=lambda run: run.first_ns)
        return self.runs[at - 1 : at] if at else []

    def since(self, time_ns: int) -> list[_Run]:
        """Return the first run that begins no earlier, if there is one."""
        at = bisect_left(self.runs, time_ns, key=lambda run: run.first_ns)
        return self.runs[at : at + 1]


@dataclass(frozen=True)
class Inferred:
    """Windows from stacks, and how many holes beyond ``SHORT_HOLE`` were taken for waiting inside one."""

    windows: list[Window]
    bridged: int
    longest_ns: int


def windows_from_stacks(trace: Trace, labels: SampleLabels) -> Inferred:
    """Return what the module's rules infer. Expects ``trace.samples`` in time order."""
    reader = _StackReader(trace, labels)
    windows = reader.windows()
    return Inferred(windows, len(reader.bridged_ns), max(reader.bridged_ns, default=0))


class _StackReader:
    """One pass over a trace; samples are referred to by position, and positions are in time order."""

    def __init__(self, trace: Trace, labels: SampleLabels) -> None:
        self._trace = trace
        self._labels = labels
        self._times = trace.samples["time_ns"].to_numpy(np.int64)
        self._threads = trace.samples["thread_id"].to_numpy()
        self._stacks = trace.samples["stack_id"].to_numpy()
        self._period = sampling_period_ns(trace)
        # A sample stands for the period that it opens; cycles and events say nothing about time.
        self._tail = self._period if trace.weight_unit == "ns" else 1
        hands_over = is_phase(labels.phase, Phase.DISPATCH, Phase.WAIT)
        self.bridged_ns: list[int] = []
        self._long = max(LONG_HOLE_NS, SHORT_HOLE * self._period)
        self._longest_hole = np.where(hands_over, self._long, SHORT_HOLE * self._period)

    def windows(self) -> list[Window]:
        labels = self._labels
        every = []
        for pid in np.unique(labels.pid[labels.in_call | labels.is_worker]).tolist():
            workers = np.flatnonzero(labels.is_worker & (labels.pid == pid))
            callers = np.unique(self._threads[labels.in_call & (labels.pid == pid)])
            by_caller = [_Caller(list(self._call_runs(thread, workers))) for thread in callers.tolist()]
            runs = [run for caller in by_caller for run in caller.runs]
            clusters = list(self._clusters(self._outside(workers, runs)))
            runs += [cluster for cluster in clusters if not self._attach(cluster, by_caller)]
            every += [self._window(run, int(pid)) for run in runs]
        return every

    def _call_runs(self, thread: int, workers: IntArray) -> Iterator[_Run]:
        """Cut one thread's samples into runs inside a call."""
        own = np.flatnonzero(self._threads == thread)
        at = self._times[own]
        inside = self._labels.in_call[own]
        entry = self._labels.boundary_rule[own]
        joined = inside[1:] & inside[:-1] & (entry[1:] == entry[:-1])
        hole = np.diff(at)
        close = hole <= self._longest_hole[own][:-1]
        for gap in np.flatnonzero(joined & ~close & (hole <= self._long)).tolist():
            close[gap] = self._filled(own[gap], own[gap + 1], workers)
        self._note_bridged(hole[joined & close])
        opens = inside & ~np.append(False, joined & close)
        closes = inside & ~np.append(joined & close, False)
        first, last = np.flatnonzero(opens), np.flatnonzero(closes)
        after, before = np.append(-_NEVER, at)[first], np.append(at, _NEVER)[last + 1]
        columns = (column.tolist() for column in (at[first], at[last], own[first], own[last], after, before))
        for first_ns, last_ns, first_sample, last_sample, after_ns, before_ns in zip(*columns, strict=True):
            yield _Run(first_ns, last_ns, first_sample, last_sample, thread, after_ns, before_ns)

    def _note_bridged(self, holes: IntArray) -> None:
        self.bridged_ns += holes[holes > SHORT_HOLE * self._period].tolist()

    def _filled(self, before: int, after: int, workers: IntArray) -> bool:
        """True when worker samples leave no unexplained hole between two samples of the caller."""
        low, high = np.searchsorted(workers, [before, after])
        chain = np.concatenate([[before], workers[low:high], [after]])
        return len(chain) > 2 and bool((np.diff(self._times[chain]) <= self._longest_hole[chain[:-1]]).all())

    def _outside(self, workers: IntArray, runs: list[_Run]) -> IntArray:
        """Return the worker samples that lie in no run."""
        edges = np.zeros(len(workers) + 1, np.int64)
        at = self._times[workers]
        np.add.at(edges, np.searchsorted(at, [run.first_ns for run in runs], "left"), 1)
        np.add.at(edges, np.searchsorted(at, [run.last_ns for run in runs], "right"), -1)
        loose: IntArray = workers[np.cumsum(edges[:-1]) == 0]
        return loose

    def _clusters(self, samples: IntArray) -> Iterator[_Run]:
        """Group samples that leave no unexplained hole."""
        if not len(samples):
            return
        hole = np.diff(self._times[samples])
        apart = hole > self._longest_hole[samples[:-1]]
        self._note_bridged(hole[~apart])
        cuts = np.flatnonzero(apart)
        firsts = samples[np.append(0, cuts + 1)]
        lasts = samples[np.append(cuts, len(samples) - 1)]
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            yield _Run(int(self._times[first]), int(self._times[last]), first, last)

    def _attach(self, cluster: _Run, callers: Sequence[_Caller]) -> bool:
        """Let the run that the cluster adjoins grow over it; False when there is none, or several."""
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
        known = run.after_ns + self._tail <= cluster.last_ns
        return known and 0 <= hole <= self._longest_hole[cluster.last_sample]

    def _window(self, run: _Run, pid: int) -> Window:
        end_ns = min(run.last_ns + self._tail, max(run.before_ns, run.last_ns + 1))
        label = "asynchronous execution"
        if run.thread_id >= 0:
            label = self._entry_point(run)
        return Window(run.first_ns, end_ns, label, "stacks", Basis.INFERRED, run.thread_id, pid)

    def _entry_point(self, run: _Run) -> str:
        """Return the symbol of the prediction frame of the run's first sample of its own thread."""
        members = range(run.first_sample, run.last_sample + 1)
        in_call = self._labels.in_call
        own = next(at for at in members if self._threads[at] == run.thread_id and in_call[at])
        stack = int(self._stacks[own])
        stacks = self._trace.stacks
        frame = stacks.stack(stack)[self._labels.classification.boundary[stack]]
        return str(stacks.symbols[frame])
