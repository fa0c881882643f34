"""Anticipated segments against calls: which call shows which segment where, and what lies between.

A call is told apart into segments where it has as many pieces on the Neural Engine as the plan has segments
there: the k-th piece is then the k-th of them, and what the plan has between two lies in the gap between:

    plan    ANE      CPU     ANE
    call    |piece|  gap 1  |piece|       gap 0 lies before the first piece, gap 2 after the last

With another number of pieces, nothing shows which segment a piece is, and none is guessed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.finding import WindowRanges
from tracekit.analysis.model_join.joined_model import Agreement, JoinedSegment, JoinLimit
from tracekit.analysis.model_join.matched_calls import MatchedCalls
from tracekit.analysis.model_join.observed_pieces import Pieces, find_pieces
from tracekit.analysis.run import AnalyzedRun
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_AI
from tracekit.model.vocabulary import SERVING, Basis, Engine


@dataclass(frozen=True)
class Observation:
    """What the calls of a model show of its segments; the fields are those of ``JoinedModel``."""

    typical_call: int
    segments: tuple[JoinedSegment, ...]
    limits: tuple[JoinLimit, ...] = ()
    pieces: int | None = None
    matched_calls: int = 0
    absent_calls: int = 0
    lost_ns: int | None = None
    lost_total_ns: int | None = None
    windows: WindowRanges = field(default_factory=WindowRanges)


def observe_segments(
    calls: Calls, rows: IntArray, segments: Sequence[JoinedSegment], function: str | None
) -> Observation:
    """Return what the calls in ``rows`` show of a function's segments; nothing where that is not known."""
    unseen = Observation(find_typical(calls, rows), tuple(segments))
    if function is None or not segments:
        return unseen
    limit = _find_limit(calls, rows)
    if limit is not None:
        return replace(unseen, limits=(limit,))
    has_count = calls.analysis.submissions["submissions"].notna().to_numpy(bool)[rows]
    if not has_count.any():
        return replace(unseen, limits=("owner-unknown",))
    return _observe_counted(calls, rows[has_count], function, unseen)


def _find_limit(calls: Calls, rows: IntArray) -> JoinLimit | None:
    """Return what keeps each call from being told apart."""
    run = calls.analysis
    sources = set(run.window_rows["source"].astype("str").to_numpy()[rows].tolist())
    # Without names, each row of the engine is a window of its own.
    is_nameless = bool(run.submissions["segments"].isna().to_numpy(bool)[rows].any())
    if not calls.is_timed or "stacks" in sources or (is_nameless and not sources.isdisjoint(ANE_TABLES)):
        return "not-single-calls"
    if not calls.is_measured(Engine.ANE):
        return "engine-not-measured"
    return "owner-unknown" if run.measured.owner.unattributed else None


def find_typical(calls: Calls, rows: IntArray) -> int:
    """Return the call whose length is the median, by nearest rank."""
    order = np.argsort(calls.lengths[rows], kind="stable")
    return int(rows[order[(len(rows) - 1) // 2]])


def _observe_counted(calls: Calls, rows: IntArray, function: str, unseen: Observation) -> Observation:
    """Return what calls with a known number of submissions show: those with the plan's pieces, or none."""
    count = sum(segment.anticipated is Engine.ANE for segment in unseen.segments)
    pieces = find_pieces(calls.analysis, rows, function)
    if all(segment.anticipated is None for segment in unseen.segments):
        return replace(unseen, pieces=_find_usual(pieces))
    is_equal = (pieces.counts == count) & (pieces.counts > 0)
    is_matched = is_equal & pieces.is_ordered & pieces.is_of_function
    is_absent = (pieces.counts == 0) & _is_elsewhere(calls, rows)
    limits: list[JoinLimit] = []
    limits += ["order-differs"] if (is_equal & ~pieces.is_ordered).any() else []
    limits += ["other-function"] if (~pieces.is_of_function).any() else []
    limits += ["pieces-differ"] if ((pieces.counts > 0) & ~is_equal).any() else []
    observation = replace(unseen, pieces=_find_usual(pieces), absent_calls=int(is_absent.sum()))
    matched, with_pieces = int(is_matched.sum()), int((pieces.counts > 0).sum())
    # A few calls that have the plan's number of pieces, or none, are not what the model usually does.
    if matched and 2 * matched >= max(with_pieces, 2 * observation.absent_calls):
        limits += [] if pieces.is_named[is_matched].all() else ["matched-by-count"]
        limits += ["calls-differ"] if observation.absent_calls else []
        edges = pieces.of_calls(is_matched, count)
        observation = replace(observation, matched_calls=matched)
        observation = _observe_matched(calls, rows[is_matched], edges, observation)
    elif observation.absent_calls > with_pieces:
        limits += ["not-on-engine"] if count else []
        limits += ["calls-differ"] if matched else []
        observation = _observe_absent(calls, rows[is_absent], observation)
    return replace(observation, limits=(*limits, *observation.limits))


def _find_usual(pieces: Pieces) -> int:
    """Return the most frequent number of pieces."""
    values, frequencies = np.unique(pieces.counts, return_counts=True)
    return int(values[np.argmax(frequencies)])


def _is_elsewhere(calls: Calls, rows: IntArray) -> BoolArray:
    """Mark the calls that another engine served, and that no work of the Neural Engine may be of.

    Of Core AI, one public source saw a row for each region (docs/evidence.md), another none on macOS 27
    (4rg0naut/silicon-ledger-public): a model of it without any row proves nothing.
    """
    is_out = ~calls.serves(Engine.ANE)[rows] & ~calls.is_contested(Engine.ANE)[rows]
    submissions = calls.analysis.submissions["submissions"].fillna(0).to_numpy(np.int64)[rows]
    of_core_ai = (calls.analysis.window_rows["source"] == CORE_AI).to_numpy(bool)[rows]
    is_silent = of_core_ai & (not submissions.any())
    mask: BoolArray = (calls.served[rows] > 0) & is_out & ~is_silent
    return mask


# Calls with the pieces of the plan --------------------------------------------------------------------------


def _observe_matched(
    calls: Calls, rows: IntArray, pieces: tuple[IntArray, IntArray, IntArray], observation: Observation
) -> Observation:
    """Return the segments of calls that have a piece for each segment on the Neural Engine."""
    typical = find_typical(calls, rows)
    matched_calls = MatchedCalls(calls, rows, *pieces, int(np.searchsorted(rows, typical)))
    places = list(_list_places(observation.segments))
    anticipated: defaultdict[int, Counter[Engine | None]] = defaultdict(Counter)
    for segment, (piece, gap) in zip(observation.segments, places, strict=True):
        if piece is None:
            anticipated[gap][segment.anticipated] += 1
    segments = [
        matched_calls.describe_piece(segment, piece)
        if piece is not None
        else matched_calls.describe_between(segment, gap, anticipated[gap])
        for segment, (piece, gap) in zip(observation.segments, places, strict=True)
    ]
    gaps = {
        gap
        for segment, (piece, gap) in zip(segments, places, strict=True)
        if piece is None and segment.anticipated is not None and 0 < gap < len(segments)
    }
    lost = matched_calls.sum_lost(gaps)
    return replace(
        observation,
        typical_call=typical,
        segments=tuple(matched_calls.add_hand_overs(segments, places)),
        limits=() if matched_calls.is_alone.all() else ("calls-overlap",),
        lost_ns=None if lost is None else calls.median(lost),
        lost_total_ns=None if lost is None else int(lost.sum()),
        windows=WindowRanges.of(rows if lost is None else rows[matched_calls.is_alone]),
    )


def _list_places(segments: Sequence[JoinedSegment]) -> Iterator[tuple[int | None, int]]:
    """Yield for each segment its piece, None off the Neural Engine, and the number of pieces before it."""
    count_before = 0
    for segment in segments:
        is_piece = segment.anticipated is Engine.ANE
        yield (count_before if is_piece else None), count_before
        count_before += is_piece


# Calls without the Neural Engine ----------------------------------------------------------------------------


def _observe_absent(calls: Calls, rows: IntArray, observation: Observation) -> Observation:
    """Return the segments of calls without the Neural Engine: all on one engine, or not told apart."""
    bits, frequencies = np.unique(calls.served[rows], return_counts=True)
    usual = int(bits[np.argmax(frequencies)])
    alike = rows[calls.served[rows] == usual]
    engines = [engine for bit, engine in enumerate(SERVING) if usual & (1 << bit)]
    engine = engines[0] if len(engines) == 1 else None
    basis = None if engine is None else _find_basis(calls.analysis, engine, alike)
    return replace(
        observation,
        typical_call=find_typical(calls, alike),
        segments=tuple(
            replace(
                segment,
                observed=engine,
                basis=basis,
                agreement=_judge(segment.anticipated, engines),
                calls=len(alike),
                agreeing=len(alike) if engine is not None and engine is segment.anticipated else 0,
            )
            for segment in observation.segments
        ),
    )


def _judge(anticipated: Engine | None, engines: Sequence[Engine]) -> Agreement:
    """Return the agreement of calls that these engines served, and no other."""
    if anticipated is None:
        return Agreement.UNKNOWN
    if anticipated in engines:
        return Agreement.AGREES if len(engines) == 1 else Agreement.UNKNOWN
    # Without a table of the GPU, calls with a part on the CPU may have one there as well.
    return Agreement.DIFFERS if anticipated is Engine.ANE else Agreement.UNKNOWN


def _find_basis(run: AnalyzedRun, engine: Engine, rows: IntArray) -> Basis:
    work = run.verdicts.works[SERVING.index(engine)]
    return Basis.MEASURED if bool((work.busy_ns[rows] > 0).any()) else Basis.SAMPLED
