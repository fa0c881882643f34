"""Evaluate requirements against the recordings of a program: passed, failed, open, or not measurable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracekit.analysis.result import Analysis
from tracekit.checks.call_notes import join_notes
from tracekit.checks.evaluator import MetricEvaluator
from tracekit.checks.judging import WORST_FIRST, holds_in_range, invert_outcome, judge_range
from tracekit.checks.parser import parse_requirement
from tracekit.checks.requirements import AMOUNTS, Absence, Condition, EnginePresence, Requirement
from tracekit.checks.results import CheckResult, MetricValue
from tracekit.checks.run_values import RunNoise, combine_runs
from tracekit.comparison.cautions import select_distinct_runs
from tracekit.comparison.compare import NoiseRuns, group_noise
from tracekit.comparison.estimates import find_usual_spread
from tracekit.comparison.observations import Observations
from tracekit.comparison.sessions import read_run_noise
from tracekit.errors import UsageError
from tracekit.statistics.share_intervals import LEVEL, compute_wilson_interval

_UNIFORM = ((0.0, 0.0), (1.0, 1.0))
_IF_INDEPENDENT = "calls count as independent: none differs, so spells would not show"


def check(
    analysis: Analysis | Sequence[Analysis],
    requirements: Sequence[Requirement | str] | str,
    confidence: float = LEVEL,
    *,
    run_noise: float | Mapping[str, float] | None = None,
    noise_from: NoiseRuns = (),
) -> tuple[CheckResult, ...]:
    """Evaluate each requirement, in order; a text is parsed (``p90 <= 8ms``, docs/check.md).

    Several analyses are runs of the same program. A number is judged by its interval at ``confidence``;
    with 0, the recorded numbers alone are judged. ``run_noise`` is the standard deviation between runs of
    the program, as a fraction (0.02), or by percentile, as in ``compare``; ``noise_from`` are two or more
    recordings that show it, or groups of them: one for each build. Without them, lengths and energy are
    judged as if runs differed by 5 % (percentiles other than the p50: 7 %), or by more where they do.
    Raises ``UsageError`` that points at the column of a mistake.
    """
    analyses = [analysis] if isinstance(analysis, Analysis) else analysis
    is_valid = isinstance(analyses, Sequence) and all(isinstance(run, Analysis) for run in analyses)
    if not is_valid or not analyses:
        raise UsageError(
            f"check takes an analysis, not {analysis!r}: tracekit.check(tracekit.analyze(trace), …)."
        )
    if not 0 <= confidence < 1:
        raise UsageError(f"A confidence lies from 0 to below 1 (0.95 is 95 %), not {confidence:g}.")
    evaluators, *builds = (
        [
            MetricEvaluator(run, confidence)
            for run in select_distinct_runs([Observations(run_observations) for run_observations in given])
        ]
        for given in (analyses, *group_noise(noise_from))
    )
    by_build = not all(isinstance(entry, Analysis) for entry in noise_from)
    noise = RunNoise(None, builds, by_build, given=read_run_noise(run_noise))
    _check_noise(noise, bool(noise_from), confidence)
    entries = [requirements] if isinstance(requirements, str) else requirements
    parsed = [
        parse_requirement(entry, origin="requirement") if isinstance(entry, str) else entry
        for entry in entries
    ]
    return tuple(_check_requirement(evaluators, requirement, confidence, noise) for requirement in parsed)


def _check_noise(noise: RunNoise, has_recordings: bool, confidence: float) -> None:
    """Raise ``UsageError`` for a spread between runs that cannot be used."""
    if noise.given and has_recordings:
        raise UsageError("Give the spread between runs in one way: as a number, or by recordings.")
    if has_recordings and any(len(group) < 2 for group in noise.groups):
        raise UsageError("One recording shows no spread between runs: give two or more.")
    if (noise or noise.given) and not confidence:
        raise UsageError("A spread between runs widens intervals, and with a confidence of 0 there are none.")


def _check_requirement(
    evaluators: Sequence[MetricEvaluator], requirement: Requirement, confidence: float, noise: RunNoise
) -> CheckResult:
    results = [_check_run(evaluator, requirement, confidence) for evaluator in evaluators]
    values = [result.actual for result in results]
    rule = requirement.rule
    has_intervals = all(value.interval is not None for value in values)
    if isinstance(rule, Condition):
        noise = noise.select(rule.metric.statistic)
    if isinstance(rule, Condition) and has_intervals:
        measured = results[0]
        if len(values) > 1 or noise:
            actual = combine_runs(values, rule, confidence, noise, must_stay_low(requirement, rule))
            measured = judge_condition(requirement, rule, actual)
        if noise or values[0].kind not in AMOUNTS or not _is_estimate(rule):
            return replace(measured, actual=_note_uniform_calls(measured.actual))
        return _judge_with_usual_spread(measured, requirement, values, rule, confidence)
    if len(results) == 1:
        return results[0]
    # A number that describes one recording alone: every run must meet the requirement.
    number = min(range(len(results)), key=lambda index: WORST_FIRST.index(results[index].outcome))
    worst = results[number]
    note = join_notes(worst.actual.note.removesuffix("."), f"run {number + 1} of {len(results)}")
    return replace(worst, actual=replace(worst.actual, note=note, runs=len(results)))


def _judge_with_usual_spread(
    measured: CheckResult,
    requirement: Requirement,
    values: Sequence[MetricValue],
    rule: Condition,
    confidence: float,
) -> CheckResult:
    """Judge a length as if runs differed by the usual spread, which one run does not show and few may not."""
    statistic = rule.metric.statistic
    usual = RunNoise(find_usual_spread(statistic), is_assumed=True)
    actual = combine_runs(values, rule, confidence, usual, must_stay_low(requirement, rule))
    if len(values) > 1 and actual.interval == measured.actual.interval:
        return measured
    outcome = judge_condition(requirement, rule, actual).outcome
    if outcome == measured.outcome:
        return CheckResult(requirement, outcome, actual)
    option = f"--run-noise {statistic}=PERCENT" if statistic not in ("", "mean", "p50") else "--run-noise"
    alone = "the spread of these runs" if len(values) > 1 else "the calls of this run"
    note = f"{alone} alone: {measured.outcome}; add runs (--also) or give their spread ({option})"
    return CheckResult(requirement, outcome, replace(actual, note=f"{actual.note}; {note}"))


def _check_run(evaluator: MetricEvaluator, requirement: Requirement, confidence: float) -> CheckResult:
    rule = requirement.rule
    if isinstance(rule, EnginePresence):
        actual = evaluator.count_presence(rule)
        return CheckResult(requirement, judge_range(actual, "==", 0), _add_unseen_share(actual, confidence))
    if isinstance(rule, Absence):
        actual = evaluator.count_findings(rule)
        return CheckResult(requirement, judge_range(actual, "==", 0), actual)
    actual = evaluator.evaluate(rule.metric, rule.scope, must_stay_low(requirement, rule))
    return judge_condition(requirement, rule, actual)


def must_stay_low(requirement: Requirement, rule: Condition) -> bool:
    """Return True if the highest value is the worst; for a forbidden condition, if the lowest is."""
    # A share that has to be 100 % is broken by the calls without the engine, one of 0 % by those with it.
    is_equal_low = rule.metric.kind != "share" or rule.value == 0
    stays_low = {"==": is_equal_low, "!=": not is_equal_low}.get(rule.operator, rule.operator in ("<=", "<"))
    return stays_low is not requirement.forbids


def _add_unseen_share(actual: MetricValue, confidence: float) -> MetricValue:
    """Add the share of calls that may have a property that no recorded call has."""
    if actual.low != 0 or not actual.windows or not confidence:
        return actual
    upper_share = compute_wilson_interval(0.0, actual.windows, confidence)[1]
    unseen = f"up to {100 * upper_share:.1f} % of calls may have it ({100 * confidence:g} % confidence)"
    return replace(actual, note=join_notes(actual.note, unseen, _IF_INDEPENDENT))


def _note_uniform_calls(actual: MetricValue) -> MetricValue:
    """Add what the interval of a share of 0 or 100 % assumes: without an exception, no spell shows."""
    if actual.kind != "share" or actual.interval is None or (actual.low, actual.high) not in _UNIFORM:
        return actual
    return replace(actual, note=join_notes(actual.note, _IF_INDEPENDENT))


def judge_condition(requirement: Requirement, rule: Condition, actual: MetricValue) -> CheckResult:
    """Return the outcome of a condition, by the interval of the number where it has one."""
    outcome = judge_range(actual, rule.operator, rule.value)
    if outcome != "not measurable" and actual.interval is not None and _is_estimate(rule):
        all_hold, any_holds = holds_in_range(*actual.interval, rule.operator, rule.value)
        outcome = "passed" if all_hold else "open" if any_holds else "failed"
    return CheckResult(requirement, invert_outcome(outcome) if requirement.forbids else outcome, actual)


def _is_estimate(rule: Condition) -> bool:
    """Return False if the recorded calls decide without an interval, as for a share of exactly 100 %."""
    if rule.operator in ("==", "!="):
        return False
    return rule.metric.kind != "share" or 0 < rule.value < 1
