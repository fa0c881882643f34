"""Requirements that exclude findings: the findings of a recording, and whether it could show any."""

from __future__ import annotations

from typing import Any

from tracekit.analysis.findings.find import IMPLIED, KINDS, MORE_FINDINGS
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.kind import Kind
from tracekit.analysis.findings.placement import FELL_BACK
from tracekit.checks.requirements import Absence
from tracekit.checks.results import MetricValue
from tracekit.comparison.absence_doubts import explain_doubt
from tracekit.comparison.findings_shown import explain_unseen
from tracekit.comparison.observations import Observations, is_named
from tracekit.model.columns import BoolArray

_GRAVE = ("error", "warning")


def count_excluded_findings(observations: Observations, rule: Absence, rows: BoolArray) -> MetricValue:
    """Return the number of findings that a requirement excludes; if 0, whether it could show any."""
    analysis = observations.analysis
    excluded = tuple(finding for finding in analysis.findings if _is_meant(finding, rule))
    windows = int(rows.sum())
    if excluded:
        basis = " and ".join(sorted({str(finding.basis) for finding in excluded}))
        count = len(excluded)
        return MetricValue(
            "count", count, count, basis, windows, findings=excluded, recording=analysis.trace.info
        )
    if missing := _explain_unproven_absence(observations, rule, rows):
        return MetricValue("count", missing=missing, windows=windows)
    return MetricValue(
        "count", 0, 0, windows=windows, note="" if rule.kind else _write_note(observations, rows)
    )


def _is_meant(finding: Finding[Any], rule: Absence) -> bool:
    if rule.scope and not is_named(finding.model, rule.scope):
        return False
    if rule.kind:
        return rule.kind in (finding.kind, IMPLIED.get(finding.kind))
    if finding.kind.about != "calls":
        return False
    return finding.severity in ((rule.severity,) if rule.severity else _GRAVE)


def _explain_unproven_absence(observations: Observations, rule: Absence, rows: BoolArray) -> str:
    """Return why the absence of a finding is not proven; "" if it is."""
    capped = [finding for finding in observations.analysis.findings if finding.kind == MORE_FINDINGS]
    if any(rule.kind in ("", *finding.numbers["kinds"]) for finding in capped):
        return "there are more findings than an analysis lists"
    # Of the findings in general, those about engines decide whether a recording can show any.
    return _explain_unproven(observations, KINDS.get(rule.kind, FELL_BACK), rows)


def _explain_unproven(observations: Observations, kind: Kind[Any], rows: BoolArray) -> str:
    return explain_unseen(observations, kind, rows) or explain_doubt(observations, kind, rows)


def _write_note(observations: Observations, rows: BoolArray) -> str:
    """Return the kinds of findings that these calls cannot show."""
    hidden = [kind for kind in KINDS.values() if _explain_unproven(observations, kind, rows)]
    return f"this recording cannot show {', '.join(hidden)}" if hidden else ""
