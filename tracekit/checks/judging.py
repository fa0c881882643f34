"""The outcome of a number that lies within bounds, against a limit."""

from __future__ import annotations

from tracekit.checks.requirements import Operator
from tracekit.checks.results import MetricValue, Outcome

WORST_FIRST: tuple[Outcome, ...] = ("failed", "not measurable", "open", "passed")
"""Of several outcomes, that which counts."""


def judge_range(actual: MetricValue, operator: Operator, limit: float) -> Outcome:
    """Compare a value between ``low`` and ``high`` with a limit: both ends must give the same outcome."""
    if actual.low is None or actual.high is None:
        return "not measurable"
    all_hold, any_holds = holds_in_range(actual.low, actual.high, operator, limit)
    if all_hold:
        return "passed"
    if any_holds:
        return "open" if actual.is_contested else "not measurable"
    return "failed"


def holds_in_range(low: float, high: float, operator: Operator, limit: float) -> tuple[bool, bool]:
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


def invert_outcome(outcome: Outcome) -> Outcome:
    """Return the outcome of the forbidden condition; what is undecided stays so."""
    opposite: dict[Outcome, Outcome] = {"passed": "failed", "failed": "passed"}
    return opposite.get(outcome, outcome)
