"""Layers of a budget: when each part happens in some calls, whatever else happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial

import numpy as np

from tracekit.analysis.budget.axis import CallAxis
from tracekit.analysis.budget.parts import EXECUTING, BudgetKind, BudgetPart
from tracekit.analysis.budget.run_layers import ACCELERATORS, RunLayers
from tracekit.analysis.budget.sampled_time import PREPARING, SAMPLED_PARTS
from tracekit.analysis.engines.attribution import iter_waits
from tracekit.analysis.engines.codes import BASES
from tracekit.analysis.engines.interval_sets import EMPTY, IntervalSet, find_reach_by_group, merge_sets
from tracekit.analysis.engines.waiting import AWAITED
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import SERVING, Basis, Engine, Phase

_SHORTEST_GAP = 2
"""In sampling periods: a timer that ticks in a gap this long shows that nothing runs in it."""


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
        loading = merge_sets(
            [self._lay_owned(key) for key in self._evidence.measured.keys if key[1] in PREPARING]
        )
        sampled = dict(self._sampled)
        # A call in which a table shows the part takes nothing from its samples: no part has two bases. What
        # they show beyond the rows is the runtime's.
        for part, rows in ((BudgetPart.CPU, executing[Engine.CPU]), (BudgetPart.LOAD, loading)):
            alone = sampled[part] & self._outside_calls_of(rows)
            sampled[BudgetPart.RUNTIME] = sampled[BudgetPart.RUNTIME] | (sampled[part] - alone - rows)
            sampled[part] = alone
        for engine, part in EXECUTING.items():
            yield BudgetKind(part, Basis.MEASURED), executing[engine]
        yield BudgetKind(BudgetPart.CPU, Basis.SAMPLED), sampled[BudgetPart.CPU]
        yield BudgetKind(BudgetPart.LOAD, Basis.MEASURED), loading
        yield BudgetKind(BudgetPart.LOAD, Basis.SAMPLED), sampled[BudgetPart.LOAD]
        yield BudgetKind(BudgetPart.CONTESTED, Basis.MEASURED), merge_sets(contested)
        for part in (BudgetPart.COPY, BudgetPart.RUNTIME, BudgetPart.APP, BudgetPart.UNNAMED):
            yield BudgetKind(part, Basis.SAMPLED), sampled[part]
        states = self._lay_thread_states()
        yield BudgetKind(BudgetPart.RUNNING, Basis.MEASURED), states["Running"] - self._at_work
        for part in (BudgetPart.OTHER_PROCESS, BudgetPart.OTHER_CALL):
            others = [self._lay_others(engine, part) for engine in ACCELERATORS]
            yield BudgetKind(part, Basis.MEASURED), merge_sets(others)
        yield BudgetKind(BudgetPart.RUNNABLE, Basis.MEASURED), states["Runnable"]
        waits, basis = self._lay_waits()
        yield BudgetKind(BudgetPart.WAITING, basis), waits
        yield BudgetKind(BudgetPart.BLOCKED, Basis.MEASURED), states["Blocked"]
        without_rows = self._outside_calls_of(merge_sets([*states.values()]))
        yield BudgetKind(BudgetPart.BLOCKED, Basis.SAMPLED), sampled[BudgetPart.BLOCKED] & without_rows
        executing[Engine.CPU] = executing[Engine.CPU] | sampled[BudgetPart.CPU]
        yield BudgetKind(BudgetPart.HAND_OVER, Basis.INFERRED), self._lay_hand_overs(executing)

    def select_sampled(self, gaps: IntervalSet) -> IntervalSet:
        """Return those of some gaps on the axis that samples resolve: a thread at work would have some."""
        call, starts, ends = self.axis.cut(gaps & self.axis.lay_everywhere(self._run.sampled.extent))
        is_long = ends - starts >= _SHORTEST_GAP * self._run.sampled.period_ns
        return self.axis.lay(call[is_long], starts[is_long], ends[is_long])

    def lay_other_threads(self) -> IntervalSet:
        """Return when threads of the calls' processes were sampled at work for something else.

        A call without samples of its own may be the one that they work for.
        """
        # What a range's process samples is in the range's own parts already.
        has_samples = self._evidence.members.counts[self._rows] > 0
        has_samples &= ~self._run.has_all_work[self._rows]
        if not has_samples.any():
            return EMPTY
        others = self._lay_by_process(lambda pid: self._run.find_computing(pid, is_clear=True))
        return (others & self._select_calls(has_samples)) - self._at_work

    def lay_idle(self) -> IntervalSet:
        """Return when no thread of the processes works, and no engine for them, where that is known."""
        working = [
            self._lay_by_process(lambda pid: self._run.find_computing(pid, is_clear=False)),
            self._lay_by_process(self._run.find_engine_work),
        ]
        return self._select_calls(self._run.is_idle_known[self._rows]) - merge_sets(working)

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

    @cached_property
    def _at_work(self) -> IntervalSet:
        """When the calls' threads were sampled at work."""
        return merge_sets([times for part, times in self._sampled.items() if part is not BudgetPart.BLOCKED])

    @cached_property
    def _sampled(self) -> dict[BudgetPart, IntervalSet]:
        """Return the time that the calls' samples cover, by part."""
        sampled, has_all_work = self._run.sampled, self._run.has_all_work[self._rows]
        sample, window = self._evidence.members.pairs(self._rows[~has_all_work])
        part = sampled.part_of_sample[sample]
        # Ranges include all samples of their process, of which neighbours are one interval for all ranges.
        stops = np.where(has_all_work, self.axis.ends, self.axis.starts)
        layers = {}
        for number, name in enumerate(SAMPLED_PARTS):
            chosen = np.flatnonzero(part == number)
            starts, ends = (edge[sample[chosen]] for edge in sampled.covered)
            layers[name] = self.axis.lay(window[chosen] - self._first, starts, ends)
            if has_all_work.any():
                layers[name] |= self._lay_by_process(partial(sampled.find_part, name), stops)
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
        But a row whose owner is not certain may then be its own.
        """
        owned = self._lay_owned((engine, Phase.EXECUTE))
        call, starts, _ = self.axis.cut(owned)
        last_starts = self.axis.starts.copy()
        np.maximum.at(last_starts, call, starts)
        has_rows = np.isin(np.arange(len(self.axis)), call)
        has_stacks = self._evidence.served[engine][self._rows] & ~has_rows
        times = self._lay_by_process(lambda pid: self._run.find_others(engine, part, pid), last_starts)
        if has_stacks.any():
            ends = np.where(has_stacks, self.axis.ends, self.axis.starts)
            times |= self._lay_by_process(
                lambda pid: self._run.find_others(engine, part, pid, is_certain=True), ends
            )
        return times if part is BudgetPart.OTHER_PROCESS else times - owned

    def _lay_by_process(
        self, find: Callable[[int], IntervalSet], ends: IntArray | None = None
    ) -> IntervalSet:
        """Return times of the calls' processes, in each call up to ``ends``."""
        pids = self._run.pids[self._rows]
        stops = self.axis.ends if ends is None else ends
        pieces = []
        for pid in np.unique(pids).tolist():
            calls = np.flatnonzero(pids == pid)
            call, starts, ends_of_pieces = find(pid).pieces(self.axis.starts[calls], stops[calls])
            pieces.append(self.axis.lay(calls[call], starts, ends_of_pieces))
        return merge_sets(pieces)

    def _lay_waits(self) -> tuple[IntervalSet, Basis]:
        """Return when the calls waited for an engine that no table measures, and the weakest basis of it."""
        evidence, parts, bases = self._evidence, [], [0]
        for engine in AWAITED:
            if engine not in evidence.waiting.basis and not evidence.measured.requests(engine):
                continue
            hidden = ACCELERATORS if engine is Engine.RUNTIME else (engine,)
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
        if not len(call):
            return EMPTY
        engine = np.repeat(np.arange(len(cuts)), [len(column[0]) for column in cuts])
        order = np.lexsort((starts, call))
        call, starts, ends, engine = call[order], starts[order], ends[order], engine[order]
        # The engine whose work of the call reaches furthest is the one that hands over.
        reach = find_reach_by_group(call, ends)
        furthest = np.maximum.accumulate(np.where(ends == reach, np.arange(len(ends)), 0))[:-1]
        changes = np.flatnonzero((call[1:] == call[:-1]) & (engine[1:] != engine[furthest]))
        return self.axis.lay(call[changes], reach[changes], starts[changes + 1])
