"""Evaluate requirements against the recordings of a program: passed, failed, open, or not measurable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.checks.evaluator import MetricEvaluator
from tracekit.checks.intervals import (
    Interval,
    fewest_windows,
    interval_of_runs,
    interval_of_several,
    middle_of_runs,
    statistic_of,
)
from tracekit.checks.parser import parse_requirement
from tracekit.checks.requirements import Condition, Metric, Operator, Presence, Requirement
from tracekit.checks.results import CheckResult, MetricValue, Outcome
from tracekit.comparison.cautions import distinct
from tracekit.comparison.estimates import LEVEL
from tracekit.comparison.observations import Observations
from tracekit.comparison.shares import wilson
from tracekit.errors import UsageError

_WORST_FIRST: tuple[Outcome, ...] = ("failed", "not measurable", "open", "passed")


def check(
    analysis: Analysis | Sequence[Analysis],
    requirements: Sequence[Requirement | str] | str,
    confidence: float = LEVEL,
) -> tuple[CheckResult, ...]:
    """Evaluate each requirement, in order; a text is parsed (``p90 <= 8ms``, docs/check.md).

    Several analyses are runs of the same program. A number is judged by its interval at ``confidence``; with
    0, the recorded numbers alone are judged. Raises ``UsageError`` that points at the column of a mistake.
    """
    analyses = [analysis] if isinstance(analysis, Analysis) else analysis
    is_valid = isinstance(analyses, Sequence) and all(isinstance(run, Analysis) for run in analyses)
    if not is_valid or not analyses:
        raise UsageError(
            f"check takes an analysis, not {analysis!r}: tracekit.check(tracekit.analyze(trace), …)."
        )
    if not 0 <= confidence < 1:
        raise UsageError(f"A confidence lies from 0 to below 1 (0.95 is 95 %), not {confidence:g}.")
    runs = distinct([Observations(run) for run in analyses])
    evaluators = [MetricEvaluator(run, confidence) for run in runs]
    entries = [requirements] if isinstance(requirements, str) else requirements
    parsed = [
        parse_requirement(entry, origin="requirement") if isinstance(entry, str) else entry
        for entry in entries
    ]
    return tuple(_check(evaluators, requirement, confidence) for requirement in parsed)


def _check(evaluators: Sequence[MetricEvaluator], requirement: Requirement, confidence: float) -> CheckResult:
    results = [_check_run(evaluator, requirement, confidence) for evaluator in evaluators]
    if len(results) == 1:
        return results[0]
    values = [result.actual for result in results]
    rule = requirement.rule
    if isinstance(rule, Condition) and all(value.interval is not None for value in values):
        return _judged(requirement, rule, _of_runs(values, rule.metric, confidence))
    # A number that describes one recording alone: every run must meet the requirement.
    number = min(range(len(results)), key=lambda index: _WORST_FIRST.index(results[index].outcome))
    worst = results[number]
    note = "; ".join(filter(None, (worst.actual.note, f"run {number + 1} of {len(results)}")))
    return replace(worst, actual=replace(worst.actual, note=note, runs=len(results)))


def _check_run(evaluator: MetricEvaluator, requirement: Requirement, confidence: float) -> CheckResult:
    rule = requirement.rule
    if isinstance(rule, Presence):
        actual = evaluator.presence(rule)
        return CheckResult(requirement, _outcome(actual, "==", 0), _with_unseen(actual, confidence))
    # The worst window has the highest value where the value must stay low. For a forbidden condition it is
    # the other way round.
    must_stay_low = rule.operator in ("<=", "<", "==")
    actual = evaluator.evaluate(rule.metric, rule.scope, must_stay_low is not requirement.forbids)
    return _judged(requirement, rule, actual)


def _with_unseen(actual: MetricValue, confidence: float) -> MetricValue:
    """Add the share of calls that may have what none of the recorded ones has."""
    if actual.low != 0 or not actual.windows or not confidence:
        return actual
    most = wilson(0.0, actual.windows, confidence)[1]
    unseen = f"up to {100 * most:.1f} % of calls may have it ({100 * confidence:g} % confidence)"
    return replace(actual, note="; ".join(filter(None, (actual.note, unseen))))


def _of_runs(values: Sequence[MetricValue], metric: Metric, confidence: float) -> MetricValue:
    """Return the mean of the runs' values, with an interval by their spread."""
    kind = values[0].kind
    lows, highs = (np.array([getattr(value, name) for value in values], float) for name in ("low", "high"))
    is_amount = kind == "time"
    least, most = _interval_of_several(values, metric, confidence)
    interval = max(0.0, least), most
    if min(value.windows for value in values) < fewest_windows(metric.statistic, 1):
        interval = 0.0, np.inf
    return replace(
        values[0],
        low=middle_of_runs(lows, is_amount),
        high=middle_of_runs(highs, is_amount),
        basis=" and ".join(sorted({value.basis for value in values if value.basis})),
        windows=sum(value.windows for value in values),
        worst=None,
        note="; ".join(dict.fromkeys(value.note for value in values if value.note)),
        interval=(interval[0], min(1.0, interval[1]) if kind == "share" else interval[1]),
        runs=len(values),
    )


def _interval_of_several(values: Sequence[MetricValue], metric: Metric, confidence: float) -> Interval:
    """Return the interval of several runs, not narrower than that of all their calls together."""
    calls = [value.calls for value in values if value.calls is not None]
    is_amount = metric.kind == "time"
    if len(calls) == len(values):
        statistic = statistic_of(metric.statistic)
        least, most = (
            interval_of_several([of_run[end] for of_run in calls], statistic, is_amount, confidence)
            for end in (0, 1)
        )
        return least[0], most[1]
    ends = []
    count = sum(value.windows for value in values)
    for name in ("low", "high"):
        shares = np.array([getattr(value, name) for value in values], float)
        share = float((shares * [value.windows for value in values]).sum()) / max(1, count)
        ends.append((interval_of_runs(shares, False, confidence), wilson(share, count, confidence)))
    return min(end[0] for end in ends[0]), max(end[1] for end in ends[1])


def _judged(requirement: Requirement, rule: Condition, actual: MetricValue) -> CheckResult:
    outcome = _outcome(actual, rule.operator, rule.value)
    if outcome != "not measurable" and actual.interval is not None and _is_estimate(rule):
        all_hold, any_holds = _holds(*actual.interval, rule.operator, rule.value)
        outcome = "passed" if all_hold else "open" if any_holds else "failed"
    return CheckResult(requirement, _inverted(outcome) if requirement.forbids else outcome, actual)


def _is_estimate(rule: Condition) -> bool:
    """Return False where no interval can decide, as on a share of exactly 100 %: the recorded calls do."""
    if rule.operator in ("==", "!="):
        return False
    return rule.metric.kind != "share" or 0 < rule.value < 1


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
