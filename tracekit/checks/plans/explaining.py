"""The operations that explain an outcome: those that break a requirement, or that leave it open."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tracekit.checks.plans.plan_requirements import (
    PlanCondition,
    PlanMetric,
    PlanRequirement,
    RequiredPlacement,
)
from tracekit.checks.plans.plan_values import list_meant
from tracekit.checks.results import Outcome
from tracekit.mlmodels.plans import PlannedFunction, PlannedOperation


def list_explaining(
    function: PlannedFunction, requirement: PlanRequirement, outcome: Outcome
) -> tuple[PlannedOperation, ...]:
    """Return the operations of a function that explain an outcome; none where a requirement passes."""
    rule = requirement.rule
    if outcome == "passed":
        return ()
    operations = (
        list_meant(function, rule) if isinstance(rule, RequiredPlacement) else list(function.computing())
    )
    if outcome == "not measurable":
        is_cost = isinstance(rule, PlanCondition) and rule.metric.quantity == "cost"
        unstated = [operation for operation in operations if operation.engine is None]
        without_cost = [operation for operation in operations if is_cost and operation.cost_share is None]
        return tuple(unstated or without_cost)
    if isinstance(rule, PlanCondition):
        must_stay_low = (rule.operator in ("<=", "<", "==")) is not requirement.forbids
        return tuple(_list_breaking(operations, rule.metric, must_stay_low))
    stated = (operation for operation in operations if operation.engine is not None)
    return tuple(
        operation for operation in stated if (operation.engine is rule.engine) is requirement.forbids
    )


def _list_breaking(
    operations: Sequence[PlannedOperation], metric: PlanMetric, must_stay_low: bool
) -> list[PlannedOperation]:
    """Return the operations that a number counts, or those that it lacks.

    Of runs, the first operation of each on another engine; all of them where none is on the engine.
    """
    if metric.quantity == "ops without engine":
        return [operation for operation in operations if operation.engine is None]
    if metric.quantity in ("segments", "regions", "transitions"):
        changes = [new for old, new in pairwise(operations) if old.engine is not new.engine]
        if metric.engine is None:
            return changes
        is_used = any(operation.engine is metric.engine for operation in operations)
        operations = [*operations[:1], *changes] if is_used else operations
    elif metric.engine is None:
        return []
    elif must_stay_low:
        stated = (operation for operation in operations if operation.engine is not None)
        return [
            operation for operation in stated if (operation.engine is metric.engine) is (metric.side == "on")
        ]
    is_lacking = metric.side == "off"
    return [operation for operation in operations if (operation.engine is metric.engine) is is_lacking]
