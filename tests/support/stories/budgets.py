"""Properties of the budgets of a story's calls: they are whole, and nothing in them is refuted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from budget_support import Piece, pieces_of

from stories.model import CORE_ML_TABLE, ENGINES, TABLE_OF, Call, Engine, Sample, Story
from stories.properties import Case, Property, Violation
from stories.truth import is_owner_clear
from tracekit.analysis.budget.parts import BudgetPart

_Spans = list[tuple[int, int]]
_ENGINE_OF: dict[BudgetPart, Engine] = {
    BudgetPart.ANE: "ANE",
    BudgetPart.GPU: "GPU",
    BudgetPart.CPU: "CPU",
}


def budgets_are_whole(case: Case) -> Iterator[Violation]:
    """The pieces of a call tile it in order, and sum to the parts, each by one basis."""
    budget = case.analysis.budget
    if (budget.sums.duration_ns < 0).any() or (budget.sums.overlap_ns < 0).any():
        yield Violation("budget-not-whole", "a time is negative")
    for number, (claim, pieces) in enumerate(zip(case.claims, pieces_of(case.analysis), strict=True)):
        edges = [claim.start_ns, *(piece.end_ns for piece in pieces)]
        starts = [*(piece.start_ns for piece in pieces), claim.end_ns]
        if edges != starts or any(piece.end_ns <= piece.start_ns for piece in pieces):
            yield Violation("budget-not-whole", f"{claim.text()}: {pieces}")
        summed = {
            kind: int(budget.sums.duration_ns[number, column])
            for column, kind in enumerate(budget.sums.kinds)
            if budget.sums.duration_ns[number, column]
        }
        if summed != _sum_by_kind(pieces) or len({part for part, _ in summed}) != len(summed):
            yield Violation("budget-not-whole", f"{claim.text()}: {summed}")


def _sum_by_kind(pieces: Iterable[Piece]) -> dict[tuple[object, object], int]:
    sums: dict[tuple[object, object], int] = {}
    for piece in pieces:
        kind = piece.part, piece.basis
        sums[kind] = sums.get(kind, 0) + piece.end_ns - piece.start_ns
    return sums


def budgets_are_true(case: Case) -> Iterator[Violation]:
    """Work of the call, work of others and idle time are what really happened then."""
    for claim, calls, pieces in zip(case.claims, case.meant, pieces_of(case.analysis), strict=True):
        truth = _Truth(case.story, calls)
        for piece in pieces:
            if not truth.allows(piece):
                yield Violation(f"budget-{piece.part}-not-in-truth", f"{claim.text()}: {piece}")


def rows_name_what_differs(case: Case) -> Iterator[Violation]:
    """The part that a row names differs so in truth, and no engine's work that a table shows differs by more."""
    differences = case.analysis.differences
    for row in np.flatnonzero(differences.main_parts >= 0).tolist():
        calls = [*case.meant[row], *case.meant[differences.typical[row]]]
        if len(calls) != 2 or not all(map(case.story.is_listed, calls)):
            continue
        truths = [_Truth(case.story, [call]) for call in calls]
        if not all(truth.is_clear for truth in truths):
            continue
        part, stated_ns = differences.parts[differences.main_parts[row]], int(differences.main_ns[row])
        grown_ns = {engine: truths[0].work_ns(engine) - truths[1].work_ns(engine) for engine in ENGINES}
        # Samples show the edges of work up to a period; contested work may be any of them.
        contested_ns = case.analysis.budget.sums.sum_part(BudgetPart.CONTESTED)
        tolerance_ns = 2 * case.story.period_ns + int(contested_ns[[row, differences.typical[row]]].sum())
        sign = int(differences.is_longer[row]) - int(differences.is_shorter[row])
        differs = _ENGINE_OF.get(part) and abs(grown_ns[_ENGINE_OF[part]] - stated_ns) > tolerance_ns
        exceeds = any(
            sign * grown_ns[engine] > 2 * abs(stated_ns) + tolerance_ns
            for engine in ENGINES
            if case.story.has(TABLE_OF.get(engine, CORE_ML_TABLE))
        )
        if differs or exceeds:
            text = f"{case.claims[row].text()}: {part} {stated_ns}, in truth {grown_ns}"
            yield Violation("row-not-in-truth", text)


class _Truth:
    """What really happened while a call was under way; the claim may be about any of ``calls``."""

    def __init__(self, story: Story, calls: Sequence[Call]) -> None:
        self._story, self._calls = story, calls
        self._processes = {call.process for call in calls} or {story.target}

    def allows(self, piece: Piece) -> bool:
        """Return whether a piece may be what it is counted as."""
        length_ns = piece.end_ns - piece.start_ns
        match piece.part:
            case BudgetPart.ANE:
                return self._is_work_of_call("ANE", piece)
            case BudgetPart.GPU:
                return self._is_work_of_call("GPU", piece)
            case BudgetPart.OTHER_PROCESS:
                strangers = [call for call in self._story.calls if call.process not in self._processes]
                return _covered_ns(piece, _work_of(strangers)) == length_ns
            case BudgetPart.OTHER_CALL:
                others = [call for call in self._story.calls if call not in self._calls]
                return not self.is_clear or _covered_ns(piece, _work_of(others)) == length_ns
            case BudgetPart.HAND_OVER:
                # Where samples alone show the CPU's work, its edges are known up to a period.
                return _covered_ns(piece, self._measured_work()) <= self._story.period_ns
            case BudgetPart.OTHER_THREADS:
                return not _covered_ns(piece, self._callers())
            case BudgetPart.IDLE:
                of_app = [call for call in self._story.calls if call.process in self._processes]
                return not _covered_ns(piece, [*_work_of(of_app), *self._threads()])
        return True

    def _is_work_of_call(self, engine: Engine, piece: Piece) -> bool:
        if not self.is_clear:
            return True
        return _covered_ns(piece, _work_of(self._calls, engine)) == piece.end_ns - piece.start_ns

    def work_ns(self, engine: Engine) -> int:
        """Return how long an engine worked for the calls, and none of those before it in a budget."""
        rank = ENGINES.index(engine)
        spans = [_work_of(self._calls, before) for before in ENGINES[: rank + 1]]
        with_it, without_it = (
            sum(_covered_ns(call, [span for of_engine in some for span in of_engine]) for call in self._calls)
            for some in (spans, spans[:-1])
        )
        return with_it - without_it

    @cached_property
    def is_clear(self) -> bool:
        """Whether the rows of the call can be nobody else's, and it has none of others."""
        return all(
            is_owner_clear(self._story, call, engine) for call in self._calls for engine in call.engines
        )

    def _measured_work(self) -> _Spans:
        """Return when the engines whose work tables show worked for the call."""
        return [
            span
            for engine in ENGINES
            if self._story.has(TABLE_OF.get(engine, CORE_ML_TABLE))
            for span in _work_of(self._calls, engine)
        ]

    def _threads(self) -> _Spans:
        """Return when threads of the app ran; each sample stands for a period."""
        return _spans_of(
            self._story, [sample for sample in self._story.samples if sample.process in self._processes]
        )

    def _callers(self) -> _Spans:
        """Return when the calling thread ran for the call; a worker may run for any call under way."""
        numbers = {number for number, call in enumerate(self._story.calls) if call in self._calls}
        own = [sample for sample in self._story.samples if sample.call in numbers and not sample.is_worker]
        return _spans_of(self._story, own)


def _spans_of(story: Story, samples: Iterable[Sample]) -> _Spans:
    return [(sample.time_ns, sample.time_ns + story.period_ns) for sample in samples]


def _work_of(calls: Iterable[Call], engine: Engine | None = None) -> _Spans:
    """Return when the engines, or one of them, worked for calls."""
    return [
        (part.start_ns, part.end_ns) for call in calls for part in call.parts if engine in (None, part.engine)
    ]


def _covered_ns(piece: Piece | Call, spans: _Spans) -> int:
    """Return how much of a piece the union of spans covers."""
    total, reached = 0, piece.start_ns
    for start_ns, end_ns in sorted(spans):
        total += max(0, min(end_ns, piece.end_ns) - max(start_ns, reached))
        reached = max(reached, min(end_ns, piece.end_ns))
    return total


ABOUT_BUDGETS: tuple[Property, ...] = (budgets_are_whole, budgets_are_true, rows_name_what_differs)
