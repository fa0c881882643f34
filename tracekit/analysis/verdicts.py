"""The verdict of each window, with the numbers, frames and transitions that it rests on, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import pandas as pd

from tracekit.analysis.classification.leading_frames import DecidingFrame
from tracekit.analysis.engines.attribution import Share, SharesByWindow
from tracekit.analysis.engines.codes import INFERENCE
from tracekit.analysis.engines.requests import LoggedRequests
from tracekit.analysis.engines.transitions import Position, Transition, Transitions
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import WeightUnit
from tracekit.model.vocabulary import SERVING, Engine, Phase

MIXED = "MIXED"
UNKNOWN = "UNKNOWN"
_PREPARING = (Phase.LOAD, Phase.COMPILE)


@dataclass(frozen=True)
class EngineWork:
    """One engine's inference work in a window.

    ``table`` names the tables that measured the engine in this recording, "" where none did: then no interval
    proves nothing. ``requested_ns`` is the time of requests that Core ML reported. ``phases`` are those with
    samples, the most first. ``frame`` is the deciding frame with most samples. ``position`` is where in the
    window it worked, seen from the leading engine, in ``stretches`` separate stretches. ``logged`` counts the
    requests that it served by the log.
    """

    engine: Engine
    samples: int
    weight: int
    busy_ns: int
    requested_ns: int
    reach_ns: int
    phases: tuple[Phase | None, ...]
    frame: DecidingFrame | None
    table: str
    position: Position = ""
    stretches: int = 0
    logged: int = 0


@dataclass(frozen=True)
class Verdict:
    """The outcome of a window's evidence: "ANE", "GPU", "CPU", "MIXED" or "UNKNOWN", and what it rests on.

    ``engines`` are those that served the window, in a fixed order; ``order`` is their order in time, of which
    ``transitions`` has the first stretches. ``is_call`` is False for a window that the user gave;
    ``is_engine_time`` is True where the window is the Neural Engine's own intervals. Of all samples in the
    window, ``runtime_samples`` are in an ML runtime with no engine visible, ``unsymbolicated_samples`` have
    no stack or no symbols, and ``preparing_samples`` load or compile for an engine. ``preparing_ns`` is
    measured compile and load, ``other_process_ns`` the ANE's work for other processes, ``unmarked_gpu_ns``
    GPU work of this process that no mark shows to be ML. ``failed_requests`` to the Neural Engine are in the
    log, with these ``statuses``.
    """

    verdict: str
    length_ns: int
    unit: WeightUnit
    engines: tuple[EngineWork, ...]
    order: tuple[Engine, ...] = ()
    transitions: tuple[Transition, ...] = ()
    is_call: bool = False
    is_engine_time: bool = False
    measured: tuple[Engine, ...] = ()
    samples: int = 0
    runtime_samples: int = 0
    unsymbolicated_samples: int = 0
    preparing_samples: int = 0
    preparing_ns: int = 0
    other_process_ns: int = 0
    unmarked_gpu_ns: int = 0
    failed_requests: int = 0
    statuses: tuple[int, ...] = ()

    @property
    def lead(self) -> EngineWork | None:
        """The engine that reaches furthest, by the best that is known; None where none served."""
        return _lead(self.engines)


@dataclass(frozen=True)
class WindowFacts:
    """The evidence of one window, see ``Verdict``."""

    length_ns: int
    shares: Sequence[Share]
    frames: Mapping[Engine, DecidingFrame]
    other_process_ns: int = 0
    is_call: bool = False
    is_engine_time: bool = False
    served_requests: int = 0
    failed_requests: int = 0
    statuses: tuple[int, ...] = ()


@dataclass(frozen=True)
class RunFacts:
    """The evidence that all windows of a run share.

    ``tables`` names the tables that measured each engine; ``requested`` are the engines of which Core ML
    reports requests. ``engines`` are those of each window's transitions, see ``segments.Timeline.engines``.
    """

    tables: Mapping[Engine, str]
    unit: WeightUnit
    transitions: Transitions
    requested: frozenset[Engine] = frozenset()
    engines: Sequence[int] = ()


def verdict_of(window: int, facts: WindowFacts, run: RunFacts) -> Verdict:
    """Return the verdict of one window.

    An engine served a window if it was measured at work there, if Core ML reported a request to it, if the
    log has a request that it served, or if a sample of it is in an inference phase; load, compile and idle
    never count. A request to the Neural Engine that failed takes the host's work for it its weight. More than
    one such engine is MIXED, none is UNKNOWN: a verdict names no majority, the numbers
    do.
    """
    engines = _engines(window, facts, run)
    samples = runtime = unsymbolicated = preparing = preparing_ns = unmarked_gpu_ns = 0
    for share in facts.shares:  # one loop: a run may have a hundred thousand windows
        samples += share.samples
        if share.engine is Engine.RUNTIME:
            runtime += share.samples
        elif share.engine is Engine.UNKNOWN:
            unsymbolicated += share.samples
        elif share.engine is Engine.GRAPHICS:
            unmarked_gpu_ns += share.busy_ns or 0
        if share.phase in _PREPARING:
            preparing_ns += share.busy_ns or 0
            preparing += share.samples if share.engine in SERVING else 0
    return Verdict(
        UNKNOWN if not engines else str(engines[0].engine) if len(engines) == 1 else MIXED,
        facts.length_ns,
        run.unit,
        engines,
        run.transitions.order(window),
        run.transitions.first(window),
        facts.is_call,
        facts.is_engine_time,
        tuple(engine for engine in SERVING if engine in run.tables),
        samples=samples,
        runtime_samples=runtime,
        unsymbolicated_samples=unsymbolicated,
        preparing_samples=preparing,
        preparing_ns=preparing_ns,
        other_process_ns=facts.other_process_ns,
        unmarked_gpu_ns=unmarked_gpu_ns,
        failed_requests=facts.failed_requests,
        statuses=facts.statuses,
    )


def _engines(window: int, facts: WindowFacts, run: RunFacts) -> tuple[EngineWork, ...]:
    """Return the work of each engine that served the window, in a fixed order."""
    served = [work for engine in SERVING if (work := _work(engine, facts, run)) is not None]
    lead = _lead(served)
    if len(served) < 2 or lead is None:
        return tuple(served)
    positions = [run.transitions.position(window, work.engine, lead.engine) for work in served]
    return tuple(
        work if work is lead else _with_position(work, *position)
        for work, position in zip(served, positions, strict=True)
    )


def _work(engine: Engine, facts: WindowFacts, run: RunFacts) -> EngineWork | None:
    shares = [share for share in facts.shares if share.engine is engine and share.is_inference]
    if not shares:
        return None
    samples = sum(share.samples for share in shares)
    busy = sum(share.busy_ns or 0 for share in shares)
    waiting = sum(share.waiting_ns or 0 for share in shares)
    requested = waiting if engine in run.requested else 0
    logged = facts.served_requests if engine is Engine.ANE else 0
    # Host work for a request that failed shows an attempt, not the engine.
    is_refused = engine is Engine.ANE and facts.failed_requests > 0 and not logged
    if not (busy or logged or ((samples or requested) and not is_refused)):
        return None
    most_first = sorted(shares, key=lambda share: share.samples, reverse=True)
    return EngineWork(
        engine,
        samples,
        sum(share.weight for share in shares),
        busy,
        requested,
        # The reach decides which engine leads. Measured time is the better answer where there is any; else
        # the host's work for the engine, and its waiting for it, show how long the engine was engaged.
        busy or sum(share.sampled_ns or 0 for share in shares) + waiting,
        tuple(share.phase for share in most_first if share.samples),
        facts.frames.get(engine),
        run.tables.get(engine, ""),
        logged=logged,
    )


def _with_position(work: EngineWork, position: Position, stretches: int) -> EngineWork:
    values = {**vars(work), "position": position, "stretches": stretches}
    return EngineWork(**values)


def _lead(engines: Sequence[EngineWork]) -> EngineWork | None:
    return max(engines, key=lambda work: (work.reach_ns, work.samples), default=None)


class Verdicts(Sequence[Verdict]):
    """The verdicts of a run's windows, row by row.

    A run may have hundreds of thousands of windows: their evidence stays in columns, and a ``Verdict`` is
    built where one is looked at. ``names`` has the verdict of every window, ``engines`` its engines as bits.
    """

    def __init__(
        self,
        windows: pd.DataFrame,
        attribution: pd.DataFrame,
        frames: Mapping[int, Mapping[Engine, DecidingFrame]],
        other_process_ns: IntArray,
        run: RunFacts,
        requests: LoggedRequests,
    ) -> None:
        self.engines = run.engines
        self.names: list[str] = _names(attribution, run.requested, requests)
        self._requests = requests
        self._run = run
        self._shares = SharesByWindow(attribution)
        self._frames = frames
        self._lengths: list[int] = (windows["end_ns"] - windows["start_ns"]).tolist()
        self._other_process: list[int] = other_process_ns.tolist()
        self._is_call: list[bool] = (~windows["source"].isin(GIVEN_SOURCES)).tolist()
        self._is_engine_time: list[bool] = windows["source"].isin(ANE_TABLES).tolist()

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Verdict: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Verdict, ...]: ...
    def __getitem__(self, index: int | slice) -> Verdict | tuple[Verdict, ...]:
        if isinstance(index, slice):
            return tuple(self[row] for row in range(*index.indices(len(self))))
        row = index if index >= 0 else index + len(self)
        if not 0 <= row < len(self):
            raise IndexError(index)
        facts = WindowFacts(
            self._lengths[row],
            self._shares.get(row, ()),
            self._frames.get(row, {}),
            self._other_process[row],
            self._is_call[row],
            self._is_engine_time[row],
            int(self._requests.served[row]),
            int(self._requests.failed[row]),
            self._requests.window_statuses.get(row, ()),
        )
        return verdict_of(row, facts, self._run)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdicts):
            return NotImplemented
        return self.names == other.names and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


def _names(attribution: pd.DataFrame, requested: frozenset[Engine], requests: LoggedRequests) -> list[str]:
    """Return the verdict of every window by the rule of ``verdict_of``, without a loop over windows.

    Each window has one bit per engine that served it; the bits' number is the position in a list of verdicts.
    """
    inference = attribution["phase"].isin([str(phase) for phase in INFERENCE])
    rows = attribution[inference.to_numpy(bool) & (attribution["window_id"] >= 0).to_numpy(bool)]
    busy = (rows["busy_ns"].fillna(0) > 0).to_numpy(bool)
    waiting = (rows["waiting_ns"].fillna(0) > 0).to_numpy(bool)
    seen = busy | (rows["samples"] > 0).to_numpy(bool)
    #   bits      ANE = 1, GPU = 2, CPU = 4 (in the order of ``SERVING``)
    #   served    0 → UNKNOWN   1, 2, 4 → the engine   any other → MIXED
    logged = requests.served > 0
    is_refused = ((requests.failed > 0) & ~logged)[rows["window_id"].to_numpy(np.int64)]
    served = np.where(logged, 1 << SERVING.index(Engine.ANE), 0).astype(np.int64)
    for bit, engine in enumerate(SERVING):
        is_engine = (rows["engine"] == engine).to_numpy(bool)
        marked = is_engine & (seen | waiting if engine in requested else seen)
        if engine is Engine.ANE:
            marked &= busy | ~is_refused
        served[rows["window_id"].to_numpy(np.int64)[marked]] |= 1 << bit
    named = [MIXED] * (1 << len(SERVING))
    named[0] = UNKNOWN
    for bit, engine in enumerate(SERVING):
        named[1 << bit] = str(engine)
    return [named[bits] for bits in served.tolist()]
