"""Submitters: the stacks that show which call, and which process, hands work to an engine."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import INFERENCE, is_engine, is_phase, sum_before
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.ownership.cut_calls import ThreadEdges
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import SERVING, Engine

_NEAR_PERIODS = 1.5
"""In sampling periods: a sample of the submission lies so near to the start of the engine's work."""


class Submitters:
    """The samples that show an engine at work, or work handed to it, by call and by process."""

    def __init__(self, trace: Trace, labels: SampleLabels, members: Membership) -> None:
        self._labels, self._members = labels, members
        self._times = trace.samples["time_ns"].to_numpy(np.int64)
        self.period_ns = sampling_period_ns(trace)
        self.near_ns = int(_NEAR_PERIODS * self.period_ns)
        # Samples that are weighed in cycles have times as well.
        self._is_inference = is_phase(labels.phase, *INFERENCE)
        self.edges = ThreadEdges.of(trace, labels)
        self.callers = self.edges.thread
        """The threads that are ever inside a prediction, as rows of the trace's threads."""
        self.has_several_callers = len(self.callers) > 1
        self._counts: dict[Engine, IntArray] = {}
        self._before: dict[Engine, IntArray] = {}
        self._processes: dict[Engine, tuple[IntArray, IntArray]] = {}

    def count_samples(self, engine: Engine) -> IntArray:
        """Return how many samples of inference on an engine each call has."""
        if engine not in self._counts:
            self._counts[engine] = self._members.count(self._mark_samples(engine))
        return self._counts[engine]

    def count_other_samples(self, engine: Engine) -> IntArray:
        """Return how many samples of inference on other engines each call has."""
        total = np.zeros(len(self._members.start), np.int64)
        for other_engine in SERVING:
            if other_engine is not engine:
                total += self.count_samples(other_engine)
        return total

    def mark_near(self, engine: Engine, call: IntArray, moments: IntArray) -> BoolArray:
        """Mark the pairs of a call and a moment near which a sample of the call is of the engine."""
        is_near: BoolArray = self.count(engine, call, moments - self.near_ns, moments + self.near_ns + 1) > 0
        return is_near

    def count(self, engine: Engine, call: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
        """Return how many samples of an engine each call has in a stretch of time; the call -1 has none."""
        if engine not in self._before:
            self._before[engine] = sum_before(self._mark_samples(engine)[self._members.samples])
        counts_before = self._before[engine]
        if not counts_before[-1] or not len(call):
            return np.zeros(len(call), np.int64)
        count: IntArray = (
            counts_before[self._find_positions(call, ends)]
            - counts_before[self._find_positions(call, starts)]
        )
        return np.where(call >= 0, count, 0)

    def mark_near_others(self, engine: Engine, pid: IntArray, moments: IntArray) -> BoolArray:
        """Mark the pairs of a process and a moment near which another process' sample is of the engine."""
        pids, _ = self._list_processes(engine)
        mask = np.zeros(len(pid), bool)
        # Where only one process has samples, no other one has any beside it.
        positions = (
            np.flatnonzero(pid != pids[0]) if len(pids) == 1 else np.arange(len(pid) * (len(pids) > 1))
        )
        times = self._times[self._find_samples(engine)]
        near_any = self._count_near(times, moments[positions])
        mask[positions] = near_any > self._count_near_process(engine, pid[positions], moments[positions])
        return mask

    def mark_near_process(self, engine: Engine, pid: IntArray, moments: IntArray) -> BoolArray:
        """Mark the pairs of a process and a moment near which a sample of it is of the engine."""
        return self._count_near_process(engine, pid, moments) > 0

    def _count_near(self, times: IntArray, moments: IntArray) -> IntArray:
        start, stop = (np.searchsorted(times, moments + shift) for shift in (-self.near_ns, self.near_ns + 1))
        return stop - start

    def _count_near_process(self, engine: Engine, pid: IntArray, moments: IntArray) -> IntArray:
        pids, keys = self._list_processes(engine)
        if not len(pids) or not len(pid):
            return np.zeros(len(pid), np.int64)
        number = np.minimum(np.searchsorted(pids, pid), len(pids) - 1) * (len(self._times) + 1)
        start, stop = (
            np.searchsorted(keys, number + np.searchsorted(self._times, moments + shift))
            for shift in (-self.near_ns, self.near_ns + 1)
        )
        count: IntArray = np.where(np.isin(pid, pids), stop - start, 0)
        return count

    def _list_processes(self, engine: Engine) -> tuple[IntArray, IntArray]:
        """Return the processes with samples of an engine, and process and sample as one number, in order."""
        if engine not in self._processes:
            samples = self._find_samples(engine)
            code, pids = pd.factorize(self._labels.pid[samples], sort=True)
            self._processes[engine] = pids, np.sort(code * (len(self._times) + 1) + samples)
        return self._processes[engine]

    def _find_samples(self, engine: Engine) -> IntArray:
        """Return the samples of an engine, of processes that are known."""
        return np.flatnonzero(self._mark_samples(engine) & (self._labels.pid >= 0))

    def _mark_samples(self, engine: Engine) -> BoolArray:
        return is_engine(self._labels.engine, engine) & self._is_inference

    @cached_property
    def _keys(self) -> tuple[IntArray, IntArray, int]:
        """The samples of all lists with the number of their list, and the list of each call."""
        members = self._members
        width = len(self._times) + 1
        size = len(members.samples)
        marks = np.bincount(members.list_starts, minlength=size + 1)
        number = np.cumsum(marks)
        return number[:size] * width + members.samples, number[np.minimum(members.start, size)], width

    def _find_positions(self, call: IntArray, moments: IntArray) -> IntArray:
        """Return the position in the list of each call at which the samples of a moment begin."""
        keys, number, width = self._keys
        sample = np.searchsorted(self._times, moments)
        position = np.searchsorted(keys, number[call] * width + sample)
        position_in_list: IntArray = np.clip(position, self._members.start[call], self._members.stop[call])
        return position_in_list
