"""``RunLayers``: what the layers of all calls of a run share, and the evidence of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.budget.sampled_time import BLOCKED_STATES, SAMPLED_PARTS, SampledTime
from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_rows, is_among
from tracekit.analysis.engines.interval_sets import IntervalSet, merge_sets
from tracekit.analysis.engines.measured_rows import MeasuredRows
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.waiting import Waiting
from tracekit.analysis.ownership.owners import Owner, Reason
from tracekit.analysis.selection import Selection
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase

ACCELERATORS = (Engine.ANE, Engine.GPU)
_RUNNABLE = ("Runnable", "Preempted", "Interrupted")
_SIGNS = {Engine.ANE: (Engine.ANE,), Engine.GPU: (Engine.GPU, Engine.GRAPHICS)}
"""The labels of stacks that use each accelerator."""
_OF_NO_MODEL = (BudgetPart.APP, BudgetPart.UNNAMED)
_UNKNOWN_PROCESS, _OTHER_PROCESS = -1, -2
"""Instead of the number of a process; the other one is none of those that the analysis is about."""


@frozen
class Evidence:
    """The results of an analysis that a budget is made from; the fields are those of ``AnalyzedRun``."""

    trace: Trace
    labels: SampleLabels
    members: Membership
    windows: pd.DataFrame
    measured: MeasuredRows
    waiting: Waiting
    sampled: SampledTime
    selection: Selection
    served: dict[Engine, BoolArray]
    """The calls in which each engine is seen, in a table or on stacks."""


class RunLayers:
    """What the layers of all calls share, each computed once."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        windows = evidence.windows
        self.starts, self.ends, self.pids = (
            windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns", "pid")
        )
        self.sampled = evidence.sampled
        self._clearly_computing: dict[int, IntervalSet] = {}
        self._others: dict[tuple[Engine, BudgetPart, int, bool], IntervalSet] = {}

    @cached_property
    def is_call(self) -> BoolArray:
        """Marks the windows that are calls."""
        return self.evidence.measured.is_call

    @cached_property
    def has_all_work(self) -> BoolArray:
        """Marks the ranges that include all work of their process, whatever its thread."""
        mask: BoolArray = ~self.is_call & (self.evidence.windows["thread_id"] < 0).to_numpy(bool)
        return mask

    @cached_property
    def tids(self) -> IntArray:
        """The thread number of each call, -1 where its thread is not known."""
        tids = np.append(self.evidence.trace.threads["tid"].to_numpy(np.int64), -1)
        of_calls: IntArray = tids[self.evidence.windows["thread_id"].to_numpy(np.int64)]
        return of_calls

    @cached_property
    def thread_states(self) -> dict[str, dict[int, IntervalSet]]:
        """When each calling thread ran, could have run, or was blocked."""
        states = self.evidence.trace.thread_states
        if not len(states):
            return {}
        of_callers = states[states["tid"].isin(np.unique(self.tids[self.tids >= 0])).to_numpy(bool)]
        starts, ends = (of_callers[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        tids = of_callers[["tid"]]
        groups: dict[str, dict[int, IntervalSet]] = {}
        for name, words in (("Running", ("Running",)), ("Runnable", _RUNNABLE), ("Blocked", BLOCKED_STATES)):
            matches = np.flatnonzero(is_among(of_callers["state"], *words))
            groups[name] = {
                int(tid): IntervalSet.of(starts[matches[rows]], ends[matches[rows]])
                for (tid,), rows in group_rows(tids.iloc[matches], "tid")
            }
        return groups

    def find_others(
        self, engine: Engine, part: BudgetPart, pid: int, is_certain: bool = False
    ) -> IntervalSet:
        """Return when an engine worked for other processes than this, or else for anything.

        A label that fits no model of the app does not show another process: the app may use further models.
        With ``is_certain``, only rows count whose process is known.
        """
        key = engine, part, pid, is_certain
        if key not in self._others:
            is_known = self._process_of_row != _UNKNOWN_PROCESS
            is_other = self._mark_other_process(pid)
            mask = is_other if part is BudgetPart.OTHER_PROCESS else ~is_other
            self._others[key] = self.evidence.measured.find_work(
                engine, mask & is_known if is_certain else mask
            )
        return self._others[key]

    def find_engine_work(self, pid: int) -> IntervalSet:
        """Return when an accelerator worked, but for rows of other processes than this."""
        may_be_own = ~self._mark_other_process(pid)
        return merge_sets([self.evidence.measured.find_work(engine, may_be_own) for engine in ACCELERATORS])

    def _mark_other_process(self, pid: int) -> BoolArray:
        """Mark the measured rows of other processes than this; for -1 of others than the target."""
        process = self._process_of_row
        is_other: BoolArray = (process == _OTHER_PROCESS) | ((process >= 0) & (process != pid) & (pid >= 0))
        return is_other

    @cached_property
    def _process_of_row(self) -> IntArray:
        """The process of each measured row: that which it names, or that of the call which owns it."""
        measured = self.evidence.measured
        assigned, process = measured.assignment, measured.processes.copy()
        is_other = assigned.is_owner(Owner.OTHER) & ~assigned.has_reason(Reason.LABEL)
        process[is_other] = _OTHER_PROCESS
        return process

    def find_computing(self, pid: int, is_clear: bool) -> IntervalSet:
        """Return when any thread of a process, of any for -1, was sampled at work.

        With ``is_clear``, samples of inference that no call counts do not count: they may be of any.
        """
        if not is_clear:
            return self.sampled.find_computing(pid)
        if pid not in self._clearly_computing:
            mask = self.sampled.mark_computing(pid) & ~self._is_unclaimed
            self._clearly_computing[pid] = self.sampled.select(mask)
        return self._clearly_computing[pid]

    @cached_property
    def _is_unclaimed(self) -> BoolArray:
        """Marks the samples of inference that no call counts."""
        of_no_model = [SAMPLED_PARTS.index(part) for part in _OF_NO_MODEL]
        unclaimed = ~np.isin(self.sampled.part_of_sample, of_no_model)
        unclaimed[self.evidence.members.mark(np.arange(len(self.starts)), len(unclaimed))] = False
        return unclaimed

    @cached_property
    def is_idle_known(self) -> BoolArray:
        """Marks the calls in which no row and no sample means that nothing works.

        All threads of the app must be sampled, and an accelerator measured; of an engine without a table, no
        stack of the app may show anything. A wait in the runtime may be for any engine, unless a measured one
        worked for the call. Calls made of an engine's own rows have no host part.
        """
        evidence = self.evidence
        engines = evidence.measured.engines
        has_all_threads = self.sampled.is_timed and evidence.selection.thread is None
        if not has_all_threads or engines.isdisjoint(ACCELERATORS):
            return np.zeros(len(self.starts), bool)
        windows, sampled = evidence.windows, self.sampled
        marked: BoolArray = (evidence.members.counts > 0) & ~is_among(windows["source"], *ANE_TABLES)
        for engine in ACCELERATORS:
            if engine in engines:
                continue
            marked &= ~self._may_be_of(sampled.list_processes(_SIGNS[engine]))
            waiting = sampled.list_processes((Engine.RUNTIME,), Phase.WAIT)
            marked &= self._has_engine_rows | ~self._may_be_of(waiting)
        return marked

    def _may_be_of(self, processes: Sequence[int]) -> BoolArray:
        """Mark the calls of some processes; where there are any, those of no known process, too."""
        marked: BoolArray = np.isin(self.pids, [*processes, *([-1] if processes else [])])
        return marked

    @cached_property
    def _has_engine_rows(self) -> BoolArray:
        """Marks the calls that an accelerator's rows belong to: a runtime that waits, waits for that one."""
        measured, marked = self.evidence.measured, np.zeros(len(self.starts), bool)
        for engine in ACCELERATORS:
            for rows, spans in measured.of_windows((engine, Phase.EXECUTE), np.arange(len(self.starts))):
                marked[rows] |= spans.within(self.starts[rows], self.ends[rows]) > 0
        return marked
