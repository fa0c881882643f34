"""The numbers of a function of a plan, each with the least and the most that unstated engines leave open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, groupby, pairwise
from operator import not_

from tracekit.checks.plans.plan_requirements import PlanMetric, RequiredPlacement
from tracekit.checks.results import MetricValue, PlanPart
from tracekit.comparison.observations import is_named
from tracekit.mlmodels.plans import Plan, PlannedFunction, PlannedOperation, coreai_stderr
from tracekit.model.vocabulary import Engine

BASIS = "anticipated"
_DIGITS = 9
"""Of shares: sums of floating-point shares are not exact."""


@dataclass(frozen=True)
class _Bounds:
    """The least and the most that a number can be, or the reason why it has none."""

    low: float | None = None
    high: float | None = None
    missing: str = ""


def evaluate_metric(function: PlannedFunction, metric: PlanMetric) -> MetricValue:
    """Return a number of a function."""
    operations = list(function.computing())
    bounds = _measure(function, operations, metric)
    part = PlanPart(function.name, len(operations), function.unlisted)
    if bounds.missing:
        return MetricValue(metric.kind, missing=bounds.missing, plan=part)
    return MetricValue(metric.kind, bounds.low, bounds.high, BASIS, plan=part)


def count_placed(function: PlannedFunction, rule: RequiredPlacement) -> MetricValue | None:
    """Return how many of the operations that a rule is about are on its engine; None without any.

    An operation that the plan does not list, or whose kind it does not state, may be meant and anywhere.
    """
    engines = [operation.engine for operation in list_meant(function, rule)]
    if not engines:
        return None
    unlisted = 0 if rule.selection == "op" else function.unlisted
    if rule.selection == "kind" and unlisted is not None:
        unlisted += sum(not operation.kind for operation in function.computing())
    placed = engines.count(rule.engine)
    part = PlanPart(function.name, len(engines), unlisted)
    most = placed + engines.count(None) + (1 if unlisted is None else unlisted)
    return MetricValue("count", placed, most, BASIS, plan=part)


def list_meant(function: PlannedFunction, rule: RequiredPlacement) -> list[PlannedOperation]:
    """Return the operations that a rule is about."""
    return [operation for operation in function.computing() if _is_meant(operation, rule)]


def count_regions(plan: Plan, functions: Sequence[PlannedFunction], metric: PlanMetric) -> MetricValue:
    """Return the number of regions in a plan that lists no operations.

    Only for the Neural Engine does a plan show that there are no further ones.
    """
    regions = [region for function in functions for region in function.regions]
    if metric.quantity != "regions" and (metric.quantity != "segments" or metric.engine is None):
        listed = "names regions, not operations" if regions else "lists no operations"
        return MetricValue(metric.kind, missing=f"the plan {listed}")
    count = sum(metric.engine in (None, region.engine) for region in regions)
    part = PlanPart(functions[0].name if len(functions) == 1 else "")
    if metric.engine is not Engine.ANE or plan.ane_regions is None:
        if not count:
            missing = f"the plan does not show how many {metric.name} there are"
            return MetricValue("count", missing=missing, plan=part)
        return MetricValue("count", count, math.inf, BASIS, plan=part)
    named = sum(region.engine is Engine.ANE for function in plan.functions for region in function.regions)
    return MetricValue("count", count, count + max(0, plan.ane_regions - named), BASIS, plan=part)


def count_failures(plan: Plan) -> MetricValue:
    """Return the number of failures that a plan states, each as often as it does.

    The output of a specialization shows that there is none only where it has other messages: the cache keeps
    later specializations silent.
    """
    failures = sum(message.count for message in plan.messages)
    if not failures and (plan.form != coreai_stderr.FORM or not plan.functions):
        return MetricValue(
            "count", missing=f"the plan ({plan.form}) does not show whether a compilation failed"
        )
    return MetricValue("count", failures, failures, "stated", plan=PlanPart(""))


def _is_meant(operation: PlannedOperation, rule: RequiredPlacement) -> bool:
    """Return whether a rule is about an operation; a kind is named with its operator set or without."""
    if rule.selection == "all":
        return True
    if rule.selection == "op":
        return is_named(operation.name, rule.pattern)
    return any(is_named(kind, rule.pattern) for kind in (operation.kind, operation.kind.rpartition(".")[2]))


def _measure(
    function: PlannedFunction, operations: Sequence[PlannedOperation], metric: PlanMetric
) -> _Bounds:
    unlisted = function.unlisted
    if metric.is_share and unlisted is None:
        return _Bounds(missing=f"the plan lists only some operations of {_name(function)}")
    if metric.quantity == "cost":
        return _bound_cost(function, operations, metric)
    low, high = _bound_count(operations, metric)
    if unlisted is None:
        return _Bounds(low, math.inf)
    # Within a run on one engine, an operation without an entry can make three runs of it: two of that engine.
    is_of_any = metric.quantity in ("segments", "regions", "transitions") and metric.engine is None
    high += unlisted * (2 if is_of_any else 1)
    if metric.is_share:
        total = len(operations) + unlisted
        return _Bounds(round(low / total, _DIGITS), round(high / total, _DIGITS))
    return _Bounds(low, high)


def _bound_count(operations: Sequence[PlannedOperation], metric: PlanMetric) -> tuple[int, int]:
    engines = [operation.engine for operation in operations]
    unstated = engines.count(None)
    if metric.quantity in ("regions", "segments"):
        return bound_segments(engines) if metric.engine is None else bound_runs(engines, metric.engine)
    if metric.quantity == "transitions":
        low, high = bound_segments(engines)
        return max(low - 1, 0), max(high - 1, 0)
    if metric.quantity == "ops without engine":
        return unstated, unstated
    if metric.engine is None:
        return len(engines), len(engines)
    placed = engines.count(metric.engine)
    stated = placed if metric.side == "on" else len(engines) - unstated - placed
    return stated, stated + unstated


def bound_segments(engines: Sequence[Engine | None]) -> tuple[int, int]:
    """Return the fewest and the most runs of one engine; an unstated engine may be any, or none.

    With three engines, an unstated one can always differ from both of its neighbours.
    """
    fewest = sum(1 for _ in groupby(engine for engine in engines if engine is not None))
    changes = sum(None in pair or pair[0] is not pair[1] for pair in pairwise(engines))
    return fewest, changes + 1 if engines else 0


def bound_runs(engines: Sequence[Engine | None], engine: Engine) -> tuple[int, int]:
    """Return the fewest and the most runs of ``engine``, where an unstated one may be it or not."""
    stated = (stated for stated in engines if stated is not None)
    fewest = sum(run is engine for run, _ in groupby(stated))
    # The most runs so far, where the last operation is on the engine, and where it is not.
    on, off = -math.inf, 0.0
    for current in engines:
        on_here, off_here = max(on, off + 1), max(on, off)
        on = on_here if current in (engine, None) else -math.inf
        off = off_here if current is not engine else -math.inf
    return fewest, int(max(on, off))


def _bound_cost(
    function: PlannedFunction, operations: Sequence[PlannedOperation], metric: PlanMetric
) -> _Bounds:
    """Bound the share of the function's estimated cost that is on an engine, or off it.

    An operation without an estimate may have any: it leaves open one end, or both if it has no engine.
    """
    total = math.fsum(operation.cost_share or 0.0 for operation in operations)
    if function.unlisted:
        return _Bounds(missing=f"the plan has no entry for some operations of {_name(function)}")
    if not total:
        return _Bounds(missing=f"the plan states no cost of operations of {_name(function)}")
    stated = [operation for operation in operations if operation.engine is not None]
    placed = [(operation.engine is metric.engine) is (metric.side == "on") for operation in stated]
    meant, against = (list(compress(stated, flags)) for flags in (placed, map(not_, placed)))
    unstated = _list_unstated(operations)
    low = math.fsum(operation.cost_share or 0.0 for operation in meant) / total
    high = low + math.fsum(operation.cost_share or 0.0 for operation in unstated) / total
    if _list_without_cost([*against, *unstated]):
        low = 0.0
    if _list_without_cost([*meant, *unstated]):
        high = 1.0
    return _Bounds(round(low, _DIGITS), round(high, _DIGITS))


def _list_unstated(operations: Sequence[PlannedOperation]) -> tuple[PlannedOperation, ...]:
    return tuple(operation for operation in operations if operation.engine is None)


def _list_without_cost(operations: Sequence[PlannedOperation]) -> tuple[PlannedOperation, ...]:
    return tuple(operation for operation in operations if operation.cost_share is None)


def _name(function: PlannedFunction) -> str:
    return f"function '{function.name}'" if function.name else "the function"
