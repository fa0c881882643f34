"""One finding of an analysis in words, for a document."""

from __future__ import annotations

from dataclasses import replace

from tracekit.analysis.result import Analysis
from tracekit.report import wording
from tracekit.report.analysis.extent import Extent
from tracekit.report.document.blocks import FindingEntry
from tracekit.report.wording.findings import finding_text


def describe_finding(analysis: Analysis, number: int, extent: Extent) -> FindingEntry:
    """Return a finding in words; a short document repeats nothing of the headline, and shortens an info."""
    finding = analysis.findings[number]
    info = analysis.trace.info
    text = finding_text(finding, replace(info, name=extent.recording or info.name))
    headline = "" if extent.is_verbose else wording.headline(analysis.answer)
    is_short = finding.severity == "info" and finding.kind.about != "recording" and not extent.is_verbose
    numbers = "" if text.cost in headline else text.cost
    cost = " ".join(filter(None, (text.lost, numbers)))
    basis, detail = ("", "") if is_short else (text.basis, text.detail)
    steps = text.next_steps[:1] if is_short else text.next_steps
    return FindingEntry(
        text.title,
        finding.severity,
        cost,
        basis,
        detail,
        steps,
        finding.kind,
        extent.explain(finding.kind),
        number,
    )
