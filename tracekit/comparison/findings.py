"""Findings of two sides, matched by kind and model: which appeared, vanished, grew or shrank."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracekit.analysis.findings.find import MORE_FINDINGS
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.kind import Kind
from tracekit.comparison.finding_tests import mark_different
from tracekit.comparison.findings_shown import explain_unseen
from tracekit.comparison.observations import Observations
from tracekit.comparison.result import FindingChange, FindingSide, FindingTrend
from tracekit.model.columns import BoolArray

_Runs = Sequence[Observations]
_ALPHA = 0.05
_LARGER = 1.1
"""Each run of a side must have lost so many times what any run of the opposite side lost."""
_ORDER: tuple[FindingTrend, ...] = (
    "appeared",
    "grew",
    "vanished",
    "shrank",
    "on one side",
    "on both sides",
    "not comparable",
)
_SEVERITIES = ("error", "warning", "info")


def compare_findings(base: _Runs, new: _Runs) -> tuple[FindingChange, ...]:
    """Return the findings of both sides, what appeared first; those about a recording itself are none.

    A finding has appeared or vanished only if the runs that have it differ by more than chance
    (``mark_different``), and each run of the side with fewer of them could show it.
    """
    by_side = [_group_by_kind(side) for side in (base, new)]
    kinds = list(dict.fromkeys([*by_side[1], *by_side[0]]))
    sides = [_summarize_sides(kind, model, (base, new), by_side) for kind, model in kinds]
    count = sum(_have_sizes(*pair) for pair in sides)
    changes = [
        _describe_change(kind, model, choose_trend(*pair, is_different, count), pair, (base, new), by_side)
        for (kind, model), pair, is_different in zip(kinds, sides, mark_different(sides), strict=True)
    ]
    return tuple(sorted(changes, key=_rank))


_Found = dict[tuple[Kind[Any], str], dict[int, list[Finding[Any]]]]


def _group_by_kind(side: _Runs) -> _Found:
    """Return the findings of a side by kind and model, and by the number of the run."""
    by_kind: _Found = {}
    for number, run in enumerate(side):
        for finding in run.analysis.findings:
            if finding.kind.about == "calls":
                by_kind.setdefault((finding.kind, finding.model), {}).setdefault(number, []).append(finding)
    return by_kind


def _summarize_sides(
    kind: Kind[Any], model: str, sides: tuple[_Runs, _Runs], by_side: Sequence[_Found]
) -> tuple[FindingSide, FindingSide]:
    base, new = (
        _summarize_side(kind, model, runs, of_side.get((kind, model), {}))
        for runs, of_side in zip(sides, by_side, strict=True)
    )
    return base, new


def _describe_change(
    kind: Kind[Any],
    model: str,
    trend: FindingTrend,
    pair: tuple[FindingSide, FindingSide],
    sides: tuple[_Runs, _Runs],
    by_side: Sequence[_Found],
) -> FindingChange:
    """Return the change with a finding of the side that it is about: the one that has it in more runs."""
    base, new = pair
    side = 0 if trend == "vanished" or not new.found else 1
    number, findings = next(iter(by_side[side][kind, model].items()))
    return FindingChange(kind, model, trend, base, new, findings[0], sides[side][number].analysis.trace.info)


def _summarize_side(
    kind: Kind[Any], model: str, runs: _Runs, findings: dict[int, list[Finding[Any]]]
) -> FindingSide:
    reasons = list(
        _iter_reasons(kind, model, [run for number, run in enumerate(runs) if number not in findings])
    )
    losses = [_compute_loss(runs[number], model, entries) for number, entries in findings.items()]
    stated = [loss for loss in losses if loss is not None]
    return FindingSide(
        len(runs),
        len(findings),
        len(reasons),
        reasons[0] if reasons else "",
        tuple(stated) if len(stated) == len(losses) else (),
    )


def _iter_reasons(kind: Kind[Any], model: str, runs: _Runs) -> Iterator[str]:
    """Yield a reason for each run that could not show the finding."""
    for run in runs:
        rows = _mark_rows(run, model)
        if not rows.any() and model:
            yield "the model does not run"
        elif any(
            kind in entry.numbers["kinds"] for entry in run.analysis.findings if entry.kind == MORE_FINDINGS
        ):
            yield "there are more findings than an analysis lists"
        elif reason := explain_unseen(run, kind, rows):
            yield reason


def _mark_rows(run: Observations, model: str) -> BoolArray:
    rows: BoolArray = (run.model == model) | (run.label == model) if model else np.ones(run.count, bool)
    return rows


def _compute_loss(run: Observations, model: str, findings: Sequence[Finding[Any]]) -> float | None:
    """Return the time lost per call of the model, or per run; None where the recording does not carry it."""
    losses = [finding.lost_ns for finding in findings if finding.lost_ns is not None]
    calls = 1 if findings[0].kind.is_per_run else int(_mark_rows(run, model).sum())
    return sum(losses) / calls if len(losses) == len(findings) and calls else None


def choose_trend(base: FindingSide, new: FindingSide, is_different: bool, count: int) -> FindingTrend:
    """Return what became of a finding, one of ``count`` whose sizes are compared together at 5 %."""
    fewer = base if base.found * new.runs < new.found * base.runs else new
    if fewer.unseen and (is_different or not fewer.found):
        return "not comparable"
    if is_different:
        return "vanished" if fewer is new else "appeared"
    if not base.found or not new.found:
        return "on one side"
    if _have_sizes(base, new):
        # All runs of one side are above all of the other by chance in two of these many orders.
        orders = math.comb(base.runs + new.runs, base.runs)
        if orders * _ALPHA < 2 * count:
            return "on both sides"
        if min(new.lost_ns) > _LARGER * max(base.lost_ns):
            return "grew"
        if min(base.lost_ns) > _LARGER * max(new.lost_ns):
            return "shrank"
    return "on both sides"


def _have_sizes(base: FindingSide, new: FindingSide) -> bool:
    """Return whether each run of both sides has the finding, and how much it lost."""
    is_in_all = base.found == base.runs and new.found == new.runs
    return bool(is_in_all and base.lost_ns and new.lost_ns)


def _rank(change: FindingChange) -> tuple[int, int, bool, float, str, str]:
    side = change.new if change.new.found else change.base
    return (
        _ORDER.index(change.change),
        _SEVERITIES.index(change.finding.severity),
        not change.new.found,
        -max(side.lost_ns, default=0.0),
        change.kind,
        change.model,
    )
