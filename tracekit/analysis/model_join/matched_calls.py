"""Calls with the plan's pieces on the Neural Engine: the engine, the time and the gaps of each segment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.model_join.joined_model import Agreement, JoinedSegment
from tracekit.analysis.model_join.observed_pieces import PieceWork, find_work
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Basis, Engine

Place = tuple[int | None, int]
"""The piece of a segment on the Neural Engine, None off it, and the number of pieces before it."""


@dataclass(frozen=True)
class MatchedCalls:
    """The calls in ``rows`` with the edges and the work of their pieces, each an array of call × piece.

    ``typical`` is the position of the typical call in ``rows``.
    """

    calls: Calls
    rows: IntArray
    starts: IntArray
    ends: IntArray
    work_ns: IntArray
    typical: int

    @cached_property
    def is_alone(self) -> BoolArray:
        """Marks the calls that overlap no other: in one that does, a gap may be the other's time."""
        mask: BoolArray = self.calls.analysis.window_rows["alone"].to_numpy(bool)[self.rows]
        return mask

    @cached_property
    def works(self) -> Sequence[PieceWork]:
        """The work of other engines in the gaps."""
        return list(find_work(self.calls, self.rows, self.starts, self.ends))

    def describe_piece(self, segment: JoinedSegment, piece: int) -> JoinedSegment:
        """Return a segment on the Neural Engine with its piece."""
        return replace(
            segment,
            observed=Engine.ANE,
            agreement=Agreement.AGREES,
            basis=Basis.MEASURED,
            calls=len(self.rows),
            agreeing=len(self.rows),
            start_ns=int(self.starts[self.typical, piece]) - self._typical_start_ns,
            end_ns=int(self.ends[self.typical, piece]) - self._typical_start_ns,
            work_ns=self.calls.median(self.work_ns[:, piece]),
        )

    def describe_between(
        self, segment: JoinedSegment, gap: int, anticipated: Counter[Engine | None]
    ) -> JoinedSegment:
        """Return a segment off the Neural Engine with what is seen in its gap.

        ``anticipated`` counts the engines of all segments in the gap.
        """
        segment = replace(segment, calls=len(self.rows), gap_ns=self._measure_gap(gap))
        seen_work = [work for work in self.works if work.is_seen[:, gap].any()]
        work = _choose_work(segment, seen_work, anticipated)
        if work is None:
            return segment
        agreement = self._judge(segment.anticipated, work.engine)
        is_seen = work.is_seen[:, gap]
        has_edges = bool(is_seen[self.typical])
        return replace(
            segment,
            observed=work.engine,
            agreement=agreement,
            basis=work.basis,
            agreeing=int(is_seen.sum()) if agreement is Agreement.AGREES else 0,
            start_ns=int(work.starts[self.typical, gap]) - self._typical_start_ns if has_edges else None,
            end_ns=int(work.ends[self.typical, gap]) - self._typical_start_ns if has_edges else None,
            work_ns=_measure_work(work, gap),
        )

    def sum_lost(self, gaps: Collection[int]) -> IntArray | None:
        """Return the time of calls in these gaps between pieces; None without any, or if no call is alone."""
        inner = [gap for gap in sorted(gaps) if self._is_inner(gap)]
        if not inner or not self.is_alone.any():
            return None
        total: IntArray = np.sum([self._list_gaps(gap) for gap in inner], axis=0)
        return total

    def add_hand_overs(
        self, segments: Sequence[JoinedSegment], places: Sequence[Place]
    ) -> Iterator[JoinedSegment]:
        """Yield the segments with the time to the next one, where both are measured."""
        edges = [self._find_edges(*pair) for pair in zip(segments, places, strict=True)]
        for segment, edges_here, edges_next in zip(segments, edges, [*edges[1:], None], strict=True):
            if edges_here is None or edges_next is None:
                yield segment
                continue
            is_seen = (edges_here[1] >= 0) & (edges_next[0] >= 0) & self.is_alone
            times = np.maximum(edges_next[0] - edges_here[1], 0)[is_seen]
            yield replace(segment, hand_over_ns=self.calls.median(times) if len(times) else None)

    @cached_property
    def _typical_start_ns(self) -> int:
        return int(self.calls.starts[self.rows[self.typical]])

    def _is_inner(self, gap: int) -> bool:
        return 0 < gap < int(self.starts.shape[1])

    def _list_gaps(self, gap: int) -> IntArray:
        """Return the length of a gap in each call that is alone; pieces that overlap have none between."""
        gaps: IntArray = np.maximum(self.starts[:, gap] - self.ends[:, gap - 1], 0)[self.is_alone]
        return gaps

    def _measure_gap(self, gap: int) -> int | None:
        if not self._is_inner(gap) or not self.is_alone.any():
            return None
        return self.calls.median(self._list_gaps(gap))

    def _judge(self, anticipated: Engine | None, observed: Engine) -> Agreement:
        """Return the agreement of an engine that was seen alone; one that could not be seen may be there."""
        if anticipated is observed:
            return Agreement.AGREES
        if anticipated is Engine.GPU:
            contested = self.calls.is_contested(Engine.GPU)[self.rows]
            is_certain = self.calls.is_measured(Engine.GPU) and not bool(contested.any())
        else:
            is_certain = anticipated is Engine.CPU and len(self.calls.trace.samples) > 0
        return Agreement.DIFFERS if is_certain else Agreement.UNKNOWN

    def _find_edges(self, segment: JoinedSegment, place: Place) -> tuple[IntArray, IntArray] | None:
        """Return when a segment begins and ends in each call, -1 where it is not seen; None if sampled."""
        piece, gap = place
        if piece is not None:
            return self.starts[:, piece], self.ends[:, piece]
        if segment.basis is not Basis.MEASURED:
            return None
        work = next(work for work in self.works if work.engine is segment.observed)
        return work.starts[:, gap], work.ends[:, gap]


def _choose_work(
    segment: JoinedSegment, seen_work: Sequence[PieceWork], anticipated: Counter[Engine | None]
) -> PieceWork | None:
    """Return the work in a gap that is a segment's; None where nothing shows which it is.

    ``anticipated`` counts the engines of all segments in the gap. The only work is that of the only segment;
    of several engines, each must be anticipated there, and the segment's one once.
    """
    if len(seen_work) == 1 and anticipated.total() == 1:
        return seen_work[0]
    if anticipated[segment.anticipated] != 1 or any(work.engine not in anticipated for work in seen_work):
        return None
    return next((work for work in seen_work if work.engine is segment.anticipated), None)


def _measure_work(work: PieceWork, gap: int) -> int | None:
    """Return the median of measured work, the mean of sampled; None where only the host was sampled."""
    amounts = work.amounts_ns[:, gap]
    if work.basis is Basis.MEASURED:
        return int(np.percentile(amounts, 50, method="inverted_cdf"))
    return int(amounts.mean()) if work.engine is Engine.CPU else None
