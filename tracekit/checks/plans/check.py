"""Evaluate requirements on a plan: passed, failed, or not measurable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracekit.checks.judging import WORST_FIRST, invert_outcome, judge_range
from tracekit.checks.plans.parser import parse_plan_requirement
from tracekit.checks.plans.requirements import Placement, PlanCondition, PlanRequirement
from tracekit.checks.plans.values import count_placed, evaluate_metric
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
    rule = requirement.rule
    functions = [
        function for function in plan.functions if not rule.scope or is_named(function.name, rule.scope)
    ]
    results = [
        result for function in functions if (result := _check_function(function, requirement)) is not None
    ]
    if not results:
        return _make_unmeasurable(requirement, _explain_absence(plan, functions, rule))
    worst = min(results, key=lambda result: (WORST_FIRST.index(result.outcome), _rank(result)))
    if len(results) == 1:
        return worst
    note = f"the furthest from the requirement of {len(results):,} functions"
    return replace(worst, actual=replace(worst.actual, note=note))


def _check_function(function: PlannedFunction, requirement: PlanRequirement) -> CheckResult | None:
    """Return the outcome of one function; None where a rule is about none of its operations."""
    rule = requirement.rule
    if isinstance(rule, PlanCondition):
        actual = evaluate_metric(function, rule.metric)
        outcome = judge_range(actual, rule.operator, rule.value)
        return CheckResult(requirement, invert_outcome(outcome) if requirement.forbids else outcome, actual)
    placed = count_placed(function, rule)
    if placed is None:
        return None
    part = placed.plan or PlanPart("")
    # Where the plan lists some operations only, all of them are more than it lists.
    limit = 0 if requirement.forbids else part.count + part.is_partial
    return CheckResult(requirement, judge_range(placed, "==", limit), placed)


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


def _explain_absence(
    plan: Plan, functions: Sequence[PlannedFunction], rule: PlanCondition | Placement
) -> str:
    if not plan.functions:
        return "the plan lists no functions"
    if not functions:
        names = list_first([function.name for function in plan.functions], _MOST_NAMES)
        return f"the plan has no function '{rule.scope}'; it has {names}"
    if isinstance(rule, Placement) and rule.selection != "all":
        where = f" in '{rule.scope}'" if rule.scope else ""
        kind = "operation" if rule.selection == "op" else "operation of kind"
        return f"the plan has no {kind} '{rule.pattern}'{where}"
    return "the plan lists no operations"
