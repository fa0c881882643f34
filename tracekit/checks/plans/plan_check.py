"""Evaluate requirements on a plan: passed, failed, or not measurable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracekit.checks.judging import WORST_FIRST, invert_outcome, judge_range
from tracekit.checks.plans.explaining import list_explaining
from tracekit.checks.plans.plan_parser import parse_plan_requirement
from tracekit.checks.plans.plan_requirements import (
    PlanCondition,
    PlanMetric,
    PlanRequirement,
    RequiredPlacement,
)
from tracekit.checks.plans.plan_values import count_failures, count_placed, count_regions, evaluate_metric
from tracekit.checks.results import CheckResult, MetricValue, PlanPart
from tracekit.comparison.observations import is_named
from tracekit.mlmodels.plans import Plan, PlannedFunction
from tracekit.text import list_first

_MOST_NAMES = 8


def check_plan(plan: Plan, requirements: Sequence[PlanRequirement | str] | str) -> tuple[CheckResult, ...]:
    """Evaluate each requirement, in order; a text is parsed (``ops off ANE <= 3``, docs/check.md).

    Each function of the plan must meet a requirement without a scope. An operation without a stated engine
    may be on any: what depends on it is not measurable. Raises ``UsageError`` that points at the column of a
    mistake.
    """
    entries = [requirements] if isinstance(requirements, str) else requirements
    return tuple(
        _check_requirement(
            plan,
            parse_plan_requirement(entry, origin="requirement") if isinstance(entry, str) else entry,
        )
        for entry in entries
    )


def _check_requirement(plan: Plan, requirement: PlanRequirement) -> CheckResult:
    results = list(_iter_results(plan, requirement))
    worst = min(results, key=lambda result: (WORST_FIRST.index(result.outcome), _rank(result)))
    note = f"the furthest from the requirement of {len(results):,} functions" if len(results) > 1 else ""
    part = replace(worst.actual.plan or PlanPart(""), limits=plan.limits)
    return replace(worst, actual=replace(worst.actual, note=note, plan=part))


def _iter_results(plan: Plan, requirement: PlanRequirement) -> Iterator[CheckResult]:
    """Yield the outcome of each function that computes, or of the whole plan where no other is possible."""
    rule = requirement.rule
    metric = _read_metric(rule)
    functions = [
        function for function in plan.functions if not rule.scope or is_named(function.name, rule.scope)
    ]
    computing = [function for function in functions if any(function.computing())]
    if metric is not None and metric.quantity == "failures":
        yield _judge_condition(requirement, count_failures(plan))
    elif rule.scope and not functions:
        yield _make_unmeasurable(requirement, _explain_absence(plan, rule))
    elif metric is not None and not computing:
        yield _judge_condition(requirement, count_regions(plan, functions, metric))
    else:
        results = [_check_function(function, requirement) for function in computing]
        yield from filter(None, results)
        if not any(results):
            yield _make_unmeasurable(requirement, _explain_absence(plan, rule))


def _read_metric(rule: PlanCondition | RequiredPlacement) -> PlanMetric | None:
    """Return the number that decides a plan of regions: none for operations by name or kind."""
    if isinstance(rule, PlanCondition):
        return rule.metric
    return PlanMetric("regions", rule.engine) if rule.selection == "all" else None


def _check_function(function: PlannedFunction, requirement: PlanRequirement) -> CheckResult | None:
    """Return the outcome of one function; None where a rule is about none of its operations."""
    rule = requirement.rule
    if isinstance(rule, PlanCondition):
        result = _judge_condition(requirement, evaluate_metric(function, rule.metric))
    else:
        placed = count_placed(function, rule)
        if placed is None:
            return None
        part = placed.plan or PlanPart("")
        # Without an entry for some operations, all of them are more than the plan lists: one at least.
        unlisted = 1 if part.unlisted is None else part.unlisted
        limit = 0 if requirement.forbids else part.count + unlisted
        result = CheckResult(requirement, judge_range(placed, "==", limit), placed)
    part = replace(
        result.actual.plan or PlanPart(""), operations=list_explaining(function, requirement, result.outcome)
    )
    return replace(result, actual=replace(result.actual, plan=part))


def _judge_condition(requirement: PlanRequirement, actual: MetricValue) -> CheckResult:
    rule = requirement.rule
    if isinstance(rule, RequiredPlacement):  # any region of a forbidden engine
        return CheckResult(requirement, judge_range(actual, "==", 0), actual)
    outcome = judge_range(actual, rule.operator, rule.value)
    return CheckResult(requirement, invert_outcome(outcome) if requirement.forbids else outcome, actual)


def _rank(result: CheckResult) -> float:
    """Return a number that is lowest for the function that is furthest from what is required."""
    rule, actual = result.requirement.rule, result.actual
    operator = rule.operator if isinstance(rule, PlanCondition) else ">="
    sign = {"<=": -1, "<": -1, ">=": 1, ">": 1}.get(operator, 0)
    value = actual.high if sign < 0 else actual.low
    return (-1 if result.requirement.forbids else 1) * sign * (value or 0.0)


def _make_unmeasurable(requirement: PlanRequirement, reason: str) -> CheckResult:
    kind = requirement.rule.metric.kind if isinstance(requirement.rule, PlanCondition) else "count"
    return CheckResult(requirement, "not measurable", MetricValue(kind, missing=reason))


def _explain_absence(plan: Plan, rule: PlanCondition | RequiredPlacement) -> str:
    if not plan.functions:
        return "the plan lists no functions"
    if rule.scope and not any(is_named(function.name, rule.scope) for function in plan.functions):
        names = list_first([function.name for function in plan.functions], _MOST_NAMES)
        return f"the plan has no function '{rule.scope}'; it has {names}"
    if isinstance(rule, RequiredPlacement):
        where = f" in '{rule.scope}'" if rule.scope else ""
        kind = "operation" if rule.selection == "op" else "operation of kind"
        return f"the plan has no {kind} '{rule.pattern}'{where}"
    return "the plan lists no operations"
