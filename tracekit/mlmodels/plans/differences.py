"""Two plans of a model: which operations moved to another engine, and which have no counterpart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tracekit.mlmodels.plans.operation_matching import Evidence, choose_evidence, match_operations
from tracekit.mlmodels.plans.plan import Plan, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_segments import list_segments
from tracekit.mlmodels.plans.plan_summary import count_operations
from tracekit.model.vocabulary import Engine

_FEWEST_MATCHES = 0.5
"""Share of the smaller plan's operations below which two plans are taken for those of different models."""


@dataclass(frozen=True)
class OperationPair:
    """One operation in both plans."""

    base: PlannedOperation
    new: PlannedOperation

    @property
    def has_moved(self) -> bool:
        """True where both plans state its engine, and these differ."""
        engines = self.base.engine, self.new.engine
        return None not in engines and engines[0] is not engines[1]

    @property
    def is_unstated(self) -> bool:
        """True where at least one of the plans states no engine."""
        return self.base.engine is None or self.new.engine is None


@dataclass(frozen=True)
class FunctionDifferences:
    """A function in both plans.

    ``only_base`` and ``only_new`` match no operation of the other plan; of the ambiguous ones, more than one
    operation of the other plan may be the counterpart. ``evidence`` is what they are matched by.
    """

    base: PlannedFunction
    new: PlannedFunction
    pairs: tuple[OperationPair, ...]
    only_base: tuple[PlannedOperation, ...] = ()
    only_new: tuple[PlannedOperation, ...] = ()
    ambiguous_base: tuple[PlannedOperation, ...] = ()
    ambiguous_new: tuple[PlannedOperation, ...] = ()
    evidence: Evidence = "graph"

    @property
    def moved(self) -> tuple[OperationPair, ...]:
        """The operations that are anticipated on another engine, in the order of the new plan."""
        return tuple(pair for pair in self.pairs if pair.has_moved)


@dataclass(frozen=True)
class PlanDifferences:
    """Two plans, with their functions matched; a function that only one of them has is named."""

    base: Plan
    new: Plan
    functions: tuple[FunctionDifferences, ...]
    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()

    @property
    def are_different_models(self) -> bool:
        """True where few operations match, and both plans list all of theirs."""
        return self.match_few and not self.lists_some

    @property
    def match_few(self) -> bool:
        """True where fewer than half of the smaller plan's operations have, or may have, a counterpart."""
        return self.count_alike() < _FEWEST_MATCHES * self.smaller

    @property
    def lists_some(self) -> bool:
        """True where a plan lists some operations only: another that lacks them may be of the same model."""
        return any(function.unlisted is None for plan in (self.base, self.new) for function in plan.functions)

    @property
    def smaller(self) -> int:
        """The number of operations of the plan that has fewer."""
        return min(count_operations(plan.functions).operations for plan in (self.base, self.new))

    def count_alike(self) -> int:
        """Return the number of operations that match, or that are ambiguous on both sides."""
        return sum(
            len(function.pairs) + min(len(function.ambiguous_base), len(function.ambiguous_new))
            for function in self.functions
        )


@dataclass(frozen=True)
class EngineTotal:
    """The operations and segments of a plan on one engine; the engine is None where the plan states none.

    ``cost_share`` is of the operations that the plan estimates; None where it estimates none at all.
    """

    engine: Engine | None
    operations: int
    segments: int
    cost_share: float | None


def compare_plans(base: Plan, new: Plan) -> PlanDifferences:
    """Match two plans: functions by name, and whatever their names if one is left on each side."""
    unpaired = {function.name: function for function in base.functions}
    pairs, only_new = [], []
    for function in new.functions:
        if function.name in unpaired:
            pairs.append((unpaired.pop(function.name), function))
        else:
            only_new.append(function)
    if len(unpaired) == len(only_new) == 1:
        pairs.append((unpaired.popitem()[1], only_new.pop()))
    return PlanDifferences(
        base,
        new,
        tuple(_compare_functions(*pair) for pair in pairs),
        tuple(unpaired),
        tuple(function.name for function in only_new),
    )


def _compare_functions(base: PlannedFunction, new: PlannedFunction) -> FunctionDifferences:
    sides = list(base.computing()), list(new.computing())
    matching = match_operations(*sides)
    pairs = sorted(matching.pairs, key=lambda pair: pair[1])
    ambiguous = [set(positions) for positions in (matching.ambiguous_base, matching.ambiguous_new)]
    matched = [{pair[side] for pair in pairs} for side in (0, 1)]
    only_base, only_new = (
        _select(operations, set(range(len(operations))) - pairs_of_side - contested)
        for operations, pairs_of_side, contested in zip(sides, matched, ambiguous, strict=True)
    )
    return FunctionDifferences(
        base,
        new,
        tuple(OperationPair(sides[0][old], sides[1][position]) for old, position in pairs),
        only_base,
        only_new,
        _select(sides[0], ambiguous[0]),
        _select(sides[1], ambiguous[1]),
        choose_evidence(*sides),
    )


def _select(operations: Sequence[PlannedOperation], positions: Iterable[int]) -> tuple[PlannedOperation, ...]:
    return tuple(operations[position] for position in sorted(positions))


def total_engines(plan: Plan) -> list[EngineTotal]:
    """Return the totals of each engine that a plan has."""
    operations = list(_iter_computing(plan))
    segments = [segment.engine for function in plan.functions for segment in list_segments(function)]
    estimated = math.fsum(operation.cost_share or 0.0 for operation in operations)
    totals = []
    for engine in (Engine.ANE, Engine.GPU, Engine.CPU, None):
        meant = [operation for operation in operations if operation.engine is engine]
        cost = math.fsum(operation.cost_share or 0.0 for operation in meant)
        share = cost / estimated if estimated else None
        if meant:
            totals.append(EngineTotal(engine, len(meant), segments.count(engine), share))
    return totals


def _iter_computing(plan: Plan) -> Iterator[PlannedOperation]:
    return (operation for function in plan.functions for operation in function.computing())
