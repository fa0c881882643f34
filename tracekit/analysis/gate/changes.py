"""``--fail-on``: which differences of a comparison are too large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracekit.analysis.comparison.result import Comparison, Difference, Group
from tracekit.analysis.gate.outcome import Outcome
from tracekit.analysis.gate.requirements import Change


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
    return tuple(result for change in changes for result in _judged(comparison, change, strict))


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
    if row.difference is None:
        sides = (("BASE", row.base), ("NEW", row.new))
        told = [f"{name}: {side.missing}" for name, side in sides if side.missing]
        same = row.base.missing == row.new.missing
        return "not measurable", row.base.missing if same else "; ".join(told)
    if row.judgement == "too few to tell" and not strict:
        return "not measurable", f"{min(row.base.count, row.new.count)} on a side are too few to tell"
    amount = row.difference
    if change.relative:
        if row.ratio is None:
            if not amount:
                return "passed", "no difference"
            if not row.base.value:
                return "not measurable", "a part of a base that is 0 is nothing; give an absolute amount"
        amount = row.ratio or 0.0
    beyond = amount > change.amount if change.operator == ">" else amount < change.amount
    if not beyond:
        return "passed", "within the threshold"
    if row.judgement == "within the noise" and not strict:
        return "passed", "beyond the threshold, but within the noise"
    return "failed", "beyond the threshold"
