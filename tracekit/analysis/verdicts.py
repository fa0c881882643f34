"""The verdicts of windows, with the numbers, frames and transitions that they rest on, as columns.

An engine served a window if it was measured at work there, if Core ML reported a request to it, if the log
has a request that it served, or if a sample of it is in an inference phase; load, compile and idle never
count. A request to the Neural Engine that failed takes the host's work for it its weight. More than one such
engine is MIXED, none is UNKNOWN: a verdict names no majority, the numbers do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from typing import Self

import numpy as np
import pandas as pd

from tracekit.analysis.classification.leading_frames import DecidingFrame, LeadingFrames
from tracekit.analysis.engines.codes import INFERENCE, convert_categories, is_among, sum_by_code
from tracekit.analysis.engines.requests import LoggedRequests
from tracekit.analysis.engines.segments import Segments
from tracekit.analysis.engines.transitions import Transitions, find_transitions
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.content import Content
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import WeightUnit
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASE_CODE, PHASES, SERVING, Engine, Phase

MIXED = "MIXED"
UNKNOWN = "UNKNOWN"
_PREPARING = (Phase.LOAD, Phase.COMPILE)
_INFERENCE = tuple(phase for phase in PHASES if phase in INFERENCE)
_RADIX = len(_INFERENCE) + 1


def decode_phases(order: int) -> tuple[Phase, ...]:
    """Return the phases that a number of ``EngineWork.phases`` stands for."""
    phases = []
    while order:
        order, digit = divmod(order, _RADIX)
        phases.append(_INFERENCE[digit - 1])
    return tuple(phases)


class _Rows(Content):
    """Base of a frozen dataclass of columns: its arrays have an entry per window."""

    def rows(self, start: int, stop: int) -> Self:
        """Return the columns of the windows from ``start`` up to ``stop``."""
        columns = ((column.name, getattr(self, column.name)) for column in fields(self))
        return type(self)(
            **{name: value[start:stop] if isinstance(value, np.ndarray) else value for name, value in columns}
        )


@frozen(eq=False)
class EngineWork(_Rows):
    """One engine's inference work in each window, as parallel arrays.

    ``table`` names the tables that measured the engine in this recording, "" where none did: then no
    interval proves nothing. ``is_serving`` marks the windows that it served; in others, its numbers show an
    attempt. ``requested_ns`` is the time of requests that Core ML reported. ``reach_ns`` is how long it was
    engaged, by the best that is known. ``phases`` are those with samples, the most first (``decode_phases``).
    ``frame`` is the deciding frame with most samples, a position in ``VerdictBlock.frames`` or -1. ``logged``
    counts the requests that it served by the log. ``contested_ns`` was measured in the window's time, for
    this window or for another owner: it proves nothing.
    """

    engine: Engine
    table: str
    is_serving: BoolArray
    samples: IntArray
    weight: IntArray
    busy_ns: IntArray
    requested_ns: IntArray
    reach_ns: IntArray
    phases: IntArray
    frame: IntArray
    logged: IntArray
    contested_ns: IntArray


@frozen(eq=False)
class WindowEvidence(_Rows):
    """The evidence of each window besides the engines that served it, as parallel arrays.

    ``is_call`` is False for a window that the user gave; ``is_engine_time`` is True where the window is the
    Neural Engine's own intervals. Of all samples in the window, ``runtime_samples`` are in an ML runtime with
    no engine visible, ``unsymbolicated_samples`` have no stack or no symbols, and ``preparing_samples`` load
    or compile for an engine. ``preparing_ns`` is measured compile and load, ``other_process_ns`` the ANE's
    work for other processes, ``unmarked_gpu_ns`` GPU work of this process that no mark shows to be ML.
    ``failed_requests`` to the Neural Engine are in the log, with ``statuses[status]`` of ``VerdictBlock``.
    """

    length_ns: IntArray
    is_call: BoolArray
    is_engine_time: BoolArray
    samples: IntArray
    runtime_samples: IntArray
    unsymbolicated_samples: IntArray
    preparing_samples: IntArray
    preparing_ns: IntArray
    other_process_ns: IntArray
    unmarked_gpu_ns: IntArray
    failed_requests: IntArray
    status: IntArray


@frozen
class VerdictBlock(Content):
    """The verdicts of neighbouring windows, "ANE", "GPU", "CPU", "MIXED" or "UNKNOWN", and what they rest on.

    ``works`` has the engines of ``SERVING``; ``lead`` is the position of the one that reaches furthest, -1
    where none served. ``measured`` are the engines with a table.
    """

    names: list[str]
    works: tuple[EngineWork, ...]
    lead: IntArray
    windows: WindowEvidence
    transitions: Transitions
    unit: WeightUnit
    measured: tuple[Engine, ...]
    frames: tuple[DecidingFrame, ...]
    statuses: tuple[tuple[int, ...], ...]


@frozen
class RunFacts:
    """The evidence that all windows of a run share.

    ``tables`` names the tables that measured each engine; ``requested`` are the engines of which Core ML
    reports requests. ``contested`` is each engine's work in each window whose owner is not known.
    """

    tables: Mapping[Engine, str]
    unit: WeightUnit
    requested: frozenset[Engine] = frozenset()
    contested: Mapping[Engine, IntArray] = field(default_factory=dict)


class Verdicts:
    """The verdicts of a run's windows, row by row.

    ``names`` has the verdict of every window, ``engines`` the engines of its segments as bits
    (``Timeline.engines``), ``works`` the inference work of each engine of ``SERVING``; ``block`` has all that
    they rest on.
    """

    def __init__(
        self,
        windows: pd.DataFrame,
        attribution: pd.DataFrame,
        frames: LeadingFrames,
        other_process_ns: IntArray,
        run: RunFacts,
        requests: LoggedRequests,
        segments: Segments,
        engines: IntArray,
    ) -> None:
        self.engines = engines
        self._run, self._build_segments, self._frames = run, segments, frames.frames
        shares = _Shares(attribution, len(windows))
        self.works = tuple(_collect_work(engine, shares, frames, run, requests) for engine in SERVING)
        self._find_lead = _find_lead(self.works)
        self.names: list[str] = _name_verdicts(self.works)
        statuses = {(): 0} | {
            status: code for code, status in enumerate(dict.fromkeys(requests.window_statuses.values()), 1)
        }
        status = np.zeros(len(windows), np.int64)
        status[[*requests.window_statuses]] = [statuses[key] for key in requests.window_statuses.values()]
        self._statuses = tuple(statuses)
        graphics, preparing = shares.mark_engines([Engine.GRAPHICS]), shares.mark_phases(_PREPARING)
        self._windows = WindowEvidence(
            length_ns=(windows["end_ns"] - windows["start_ns"]).to_numpy(np.int64),
            is_call=~is_among(windows["source"], *GIVEN_SOURCES),
            is_engine_time=is_among(windows["source"], *ANE_TABLES),
            samples=shares.sum_amounts("samples", shares.mark_engines(ENGINES)),
            runtime_samples=shares.sum_amounts("samples", shares.mark_engines([Engine.RUNTIME])),
            unsymbolicated_samples=shares.sum_amounts("samples", shares.mark_engines([Engine.UNKNOWN])),
            preparing_samples=shares.sum_amounts("samples", preparing & shares.mark_engines(SERVING)),
            preparing_ns=shares.sum_amounts("busy_ns", preparing),
            other_process_ns=other_process_ns,
            unmarked_gpu_ns=shares.sum_amounts("busy_ns", graphics),
            failed_requests=requests.failed,
            status=status,
        )

    def __len__(self) -> int:
        return len(self.names)

    def block(self, start: int = 0, stop: int | None = None) -> VerdictBlock:
        """Return the verdicts of the windows from ``start`` up to ``stop``, of all windows by default."""
        stop = len(self) if stop is None else min(stop, len(self))
        works = tuple(work.rows(start, stop) for work in self.works)
        lead = self._find_lead[start:stop]
        # An engine has a place in the window only beside another one.
        is_mixed = np.sum([work.is_serving for work in works], axis=0) > 1
        return VerdictBlock(
            self.names[start:stop],
            works,
            lead,
            self._windows.rows(start, stop),
            find_transitions(self._build_segments, start, stop, np.where(is_mixed, lead, -1)),
            self._run.unit,
            tuple(engine for engine in SERVING if engine in self._run.tables),
            self._frames,
            self._statuses,
        )

    def frames_of(self, window: int) -> list[tuple[Engine, DecidingFrame, int]]:
        """Return the engines that served a window and have a deciding frame, with that and their samples."""
        return [
            (work.engine, self._frames[work.frame[window]], int(work.samples[window]))
            for work in self.works
            if work.is_serving[window] and work.frame[window] >= 0
        ]

    def is_engine_time(self, window: int) -> bool:
        """Return whether a window is the Neural Engine's own intervals."""
        return bool(self._windows.is_engine_time[window])

    def __eq__(self, other: object) -> bool:
        return self.block() == other.block() if isinstance(other, Verdicts) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class _Shares:
    """The rows of an attribution that are of a window: parallel arrays."""

    def __init__(self, attribution: pd.DataFrame, count: int) -> None:
        rows = attribution[(attribution["window_id"] >= 0).to_numpy(bool)]
        self._count = count
        self._window = rows["window_id"].to_numpy(np.int64)
        self._engine, self._phase = (
            convert_categories(rows["engine"], ENGINES),
            convert_categories(rows["phase"], PHASES),
        )
        self._amounts: dict[str, IntArray] = {
            name: rows[name].fillna(0).to_numpy(np.int64)
            for name in ("samples", "weight", "sampled_ns", "busy_ns", "waiting_ns")
        }

    def mark_engines(self, engines: Iterable[Engine]) -> BoolArray:
        """Mark the rows of these engines."""
        return np.isin(self._engine, [ENGINE_CODE[engine] for engine in engines])

    def mark_phases(self, phases: Iterable[Phase]) -> BoolArray:
        """Mark the rows of these phases."""
        return np.isin(self._phase, [PHASE_CODE[phase] for phase in phases])

    def sum_amounts(self, name: str, mask: BoolArray) -> IntArray:
        """Return the sum of the marked rows of each window."""
        return sum_by_code(self._window[mask], self._amounts[name][mask], self._count)

    def order_phases(self, mask: BoolArray) -> IntArray:
        """Return the phases of inference of each window's marked rows with samples, the most first.

        They are digits of a number, the first phase the lowest (``decode_phases``).
        """
        samples = self._amounts["samples"]
        rows = np.flatnonzero(mask & (samples > 0))
        rows = rows[np.lexsort((-samples[rows], self._window[rows]))]
        window = self._window[rows]
        counts = np.bincount(window, minlength=self._count)
        rank = np.arange(len(rows)) - (np.cumsum(counts) - counts)[window]
        digits = np.zeros(len(PHASES), np.int64)
        digits[[PHASE_CODE[phase] for phase in _INFERENCE]] = np.arange(1, _RADIX)
        return sum_by_code(window, digits[self._phase[rows]] * _RADIX**rank, self._count)


def _collect_work(
    engine: Engine, shares: _Shares, frames: LeadingFrames, run: RunFacts, requests: LoggedRequests
) -> EngineWork:
    rows = shares.mark_engines([engine]) & shares.mark_phases(_INFERENCE)
    samples, weight, sampled, busy, waiting = (
        shares.sum_amounts(name, rows)
        for name in ("samples", "weight", "sampled_ns", "busy_ns", "waiting_ns")
    )
    requested = waiting if engine in run.requested else np.zeros_like(waiting)
    logged = requests.served if engine is Engine.ANE else np.zeros_like(waiting)
    # Host work for a request that failed shows an attempt, not the engine.
    is_refused = (requests.failed > 0) & (logged == 0) & (engine is Engine.ANE)
    is_attempted = (samples > 0) | (requested > 0)
    return EngineWork(
        engine,
        run.tables.get(engine, ""),
        (busy > 0) | (logged > 0) | (is_attempted & ~is_refused),
        samples,
        weight,
        busy,
        requested,
        # The reach decides which engine leads. Measured time is the better answer where there is any; else
        # the host's work for the engine, and its waiting for it, show how long the engine was engaged.
        np.where(busy > 0, busy, sampled + waiting),
        shares.order_phases(rows),
        frames.codes[:, ENGINE_CODE[engine]],
        logged,
        run.contested.get(engine, np.zeros_like(waiting)),
    )


def _find_lead(works: Sequence[EngineWork]) -> IntArray:
    """Return the engine that reaches furthest, by its position in ``works``; -1 where none served."""
    lead, reach, samples = np.full((3, len(works[0].reach_ns)), -1)
    for number, work in enumerate(works):
        is_further = (work.reach_ns > reach) | ((work.reach_ns == reach) & (work.samples > samples))
        rows = work.is_serving & is_further
        lead[rows], reach[rows], samples[rows] = number, work.reach_ns[rows], work.samples[rows]
    return lead


def _name_verdicts(works: Iterable[EngineWork]) -> list[str]:
    """Return the verdict of every window."""
    # Each window has a bit per engine that served it; the bits' number is the position in a list of verdicts:
    #   bits      ANE = 1, GPU = 2, CPU = 4 (in the order of ``SERVING``)
    #   served_bits  0 → UNKNOWN   1, 2, 4 → the engine   any other → MIXED
    served_bits = np.sum([work.is_serving * (1 << bit) for bit, work in enumerate(works)], axis=0)
    verdict_names = [MIXED] * (1 << len(SERVING))
    verdict_names[0] = UNKNOWN
    for bit, engine in enumerate(SERVING):
        verdict_names[1 << bit] = str(engine)
    return [verdict_names[bits] for bits in served_bits.tolist()]
