"""``--fail-on``: evaluates which differences of a comparison exceed their thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracekit.checks.requirements import ChangeRule
from tracekit.checks.results import ChangeResult, Outcome
from tracekit.comparison.cautions import REPEATED
from tracekit.comparison.metrics import ENERGY_METRICS, REQUEST_METRICS, RUN_METRICS
from tracekit.comparison.result import Comparison, Difference, Group
from tracekit.comparison.turns import NOT_IN_TURN
from tracekit.text import plural


def check_changes(
    comparison: Comparison, changes: Sequence[ChangeRule], strict: bool = False
) -> tuple[ChangeResult, ...]:
    """Evaluate each change; a change with a scope is evaluated in every group of that name.

    A difference fails when its whole interval is beyond the threshold, and passes when its whole interval is
    within. It is open otherwise, and where one run per side leaves the spread between runs unknown. With too
    few calls for an interval it is not measurable, and between sides that were not recorded in turn it is
    open, unless the spread between sessions is known. ``strict`` ignores the intervals.
    """
    results = tuple(result for change in changes for result in _check_change(comparison, change, strict))
    if not strict and any(caution.code == NOT_IN_TURN for caution in comparison.cautions):
        results = tuple(map(_open_result, results))
    if not any(caution.code == REPEATED for caution in comparison.cautions):
        return results
    return tuple(
        result
        if result.outcome == "not measurable"
        else replace(result, reason=f"{result.reason}; but the same recording is given twice or more")
        for result in results
    )


def _open_result(result: ChangeResult) -> ChangeResult:
    """Return a decided result as open: the interval lacks what changed between the sides' sessions."""
    if result.outcome not in ("passed", "failed"):
        return result
    reason = f"{result.reason}, but {SESSIONS_APART}"
    return replace(result, outcome="open", reason=reason)


def _check_change(comparison: Comparison, change: ChangeRule, strict: bool) -> Iterator[ChangeResult]:
    groups = [group for group in comparison.groups if _in_scope(group, change.scope)]
    if not groups:
        yield ChangeResult(change, "not measurable", _explain_missing_group(comparison, change.scope))
    for group in groups:
        row = next((row for row in comparison.rows(group) if row.metric == change.metric), None)
        if row is None:
            is_row_missing = change.deadline_ns is not None
            reason = "no such deadline was compared" if is_row_missing else "neither recording shows it"
            yield ChangeResult(change, "not measurable", reason, group)
        else:
            outcome, reason = judge_difference(row, change, strict)
            yield ChangeResult(change, outcome, reason, group, row)


def _in_scope(group: Group, scope: str) -> bool:
    if not scope:
        return group.kind == "all"
    return scope in (group.name, *group.also_names)


def _explain_missing_group(comparison: Comparison, scope: str) -> str:
    names = {group.name for group in comparison.groups if group.name}
    names |= {name for group in comparison.groups for name in group.also_names}
    common = f"; both have {', '.join(sorted(names)[:8])}" if names else ""
    return f"no model or kind of calls '{scope}' is on both sides{common}"


def judge_difference(row: Difference, change: ChangeRule, strict: bool = False) -> tuple[Outcome, str]:
    """Return the outcome of a change for one row of the comparison, and the reason."""
    if reason := _explain_unusable_row(row, change, strict):
        return "not measurable", reason
    if change.relative and row.ratio is None:
        return "passed", "no difference"
    beyond = [_is_beyond(amount, change) for amount in _bound_amounts(row, change)]
    if strict:
        if any(beyond) and not all(beyond):
            return "not measurable", _explain_unknown_calls(row)
        return ("failed", "beyond the threshold") if all(beyond) else ("passed", "within the threshold")
    if row.tested == "within these recordings":
        return "open", ONE_RUN
    interval = (row.relative_low, row.relative_high) if change.relative else (row.low, row.high)
    ends = [_is_beyond(end, change) for end in interval if end is not None]
    if len(ends) < len(interval):
        return "not measurable", "the difference has no interval"
    if all(ends):
        return "failed", "the whole interval is beyond the threshold"
    if not any(ends):
        return "passed", "the whole interval is within the threshold"
    if any(beyond) and not all(beyond):
        return "not measurable", _explain_unknown_calls(row)
    return "open", "the interval reaches across the threshold"


SESSIONS_APART = (
    "the sides were not recorded in turn, and the interval lacks what changed in between: record them in"
    " turn, or give --session-noise"
)
ONE_RUN = "one run per side does not show how much runs of the same program differ"


def _explain_unknown_calls(row: Difference) -> str:
    return row.base.missing or "it depends on calls whose engine is unknown"


def _explain_unusable_row(row: Difference, change: ChangeRule, strict: bool) -> str:
    """Return the reason why a row cannot be compared with a threshold; "" where it can."""
    if row.base.value is None or row.new.value is None or (row.difference is None and not _is_open(row)):
        return _explain_missing_value(row)
    if row.base.is_partial or row.new.is_partial:
        return f"{describe_coverage(row)}, and the others may have any value"
    if row.judgement == "on a grid" and not strict:
        return "lengths take few values, and percentiles jump between them: require the mean or late calls"
    if row.judgement == "spread not given" and not strict:
        return f"its spread between runs is not given: --run-noise {row.metric}=PERCENT"
    if row.judgement == "too few to tell" and not strict:
        fewest = plural(min(row.base.count, row.new.count), _name_unit(row))
        return f"too few for an interval: {fewest} on a side"
    if change.relative and row.ratio is None and row.difference:
        return "the base is 0, so there is no relative difference: give an absolute amount"
    return ""


def _explain_missing_value(row: Difference) -> str:
    if row.base.missing == row.new.missing:
        return row.base.missing
    sides = (("BASE", row.base), ("NEW", row.new))
    return "; ".join(f"{name}: {side.missing}" for name, side in sides if side.missing)


def _bound_amounts(row: Difference, change: ChangeRule) -> tuple[float, float]:
    """Return the smallest and the largest possible difference.

    Calls of unknown engine leave a share open on either side::

        BASE   value ├──────┤ highest
        NEW              value ├─────┤ highest
        smallest: NEW value - BASE highest        largest: NEW highest - BASE value
    """
    if change.relative:
        ratio = row.ratio or 0.0
        return ratio, ratio
    base, new = row.base.value or 0.0, row.new.value or 0.0
    return new - row.base.highest, row.new.highest - base


def _is_beyond(amount: float, change: ChangeRule) -> bool:
    return amount > change.amount if change.operator == ">" else amount < change.amount


def _is_open(row: Difference) -> bool:
    return row.base.most is not None or row.new.most is not None


def describe_coverage(row: Difference) -> str:
    """Return ``6 of 12 calls in BASE and 6 of 12 in NEW show it``; of runs for metrics of whole runs."""
    base = f"{row.base.count:,} of {plural(row.base.total, _name_unit(row))}"
    return f"{base} in BASE and {row.new.count:,} of {row.new.total:,} in NEW show it"


def estimate_runs_needed(result: ChangeResult) -> int | None:
    """Return the runs per side that would show a change as large as the threshold; None where not known."""
    row, change = result.row, result.change
    if row is None or row.estimate is None:
        return None
    estimate = row.estimate
    amount = change.amount
    if estimate.scale == "log" and not change.relative:
        amount /= estimate.base
    elif estimate.scale == "linear" and change.relative:
        amount *= estimate.base
    return estimate.count_runs_needed(amount)


def _name_unit(row: Difference) -> str:
    return "run" if row.metric in (*RUN_METRICS, *ENERGY_METRICS, *REQUEST_METRICS) else "call"
