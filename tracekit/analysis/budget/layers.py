"""Layers of a budget: when each part happens in some calls, whatever else happens meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.budget.axis import CallAxis
from tracekit.analysis.budget.parts import EXECUTING, BudgetKind, BudgetPart
from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.attribution import iter_waits
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.codes import BASES, group_rows, is_among, is_engine, is_phase
from tracekit.analysis.engines.interval_sets import EMPTY, IntervalSet, merge_sets
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.waiting import AWAITED, Waiting
from tracekit.analysis.selection import Selection
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import SERVING, Basis, Engine, Phase

_ACCELERATORS = (Engine.ANE, Engine.GPU)
_PREPARING = (Phase.LOAD, Phase.COMPILE)
_BLOCKED = ("Blocked", "Waiting")
_RUNNABLE = ("Runnable", "Preempted", "Interrupted")
_NO_PART = -1
_SAMPLED_PARTS = (
    BudgetPart.CPU,
    BudgetPart.LOAD,
    BudgetPart.COPY,
    BudgetPart.RUNTIME,
    BudgetPart.APP,
    BudgetPart.UNNAMED,
    BudgetPart.BLOCKED,
)
"""The parts that samples show."""
_SHORTEST_GAP = 2
"""In sampling periods: a timer that ticks in a gap this long shows that nothing runs in it."""


@dataclass(frozen=True)
class Evidence:
    """The results of an analysis that a budget is made from; the fields are those of ``AnalyzedRun``."""

    trace: Trace
    labels: SampleLabels
    members: Membership
    windows: pd.DataFrame
    measured: Measured
    waiting: Waiting
    selection: Selection
    served: dict[Engine, BoolArray]
    """The calls in which each engine is seen, in a table or on stacks."""


class Layers:
    """The layers of neighbouring calls, from row ``start`` up to ``stop``."""

    def __init__(self, run: RunLayers, start: int, stop: int) -> None:
        self._run, self._evidence = run, run.evidence
        self._first, self._rows = start, np.arange(start, stop)
        self.axis = CallAxis(run.starts[start:stop], run.ends[start:stop])

    def iter_layers(self) -> Iterator[tuple[BudgetKind, IntervalSet]]:
        """Yield each part with its basis and its time on the axis, in order of precedence."""
        executing, contested = {}, []
        for engine in SERVING:
            executing[engine] = self._lay_owned((engine, Phase.EXECUTE))
            contested.append(self._lay_contested(engine))
        sampled = self._lay_samples()
        for engine, part in EXECUTING.items():
            yield BudgetKind(part, Basis.MEASURED), executing[engine]
        # A call in which a table shows the part takes nothing from its samples: no part has two bases.
        without_rows = self._outside_calls_of(executing[Engine.CPU])
        executing_on_cpu = sampled[BudgetPart.CPU] & without_rows
        yield BudgetKind(BudgetPart.CPU, Basis.SAMPLED), executing_on_cpu
        loading = merge_sets(
            [self._lay_owned(key) for key in self._evidence.measured.keys if key[1] in _PREPARING]
        )
        yield BudgetKind(BudgetPart.LOAD, Basis.MEASURED), loading
        without_rows = self._outside_calls_of(loading)
        yield BudgetKind(BudgetPart.LOAD, Basis.SAMPLED), sampled[BudgetPart.LOAD] & without_rows
        yield BudgetKind(BudgetPart.CONTESTED, Basis.MEASURED), merge_sets(contested)
        for part in (BudgetPart.COPY, BudgetPart.RUNTIME, BudgetPart.APP, BudgetPart.UNNAMED):
            yield BudgetKind(part, Basis.SAMPLED), sampled[part]
        states = self._lay_thread_states()
        yield BudgetKind(BudgetPart.RUNNING, Basis.MEASURED), states["Running"]
        for part in (BudgetPart.OTHER_PROCESS, BudgetPart.OTHER_CALL):
            others = [self._lay_others(engine, part) for engine in _ACCELERATORS]
            yield BudgetKind(part, Basis.MEASURED), merge_sets(others)
        yield BudgetKind(BudgetPart.RUNNABLE, Basis.MEASURED), states["Runnable"]
        waits, basis = self._lay_waits()
        yield BudgetKind(BudgetPart.WAITING, basis), waits
        yield BudgetKind(BudgetPart.BLOCKED, Basis.MEASURED), states["Blocked"]
        without_rows = self._outside_calls_of(merge_sets([*states.values()]))
        yield BudgetKind(BudgetPart.BLOCKED, Basis.SAMPLED), sampled[BudgetPart.BLOCKED] & without_rows
        executing[Engine.CPU] = executing[Engine.CPU] | executing_on_cpu
        yield BudgetKind(BudgetPart.HAND_OVER, Basis.INFERRED), self._lay_hand_overs(executing)

    def select_sampled(self, gaps: IntervalSet) -> IntervalSet:
        """Return those of some gaps on the axis that samples resolve: a thread at work would have some."""
        call, starts, ends = self.axis.cut(gaps & self.axis.lay_everywhere(self._run.sampled_time))
        is_long = ends - starts >= _SHORTEST_GAP * self._run.period_ns
        return self.axis.lay(call[is_long], starts[is_long], ends[is_long])

    def lay_idle(self) -> IntervalSet:
        """Return the calls in which no row and no sample means that nothing works."""
        return self._select_calls(self._run.is_idle_known[self._rows])

    def _outside_calls_of(self, times: IntervalSet) -> IntervalSet:
        """Return the whole time of the calls that have none of these times."""
        empty = self.axis.measure(times) == 0
        return IntervalSet.of(self.axis.begins[empty], self.axis.stops[empty])

    def _lay_owned(self, key: tuple[Engine, Phase | None]) -> IntervalSet:
        """Return the time in which tables show an engine in a phase for the calls."""
        if key not in self._evidence.measured.keys:
            return EMPTY
        parts = []
        for rows, spans in self._evidence.measured.of_windows(key, self._rows):
            call, starts, ends = spans.pieces(self._run.starts[rows], self._run.ends[rows])
            parts.append(self.axis.lay(rows[call] - self._first, starts, ends))
        return merge_sets(parts)

    def _lay_contested(self, engine: Engine) -> IntervalSet:
        """Return when an engine worked for the calls or for another owner."""
        rows, windows, crowded = self._evidence.measured.list_contested((engine, Phase.EXECUTE))
        edges = self._evidence.measured.edges
        inside = (windows >= self._first) & (windows < self._first + len(self._rows))
        rows, windows = rows[inside], windows[inside]
        listed = self.axis.lay(windows - self._first, *(edge[rows] for edge in edges))
        if not len(crowded):
            return listed
        of_calls = self.axis.lay_everywhere(IntervalSet.of(*(edge[crowded] for edge in edges)))
        return listed | (of_calls & self._select_calls(self._run.is_call[self._rows]))

    def _select_calls(self, mask: BoolArray) -> IntervalSet:
        """Return the whole time of the marked calls."""
        return IntervalSet.of(self.axis.begins[mask], self.axis.stops[mask])

    def _lay_samples(self) -> dict[BudgetPart, IntervalSet]:
        """Return the time that the calls' samples cover, by part."""
        sample, window = self._evidence.members.pairs(self._rows)
        part = self._run.part_of_sample[sample]
        layers = {}
        for number, name in enumerate(_SAMPLED_PARTS):
            chosen = np.flatnonzero(part == number)
            starts, ends = (edge[sample[chosen]] for edge in self._run.covered)
            layers[name] = self.axis.lay(window[chosen] - self._first, starts, ends)
        return layers

    def _lay_thread_states(self) -> dict[str, IntervalSet]:
        """Return when the calls' threads were in each state, by the table of thread states."""
        states = dict.fromkeys(("Running", "Runnable", "Blocked"), EMPTY)
        tids = self._run.tids[self._rows]
        for name, by_thread in self._run.thread_states.items():
            pieces = []
            for tid, times in by_thread.items():
                calls = np.flatnonzero(tids == tid)
                call, starts, ends = times.pieces(self.axis.starts[calls], self.axis.ends[calls])
                pieces.append(self.axis.lay(calls[call], starts, ends))
            states[name] = merge_sets(pieces)
        return states

    def _lay_others(self, engine: Engine, part: BudgetPart) -> IntervalSet:
        """Return when an engine was busy with other work before it worked for the call.

        Work after the call's last on that engine delays it no more. Where no row of the engine is the call's,
        but its stacks show the engine, all of the call counts: it may have waited for a turn that never came.
        """
        times = self._run.find_others(engine, part)
        if not len(times):
            return EMPTY
        limits = np.where(self._evidence.served[engine][self._rows], self.axis.ends, self.axis.starts)
        owned = self._lay_owned((engine, Phase.EXECUTE))
        call, starts, _ = self.axis.cut(owned)
        has_rows = np.unique(call)
        limits[has_rows] = self.axis.starts[has_rows]
        np.maximum.at(limits, call, starts)
        call, starts, ends = times.pieces(self.axis.starts, limits)
        return self.axis.lay(call, starts, ends)

    def _lay_waits(self) -> tuple[IntervalSet, Basis]:
        """Return when the calls waited for an engine that no table measures, and the weakest basis of it."""
        evidence, parts, bases = self._evidence, [], [0]
        for engine in AWAITED:
            if engine not in evidence.waiting.basis and not evidence.measured.requests(engine):
                continue
            hidden = _ACCELERATORS if engine is Engine.RUNTIME else (engine,)
            if all(accelerator in evidence.measured.engines for accelerator in hidden):
                continue
            is_reported = evidence.measured.requests(engine)
            bases.append(BASES.index(Basis.MEASURED if is_reported else evidence.waiting.basis[engine]))
            waits = iter_waits(evidence.windows, self._rows, engine, evidence.waiting, evidence.measured)
            for rows, spans in waits:
                call, starts, ends = spans.pieces(self._run.starts[rows], self._run.ends[rows])
                parts.append(self.axis.lay(rows[call] - self._first, starts, ends))
        # Where every engine of a call would be seen, its waiting is a consequence, and not a part.
        is_open = ~self._run.is_idle_known[self._rows]
        return merge_sets(parts) & self._select_calls(is_open), BASES[max(bases)]

    def _lay_hand_overs(self, executing: dict[Engine, IntervalSet]) -> IntervalSet:
        """Return the time between the end of one engine's work for a call and the begin of another's."""
        cuts = [self.axis.cut(times) for times in executing.values()]
        call, starts, ends = (np.concatenate(column) for column in zip(*cuts, strict=True))
        engine = np.repeat(np.arange(len(cuts)), [len(column[0]) for column in cuts])
        order = np.lexsort((starts, call))
        call, starts, ends, engine = call[order], starts[order], ends[order], engine[order]
        changes = np.flatnonzero((call[1:] == call[:-1]) & (engine[1:] != engine[:-1]))
        return self.axis.lay(call[changes], ends[changes], starts[changes + 1])

    def lay_other_threads(self) -> IntervalSet:
        """Return when threads of the calls' processes were sampled at work."""
        pids = self._run.pids[self._rows]
        pieces = []
        for pid in np.unique(pids).tolist():
            calls = np.flatnonzero(pids == pid)
            at_work = self._run.find_computing(pid)
            call, starts, ends = at_work.pieces(self.axis.starts[calls], self.axis.ends[calls])
            pieces.append(self.axis.lay(calls[call], starts, ends))
        return merge_sets(pieces)


class RunLayers:
    """What the layers of all calls share, each computed once."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        windows = evidence.windows
        self.starts, self.ends, self.pids = (
            windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns", "pid")
        )
        self.period_ns = sampling_period_ns(evidence.trace)
        self._computing: dict[int, IntervalSet] = {}

    @cached_property
    def is_call(self) -> BoolArray:
        """Marks the windows that are calls."""
        return self.evidence.measured.is_call

    @cached_property
    def tids(self) -> IntArray:
        """The thread number of each call, -1 where its thread is not known."""
        tids = np.append(self.evidence.trace.threads["tid"].to_numpy(np.int64), -1)
        of_calls: IntArray = tids[self.evidence.windows["thread_id"].to_numpy(np.int64)]
        return of_calls

    @cached_property
    def _is_timed(self) -> bool:
        trace = self.evidence.trace
        return trace.weight_unit == "ns" and trace.has_timeline and len(trace.samples) > 0

    @cached_property
    def covered(self) -> tuple[IntArray, IntArray]:
        """The time that each sample stands for: from its timestamp on, up to the thread's next one.

        A timer is not exact: up to half a period without a sample of the thread is no pause.
        """
        trace = self.evidence.trace
        starts = trace.samples["time_ns"].to_numpy(np.int64)
        if not self._is_timed:
            return starts, starts
        ends: IntArray = starts + trace.weights
        thread = trace.samples["thread_id"].to_numpy(np.int64)
        order = np.argsort(thread, kind="stable")
        row, following = order[:-1], order[1:]
        is_near = (thread[row] == thread[following]) & (starts[following] - ends[row] <= self.period_ns // 2)
        row, following = row[is_near], following[is_near]
        ends[row] = np.maximum(ends[row], starts[following])
        return starts, ends

    @cached_property
    def part_of_sample(self) -> IntArray:
        """The position in ``_SAMPLED_PARTS`` of each sample's part; -1 for parked threads."""
        labels = self.evidence.labels
        computes = is_engine(labels.engine, Engine.CPU) & is_phase(labels.phase, Phase.EXECUTE, None)
        part = np.full(len(labels.engine), _SAMPLED_PARTS.index(BudgetPart.RUNTIME), np.int64)
        other = is_engine(labels.engine, Engine.OTHER, Engine.GRAPHICS)
        parts = {
            BudgetPart.APP: other,
            BudgetPart.UNNAMED: is_engine(labels.engine, Engine.UNKNOWN),
            BudgetPart.CPU: computes,
            BudgetPart.COPY: ~other & is_phase(labels.phase, Phase.COPY),
            BudgetPart.LOAD: is_phase(labels.phase, *_PREPARING),
            BudgetPart.BLOCKED: self._is_blocked,
        }
        for name, mask in parts.items():
            part[mask] = _SAMPLED_PARTS.index(name)
        part[is_phase(labels.phase, Phase.IDLE)] = _NO_PART
        return part if self._is_timed else np.full(len(part), _NO_PART, np.int64)

    @cached_property
    def _is_blocked(self) -> BoolArray:
        return is_among(self.evidence.trace.samples["state"], *_BLOCKED)

    @cached_property
    def thread_states(self) -> dict[str, dict[int, IntervalSet]]:
        """When each calling thread ran, could have run, or was blocked."""
        states = self.evidence.trace.thread_states
        of_callers = states[states["tid"].isin(np.unique(self.tids[self.tids >= 0])).to_numpy(bool)]
        starts, ends = (of_callers[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        tids = of_callers[["tid"]]
        groups: dict[str, dict[int, IntervalSet]] = {}
        for name, words in (("Running", ("Running",)), ("Runnable", _RUNNABLE), ("Blocked", _BLOCKED)):
            matches = np.flatnonzero(is_among(of_callers["state"], *words))
            groups[name] = {
                int(tid): IntervalSet.of(starts[matches[rows]], ends[matches[rows]])
                for (tid,), rows in group_rows(tids.iloc[matches], "tid")
            }
        return groups

    def find_others(self, engine: Engine, part: BudgetPart) -> IntervalSet:
        """Return when an engine worked for other processes, or else for the app, whichever call had it."""
        return self._others[engine, part]

    @cached_property
    def _others(self) -> dict[tuple[Engine, BudgetPart], IntervalSet]:
        measured, is_other = self.evidence.measured, self.evidence.measured.is_of_other_process
        masks = {BudgetPart.OTHER_PROCESS: is_other, BudgetPart.OTHER_CALL: ~is_other}
        return {
            (engine, part): measured.find_work(engine, mask)
            for engine in _ACCELERATORS
            for part, mask in masks.items()
        }

    def find_computing(self, pid: int) -> IntervalSet:
        """Return when any thread of a process, of any for -1, was sampled at work."""
        if pid not in self._computing:
            is_at_work = (self.part_of_sample != _NO_PART) & ~self._is_blocked
            if pid >= 0:
                is_at_work &= self.evidence.labels.pid == pid
            self._computing[pid] = IntervalSet.of(*(edge[is_at_work] for edge in self.covered))
        return self._computing[pid]

    @cached_property
    def sampled_time(self) -> IntervalSet:
        """The time between the first sample and the last one: outside of it none was taken."""
        times = self.evidence.trace.samples["time_ns"].to_numpy(np.int64)
        return IntervalSet.of(times[:1], times[-1:] + self.period_ns)

    @cached_property
    def is_idle_known(self) -> BoolArray:
        """Marks the calls in which no row and no sample means that nothing works.

        All threads of the app must be sampled, and an accelerator measured; an engine without a table must be
        seen in no call of the model. Calls made of an engine's own rows have no host part.
        """
        evidence = self.evidence
        engines = evidence.measured.engines
        if not self._is_timed or evidence.selection.thread is not None or engines.isdisjoint(_ACCELERATORS):
            return np.zeros(len(self.starts), bool)
        windows = evidence.windows
        marked: BoolArray = (evidence.members.counts > 0) & ~windows["source"].isin(ANE_TABLES).to_numpy(bool)
        for engine in _ACCELERATORS:
            if engine in engines:
                continue
            for _, rows in group_rows(windows, "pid", "model", "label"):
                marked[rows] &= not evidence.served[engine][rows].any()
        return marked
