"""``SampledTime``: the time that samples stand for, and the part of a budget that each shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import is_among, is_engine, is_phase, sort_positions
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase

PREPARING = (Phase.LOAD, Phase.COMPILE)
BLOCKED_STATES = ("Blocked", "Waiting")
SAMPLED_PARTS = (
    BudgetPart.CPU,
    BudgetPart.LOAD,
    BudgetPart.COPY,
    BudgetPart.RUNTIME,
    BudgetPart.APP,
    BudgetPart.UNNAMED,
    BudgetPart.BLOCKED,
)
"""The parts that samples show."""
NO_PART = -1


class SampledTime:
    """The samples of a trace as time, whatever calls they are of: all budgets of an analysis share it."""

    def __init__(self, trace: Trace, labels: SampleLabels) -> None:
        self._trace, self._labels = trace, labels
        self.period_ns = sampling_period_ns(trace)
        self._computing: dict[int, IntervalSet] = {}
        self._parts: dict[int, list[IntervalSet]] = {}
        self._processes: dict[tuple[tuple[Engine, ...], Phase | None], tuple[int, ...]] = {}

    @cached_property
    def is_timed(self) -> bool:
        """True where samples have times, and weights that are time."""
        trace = self._trace
        return trace.weight_unit == "ns" and trace.has_timeline and len(trace.samples) > 0

    @cached_property
    def covered(self) -> tuple[IntArray, IntArray]:
        """The time that each sample stands for: from its timestamp on, up to the thread's next one.

        A timer is not exact: up to half a period without a sample of the thread is no pause.
        """
        trace = self._trace
        starts = trace.samples["time_ns"].to_numpy(np.int64)
        if not self.is_timed:
            return starts, starts
        ends: IntArray = starts + trace.weights
        thread = trace.samples["thread_id"].to_numpy(np.int64)
        order = sort_positions(thread, len(trace.threads))
        row, following = order[:-1], order[1:]
        is_near = (thread[row] == thread[following]) & (starts[following] - ends[row] <= self.period_ns // 2)
        row, following = row[is_near], following[is_near]
        ends[row] = np.maximum(ends[row], starts[following])
        return starts, ends

    @cached_property
    def part_of_sample(self) -> npt.NDArray[np.int8]:
        """The position in ``SAMPLED_PARTS`` of each sample's part; -1 for parked threads."""
        labels = self._labels
        computes = is_engine(labels.engine, Engine.CPU) & is_phase(labels.phase, Phase.EXECUTE, None)
        part = np.full(len(labels.engine), SAMPLED_PARTS.index(BudgetPart.RUNTIME), np.int8)
        other = is_engine(labels.engine, Engine.OTHER, Engine.GRAPHICS)
        parts = {
            BudgetPart.APP: other,
            BudgetPart.UNNAMED: is_engine(labels.engine, Engine.UNKNOWN),
            BudgetPart.CPU: computes,
            BudgetPart.COPY: ~other & is_phase(labels.phase, Phase.COPY),
            BudgetPart.LOAD: is_phase(labels.phase, *PREPARING),
            BudgetPart.BLOCKED: self._is_blocked,
        }
        for name, mask in parts.items():
            part[mask] = SAMPLED_PARTS.index(name)
        part[is_phase(labels.phase, Phase.IDLE)] = NO_PART
        return part if self.is_timed else np.full(len(part), NO_PART, np.int8)

    @cached_property
    def _is_blocked(self) -> BoolArray:
        return is_among(self._trace.samples["state"], *BLOCKED_STATES)

    @cached_property
    def extent(self) -> IntervalSet:
        """The time between the first sample and the last one: outside of it none was taken."""
        times = self._trace.samples["time_ns"].to_numpy(np.int64)
        return IntervalSet.of(times[:1], times[-1:] + self.period_ns)

    def find_computing(self, pid: int) -> IntervalSet:
        """Return when any thread of a process, of any for -1, was sampled at work."""
        if pid not in self._computing:
            self._computing[pid] = self.select(self.mark_computing(pid))
        return self._computing[pid]

    def find_part(self, part: BudgetPart, pid: int) -> IntervalSet:
        """Return when samples of a process, of any for -1, show a part."""
        if pid not in self._parts:
            of_process = np.ones(len(self.part_of_sample), bool) if pid < 0 else self._labels.pid == pid
            rows = slice(None) if of_process.all() else of_process
            parts = self.part_of_sample[rows]
            starts, ends = (edge[rows] for edge in self.covered)
            masks = [parts == number for number in range(len(SAMPLED_PARTS))]
            self._parts[pid] = [IntervalSet.of(starts[mask], ends[mask]) for mask in masks]
        return self._parts[pid][SAMPLED_PARTS.index(part)]

    def list_processes(self, engines: Sequence[Engine], phase: Phase | None = None) -> tuple[int, ...]:
        """Return the processes with a sample of any of these engines, in a phase if one is given."""
        key = tuple(engines), phase
        if key not in self._processes:
            mask = is_engine(self._labels.engine, *engines)
            if phase is not None:
                mask &= is_phase(self._labels.phase, phase)
            self._processes[key] = tuple(np.unique(self._labels.pid[mask]).tolist())
        return self._processes[key]

    def mark_computing(self, pid: int) -> BoolArray:
        """Mark the samples of a process' threads at work, of any for -1."""
        mask: BoolArray = self._is_at_work if pid < 0 else self._is_at_work & (self._labels.pid == pid)
        return mask

    def select(self, mask: BoolArray) -> IntervalSet:
        """Return the time of the marked samples."""
        return IntervalSet.of(*(edge[mask] for edge in self.covered))

    @cached_property
    def _is_at_work(self) -> BoolArray:
        mask: BoolArray = (self.part_of_sample != NO_PART) & ~self._is_blocked
        return mask
