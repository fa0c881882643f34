"""``--fail-on``: which differences of a comparison are too large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tracekit.checks.outcome import Outcome
from tracekit.checks.requirements import Change
from tracekit.comparison.metrics import PREPARING
from tracekit.comparison.recorded import REPEATED
from tracekit.comparison.result import Comparison, Difference, Group


@dataclass(frozen=True)
class ChangeResult:
    """What became of one change: the row that it was judged by, if there is one, and why in words."""

    change: Change
    outcome: Outcome
    reason: str
    group: Group | None = None
    row: Difference | None = None


def check_changes(
    comparison: Comparison, changes: Sequence[Change], strict: bool = False
) -> tuple[ChangeResult, ...]:
    """Judge each change; one with a scope, in every group of that name.

    A difference fails when it is beyond the threshold and beyond the noise. Where there are too few windows
    to tell, it is not measurable. ``strict`` takes the differences as they are, noise or not.
    """
    results = tuple(result for change in changes for result in _judged(comparison, change, strict))
    if not any(caution.code == REPEATED for caution in comparison.cautions):
        return results
    return tuple(
        one
        if one.outcome == "not measurable"
        else replace(one, reason=f"{one.reason}; but the same recording is given twice or more")
        for one in results
    )


def _judged(comparison: Comparison, change: Change, strict: bool) -> Iterator[ChangeResult]:
    groups = [group for group in comparison.groups if _is_meant(group, change.scope)]
    if not groups:
        names = sorted({group.name for group in comparison.groups if group.name} | _also(comparison))
        there = f"; both have {', '.join(names[:8])}" if names else ""
        reason = f"no model or kind of windows '{change.scope}' is on both sides{there}"
        yield ChangeResult(change, "not measurable", reason)
    for group in groups:
        row = next((row for row in comparison.rows(group) if row.metric == change.metric), None)
        if row is None:
            yield ChangeResult(change, "not measurable", "neither side shows it", group)
        else:
            outcome, reason = _judge(row, change, strict)
            yield ChangeResult(change, outcome, reason, group, row)


def _is_meant(group: Group, scope: str) -> bool:
    if not scope:
        return group.kind == "all"
    return scope in (group.name, *group.also_names)


def _also(comparison: Comparison) -> set[str]:
    return {name for group in comparison.groups for name in group.also_names}


def _judge(row: Difference, change: Change, strict: bool) -> tuple[Outcome, str]:
    if row.base.value is None or row.new.value is None or (row.difference is None and not _is_open(row)):
        sides = (("BASE", row.base), ("NEW", row.new))
        told = [f"{name}: {side.missing}" for name, side in sides if side.missing]
        same = row.base.missing == row.new.missing
        return "not measurable", row.base.missing if same else "; ".join(told)
    if row.base.is_partial or row.new.is_partial:
        return "not measurable", f"{resting(row)}, and the others may have any value"
    if row.judgement == "too few to tell" and not strict:
        return "not measurable", f"{min(row.base.count, row.new.count)} on a side are too few to tell"
    # Windows that tell no engine leave a share open: every value that it can have must say the same.
    amounts = row.new.value - row.base.highest, row.new.highest - row.base.value
    if change.relative:
        if row.ratio is None:
            if not row.difference:
                return "passed", "no difference"
            return "not measurable", "a part of a base that is 0 is nothing; give an absolute amount"
        amounts = row.ratio, row.ratio
    beyond = [
        amount > change.amount if change.operator == ">" else amount < change.amount for amount in amounts
    ]
    if not any(beyond):
        return "passed", "within the threshold"
    if row.judgement == "within the noise" and not strict:
        return "passed", "beyond the threshold, but within the noise"
    if not all(beyond) or (row.difference is None and not strict):
        return "not measurable", row.base.missing or "windows that tell no engine could make it either"
    return "failed", "beyond the threshold"


def _is_open(row: Difference) -> bool:
    return row.base.most is not None or row.new.most is not None


def resting(row: Difference) -> str:
    """Return ``6 of 12 windows in BASE and 6 of 12 in NEW show it``, or runs."""
    noun = "runs" if row.metric in PREPARING else "windows"
    base, new = (f"{side.count:,} of {side.total:,}" for side in (row.base, row.new))
    return f"{base} {noun} in BASE and {new} in NEW show it"
