"""``MeasuredRows``: when each engine was in each phase, by the owners of the rows of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import (
    convert_categories,
    decode_work,
    encode_work,
    group_codes,
    group_keys,
    group_positions,
    group_rows,
    is_among,
)
from tracekit.analysis.engines.interval_sets import IntervalSet, merge_sets
from tracekit.analysis.engines.ownership import Ownership
from tracekit.analysis.ownership.call_spans import Spans
from tracekit.analysis.ownership.owners import Assignment, Owner, Reason
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_ML, GPU_INTERVALS, GPU_TABLES
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASE_CODE, PHASES, Engine, Phase

_WORK = (Phase.EXECUTE, Phase.LOAD, Phase.COMPILE)

Key = tuple[Engine, Phase | None]
_Lane = tuple[int, str]  # process, model
_MAY_BE_OTHERS = (Reason.SECOND_USER, Reason.DOUBTFUL, Reason.NO_SUBMITTER)


def is_work(key: Key) -> bool:
    """Return True where intervals of this engine and phase are the engine's own work.

    Requests, encoding and calls as a whole are not; GPU work without an ML mark is work of GRAPHICS.
    """
    engine, phase = key
    return phase in _WORK or (engine is Engine.GRAPHICS and phase is None)


@frozen
class Scope:
    """The work that a window counts: of these processes (none = any), and of this model ("" = any)."""

    pids: frozenset[int]
    model: str


@frozen(eq=False)
class OwnedIntervals:
    """Intervals with their owners: ``rows`` of the trace's, as a frame, with the ``models`` by name or owner.

    ``pids`` are the processes that the analysis is about, ``all_pids`` these and those of its windows; none
    is any.
    """

    frame: pd.DataFrame
    rows: IntArray
    labels: Ownership
    assignment: Assignment
    model_code: IntArray
    pids: frozenset[int]
    all_pids: frozenset[int]


class MeasuredRows:
    """Intervals as disjoint spans by engine, phase, process and model, and those of ranges.

    A range includes all work of its process in its time, whatever call it is of.
    """

    def __init__(self, intervals: OwnedIntervals, windows: pd.DataFrame) -> None:
        self.rows = intervals.rows
        """The rows of the trace's intervals that count: ``assignment`` has their owners."""
        self.owner, self.assignment = intervals.labels, intervals.assignment
        self._frame, self._model_code = intervals.frame, intervals.model_code
        self._pids, self._all_pids = intervals.pids, intervals.all_pids
        self._windows = windows
        self.is_call = np.zeros(len(windows), bool)
        """Marks the windows that are calls; the others are ranges that the user gave."""
        self._unions: dict[tuple[Key, tuple[_Lane, ...]], IntervalSet] = {}
        self._work_rows: dict[Engine, IntArray] = {}

    def of_windows(self, key: Key, windows: IntArray) -> Iterator[tuple[IntArray, Spans]]:
        """Yield some windows, and when that engine was in that phase for them.

        A call has its own work; a range has all work of its process and model.
        """
        for rows, (spans,) in self.of_given([key], windows):
            yield rows, spans

    def list_contested(self, key: Key) -> tuple[IntArray, IntArray, IntArray]:
        """Return the rows that may be of calls, the call of each, and those of more than are listed."""
        nothing = np.zeros(0, np.int64)
        crowded = np.flatnonzero(self.assignment.crowded)
        code = encode_work(ENGINE_CODE[key[0]], PHASE_CODE[key[1]])
        return nothing, nothing, crowded[self.key_codes[crowded] == code]

    @cached_property
    def key_codes(self) -> IntArray:
        """The engine and phase of each of ``rows`` as one number, see ``encode_work``."""
        engine, phase = (
            convert_categories(self._frame[name], words)
            for name, words in (("engine", ENGINES), ("phase", PHASES))
        )
        codes: IntArray = encode_work(engine, phase)
        return codes

    def group_by_key(self, positions: IntArray) -> Iterator[tuple[Key, IntArray]]:
        """Yield each engine and phase of some of ``rows``, and where among them it stands."""
        codes, group = group_keys(self.key_codes[positions])
        engines, phases = (part.tolist() for part in decode_work(codes))
        for engine, phase, members in zip(engines, phases, group_positions(group, len(codes)), strict=True):
            yield (ENGINES[engine], None if phase < 0 else PHASES[phase]), members

    @cached_property
    def processes(self) -> IntArray:
        """The process that each of ``rows`` names, -1 for none."""
        pids: IntArray = self._frame["pid"].to_numpy(np.int64)
        return pids

    def of_given(
        self, keys: Sequence[Key], windows: IntArray | None = None
    ) -> Iterator[tuple[IntArray, list[IntervalSet]]]:
        """Yield the ranges that the user gave, and when the engines were in these phases for them."""
        window_rows = np.arange(len(self._windows)) if windows is None else windows
        given = window_rows[~self.is_call[window_rows]]
        if len(given):
            scopes, scope_of_window = self._scopes
            codes, group = group_keys(scope_of_window[given])
            for code, rows in zip(codes.tolist(), group_positions(group, len(codes)), strict=True):
                yield given[rows], [self.spans(self.scope(*scopes[code]), key) for key in keys]

    @cached_property
    def _scopes(self) -> tuple[list[tuple[int, str]], IntArray]:
        """The process and model of windows, each once, and which of them each window has."""
        scopes: list[tuple[int, str]] = []
        scope_of_window = np.zeros(len(self._windows), np.int64)
        for rows, scope in iter_scopes(self._windows):
            scope_of_window[rows] = len(scopes)
            scopes.append(scope)
        return scopes, scope_of_window

    @cached_property
    def edges(self) -> tuple[IntArray, IntArray]:
        """The starts and the ends of ``rows``."""
        return get_edges(self._frame)

    def find_work(self, engine: Engine, mask: BoolArray | None = None) -> IntervalSet:
        """Return when an engine worked for anything at all, or by the marked rows; the GPU draws as well."""
        rows = self._list_work(engine)
        return self._select_time(rows if mask is None else rows[mask[rows]])

    def _list_work(self, engine: Engine) -> IntArray:
        """Return the rows in which an engine worked."""
        if engine not in self._work_rows:
            is_work = is_among(self._frame["phase"], Phase.EXECUTE) & is_among(self._frame["engine"], engine)
            if engine is Engine.GPU:
                is_drawing = is_among(self._frame["engine"], Engine.GRAPHICS)
                is_work |= is_drawing & self._frame["phase"].isna().to_numpy(bool)
            self._work_rows[engine] = np.flatnonzero(is_work)
        return self._work_rows[engine]

    @cached_property
    def contested(self) -> IntervalSet:
        """When any engine worked for an owner that is not known."""
        return self._select_time(self.assignment.is_owner(Owner.CONTESTED))

    @cached_property
    def of_others_by_stacks(self) -> IntervalSet:
        """When the Neural Engine worked for another process by a stack alone, whatever its label."""
        return self._select_time(
            self.assignment.is_owner(Owner.OTHER) & self.assignment.has_reason(Reason.SUBMITTED)
        )

    def _select_time(self, rows: BoolArray | IntArray) -> IntervalSet:
        return IntervalSet.of(*(edges[rows] for edges in self.edges))

    @cached_property
    def sources(self) -> dict[Engine, str]:
        """The engines that tables with rows measured, and those tables: only of these is zero a zero.

        GPU work of the target without an ML mark may be inference: with such work alone, the GPU's share in
        inference is not known. The CPU's work is measured only where Core ML reports it, see ``reported``.
        """
        frame = self._frame
        has_length = self.edges[1] > self.edges[0]
        # MPS rows that repeat the Neural Engine's show nothing of the GPU.
        on_gpu = is_among(frame["source"], *GPU_TABLES) & ~is_among(frame["engine"], Engine.ANE)
        has_ml_mark = on_gpu & is_among(frame["engine"], Engine.GPU)
        has_unmarked = len(self.everything((Engine.GRAPHICS, None))) > 0
        rows = {
            Engine.ANE: is_among(frame["source"], *ANE_TABLES),
            # Where all GPU work of the target lacks the mark, none of it may be inference and all of it may:
            # then the table does not measure inference, and a zero would claim too much.
            Engine.GPU: on_gpu if (has_ml_mark & has_length).any() or not has_unmarked else has_ml_mark,
            Engine.GRAPHICS: is_among(frame["source"], GPU_INTERVALS),
        }
        source = frame["source"].cat
        tables = {
            engine: sorted(source.categories[np.unique(source.codes.to_numpy()[mask & has_length])])
            for engine, mask in rows.items()
        }
        return {engine: ", ".join(names) for engine, names in tables.items() if names}

    @cached_property
    def reported(self) -> dict[Engine, str]:
        """``sources``, and the CPU where Core ML reports work on it; it may work unreported besides."""
        on_cpu = {Engine.CPU: CORE_ML} if (Engine.CPU, Phase.EXECUTE) in self.keys else {}
        return {**self.sources, **on_cpu}

    @property
    def engines(self) -> frozenset[Engine]:
        """The engines of ``sources``."""
        return frozenset(self.sources)

    def scope(self, pid: int, model: str) -> Scope:
        """Return the scope of a window: without a process of its own, it is the target's."""
        # A model that the tables do not name cannot restrict the work: its window counts every model's.
        pids = frozenset([pid]) if pid >= 0 else self._pids
        return Scope(pids, model if model in self.owner.models else "")

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """Every engine and phase that any interval of the target has."""
        return tuple(sorted(self._lanes, key=str))

    def spans(self, scope: Scope, key: Key) -> IntervalSet:
        """Return when that engine was in that phase for that scope; other processes' work is left out."""
        by_process = self._lanes.get(key, {})
        # A lane without a process or a model may be of any: it counts where nothing excludes it.
        pids = sorted({-1, *scope.pids}) if scope.pids else by_process
        lanes = tuple(
            (pid, model)
            for pid in pids
            for model in (("", scope.model) if scope.model else by_process.get(pid, {}))
            if model in by_process.get(pid, {})
        )
        # A thousand processes may all have the lanes of none: these are one union.
        if (key, lanes) not in self._unions:
            self._unions[key, lanes] = merge_sets([by_process[pid][model] for pid, model in lanes])
        return self._unions[key, lanes]

    @cached_property
    def preparations(self) -> pd.DataFrame:
        """The target's outermost rows of load or compile, with ``owner_model``; the same row twice is one."""
        positions = np.flatnonzero(
            is_among(self._frame["phase"], Phase.LOAD, Phase.COMPILE) & ~self._is_other_ane
        )
        rows = self._frame.iloc[positions].assign(
            owner_model=self.owner.model_names[self._model_code[positions]]
        )
        rows = rows[(rows["depth"] <= 0).to_numpy(bool)]
        if self._all_pids:
            rows = rows[rows["pid"].isin([-1, *self._all_pids]).to_numpy(bool)]
        rows = rows.assign(label=rows["label"].astype("str"))
        return rows.drop_duplicates(["start_ns", "end_ns", "label", "source", "channel"])

    def everything(self, key: Key) -> IntervalSet:
        """Return when that engine was in that phase for the target or a window's process, for any model."""
        return self.spans(Scope(self._all_pids, ""), key)

    @cached_property
    def other_process_rows(self) -> pd.DataFrame:
        """The ANE's rows of execution for models that are none of the target's."""
        is_execution = is_among(self._frame["phase"], Phase.EXECUTE)
        return self._frame[self._is_other_ane & is_execution]

    @cached_property
    def _is_other_ane(self) -> BoolArray:
        """Marks the Neural Engine's rows of other processes, those without a length too."""
        is_ane = is_among(self._frame["source"], *ANE_TABLES)
        return self.owner.other_process | (is_ane & self.assignment.is_owner(Owner.OTHER))

    @cached_property
    def is_of_other_process(self) -> BoolArray:
        """Marks the rows of other processes."""
        return self._is_other_ane | self.assignment.is_owner(Owner.OTHER)

    @cached_property
    def is_other(self) -> BoolArray:
        """Marks the rows of other processes, and those that may be theirs: they count for no call."""
        return self.is_of_other_process | self.assignment.has_reason(*_MAY_BE_OTHERS)

    @cached_property
    def models_of_others(self) -> Mapping[str, int]:
        """The target's models whose name another owner has as well, each with the rows that name it."""
        codes, counts = np.unique(self.owner.model_code[self.assignment.doubted], return_counts=True)
        names = self.owner.model_names[codes].tolist()
        return {name: count for name, count in sorted(zip(names, counts.tolist(), strict=True)) if name}

    @cached_property
    def other_process(self) -> IntervalSet:
        """When the ANE ran models that are none of the target's."""
        return _make_intervals(self.other_process_rows)

    @property
    def gpu_rows_without_process(self) -> int:
        """The number of rows of the GPU's system-wide table without a process; they count for the target."""
        without_process = self._frame["pid"].to_numpy()[is_among(self._frame["source"], GPU_INTERVALS)] < 0
        return int(without_process.sum())

    @property
    def ane_rows(self) -> int:
        """The number of outermost rows in the Neural Engine's tables."""
        return int(is_among(self._frame["source"], *ANE_TABLES).sum())

    def requests(self, engine: Engine) -> bool:
        """Return True where rows of Core ML or of the engine's client show when requests were under way."""
        return (engine, Phase.WAIT) in self.keys

    def reports_requests(self, engine: Engine) -> bool:
        """Return True where Core ML's rows show requests to this engine, which are evidence of it.

        Those of the engine's client are only times: whether a request was served stands in the log.
        """
        return self.requests(engine) and bool(is_among(self._frame["source"], CORE_ML).any())

    def rows_of_other_processes(self, source: str) -> int:
        """Return how many rows of a table name a process that is not the target; 0 without a target."""
        if not self._pids:
            return 0
        pids = self._frame["pid"][is_among(self._frame["source"], source)]
        return int((~pids.isin([-1, *self._pids])).sum())

    @cached_property
    def _lanes(self) -> dict[Key, dict[int, dict[str, IntervalSet]]]:
        """The intervals of the target and of processes that name themselves, by key, process and model."""
        # What may be another process's is in no lane: ``contested_ns`` has it.
        positions = np.flatnonzero(~self._is_other_ane & ~self.assignment.has_reason(*_MAY_BE_OTHERS))
        starts, ends = (edges[positions] for edges in self.edges)
        models, names = self._model_code[positions], self.owner.model_names.tolist()
        pids = self._frame["pid"].to_numpy(np.int64)[positions]
        lanes: dict[Key, dict[int, dict[str, IntervalSet]]] = {}
        for key, of_key in self.group_by_key(positions):
            by_process = lanes.setdefault(key, {})
            owners = group_codes(pids[of_key], models[of_key])
            for members in group_positions(owners, int(owners.max()) + 1):
                rows = of_key[members]
                first_row = rows[0]
                by_process.setdefault(int(pids[first_row]), {})[names[models[first_row]]] = IntervalSet.of(
                    starts[rows], ends[rows]
                )
        return lanes


def iter_scopes(windows: pd.DataFrame) -> Iterator[tuple[IntArray, tuple[int, str]]]:
    """Yield windows that count the same work: their rows, and their pid and model."""
    for (pid, model), rows in group_rows(windows, "pid", "model"):
        yield rows, (int(pid), str(model))


def get_edges(frame: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """Return the starts and the ends of the rows of a frame."""
    return frame["start_ns"].to_numpy(np.int64), frame["end_ns"].to_numpy(np.int64)


def _make_intervals(rows: pd.DataFrame) -> IntervalSet:
    return IntervalSet.of(*get_edges(rows))
