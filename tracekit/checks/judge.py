"""Requirements against one analysis: passed, failed, or not measurable, and on what that rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.analysis.result import Analysis
from tracekit.checks.outcome import Outcome
from tracekit.checks.readings import Actual, Gauge
from tracekit.checks.requirements import Operator, Presence, Requirement
from tracekit.comparison.observations import Observations


@dataclass(frozen=True)
class Result:
    """What became of one requirement."""

    requirement: Requirement
    outcome: Outcome
    actual: Actual


def check(analysis: Analysis, requirements: Sequence[Requirement]) -> tuple[Result, ...]:
    """Judge each requirement, in order."""
    gauge = Gauge(Observations(analysis))
    return tuple(_judge(gauge, requirement) for requirement in requirements)


def _judge(gauge: Gauge, requirement: Requirement) -> Result:
    rule = requirement.rule
    if isinstance(rule, Presence):
        actual = gauge.presence(rule)
        return Result(requirement, _outcome(actual, "==", 0), actual)
    # What is forbidden is worst where it is most true.
    rises = rule.operator in ("<=", "<", "==")
    actual = gauge.take(rule.reading, rule.scope, rises is not requirement.forbids)
    outcome = _outcome(actual, rule.operator, rule.value)
    return Result(requirement, _turned(outcome) if requirement.forbids else outcome, actual)


def _outcome(actual: Actual, operator: Operator, value: float) -> Outcome:
    """Judge a value that lies somewhere from ``low`` to ``high``: both ends must say the same."""
    if actual.low is None or actual.high is None:
        return "not measurable"
    surely, perhaps = _holds(actual.low, actual.high, operator, value)
    if surely:
        return "passed"
    return "not measurable" if perhaps else "failed"


def _holds(low: float, high: float, operator: Operator, value: float) -> tuple[bool, bool]:
    """Return whether every number from low to high fits, and whether any does."""
    if operator == "<=":
        return high <= value, low <= value
    if operator == "<":
        return high < value, low < value
    if operator == ">=":
        return low >= value, high >= value
    if operator == ">":
        return low > value, high > value
    within, exactly = low <= value <= high, low == value == high
    return (exactly, within) if operator == "==" else (not within, not exactly)


def _turned(outcome: Outcome) -> Outcome:
    turned: dict[Outcome, Outcome] = {"passed": "failed", "failed": "passed"}
    return turned.get(outcome, outcome)
