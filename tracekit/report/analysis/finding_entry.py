"""One finding of an analysis in words, for a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tracekit.analysis.findings.action import Action, Arguments
from tracekit.analysis.result import Analysis
from tracekit.report import wording
from tracekit.report.analysis.extent import Extent
from tracekit.report.document.blocks import FindingEntry
from tracekit.report.wording.findings import finding_text


def describe_finding(analysis: Analysis, number: int, extent: Extent) -> FindingEntry:
    """Return a finding in words; a short document repeats nothing of the headline, and shortens an info."""
    finding = analysis.findings[number]
    info = analysis.trace.info
    named = replace(finding, actions=tuple(_name_files(action, extent.files) for action in finding.actions))
    text = finding_text(named, replace(info, name=extent.recording or info.name))
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


def _name_files(action: Action, files: Sequence[str]) -> Action:
    """Return the action with the model and the plan as the user named them: ``build/Net.mlmodelc``."""
    if not files or "model_file" not in action.arguments:
        return action
    given = {Path(text).name.rpartition("=")[2]: text for text in files}
    model, plan = action.arguments["model_file"], action.arguments["plan_file"]
    arguments: Arguments = {
        **action.arguments,
        "model_file": given.get(model, model),
        "plan_file": given.get(plan, plan),
    }
    return replace(action, arguments=arguments)
