"""Evaluate requirements against one analysis: passed, failed, or not measurable."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.checks.evaluator import MetricEvaluator
from tracekit.checks.parser import parse_requirement
from tracekit.checks.requirements import Operator, Presence, Requirement
from tracekit.checks.results import CheckResult, MetricValue, Outcome
from tracekit.comparison.observations import Observations
from tracekit.errors import UsageError


def check(analysis: Analysis, requirements: Sequence[Requirement | str] | str) -> tuple[CheckResult, ...]:
    """Evaluate each requirement, in order; a text is parsed (``p90 <= 8ms``, docs/check.md).

    Raises ``UsageError`` that points at the column of a mistake.
    """
    if not isinstance(analysis, Analysis):
        raise UsageError(
            f"check takes an analysis, not {analysis!r}: tracekit.check(tracekit.analyze(trace), …)."
        )
    evaluator = MetricEvaluator(Observations(analysis))
    entries = [requirements] if isinstance(requirements, str) else requirements
    parsed = [
        parse_requirement(entry, origin="requirement") if isinstance(entry, str) else entry
        for entry in entries
    ]
    return tuple(_check(evaluator, requirement) for requirement in parsed)


def _check(evaluator: MetricEvaluator, requirement: Requirement) -> CheckResult:
    rule = requirement.rule
    if isinstance(rule, Presence):
        actual = evaluator.presence(rule)
        return CheckResult(requirement, _outcome(actual, "==", 0), actual)
    # The worst window has the highest value where the value must stay low. For a forbidden condition it is
    # the other way round.
    must_stay_low = rule.operator in ("<=", "<", "==")
    actual = evaluator.evaluate(rule.metric, rule.scope, must_stay_low is not requirement.forbids)
    outcome = _outcome(actual, rule.operator, rule.value)
    return CheckResult(requirement, _inverted(outcome) if requirement.forbids else outcome, actual)


def _outcome(actual: MetricValue, operator: Operator, limit: float) -> Outcome:
    """Compare a value between ``low`` and ``high`` with a limit: both ends must give the same outcome."""
    if actual.low is None or actual.high is None:
        return "not measurable"
    all_hold, any_holds = _holds(actual.low, actual.high, operator, limit)
    if all_hold:
        return "passed"
    return "not measurable" if any_holds else "failed"


def _holds(low: float, high: float, operator: Operator, limit: float) -> tuple[bool, bool]:
    """Return whether every number from ``low`` to ``high`` fulfils the condition, and whether any does."""
    if operator == "<=":
        return high <= limit, low <= limit
    if operator == "<":
        return high < limit, low < limit
    if operator == ">=":
        return low >= limit, high >= limit
    if operator == ">":
        return low > limit, high > limit
    within, exactly = low <= limit <= high, low == limit == high
    return (exactly, within) if operator == "==" else (not within, not exactly)


def _inverted(outcome: Outcome) -> Outcome:
    opposite: dict[Outcome, Outcome] = {"passed": "failed", "failed": "passed"}
    return opposite.get(outcome, outcome)
