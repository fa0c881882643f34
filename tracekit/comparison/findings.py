"""Findings of two sides, matched by kind and model: which appeared, vanished, grew or shrank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracekit.analysis.findings.find import MORE_FINDINGS
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.kind import Kind
from tracekit.comparison.findings_shown import explain_unseen
from tracekit.comparison.observations import Observations
from tracekit.comparison.result import FindingChange, FindingSide, FindingTrend
from tracekit.model.columns import BoolArray

_Runs = Sequence[Observations]
_LARGER = 1.1
"""Each run of a side must have lost so many times what any run of the opposite side lost."""
_ORDER: tuple[FindingTrend, ...] = (
    "appeared",
    "grew",
    "vanished",
    "shrank",
    "on both sides",
    "not comparable",
)
_SEVERITIES = ("error", "warning", "info")


def compare_findings(base: _Runs, new: _Runs) -> tuple[FindingChange, ...]:
    """Return the findings of both sides, what appeared first; those about a recording itself are none.

    A finding that one side lacks has appeared or vanished only if each run of that side could show it.
    """
    found = [_group_by_kind(side) for side in (base, new)]
    changes = [
        _compare_finding(kind, model, (base, new), found)
        for kind, model in dict.fromkeys([*found[1], *found[0]])
    ]
    return tuple(sorted(changes, key=_rank))


_Found = dict[tuple[Kind[Any], str], dict[int, list[Finding[Any]]]]


def _group_by_kind(side: _Runs) -> _Found:
    """Return the findings of a side by kind and model, and by the number of the run."""
    found: _Found = {}
    for number, run in enumerate(side):
        for finding in run.analysis.findings:
            if finding.kind.about == "calls":
                found.setdefault((finding.kind, finding.model), {}).setdefault(number, []).append(finding)
    return found


def _compare_finding(
    kind: Kind[Any], model: str, sides: tuple[_Runs, _Runs], found: Sequence[_Found]
) -> FindingChange:
    of_sides = [each.get((kind, model), {}) for each in found]
    base, new = (
        _summarize_side(kind, model, runs, of_runs) for runs, of_runs in zip(sides, of_sides, strict=True)
    )
    number, findings = next(iter((of_sides[1] or of_sides[0]).items()))
    recording = (sides[1] if of_sides[1] else sides[0])[number].analysis.trace.info
    return FindingChange(kind, model, _choose_trend(base, new), base, new, findings[0], recording)


def _summarize_side(
    kind: Kind[Any], model: str, runs: _Runs, findings: dict[int, list[Finding[Any]]]
) -> FindingSide:
    reasons = list(
        _iter_reasons(kind, model, [run for number, run in enumerate(runs) if number not in findings])
    )
    losses = [_compute_loss(runs[number], model, entries) for number, entries in findings.items()]
    known = [loss for loss in losses if loss is not None]
    return FindingSide(
        len(runs),
        len(findings),
        len(reasons),
        reasons[0] if reasons else "",
        tuple(known) if len(known) == len(losses) else (),
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


def _choose_trend(base: FindingSide, new: FindingSide) -> FindingTrend:
    if not base.found or not new.found:
        if (base if not base.found else new).unseen:
            return "not comparable"
        return "vanished" if base.found else "appeared"
    if base.lost_ns and new.lost_ns and base.found == base.runs and new.found == new.runs:
        if min(new.lost_ns) > _LARGER * max(base.lost_ns):
            return "grew"
        if min(base.lost_ns) > _LARGER * max(new.lost_ns):
            return "shrank"
    return "on both sides"


def _rank(change: FindingChange) -> tuple[int, int, float, str, str]:
    side = change.new if change.new.found else change.base
    return (
        _ORDER.index(change.change),
        _SEVERITIES.index(change.finding.severity),
        -max(side.lost_ns, default=0.0),
        change.kind,
        change.model,
    )
