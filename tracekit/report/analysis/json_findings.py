"""Findings as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from enum import StrEnum
from typing import Any

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.result import Analysis
from tracekit.model.columns import IntArray
from tracekit.model.trace import TraceInfo
from tracekit.report.wording.findings import finding_text


def findings_document(analysis: Analysis) -> list[dict[str, Any]]:
    """Return findings with their sentences, in their order: what costs most comes first."""
    numbers = analysis.call_numbers
    return [
        {**_document(finding, analysis.trace.info), "calls": _calls(finding, numbers)}
        for finding in analysis.findings
    ]


def _calls(finding: Finding[Any], numbers: IntArray) -> list[list[int]] | None:
    """Return the ranges of the calls' numbers within their model; null where it is about no model's calls."""
    if not finding.model or not finding.windows.ranges:
        return None
    ranges: list[list[int]] = []
    for first_row, last_row in finding.windows.ranges:
        begin, end = int(numbers[first_row]), int(numbers[last_row])
        if ranges and ranges[-1][1] + 1 == begin:
            ranges[-1][1] = end
        else:
            ranges.append([begin, end])
    return ranges


_IN_OTHER_DOCUMENTS = (
    *("kind", "severity", "confidence", "basis", "model", "start_ns", "end_ns", "lost_ns"),
    *("title", "cost", "known_by", "next", "documentation"),
)


def finding_summary(finding: Finding[Any], info: TraceInfo) -> dict[str, Any]:
    """Return the part of a finding that documents about checks and comparisons have."""
    document = _document(finding, info)
    return {name: document[name] for name in _IN_OTHER_DOCUMENTS}


def _document(finding: Finding[Any], info: TraceInfo) -> dict[str, Any]:
    text = finding_text(finding, info)
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "basis": str(finding.basis),
        "model": finding.model or None,
        "pid": finding.pid if finding.pid >= 0 else None,
        "windows": {
            "count": finding.windows.count,
            "ranges": [list(pair) for pair in finding.windows.ranges],
        },
        "start_ns": finding.start_ns,
        "end_ns": finding.end_ns,
        "lost_ns": finding.lost_ns,
        "numbers": _plain(finding.numbers),
        "support": [asdict(entry) for entry in finding.support],
        "title": text.title,
        "cost": text.whole_cost or None,
        "detail": text.detail or None,
        "known_by": text.basis or None,
        "next": [{"text": step.text, "command": step.command or None} for step in text.next_steps],
        "documentation": text.explanation,
    }


def _plain(value: object) -> Any:
    """Return a finding's numbers as what JSON has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, StrEnum):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value
