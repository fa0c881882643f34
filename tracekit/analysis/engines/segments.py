"""Inside a window: the engines in their order, overlap, idle time, compile and load."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.attribution import iter_waits
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.codes import BASES, INFERENCE, is_engine, is_phase, sum_before
from tracekit.analysis.engines.interval_sets import (
    EMPTY,
    IntervalSet,
    find_covered_twice,
    merge_by_group,
    merge_sets,
)
from tracekit.analysis.engines.measured_rows import Key, is_work, iter_scopes
from tracekit.analysis.engines.membership import Membership
from tracekit.analysis.engines.ranges import iter_blocks, list_positions, measure_covered_per_range
from tracekit.analysis.engines.waiting import Waiting
from tracekit.analysis.ownership.call_spans import measure_overlap, merge_spans
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, Column, Columns, IntArray, make_categorical
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
        "busy_ns": Column("int64", "without the holes between its pieces; 0 where only the host was seen"),
        "host_ns": Column("int64", "of threads at work for an accelerator that no table measured"),
        "basis": "category",
    }
)
"""A window's engines in the order of their pieces; the segments of engines at once share time."""

TIMES = Columns(
    {
        "window_id": "int64",
        "busy_ns": "Int64",
        "overlap_ns": "Int64",
        "idle_ns": "Int64",
        "preparing_ns": "int64",
        "preparing_basis": "category",
        "foreign_ns": "int64",
        "contested_ns": "int64",
    }
)
"""One row per window; ``tracekit/columns/calls.py`` has the meanings."""


@frozen
class _Pieces:
    """Intervals cut to windows: parallel arrays."""

    window: IntArray
    starts: IntArray
    ends: IntArray
    engine: Engine
    basis: Basis


class Segments:
    """The segments of a run's windows (``SEGMENTS``), made for some neighbouring windows at a time.

    Overlapping windows have the same intervals each, so there may be as many segments as windows times
    intervals. ``blocks`` are ranges of windows (first, after) whose segments fit into memory together.
    """

    def __init__(self, blocks: Sequence[tuple[int, int]], make: Callable[[int, int], pd.DataFrame]) -> None:
        self.blocks = blocks
        self._make = make
        self._firsts = [start for start, _ in blocks]
        self._latest: tuple[int, pd.DataFrame] = -1, SEGMENTS.empty()

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the segments block by block; ``window_id`` counts over all of them."""
        for number in range(len(self.blocks)):
            yield self._build_block(number)

    def frame(self) -> pd.DataFrame:
        """Return all segments: as much memory as they take."""
        frames = list(self.frames())
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)

    def around(self, window: int) -> pd.DataFrame:
        """Return the segments of the block of a window."""
        return self._build_block(bisect_right(self._firsts, window) - 1)

    def windows_around(self, window: int) -> range:
        """Return the windows of the block of a window."""
        return range(*self.blocks[bisect_right(self._firsts, window) - 1])

    def _build_block(self, number: int) -> pd.DataFrame:
        latest, frame = self._latest
        if latest != number:
            frame = self._make(*self.blocks[number])
            self._latest = number, frame
        return frame


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

    def _build_segments(self, start: int, stop: int) -> pd.DataFrame:
        """Return the segments of the windows from ``start`` up to ``stop``."""
        rows = np.arange(start, stop)
        pieces = [
            piece for engine in SERVING for piece in self._iter_pieces(engine, rows) if len(piece.window)
        ]
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
        # Neighbouring pieces of one engine and basis in one window become a segment. A segment begins at each
        # of ``first_rows``, and ``reduceat`` folds the rows from each to the next:
        #   code    A A C A A      first_rows  0 2 3      segments  A C A
        # The end is a maximum, since a piece may end before one that began earlier.
        changes = (window[1:] != window[:-1]) | (code[1:] != code[:-1])
        first_rows = np.flatnonzero(np.append(True, changes)[: len(window)])
        engine, basis = np.divmod(code[first_rows], len(BASES))
        some = bool(len(first_rows))
        amounts = np.add.reduceat(ends - starts, first_rows) if some else ends
        # Samples are of the host: they are the engine's own time on the CPU alone.
        is_host = (basis != BASES.index(Basis.MEASURED)) & (engine != ENGINE_CODE[Engine.CPU])
        return SEGMENTS.check(
            pd.DataFrame(
                {
                    "window_id": window[first_rows],
                    "start_ns": starts[first_rows],
                    "end_ns": np.maximum.reduceat(ends, first_rows) if some else ends,
                    "engine": make_categorical(engine, ENGINES),
                    "busy_ns": np.where(is_host, 0, amounts),
                    "host_ns": np.where(is_host, amounts, 0),
                    "basis": make_categorical(basis, BASES),
                },
                copy=False,
            ),
            "segments",
        )

    def segments(self) -> Segments:
        """Return the segments of all windows."""
        sizes = np.zeros(len(self._windows), np.int64)
        every = np.arange(len(self._windows))
        for engine in SERVING:
            if engine in self._measured.reported:
                for rows, spans in self._measured.of_windows((engine, Phase.EXECUTE), every):
                    sizes[rows] += spans.count(self._starts[rows], self._ends[rows])
            if self._is_sampled(engine):
                sizes += self._members.count(self._mark_samples([engine], INFERENCE))
            if engine in self._waiting.basis:
                for rows, spans in iter_waits(self._windows, every, engine, self._waiting, self._measured):
                    sizes[rows] += spans.count(self._starts[rows], self._ends[rows])
        return Segments(list(iter_blocks(sizes)) or [(0, 0)], self._build_segments)

    def engines(self) -> IntArray:
        """Return the engines of each window's segments: the bit ``1 << n`` for the engine ``SERVING[n]``."""
        bits = np.zeros(len(self._windows), np.int64)
        every = np.arange(len(self._windows))
        for number, engine in enumerate(SERVING):
            has_engine = np.zeros(len(self._windows), bool)
            if engine in self._measured.reported:
                for rows, spans in self._measured.of_windows((engine, Phase.EXECUTE), every):
                    has_engine[rows] = spans.within(self._starts[rows], self._ends[rows]) > 0
            if self._is_sampled(engine):
                matches = self._mark_samples([engine], INFERENCE)
                has_engine |= self._members.count(matches & (self._trace.weights > 0)) > 0
                # Waiting shows an engine only where a sample does, even one without a duration.
                if engine in self._waiting.basis:
                    is_sampled = self._members.count(matches) > 0
                    for rows, spans in iter_waits(
                        self._windows, every, engine, self._waiting, self._measured
                    ):
                        waits = spans.within(self._starts[rows], self._ends[rows]) > 0
                        has_engine[rows] |= is_sampled[rows] & waits
            bits[has_engine] |= 1 << number
        return bits

    def _is_sampled(self, engine: Engine) -> bool:
        """Return whether samples show when an engine worked: it is not measured, or the CPU."""
        return engine is Engine.CPU or engine not in self._measured.reported

    def _iter_pieces(self, engine: Engine, windows: IntArray) -> Iterator[_Pieces]:
        """Yield an engine's pieces: measured where it was measured, else sampled, with the waiting for it.

        Core ML reports the CPU's part only sometimes: windows without it take the samples.
        """
        # Measured pieces come first and mark their windows; samples then fill only windows without a mark, so
        # that no window has an engine from two sources.
        is_measured = np.zeros(len(self._windows), bool)
        if engine in self._measured.reported:
            for rows, spans in self._measured.of_windows((engine, Phase.EXECUTE), windows):
                window, starts, ends = spans.pieces(self._starts[rows], self._ends[rows])
                is_measured[rows[window]] = True
                yield _Pieces(rows[window], starts, ends, engine, Basis.MEASURED)
        if not self._is_sampled(engine):
            return
        window, starts, ends = self._find_sampled_time(engine, windows)
        basis = Basis.SAMPLED
        if engine in self._waiting.basis:
            wait_window, since, until = self._find_waits(engine, windows)
            is_sampled = np.isin(
                wait_window, window
            )  # waiting alone, from a call before, is not this window's
            window = np.concatenate([window, wait_window[is_sampled]])
            starts, ends = (
                np.concatenate([starts, since[is_sampled]]),
                np.concatenate([ends, until[is_sampled]]),
            )
            if self._waiting.basis[engine] is Basis.INFERRED:
                basis = Basis.INFERRED
        keep = ~is_measured[window]
        yield _Pieces(*merge_by_group(window[keep], starts[keep], ends[keep]), engine, basis)

    def _mark_samples(self, engines: Iterable[Engine], phases: Iterable[Phase | None]) -> BoolArray:
        """Mark the samples of these engines and phases that have a duration."""
        # A sample covers the time from its timestamp on; weights in cycles or events have no duration.
        if self._trace.weight_unit != "ns":
            return np.zeros(len(self._trace.samples), bool)
        return is_engine(self._labels.engine, *engines) & is_phase(self._labels.phase, *phases)

    def _find_sampled_time(self, engine: Engine, windows: IntArray) -> Edges:
        """Return the time that the windows' inference samples cover, cut to the window."""
        sample, window = self._members.pairs(windows)
        keep = np.flatnonzero(self._mark_samples([engine], INFERENCE)[sample])
        sample, window = sample[keep], window[keep]
        starts = self._trace.samples["time_ns"].to_numpy(np.int64)[sample]
        return window, starts, np.minimum(starts + self._trace.weights[sample], self._ends[window])

    def _find_waits(self, engine: Engine, windows: IntArray) -> Edges:
        pieces = [
            (rows, *spans.pieces(self._starts[rows], self._ends[rows]))
            for rows, spans in iter_waits(self._windows, windows, engine, self._waiting, self._measured)
        ]
        return _join_pieces([(rows[window], starts, ends) for rows, window, starts, ends in pieces])

    def _sum_sampled_time(self, windows: IntArray, matches: BoolArray, without: IntervalSet) -> IntArray:
        """Return how much time the windows' matching samples cover outside of some intervals."""
        members = self._members
        spans = members.merge_positions(windows)
        positions = list_positions(spans.starts, spans.ends)
        is_match = matches[members.samples[positions]]
        matches_before = sum_before(is_match)
        start, stop = (matches_before[spans.until(edge[windows])] for edge in (members.start, members.stop))
        sample = members.samples[positions[is_match]]
        group = np.searchsorted(members.list_starts, positions[is_match], "right")
        # Time runs only outside of the intervals: what they cover has no length then.
        starts = self._trace.samples["time_ns"].to_numpy(np.int64)[sample]
        edges = starts, starts + self._trace.weights[sample], self._ends[windows]
        starts, ends, until = (time - without.until(time) for time in edges)
        return measure_covered_per_range(group, starts, ends, start, stop, until)

    # Times --------------------------------------------------------------------------------------------------

    def times(self) -> pd.DataFrame:
        """Return the busy, overlapping, idle, preparing and other-process time of each window (``TIMES``)."""
        count = len(self._windows)
        busy, overlap = np.zeros(count, np.int64), np.zeros(count, np.int64)
        serving = [engine for engine in SERVING if engine in self._measured.reported]
        covered = np.zeros(count, np.int64)
        elsewhere = not {Engine.ANE, Engine.GPU}.isdisjoint(self._measured.engines)
        is_idle_known = elsewhere and self._trace.weight_unit == "ns" and len(self._trace.samples) > 0
        every = self._mark_samples(ENGINES, (*PHASES, None))
        executions: list[Key] = [(engine, Phase.EXECUTE) for engine in serving]
        of_calls = [self._measured.of_calls(key) for key in executions]
        busy += merge_spans(of_calls).sum_per_window(count)
        overlap += measure_overlap(of_calls, count)
        for rows, sets in self._measured.of_given(executions):
            starts, ends = self._starts[rows], self._ends[rows]
            busy[rows] = merge_sets(sets).within(starts, ends)
            overlap[rows] = find_covered_twice(sets).within(starts, ends)
        for rows, window_scope in iter_scopes(self._windows) if is_idle_known else ():
            scope = self._measured.scope(*window_scope)
            starts, ends = self._starts[rows], self._ends[rows]
            keys = [key for key in self._measured.keys if is_work(key)]
            # Contested work may be this call's, so it is not idle time.
            of_scope = [self._measured.spans(scope, key) for key in keys]
            working = merge_sets([*of_scope, self._measured.contested, self._measured.of_others_by_stacks])
            covered[rows] = working.within(starts, ends) + self._sum_sampled_time(rows, every, working)
        idle = self._ends - self._starts - covered
        preparing, basis = self._compute_preparing_time()
        return TIMES.check(
            pd.DataFrame(
                {
                    "window_id": self._windows["window_id"].to_numpy(np.int64),
                    "busy_ns": _mask_unknown(busy, bool(serving)),
                    "overlap_ns": _mask_unknown(overlap, len(serving) > 1),
                    "idle_ns": _mask_unknown(idle, is_idle_known),
                    "preparing_ns": preparing,
                    "preparing_basis": make_categorical(np.where(preparing > 0, basis, -1), BASES),
                    "foreign_ns": self._measured.other_process.within(self._starts, self._ends),
                    "contested_ns": self._compute_contested_time(),
                }
            ),
            "times",
        )

    def _compute_contested_time(self) -> IntArray:
        """Return the most that any engine worked in each window for an owner that is not known."""
        amounts = [self._measured.contested_ns((engine, Phase.EXECUTE)) for engine in SERVING]
        longest: IntArray = np.max(amounts, axis=0)[: len(self._windows)]
        return longest

    def _compute_preparing_time(self) -> tuple[IntArray, IntArray]:
        """Return compile and load per window, and its basis: measured where a table has it, else sampled."""
        amounts = np.zeros(len(self._windows), np.int64)
        keys = [key for key in self._measured.keys if key[1] in _PREPARING]
        amounts += merge_spans([self._measured.of_calls(key) for key in keys]).sum_per_window(
            len(self._windows)
        )
        for rows, sets in self._measured.of_given(keys):
            amounts[rows] = merge_sets(sets).within(self._starts[rows], self._ends[rows])
        # Per window either all of it is measured or all of it sampled: the two are never added.
        basis = np.where(amounts > 0, BASES.index(Basis.MEASURED), BASES.index(Basis.SAMPLED))
        sampled = self._sum_sampled_time(
            np.arange(len(self._windows)), self._mark_samples(ENGINES, _PREPARING), EMPTY
        )
        return np.where(amounts > 0, amounts, sampled), basis


_PREPARING = (Phase.LOAD, Phase.COMPILE)


def _join_pieces(pieces: Sequence[Edges]) -> Edges:
    # ``zip`` turns the list of triples into three lists; the empty triple keeps that true without any piece.
    nothing = np.zeros(0, np.int64)
    window, starts, ends = (np.concatenate(part) for part in zip((nothing,) * 3, *pieces, strict=True))
    return window, starts, ends


def _mask_unknown(values: IntArray, is_known: bool) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(values, np.full(len(values), not is_known))
