"""Busy time: when each engine was in each phase, as tables measured it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import rows_by
from tracekit.analysis.engines.interval_sets import IntervalSet, union
from tracekit.analysis.engines.ownership import Ownership
from tracekit.model.columns import IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_ML, GPU_INTERVALS, GPU_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase

_WORK = (Phase.EXECUTE, Phase.LOAD, Phase.COMPILE)

Key = tuple[Engine, Phase | None]
_Lane = tuple[int, str]  # process, model
_NO_ROWS = np.zeros(0, np.int64)


def is_work(key: Key) -> bool:
    """Return True where intervals of this engine and phase are the engine's own work.

    Requests, encoding and calls as a whole are not; GPU work without an ML mark is work of GRAPHICS.
    """
    engine, phase = key
    return phase in _WORK or (engine is Engine.GRAPHICS and phase is None)


@dataclass(frozen=True)
class Scope:
    """The work that a window counts: of these processes (none = any), and of this model ("" = any)."""

    pids: frozenset[int]
    model: str


class Measured:
    """The intervals of a trace as disjoint intervals by engine, phase, process and model.

    ``pids`` are the processes that the analysis is about; none is any. Windows may be of further processes.
    ``ane_is_target`` is False where the target's stacks show that the Neural Engine worked for another
    process, see ``ownership.ane_may_be_target``.
    """

    def __init__(
        self,
        trace: Trace,
        pids: frozenset[int],
        window_pids: Iterable[int] = (),
        ane_is_target: bool = True,
    ) -> None:
        frame = trace.intervals
        # Rows of hardware tables nest: only the outermost count, or time would count once per level.
        hardware = frame["source"].isin((*ANE_TABLES, *GPU_TABLES)).to_numpy(bool)
        # A nested row repeats time of the row around it, unless only the nested row marks the work as ML.
        marked = (frame["engine"] == Engine.GPU).to_numpy(bool)
        outer = frame["source"][(frame["depth"] <= 0).to_numpy(bool)].unique()
        nested = (frame["depth"] > 0).to_numpy(bool) & frame["source"].isin(outer).to_numpy(bool)
        self._frame = frame[~(hardware & ~marked & nested)]
        self._pids = pids
        self._all_pids = pids | {int(pid) for pid in window_pids if pid >= 0} if pids else pids
        self.owner = Ownership(self._frame, ane_is_target, self._all_pids)
        self._unions: dict[tuple[Key, tuple[_Lane, ...]], IntervalSet] = {}

    @cached_property
    def sources(self) -> dict[Engine, str]:
        """The engines that tables with rows measured, and those tables: only of these is zero a zero.

        GPU work of the target without an ML mark may be inference: with such work alone, the GPU's share in
        inference is not known. The CPU's work is measured only where Core ML reports it, see ``reported``.
        """
        frame = self._frame[(self._frame["end_ns"] > self._frame["start_ns"]).to_numpy(bool)]
        # MPS rows that repeat the Neural Engine's show nothing of the GPU.
        on_gpu = frame["source"].isin(GPU_TABLES) & (frame["engine"] != Engine.ANE)
        marked = on_gpu & (frame["engine"] == Engine.GPU)
        has_unmarked = len(self.everything((Engine.GRAPHICS, None))) > 0
        rows = {
            Engine.ANE: frame["source"].isin(ANE_TABLES),
            # Where all GPU work of the target lacks the mark, none of it may be inference and all of it may:
            # then the table is no measurement of inference, and a zero would be a claim.
            Engine.GPU: on_gpu if marked.any() or not has_unmarked else marked,
            Engine.GRAPHICS: frame["source"] == GPU_INTERVALS,
        }
        tables = {
            engine: sorted(frame["source"][mask].astype("str").unique()) for engine, mask in rows.items()
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
        counted = tuple(
            (pid, model)
            for pid in pids
            for model in (("", scope.model) if scope.model else by_process.get(pid, {}))
            if model in by_process.get(pid, {})
        )
        # A thousand processes may all have the lanes of none: these are one union.
        if (key, counted) not in self._unions:
            self._unions[key, counted] = union([by_process[pid][model] for pid, model in counted])
        return self._unions[key, counted]

    def submissions(self, scope: Scope) -> pd.DataFrame:
        """Return the Neural Engine's rows of execution for that scope; the same row twice is one."""
        rows = self._submissions
        if scope.model:
            chosen = [self._submissions_by_model.get(model, _NO_ROWS) for model in ("", scope.model)]
            rows = rows.iloc[np.sort(np.concatenate(chosen))]
        return rows[rows["pid"].isin([-1, *scope.pids]).to_numpy(bool)] if scope.pids else rows

    @cached_property
    def _submissions_by_model(self) -> dict[str, IntArray]:
        """The positions of each model's rows of execution; there may be 100,000 models."""
        return {str(model): rows for (model,), rows in rows_by(self._submissions, "owner_model")}

    @cached_property
    def _submissions(self) -> pd.DataFrame:
        frame = self._frame.assign(owner_model=self.owner.model)
        is_work = (frame["phase"] == Phase.EXECUTE) & frame["source"].isin(ANE_TABLES)
        rows = frame[is_work.to_numpy(bool) & ~self.owner.other_process]
        rows = rows[(rows["end_ns"] > rows["start_ns"]).to_numpy(bool)]
        rows = rows.assign(label=rows["label"].astype("str"))
        keys = ["start_ns", "end_ns", "label"]
        return rows.drop_duplicates(keys).sort_values(keys, kind="stable")

    @cached_property
    def preparations(self) -> pd.DataFrame:
        """The target's outermost rows of load or compile, with ``owner_model``; the same row twice is one."""
        frame = self._frame
        is_outermost = frame["phase"].isin([Phase.LOAD, Phase.COMPILE]) & (frame["depth"] <= 0)
        chosen = is_outermost.to_numpy(bool) & ~self.owner.other_process
        if self._all_pids:
            chosen = chosen & frame["pid"].isin([-1, *self._all_pids]).to_numpy(bool)
        rows = frame[chosen].assign(owner_model=self.owner.model[chosen])
        rows = rows.assign(label=rows["label"].astype("str"))
        return rows.drop_duplicates(["start_ns", "end_ns", "label", "source", "channel"])

    def everything(self, key: Key) -> IntervalSet:
        """Return when that engine was in that phase for the target or a window's process, for any model."""
        return self.spans(Scope(self._all_pids, ""), key)

    @cached_property
    def other_process_rows(self) -> pd.DataFrame:
        """The ANE's rows of execution for models that are none of the target's."""
        is_execution = (self._frame["phase"] == Phase.EXECUTE).to_numpy(bool)
        return self._frame[self.owner.other_process & is_execution]

    @cached_property
    def other_process(self) -> IntervalSet:
        """When the ANE ran models that are none of the target's."""
        return _intervals(self.other_process_rows)

    @property
    def gpu_rows_without_process(self) -> int:
        """The number of rows of the GPU's system-wide table without a process; they count for the target."""
        without_process = (self._frame["source"] == GPU_INTERVALS) & (self._frame["pid"] < 0)
        return int(without_process.sum())

    @property
    def ane_rows(self) -> int:
        """The number of outermost rows in the Neural Engine's tables."""
        return int(self._frame["source"].isin(ANE_TABLES).sum())

    def requests(self, engine: Engine) -> bool:
        """Return True where Core ML's rows show when its requests to this engine were under way."""
        return (engine, Phase.WAIT) in self.keys

    def rows_of_other_processes(self, source: str) -> int:
        """Return how many rows of a table name a process that is not the target; 0 without a target."""
        if not self._pids:
            return 0
        pids = self._frame["pid"][self._frame["source"] == source]
        return int((~pids.isin([-1, *self._pids])).sum())

    @cached_property
    def _lanes(self) -> dict[Key, dict[int, dict[str, IntervalSet]]]:
        """The intervals of the target and of processes that name themselves, by key, process and model."""
        frame = self._frame.assign(owner_model=self.owner.model)[~self.owner.other_process]
        starts, ends = (frame[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        lanes: dict[Key, dict[int, dict[str, IntervalSet]]] = {}
        for (engine, phase, pid, model), rows in rows_by(frame, "engine", "phase", "pid", "owner_model"):
            key = Engine(engine), None if pd.isna(phase) else Phase(phase)
            of_model = lanes.setdefault(key, {}).setdefault(int(pid), {})
            of_model[str(model)] = IntervalSet.of(starts[rows], ends[rows])
        return lanes


def _intervals(rows: pd.DataFrame) -> IntervalSet:
    return IntervalSet.of(rows["start_ns"].to_numpy(np.int64), rows["end_ns"].to_numpy(np.int64))
