"""Inside a window: the engines in their order, overlap, idle time, compile and load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.attribution import scopes_of, waits_of
from tracekit.analysis.engines.busy import Measured, is_work
from tracekit.analysis.engines.codes import BASES, INFERENCE, is_engine, is_phase, sums
from tracekit.analysis.engines.interval_sets import EMPTY, IntervalSet, covered_twice, union, union_by_group
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.waiting import Waiting
from tracekit.model.columns import Columns, IntArray, categorical
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, PHASES, SERVING, Basis, Engine, Phase

Edges: TypeAlias = tuple[IntArray, IntArray, IntArray]
"""Intervals cut to windows: the window's row, start, end."""

SEGMENTS = Columns(
    {
        "window_id": "int64",
        "start_ns": "int64",
        "end_ns": "int64",
        "engine": "category",
        "busy_ns": "int64",  # without the holes between the segment's pieces
        "basis": "category",
    }
)
"""A window's engines in the order of their pieces; the segments of engines at once share time."""

TIMES = Columns(
    {
        "window_id": "int64",
        "busy_ns": "Int64",  # any engine, measured
        "overlap_ns": "Int64",  # two engines or more at once, measured
        "idle_ns": "Int64",  # no engine measured at work, no sample on a CPU; <NA>: no ANE or GPU measured
        "preparing_ns": "int64",  # compile and load
        "preparing_basis": "category",
        "foreign_ns": "int64",  # the ANE's work for models of other processes
    }
)


@dataclass(frozen=True)
class _Pieces:
    """Intervals cut to windows: parallel arrays."""

    window: IntArray
    starts: IntArray
    ends: IntArray
    engine: Engine
    basis: Basis


class Timeline:
    """The engines of one analysis, window by window."""

    def __init__(
        self,
        trace: Trace,
        labels: SampleLabels,
        members: Membership,
        windows: pd.DataFrame,
        measured: Measured,
        waiting: Waiting,
    ) -> None:
        self._trace, self._labels, self._members = trace, labels, members
        self._windows, self._measured, self._waiting = windows, measured, waiting
        self._starts = windows["start_ns"].to_numpy(np.int64)
        self._ends = windows["end_ns"].to_numpy(np.int64)

    # Segments -----------------------------------------------------------------------------------------------

    def segments(self) -> pd.DataFrame:
        """Return each window's engines in order (``SEGMENTS``)."""
        pieces = [piece for engine in SERVING for piece in self._pieces_of(engine) if len(piece.window)]
        window = np.concatenate([piece.window for piece in pieces] or [np.zeros(0, np.int64)])
        starts = np.concatenate([piece.starts for piece in pieces] or [np.zeros(0, np.int64)])
        ends = np.concatenate([piece.ends for piece in pieces] or [np.zeros(0, np.int64)])
        # Engine and basis as one small number, so that a change of either is one comparison.
        codes = [ENGINE_CODE[piece.engine] * len(BASES) + BASES.index(piece.basis) for piece in pieces]
        code = np.repeat(
            np.array(codes, np.int8), np.array([len(piece.window) for piece in pieces], np.int64)
        )
        if len(pieces) > 1:  # each is in order
            order = np.lexsort((ends, starts, window))
            window, starts, ends, code = window[order], starts[order], ends[order], code[order]
        # Neighbouring pieces of one engine and basis in one window become a segment. ``first`` are the rows
        # at which a segment begins, and ``reduceat`` folds the rows from each of them to the next:
        #   code    A A C A A      first  0 2 3      segments  A C A
        # The end is a maximum, since a piece may end before one that began earlier.
        changes = (window[1:] != window[:-1]) | (code[1:] != code[:-1])
        first = np.flatnonzero(np.append(True, changes)[: len(window)])
        engine, basis = np.divmod(code[first], len(BASES))
        some = bool(len(first))
        return SEGMENTS.check(
            pd.DataFrame(
                {
                    "window_id": window[first],
                    "start_ns": starts[first],
                    "end_ns": np.maximum.reduceat(ends, first) if some else ends,
                    "engine": categorical(engine, ENGINES),
                    "busy_ns": np.add.reduceat(ends - starts, first) if some else ends,
                    "basis": categorical(basis, BASES),
                },
                copy=False,
            ),
            "segments",
        )

    def _pieces_of(self, engine: Engine) -> Iterator[_Pieces]:
        """Yield an engine's pieces: measured where it was measured, else sampled, with the waiting for it.

        Core ML reports the CPU's part only sometimes: windows without it take the samples.
        """
        # Measured pieces come first and mark their windows; samples then fill only windows without a mark, so
        # that no window has an engine from two sources.
        seen = np.zeros(len(self._windows), bool)
        if engine in self._measured.reported:
            for rows, spans in self._by_scope(engine):
                window, starts, ends = spans.pieces(self._starts[rows], self._ends[rows])
                seen[rows[window]] = True
                yield _Pieces(rows[window], starts, ends, engine, Basis.MEASURED)
            if engine is not Engine.CPU:
                return
        window, starts, ends = self._sampled([engine], INFERENCE)
        basis = Basis.SAMPLED
        if engine in self._waiting.basis:
            waited, since, until = self._waits(engine)
            is_sampled = np.isin(waited, window)  # waiting alone, from a call before, is not this window's
            window = np.concatenate([window, waited[is_sampled]])
            starts, ends = (
                np.concatenate([starts, since[is_sampled]]),
                np.concatenate([ends, until[is_sampled]]),
            )
            if self._waiting.basis[engine] is Basis.INFERRED:
                basis = Basis.INFERRED
        keep = ~seen[window]
        yield _Pieces(*union_by_group(window[keep], starts[keep], ends[keep]), engine, basis)

    def _by_scope(
        self, engine: Engine, phase: Phase = Phase.EXECUTE
    ) -> Iterator[tuple[IntArray, IntervalSet]]:
        for rows, scope in scopes_of(self._windows):
            yield rows, self._measured.spans(self._measured.scope(*scope), (engine, phase))

    def _sampled(self, engines: Iterable[Engine], phases: Iterable[Phase | None]) -> Edges:
        """Return the time that the windows' samples stand for, cut to the window: (row, start, end)."""
        matches = is_engine(self._labels.engine, *engines) & is_phase(self._labels.phase, *phases)
        if self._trace.weight_unit != "ns":
            matches[:] = False
        # A sample stands for the time from its moment on; weights in cycles or events have no length in time.
        keep = np.flatnonzero(matches[self._members.sample])
        sample, window = self._members.sample[keep], self._members.window[keep]
        starts = self._trace.samples["time_ns"].to_numpy(np.int64)[sample]
        return window, starts, np.minimum(starts + self._trace.weights[sample], self._ends[window])

    def _waits(self, engine: Engine) -> Edges:
        pieces = [
            (rows, *spans.pieces(self._starts[rows], self._ends[rows]))
            for rows, spans in waits_of(self._windows, engine, self._waiting, self._measured)
        ]
        return _joined([(rows[window], starts, ends) for rows, window, starts, ends in pieces])

    # Times --------------------------------------------------------------------------------------------------

    def times(self) -> pd.DataFrame:
        """Return the busy, overlapping, idle, preparing and other-process time of each window (``TIMES``)."""
        count = len(self._windows)
        busy, overlap = np.zeros(count, np.int64), np.zeros(count, np.int64)
        serving = [engine for engine in SERVING if engine in self._measured.reported]
        covered: list[Edges] = []
        for rows, window_scope in scopes_of(self._windows):
            scope = self._measured.scope(*window_scope)
            sets = [self._measured.spans(scope, (engine, Phase.EXECUTE)) for engine in serving]
            starts, ends = self._starts[rows], self._ends[rows]
            busy[rows] = union(sets).within(starts, ends)
            overlap[rows] = covered_twice(sets).within(starts, ends)
            working = [self._measured.spans(scope, key) for key in self._measured.keys if is_work(key)]
            window, begin, end = union(working).pieces(starts, ends)
            covered.append((rows[window], begin, end))
        elsewhere = not {Engine.ANE, Engine.GPU}.isdisjoint(self._measured.engines)
        is_idle_known = elsewhere and self._trace.weight_unit == "ns" and len(self._trace.samples) > 0
        if is_idle_known:
            covered.append(self._sampled(ENGINES, (*PHASES, None)))
        idle = self._ends - self._starts - _length_by_window(covered, count)
        preparing, basis = self._preparing()
        return TIMES.check(
            pd.DataFrame(
                {
                    "window_id": self._windows["window_id"].to_numpy(np.int64),
                    "busy_ns": _known(busy, bool(serving)),
                    "overlap_ns": _known(overlap, len(serving) > 1),
                    "idle_ns": _known(idle, is_idle_known),
                    "preparing_ns": preparing,
                    "preparing_basis": categorical(np.where(preparing > 0, basis, -1), BASES),
                    "foreign_ns": self._measured.other_process.within(self._starts, self._ends),
                }
            ),
            "times",
        )

    def _preparing(self) -> tuple[IntArray, IntArray]:
        """Return compile and load per window, and its basis: measured where a table has it, else sampled."""
        amounts = np.zeros(len(self._windows), np.int64)
        keys = [key for key in self._measured.keys if key[1] in _PREPARING]
        for rows, window_scope in scopes_of(self._windows):
            scope = self._measured.scope(*window_scope)
            spans = union([self._measured.spans(scope, key) for key in keys]) if keys else EMPTY
            amounts[rows] = spans.within(self._starts[rows], self._ends[rows])
        # Per window either all of it is measured or all of it sampled: the two are never added.
        basis = np.where(amounts > 0, BASES.index(Basis.MEASURED), BASES.index(Basis.SAMPLED))
        sampled = _length_by_window([self._sampled(ENGINES, _PREPARING)], len(self._windows))
        return np.where(amounts > 0, amounts, sampled), basis


_PREPARING = (Phase.LOAD, Phase.COMPILE)


def _length_by_window(pieces: Sequence[Edges], count: int) -> IntArray:
    """Return how much time the union of the pieces covers, per window."""
    window, starts, ends = union_by_group(*_joined(pieces))
    return sums(window, ends - starts, count)


def _joined(pieces: Sequence[Edges]) -> Edges:
    # ``zip`` turns the list of triples into three lists; the empty triple keeps that true without any piece.
    nothing = np.zeros(0, np.int64)
    window, starts, ends = (np.concatenate(part) for part in zip((nothing,) * 3, *pieces, strict=True))
    return window, starts, ends


def _known(values: IntArray, is_known: bool) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(values, np.full(len(values), not is_known))
