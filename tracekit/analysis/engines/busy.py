"""Busy time: when each engine was in each phase, as tables measured it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import group_rows, is_among
from tracekit.analysis.engines.interval_sets import IntervalSet, merge_sets
from tracekit.analysis.engines.ownership import NAMELESS, Ownership
from tracekit.analysis.ownership.assign import assign
from tracekit.analysis.ownership.call_spans import NO_SPANS, CallSpans, Spans, merge_spans
from tracekit.analysis.ownership.calls import Calls
from tracekit.analysis.ownership.owners import Owner, Reason
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_ML, GPU_INTERVALS, GPU_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase

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


class Measured:
    """The intervals of a trace as disjoint intervals by engine, phase, process and model, and of each call.

    ``pids`` are the processes that the analysis is about; none is any. Windows may be of further processes.
    ``ane_is_target`` is False where the target's stacks show that the Neural Engine worked for another
    process, see ``ownership.ane_may_be_target``. ``logged`` counts the requests of each window that the log
    shows as served. ``assignment`` has the owner of each interval; a call's work is what it owns, and that
    of a range which the user gave is all work of its process in its time. ``like`` are the same intervals for
    other windows: of the same processes, their labels are read once.
    """

    def __init__(
        self,
        trace: Trace,
        pids: frozenset[int],
        windows: pd.DataFrame,
        submitters: Submitters,
        logged: IntArray,
        ane_is_target: bool = True,
        like: Measured | None = None,
    ) -> None:
        frame = trace.intervals
        # Rows of hardware tables nest: only the outermost count, or time would count once per level.
        is_nested = is_among(frame["source"], *ANE_TABLES, *GPU_TABLES) & (frame["depth"] > 0).to_numpy(bool)
        self.rows: IntArray = np.arange(len(frame))
        """The rows of the trace's intervals that count: ``assignment`` has their owners."""
        if is_nested.any():
            outer = frame["source"][(frame["depth"] <= 0).to_numpy(bool)].unique()
            # It repeats time of the row around it, unless only the nested row marks the work as ML.
            is_marked = is_among(frame["engine"], Engine.GPU)
            self.rows = np.flatnonzero(~(is_nested & ~is_marked & is_among(frame["source"], *outer)))
            frame = frame.iloc[self.rows]
        self._frame = frame
        self._pids = pids
        window_pids = {int(pid) for pid in windows["pid"].unique() if pid >= 0}
        self._all_pids = pids | window_pids if pids else pids
        self.owner: Ownership = (
            like.owner
            if like is not None and like._all_pids == self._all_pids
            else Ownership(self._frame, ane_is_target, self._all_pids)
        )
        self._windows = windows
        calls = Calls.of(windows, self.owner.models, logged)
        self.assignment = assign(self._frame, self.owner, calls, pids, self._all_pids, submitters)
        self.is_call = np.zeros(len(windows), bool)
        self.is_call[calls.window] = True
        """Marks the windows that are calls; the others are ranges that the user gave."""
        self._model_code = self._find_models(calls)
        self._unions: dict[tuple[Key, tuple[_Lane, ...]], IntervalSet] = {}
        self._of_calls: dict[Key, CallSpans] = {}
        self._work_rows: dict[Engine, IntArray] = {}

    def _find_models(self, calls: Calls) -> IntArray:
        """Return the model of each interval as its label names it, else that of the call that owns it."""
        position = {name: code for code, name in enumerate(self.owner.model_names.tolist())}
        codes = np.array([position[name] for name in calls.models.tolist()], np.int64)
        rows, windows = self.assignment.owned_row, self.assignment.owned_call
        nameless = self.owner.model_code[rows] == NAMELESS
        call = np.searchsorted(calls.window, windows[nameless])
        model_code = self.owner.model_code.copy()
        model_code[rows[nameless]] = codes[calls.model[call]]
        return model_code

    def of_windows(self, key: Key, windows: IntArray) -> Iterator[tuple[IntArray, Spans]]:
        """Yield some windows, and when that engine was in that phase for them.

        A call has its own work; a range that the user gave has all work of its process and model.
        """
        of_calls = windows[self.is_call[windows]]
        if len(of_calls):
            yield of_calls, self.of_calls(key).of_windows(of_calls)
        for rows, (spans,) in self.of_given([key], windows):
            yield rows, spans

    def of_given(
        self, keys: Sequence[Key], windows: IntArray | None = None
    ) -> Iterator[tuple[IntArray, list[IntervalSet]]]:
        """Yield the ranges that the user gave, and when the engines were in these phases for them."""
        window_rows = np.arange(len(self._windows)) if windows is None else windows
        given = window_rows[~self.is_call[window_rows]]
        if len(given):
            for rows, scope in iter_scopes(self._windows.iloc[given]):
                yield given[rows], [self.spans(self.scope(*scope), key) for key in keys]

    def of_calls(self, key: Key) -> CallSpans:
        """Return when that engine was in that phase for each call, cut to the call."""
        if key not in self._of_calls:
            self._of_calls[key] = self._cut(self._owned.get(key))
        return self._of_calls[key]

    def _cut(self, pairs: tuple[IntArray, IntArray] | None) -> CallSpans:
        """Return the time of some rows, each cut to its window."""
        if pairs is None:
            return NO_SPANS
        rows, windows = pairs
        starts, ends = (
            limit(self.edges[side][rows], self._window_edges[side][windows])
            for side, limit in enumerate((np.maximum, np.minimum))
        )
        return CallSpans.of(windows, starts, ends)

    @cached_property
    def _owned(self) -> dict[Key, tuple[IntArray, IntArray]]:
        """The rows that calls own, with their windows, by engine and phase."""
        return self._group_by_key(self.assignment.owned_row, self.assignment.owned_call)

    @cached_property
    def _contested(self) -> dict[Key, tuple[IntArray, IntArray]]:
        """The contested rows, with the windows that may own them, by engine and phase."""
        return self._group_by_key(self.assignment.contested_row, self.assignment.contested_call)

    def _group_by_key(self, rows: IntArray, windows: IntArray) -> dict[Key, tuple[IntArray, IntArray]]:
        return {
            _make_key(engine, phase): (rows[members], windows[members])
            for (engine, phase), members in group_rows(
                self._frame[["engine", "phase"]].iloc[rows], "engine", "phase"
            )
        }

    @cached_property
    def edges(self) -> tuple[IntArray, IntArray]:
        """The starts and the ends of ``rows``."""
        return get_edges(self._frame)

    @cached_property
    def pids_of_rows(self) -> IntArray:
        """The process that each of ``rows`` names, -1 for none."""
        pids: IntArray = self._frame["pid"].to_numpy(np.int64)
        return pids

    @cached_property
    def _window_edges(self) -> tuple[IntArray, IntArray]:
        return get_edges(self._windows)

    def contested_ns(self, key: Key) -> IntArray:
        """Return for how long that engine was in that phase in each window for an owner that is not known."""
        count = len(self._windows)
        rows, windows, crowded = self.list_contested(key)
        pieces = self._cut((rows, windows))
        if not len(pieces) and not len(crowded):
            return np.zeros(count, np.int64)
        owned = self.of_calls(key)
        contested = merge_spans([pieces, owned]).sum_per_window(count) - owned.sum_per_window(count)
        starts, ends = self._window_edges
        several = IntervalSet.of(*(edges[crowded] for edges in self.edges))
        contested += np.where(self.is_call, several.within(starts, ends), 0)
        capped_ns: IntArray = np.minimum(contested, ends - starts - owned.sum_per_window(count))
        return capped_ns

    def list_contested(self, key: Key) -> tuple[IntArray, IntArray, IntArray]:
        """Return the rows that may be of windows, the window of each, and those of more than are listed."""
        nothing = np.zeros(0, np.int64)
        crowded = np.flatnonzero(self.assignment.crowded)
        return *self._contested.get(key, (nothing, nothing)), crowded[self._is_key(key, crowded)]

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

    def _is_key(self, key: Key, rows: IntArray) -> BoolArray:
        """Mark the rows of an engine and phase."""
        frame, (engine, phase) = self._frame.iloc[rows], key
        of_phase = frame["phase"].isna() if phase is None else frame["phase"] == phase
        return ((frame["engine"] == engine) & of_phase).to_numpy(bool)

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
    def submissions(self) -> pd.DataFrame:
        """The Neural Engine's rows of execution that calls own, each with ``window`` and once."""
        rows, windows = self.assignment.owned_row, self.assignment.owned_call
        is_submission = self._is_submission[rows]
        frame = self._frame.iloc[rows[is_submission]].assign(window=windows[is_submission])
        frame = frame.assign(label=frame["label"].astype("str"))
        return frame.drop_duplicates(["window", "start_ns", "end_ns", "label"])

    @cached_property
    def contested_submissions(self) -> BoolArray:
        """Marks the windows with a row of the Neural Engine's execution whose owner is not known."""
        rows, windows = self.assignment.contested_row, self.assignment.contested_call
        has_contested = np.bincount(windows[self._is_submission[rows]], minlength=len(self._windows)) > 0
        crowded = IntervalSet.of(
            *(edges[self._is_submission & self.assignment.crowded] for edges in self.edges)
        )
        mask: BoolArray = has_contested | (self.is_call & crowded.touches(*self._window_edges))
        return mask

    @cached_property
    def _is_submission(self) -> BoolArray:
        frame = self._frame
        is_work = is_among(frame["phase"], Phase.EXECUTE) & is_among(frame["source"], *ANE_TABLES)
        return is_work & (self.edges[1] > self.edges[0])

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
        pids = self._frame["pid"][self._frame["source"] == source]
        return int((~pids.isin([-1, *self._pids])).sum())

    @cached_property
    def _lanes(self) -> dict[Key, dict[int, dict[str, IntervalSet]]]:
        """The intervals of the target and of processes that name themselves, by key, process and model."""
        # What may be another process's is in no lane: ``contested_ns`` has it.
        positions = np.flatnonzero(~self._is_other_ane & ~self.assignment.has_reason(*_MAY_BE_OTHERS))
        starts, ends = (edges[positions] for edges in self.edges)
        frame = self._frame[["engine", "phase", "pid"]].iloc[positions]
        frame = frame.assign(model=self._model_code[positions])
        names = self.owner.model_names.tolist()
        lanes: dict[Key, dict[int, dict[str, IntervalSet]]] = {}
        for (engine, phase, pid, model), rows in group_rows(frame, "engine", "phase", "pid", "model"):
            of_model = lanes.setdefault(_make_key(engine, phase), {}).setdefault(int(pid), {})
            of_model[names[model]] = IntervalSet.of(starts[rows], ends[rows])
        return lanes


def _make_key(engine: str, phase: str | float) -> Key:
    """Return the key of a row; a missing phase is not a number."""
    return Engine(engine), None if pd.isna(phase) else Phase(str(phase))


def iter_scopes(windows: pd.DataFrame) -> Iterator[tuple[IntArray, tuple[int, str]]]:
    """Yield windows that count the same work: their rows, and their pid and model."""
    for (pid, model), rows in group_rows(windows, "pid", "model"):
        yield rows, (int(pid), str(model))


def get_edges(frame: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """Return the starts and the ends of the rows of a frame."""
    return frame["start_ns"].to_numpy(np.int64), frame["end_ns"].to_numpy(np.int64)


def _make_intervals(rows: pd.DataFrame) -> IntervalSet:
    return IntervalSet.of(*get_edges(rows))
