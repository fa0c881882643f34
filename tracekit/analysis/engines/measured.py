"""What tables measured: whose each interval is, and when each engine was at what.

The Neural Engine's table is system-wide and names no process. Where Core ML's own table names the target's
models, labels tell them from other processes' work; else nothing does, and the evidence says so. The GPU's
rows have a process. MPS rows mostly have none and belong to the recording's target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import grouped, is_engine, positions_by
from tracekit.analysis.engines.spans import NOTHING, Spans, union
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_ML, GPU_INTERVALS, GPU_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, Engine, Phase

_BOUNDARIES = "_ .-:/"
_MANY_ELSEWHERE = 20
_MANY_QUIET = 100
"""Choices: an inference on the Neural Engine leaves a sample or more of it on the host, at 1 ms."""
_WORK = (Phase.EXECUTE, Phase.LOAD, Phase.COMPILE)

Key = tuple[Engine, Phase | None]


def is_work(key: Key) -> bool:
    """True where spans of this engine and phase are the engine's own work.

    Requests, encoding and calls as a whole are not; GPU work without an ML mark is work of GRAPHICS.
    """
    engine, phase = key
    return phase in _WORK or (engine is Engine.GRAPHICS and phase is None)


@dataclass(frozen=True)
class Scope:
    """Whose work a window counts: of these processes (none = any), and of this model ("" = any)."""

    pids: frozenset[int]
    model: str


class Measured:
    """The intervals of a trace as disjoint spans by engine, phase, process and model.

    ``pids`` are the processes that the analysis is about; none is any. Windows may be of further processes.
    ``ane_is_target`` is False where the target's stacks speak against it, see ``ane_may_be_target``.
    """

    def __init__(
        self,
        trace: Trace,
        pids: frozenset[int],
        window_pids: Iterable[int] = (),
        ane_is_target: bool = True,
    ) -> None:
        frame = trace.intervals
        hardware = frame["source"].isin((*ANE_TABLES, *GPU_TABLES)).to_numpy(bool)
        # A nested row repeats time of the row around it, unless it alone says that the work is ML.
        marked = (frame["engine"] == Engine.GPU).to_numpy(bool)
        outer = frame["source"][(frame["depth"] <= 0).to_numpy(bool)].unique()
        nested = (frame["depth"] > 0).to_numpy(bool) & frame["source"].isin(outer).to_numpy(bool)
        self._frame = frame[~(hardware & ~marked & nested)]
        self._pids = pids
        self._every = pids | {int(pid) for pid in window_pids if pid >= 0} if pids else pids
        self.owner = Owners(self._frame, ane_is_target)
        self._unions: dict[tuple[Scope, Key], Spans] = {}

    @cached_property
    def sources(self) -> dict[Engine, str]:
        """The engines that tables with rows measured, and those tables: only of these is zero a zero.

        GPU work of the target without an ML mark may be inference: with such work alone, the GPU's share in
        inference is not known. The CPU's work is measured only where Core ML reports it, see ``reported``.
        """
        frame = self._frame[(self._frame["end_ns"] > self._frame["start_ns"]).to_numpy(bool)]
        on_gpu = frame["source"].isin(GPU_TABLES)
        marked = on_gpu & (frame["engine"] == Engine.GPU)
        unmarked = len(self.everything((Engine.GRAPHICS, None))) > 0
        rows = {
            Engine.ANE: frame["source"].isin(ANE_TABLES),
            Engine.GPU: on_gpu if marked.any() or not unmarked else marked,
            Engine.GRAPHICS: frame["source"] == GPU_INTERVALS,
        }
        found = {engine: sorted(frame["source"][own].astype("str").unique()) for engine, own in rows.items()}
        return {engine: ", ".join(names) for engine, names in found.items() if names}

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
        return Scope(frozenset([pid]) if pid >= 0 else self._pids, model if model in self.owner.known else "")

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """Every engine and phase that any interval of the target has."""
        return tuple(sorted({lane[0] for lane in self._lanes}, key=str))

    def spans(self, scope: Scope, key: Key) -> Spans:
        """Return when that engine was in that phase for that scope; other processes' work is left out."""
        if (scope, key) not in self._unions:
            lanes = [
                spans
                for (of, pid, model), spans in self._lanes.items()
                if of == key
                and (not scope.pids or pid < 0 or pid in scope.pids)
                and (not scope.model or model in ("", scope.model))
            ]
            self._unions[scope, key] = union(lanes)
        return self._unions[scope, key]

    def everything(self, key: Key) -> Spans:
        """Return when that engine was in that phase for the target or a window's process, for any model."""
        return self.spans(Scope(self._every, ""), key)

    @cached_property
    def other_process(self) -> Spans:
        """When the ANE ran models that are none of the target's."""
        rows = self._frame[self.owner.other_process & (self._frame["phase"] == Phase.EXECUTE).to_numpy(bool)]
        return _spans(rows)

    @property
    def gpu_rows_without_process(self) -> int:
        """How many rows of the GPU's system-wide table name no process, and count for the target."""
        of_nobody = (self._frame["source"] == GPU_INTERVALS) & (self._frame["pid"] < 0)
        return int(of_nobody.sum())

    @property
    def ane_rows(self) -> int:
        """How many outermost rows the Neural Engine's tables have."""
        return int(self._frame["source"].isin(ANE_TABLES).sum())

    def requests(self, engine: Engine) -> bool:
        """True where Core ML's rows say when its requests to this engine were under way."""
        return (engine, Phase.WAIT) in self.keys

    def rows_of_other_processes(self, source: str) -> int:
        """Return how many rows of a table name a process that is not the target; 0 without a target."""
        if not self._pids:
            return 0
        pids = self._frame["pid"][self._frame["source"] == source]
        return int((~pids.isin([-1, *self._pids])).sum())

    @cached_property
    def _lanes(self) -> dict[tuple[Key, int, str], Spans]:
        frame = self._frame.assign(owner_model=self.owner.model)[~self.owner.other_process]
        lanes = {}
        for (engine, phase, pid, model), at in rows_by(frame, "engine", "phase", "pid", "owner_model"):
            key = Engine(engine), None if pd.isna(phase) else Phase(phase)
            lanes[key, int(pid), str(model)] = _spans(frame.iloc[at])
        return lanes


def _spans(rows: pd.DataFrame) -> Spans:
    if not len(rows):
        return NOTHING
    return Spans.of(rows["start_ns"].to_numpy(np.int64), rows["end_ns"].to_numpy(np.int64))


def rows_by(frame: pd.DataFrame, *names: str) -> Iterator[tuple[tuple[Any, ...], IntArray]]:
    """Yield each combination of values that these columns have, and the rows that have it."""
    number = np.zeros(len(frame), np.int64)
    for name in names:
        code, distinct = pd.factorize(frame[name])  # missing is -1
        number = grouped(number * (len(distinct) + 1) + code + 1)[1]
    for at in positions_by(number, int(number.max(initial=-1)) + 1):
        yield tuple(frame[name].iloc[int(at[0])] for name in names), at


class Owners:
    """Which model each interval worked for, as far as rows and labels say.

    ``model`` is "" where nothing tells. Where Core ML names the target's models, ANE labels are compared with
    them, and ``other_process`` marks labels that fit none; when no label at all fits one, the two tables name
    models differently (``unmatched``), and nothing is called foreign. Without Core ML's names, a label's own
    model tells models apart, but not processes; where the target's stacks speak against the Neural Engine
    (``ane_is_target`` is False), all of its rows are another process's (``unattributed``). ``known`` are the
    models by which windows can be told apart.
    """

    def __init__(self, frame: pd.DataFrame, ane_is_target: bool = True) -> None:
        core_ml = (frame["source"] == CORE_ML).to_numpy(bool)
        named = frame["model"].astype("str").to_numpy(object)
        inner = core_ml & (frame["depth"] > 0).to_numpy(bool)
        models = set(named[core_ml & ~inner]) - {""}
        parts = set(named[inner]) - {""} - models
        self.named_by_core_ml = bool(models or parts)
        is_ane = frame["source"].isin(ANE_TABLES).to_numpy(bool)
        self.model = np.full(len(frame), "", object)
        self.other_process: BoolArray = np.zeros(len(frame), bool)
        self.unmatched = False
        self.unattributed = False
        self.model[core_ml & ~inner] = named[core_ml & ~inner]
        if self.named_by_core_ml:
            self._compare(frame["label"].astype("str").to_numpy(object)[is_ane], is_ane, models, parts)
        elif not ane_is_target:
            self.other_process = is_ane
            self.unattributed = bool(is_ane.any())
        else:
            self.model[is_ane] = named[is_ane]
            models = set(named[is_ane]) - {""}
        self.known = frozenset(models)

    def _compare(
        self, labels: np.ndarray[Any, Any], is_ane: BoolArray, models: set[str], parts: set[str]
    ) -> None:
        distinct, at = np.unique(labels, return_inverse=True)
        found = [owner_of(label, models | parts) for label in distinct.tolist()]
        if any(one is not None for one in found):
            told = [one if one in models else "" for one in found]  # a part is of whichever model has it
            self.model[is_ane] = np.array(told, object)[at]
            self.other_process[is_ane] = np.array([one is None for one in found])[at]
        else:
            self.unmatched = bool(len(distinct))


def owner_of(label: str, models: set[str]) -> str | None:
    """Return the longest model name that the label begins with, up to a boundary; None for none."""
    if label in models:
        return label
    ends = [at for at, character in enumerate(label) if character in _BOUNDARIES]
    return next((label[:end] for end in reversed(ends) if label[:end] in models), None)


def ane_may_be_target(labels: SampleLabels) -> bool:
    """Return False where the target's stacks speak against it that the ANE worked for the target.

    They do if most of them have symbols, none shows the Neural Engine in any phase, and either
    ``_MANY_QUIET`` show no machine learning at all, or ``_MANY_ELSEWHERE`` show which other engine it ran on.
    A runtime with no engine in sight may be waiting for the Neural Engine.
    """
    engines = labels.engine
    unknown = int((engines == ENGINE_CODE[Engine.UNKNOWN]).sum())
    if 2 * unknown > len(engines) or (engines == ENGINE_CODE[Engine.ANE]).any():
        return True
    elsewhere = int(is_engine(engines, Engine.CPU, Engine.GPU).sum())
    quiet = not (labels.is_ml | labels.in_call).any() and len(engines) - unknown >= _MANY_QUIET
    return not quiet and elsewhere < _MANY_ELSEWHERE


def target_pids(trace: Trace) -> frozenset[int]:
    """Return the process that the recording is about; none when it is about several, or nobody knows."""
    threads = np.unique(trace.samples["thread_id"].to_numpy())
    pids = {int(pid) for pid in trace.threads["pid"].to_numpy()[threads[threads >= 0]] if pid >= 0}
    if len(pids) == 1:
        return frozenset(pids)
    if trace.info.pid is not None and (not pids or trace.info.pid in pids):
        return frozenset([trace.info.pid])
    return frozenset()


def only_pid(pids: frozenset[int]) -> int:
    """Return the process, where it is one; else -1."""
    return next(iter(pids)) if len(pids) == 1 else -1
