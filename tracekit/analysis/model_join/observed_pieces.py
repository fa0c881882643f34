"""The pieces that calls have on the Neural Engine, and the work of other engines between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.engines.codes import is_engine, is_phase, sum_by_code
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.run import AnalyzedRun
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Basis, Engine, Phase


@dataclass(frozen=True)
class Pieces:
    """Pieces on the Neural Engine, in order of call and time; ``counts`` are those of each of ``rows``.

    Submissions of one segment that follow each other are one piece; without names of segments, each
    submission is one. ``work_ns`` is their time without holes. ``is_ordered`` marks the calls whose pieces
    have numbers that rise, or no numbers, and no piece twice; ``is_named`` those whose pieces have names,
    ``is_of_function`` those of which no piece names another function than the plan's.
    """

    rows: IntArray
    counts: IntArray
    starts: IntArray
    ends: IntArray
    work_ns: IntArray
    is_ordered: BoolArray
    is_named: BoolArray
    is_of_function: BoolArray

    @property
    def firsts(self) -> IntArray:
        """The position of the first piece of each call."""
        return np.cumsum(self.counts) - self.counts

    def of_calls(self, mask: BoolArray, count: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return starts, ends and work of the marked calls, of ``count`` pieces each, as call × piece."""
        positions = self.firsts[mask][:, None] + np.arange(count)
        return self.starts[positions], self.ends[positions], self.work_ns[positions]


def find_pieces(run: AnalyzedRun, rows: IntArray, function: str) -> Pieces:
    """Return the pieces of some calls, which are thought to run a function of the model."""
    call_of = np.full(len(run.window_rows), -1, np.int64)
    call_of[rows] = np.arange(len(rows))
    frame = run.measured.submissions
    call = call_of[frame["window"].to_numpy(np.int64)]
    frame, call = frame[call >= 0], call[call >= 0]
    starts, ends = (frame[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    order = np.lexsort((ends, starts, call))
    call, starts, ends = call[order], starts[order], ends[order]
    segment = frame["segment"].astype("category")
    words = [str(word) for word in segment.cat.categories]
    code = segment.cat.codes.to_numpy(np.int64)[order]
    is_named = np.array([*(bool(word) for word in words), False])[code]
    is_new = np.ones(len(call), bool)
    is_new[1:] = (call[1:] != call[:-1]) | (code[1:] != code[:-1]) | ~is_named[1:]
    piece = np.cumsum(is_new) - 1
    first = np.flatnonzero(is_new)
    counts = np.bincount(call[first], minlength=len(rows))
    return Pieces(
        rows,
        counts,
        starts[first],
        np.maximum.reduceat(ends, first) if len(first) else ends,
        sum_by_code(piece, ends - starts, len(first)),
        _mark_ordered(call[first], code[first], words, len(rows)),
        np.bincount(call[~is_named], minlength=len(rows)) == 0,
        np.bincount(call[_mark_others(words, function)[code]], minlength=len(rows)) == 0,
    )


def _mark_ordered(call: IntArray, code: IntArray, words: list[str], count: int) -> BoolArray:
    """Mark the calls of whose pieces none repeats, with numbers that rise within their function."""
    keys = [_split_number(word) for word in words]
    functions: dict[str, int] = {}
    function = np.array([functions.setdefault(name, len(functions)) for name, _ in keys] or [0], np.int64)
    ranks = {key: rank for rank, key in enumerate(sorted(keys))}
    rank = np.array([ranks[key] for key in keys] or [0], np.int64)
    is_follower = np.zeros(len(call), bool)
    is_follower[1:] = (call[1:] == call[:-1]) & (function[code[1:]] == function[code[:-1]])
    is_wrong = np.zeros(len(call), bool)
    is_wrong[1:] = is_follower[1:] & (rank[code[1:]] <= rank[code[:-1]])
    is_wrong &= np.array([*(bool(word) for word in words), False])[code]
    ordered: BoolArray = np.bincount(call[is_wrong], minlength=count) == 0
    return ordered


def _mark_others(segments: list[str], function: str) -> BoolArray:
    """Mark the segments that name another function, which labels of ``main`` do not."""
    heads = (_split_number(segment)[0] for segment in segments)
    return np.array([*(head not in ("", function) for head in heads), False])


def _split_number(segment: str) -> tuple[str, tuple[int, ...]]:
    """Return function and numbers: ``("", (3,))`` for ``Op3``, ``("f", (0, 12))`` of ``f region 0.12``."""
    head, _, last = segment.rpartition(" ")
    digits = last.removeprefix("Op")
    numbers = tuple(int(part) for part in digits.split(".") if part.isdecimal())
    return head.removesuffix("region").rstrip(), numbers


@dataclass(frozen=True)
class PieceWork:
    """Work of one engine in the gaps of calls: arrays of call × gap.

    Gap 0 lies before the first piece, gap k after the k-th. ``starts`` and ``ends`` are those of the work
    seen there, -1 without any. ``amounts_ns`` is 0 where only the host was seen at work for the engine.
    """

    engine: Engine
    basis: Basis
    amounts_ns: IntArray
    starts: IntArray
    ends: IntArray

    @property
    def is_seen(self) -> BoolArray:
        """Marks the gaps that have some of it."""
        return self.starts >= 0


def find_work(calls: Calls, rows: IntArray, starts: IntArray, ends: IntArray) -> Iterator[PieceWork]:
    """Yield the work of the GPU and of the CPU in the gaps between pieces (call × piece) of some calls."""
    for engine in (Engine.GPU, Engine.CPU):
        measured = _find_measured_work(calls, engine, rows, starts, ends)
        if measured is not None:
            yield measured
        elif engine is Engine.CPU or not calls.is_measured(engine):
            sampled = _find_sampled_work(calls, engine, rows, starts, ends)
            if sampled is not None:
                yield sampled


def _find_measured_work(
    calls: Calls, engine: Engine, rows: IntArray, starts: IntArray, ends: IntArray
) -> PieceWork | None:
    measured = calls.analysis.measured
    if engine not in measured.reported:
        return None
    spans = measured.of_calls((engine, Phase.EXECUTE)).of_windows(rows)
    call, since, until = spans.pieces(calls.starts[rows], calls.ends[rows])
    if not len(call):
        return None
    gap = _find_gap(call, since, starts)
    # What reaches into the next piece counts up to there.
    limit = np.append(starts, calls.ends[rows][:, None], axis=1)[call, gap]
    begin = np.append(np.full((len(rows), 1), -1, np.int64), ends, axis=1)[call, gap]
    since, until = np.maximum(since, begin), np.minimum(until, limit)
    return _sum_work(engine, Basis.MEASURED, (call, gap), (since, until), until - since, starts.shape)


def _find_sampled_work(
    calls: Calls, engine: Engine, rows: IntArray, starts: IntArray, ends: IntArray
) -> PieceWork | None:
    """Return what samples show; those of another engine than the CPU show the host at work for it."""
    if calls.trace.weight_unit != "ns" or not len(calls.trace.samples):
        return None
    labels = calls.analysis.labels
    sample, window = calls.analysis.members.pairs(rows)
    phases = (phase for phase in Phase if phase.is_inference)
    is_chosen = is_engine(labels.engine[sample], engine) & is_phase(labels.phase[sample], *phases)
    sample, window = sample[is_chosen], window[is_chosen]
    if not len(sample):
        return None
    call = np.searchsorted(rows, window)
    time = calls.trace.samples["time_ns"].to_numpy(np.int64)[sample]
    gap = _find_gap(call, time, starts)
    begin = np.append(np.full((len(rows), 1), -1, np.int64), ends, axis=1)[call, gap]
    limit = np.append(starts, calls.ends[rows][:, None], axis=1)[call, gap]
    is_between = time >= begin
    call, gap, time, limit = (values[is_between] for values in (call, gap, time, limit))
    weights = calls.trace.weights[sample][is_between]
    until = np.minimum(time + np.maximum(weights, 1), np.maximum(limit, time + 1))
    amounts = weights if engine is Engine.CPU else np.zeros_like(weights)
    return _sum_work(engine, Basis.SAMPLED, (call, gap), (time, until), amounts, starts.shape)


def _find_gap(call: IntArray, time: IntArray, starts: IntArray) -> IntArray:
    """Return for moments of calls how many pieces of the call begin before or with each."""
    count, width = starts.shape
    # Pieces and moments in one order; the pieces up to a moment, less those of the calls before.
    all_calls = np.concatenate([np.repeat(np.arange(count), width), call])
    all_times = np.concatenate([starts.reshape(-1), time])
    is_moment = np.repeat([False, True], [count * width, len(call)])
    order = np.lexsort((is_moment, all_times, all_calls))
    counts_before = np.zeros(len(order), np.int64)
    counts_before[order] = np.cumsum(~is_moment[order])
    gaps: IntArray = counts_before[count * width :] - call * width
    return gaps


def _sum_work(
    engine: Engine,
    basis: Basis,
    place: tuple[IntArray, IntArray],
    edges: tuple[IntArray, IntArray],
    amounts: IntArray,
    shape: tuple[int, ...],
) -> PieceWork:
    count, width = shape[0], shape[1] + 1
    code = place[0] * width + place[1]
    is_real = edges[1] > edges[0]
    code, amounts, since, until = (values[is_real] for values in (code, amounts, *edges))
    latest = np.iinfo(np.int64).max
    first, last = np.full(count * width, latest), np.full(count * width, -1, np.int64)
    np.minimum.at(first, code, since)
    np.maximum.at(last, code, until)
    first[first == latest] = -1
    totals = sum_by_code(code, amounts, count * width)
    return PieceWork(engine, basis, *(values.reshape(count, width) for values in (totals, first, last)))
