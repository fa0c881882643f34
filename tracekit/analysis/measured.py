"""What tables measured: whose each interval is, and how much of it lies in each window.

The Neural Engine's table is system-wide and names no process. Where Core ML's own table names the target's
models, labels tell them from other processes' work; else nothing does, and the evidence says so. The GPU's
rows have a process. MPS rows mostly have none and belong to the recording's target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.spans import NOTHING, Spans, union
from tracekit.engines import Engine, Phase
from tracekit.model import BoolArray, IntArray, Trace

ANE_SOURCES = ("ane-hw-intervals", "ane-hw-intervals-internal")
GPU_SOURCES = ("mps-hw-intervals", "metal-gpu-intervals")
CORE_ML = "coreml-os-signpost"
_BOUNDARIES = "_ .-:/"
_HARDWARE = (Engine.ANE, Engine.GPU, Engine.GRAPHICS)

Key = tuple[Engine, Phase | None]


@dataclass(frozen=True)
class Scope:
    """Whose work a window counts: a process (-1 = any), and on the ANE a model ("" = any of the target's)."""

    pid: int
    model: str


class Measured:
    """The intervals of a trace as disjoint spans by engine, phase, process and model."""

    def __init__(self, trace: Trace) -> None:
        frame = trace.intervals
        # A nested row repeats time of the row around it; Core ML's levels are models, not repetitions.
        nested = (frame["depth"] > 0).to_numpy() & frame["engine"].isin(_HARDWARE).to_numpy(bool)
        self._frame = frame[~nested]
        self._target = target_pid(trace)
        self.owner = Owners(self._frame)
        self._unions: dict[tuple[Scope, Key], Spans] = {}

    @cached_property
    def engines(self) -> frozenset[Engine]:
        """The engines that a table with rows measured: only of these is zero a zero.

        GPU work of the target without an ML mark may be inference: with such work alone, the GPU's share in
        inference is not known.
        """
        on_gpu = self._frame["source"].isin(GPU_SOURCES)
        marked = on_gpu & (self._frame["engine"] == Engine.GPU)
        unmarked = len(self.everything((Engine.GRAPHICS, None))) > 0
        sources = {
            Engine.ANE: self._frame["source"].isin(ANE_SOURCES),
            Engine.GPU: on_gpu if marked.any() or not unmarked else marked,
            Engine.GRAPHICS: self._frame["source"] == "metal-gpu-intervals",
            Engine.CPU: (self._frame["source"] == CORE_ML) & (self._frame["engine"] == Engine.CPU),
        }
        return frozenset(engine for engine, rows in sources.items() if rows.any())

    def scope(self, pid: int, model: str) -> Scope:
        """Return the scope of a window: without a process of its own, it is the target's."""
        known = model if model in self.owner.matched else ""
        return Scope(self._target if pid < 0 else pid, known)

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """Every engine and phase that any interval of the target has."""
        return tuple(sorted({lane[0] for lane in self._lanes}, key=str))

    def spans(self, scope: Scope, key: Key) -> Spans:
        """Return when that engine was in that phase for that scope; other processes' work is left out."""
        if (scope, key) not in self._unions:
            lanes = [
                spans
                for (of, pid, model), spans in self._of(key)
                if of == key
                and (scope.pid < 0 or pid in (-1, scope.pid))
                and (not scope.model or key[0] is not Engine.ANE or model in ("", scope.model))
            ]
            self._unions[scope, key] = union(lanes)
        return self._unions[scope, key]

    def everything(self, key: Key) -> Spans:
        """Return when that engine was in that phase for the target, whichever model it ran."""
        return self.spans(Scope(self._target, ""), key)

    @cached_property
    def foreign(self) -> Spans:
        """When the ANE ran models that are none of the target's."""
        rows = self._frame[self.owner.foreign & (self._frame["phase"] == Phase.EXECUTE).to_numpy(bool)]
        return _spans(rows)

    def rows_of_others(self, source: str) -> int:
        """Return how many rows of a table name a process that is not the target; 0 without a target."""
        if self._target < 0:
            return 0
        pids = self._frame["pid"][self._frame["source"] == source]
        return int((~pids.isin([-1, self._target])).sum())

    def _of(self, key: Key) -> list[tuple[tuple[Key, int, str], Spans]]:
        return [(lane, spans) for lane, spans in self._lanes.items() if lane[0] == key]

    @cached_property
    def _lanes(self) -> dict[tuple[Key, int, str], Spans]:
        frame = self._frame.assign(owner_model=self.owner.model)[~self.owner.foreign]
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
    grouped = frame.groupby(list(names), sort=True, dropna=False, observed=True)
    numbers = grouped.ngroup().to_numpy(np.int64)
    order = np.argsort(numbers, kind="stable")
    cuts = np.flatnonzero(np.diff(numbers[order])) + 1
    for at in np.split(order, cuts) if len(order) else []:
        yield tuple(frame[name].iloc[int(at[0])] for name in names), at


class Owners:
    """Which of the target's Core ML models each ANE interval ran, by its label.

    ``model`` is "" where nothing tells, ``foreign`` marks labels that fit none of the target's models. When
    no label at all fits one, the two tables name models differently, and nothing is called foreign.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        core_ml = (frame["source"] == CORE_ML).to_numpy(bool)
        inner = core_ml & (frame["depth"] > 0).to_numpy(bool)
        models = set(frame["model"][core_ml & ~inner].unique()) - {""}
        self._within = set(frame["model"][inner].unique()) - {""} - models
        self.known = frozenset(models)
        is_ane = frame["source"].isin(ANE_SOURCES).to_numpy(bool)
        labels, at = np.unique(frame["label"].astype("str").to_numpy(object)[is_ane], return_inverse=True)
        found = [owner_of(label, models | self._within) for label in labels.tolist()]
        self.matched = frozenset(one for one in found if one in models)
        told = [one if one in models else "" for one in found]
        self.model = np.full(len(frame), "", object)
        self.foreign: BoolArray = np.zeros(len(frame), bool)
        if any(one is not None for one in found):
            self.model[is_ane] = np.array(told, object)[at]
            self.foreign[is_ane] = np.array([one is None for one in found])[at]
        self.unmatched = bool(models) and bool(len(labels)) and not any(one is not None for one in found)


def owner_of(label: str, models: set[str]) -> str | None:
    """Return the longest model name that the label begins with, up to a boundary; None for none."""
    if label in models:
        return label
    ends = [at for at, character in enumerate(label) if character in _BOUNDARIES]
    return next((label[:end] for end in reversed(ends) if label[:end] in models), None)


def target_pid(trace: Trace) -> int:
    """Return the process that the recording is about; -1 when it is about several, or nobody knows."""
    threads = np.unique(trace.samples["thread_id"].to_numpy())
    pids = np.unique(trace.threads["pid"].to_numpy()[threads[threads >= 0]])
    pids = pids[pids >= 0]
    if len(pids) == 1:
        return int(pids[0])
    if trace.info.pid is not None and (not len(pids) or trace.info.pid in pids):
        return trace.info.pid
    return -1
