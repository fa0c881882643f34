"""Findings as Markdown: the first screen of a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.recording import LIMIT_KINDS
from tracekit.model.trace import TraceInfo
from tracekit.report.markdown_text import code, plain
from tracekit.report.wording.findings import NextStep, finding_text
from tracekit.text import clip

_MOST_IN_FULL = 5
_MOST_TITLES = 20
_LONGEST = 1_000
_WORDS = {"error": "Error", "warning": "Warning", "info": "Note"}


def findings_markdown(findings: Sequence[Finding], info: TraceInfo) -> str:
    """Return findings as a list, commands as spans of code; after the first few, folded titles.

    Limits of the recording stand elsewhere (``limits_markdown``).
    """
    findings = [finding for finding in findings if finding.kind not in LIMIT_KINDS]
    if not findings:
        return ""
    parts = ["\n".join(_entry(finding, info) for finding in findings[:_MOST_IN_FULL])]
    titles = [_title(finding, info) for finding in findings[_MOST_IN_FULL:_MOST_TITLES]]
    if (left := len(findings) - _MOST_TITLES) > 0:
        titles.append(f"- … and {left:,} more: see the JSON output")
    if titles:
        listed = "\n".join(titles)
        parts.append(f"<details><summary>More findings, of less weight</summary>\n\n{listed}\n\n</details>")
    return "\n\n".join(parts)


def limits_markdown(findings: Sequence[Finding], info: TraceInfo) -> str:
    """Return the findings that are limits of the recording, with what would lift them."""
    return "\n".join(_entry(finding, info) for finding in findings if finding.kind in LIMIT_KINDS)


def _title(finding: Finding, info: TraceInfo) -> str:
    word = "Limit" if finding.kind in LIMIT_KINDS else _WORDS[finding.severity]
    return f"- {word}: **{_short(finding_text(finding, info).title)}**"


def _entry(finding: Finding, info: TraceInfo) -> str:
    text = finding_text(finding, info)
    first = " ".join(filter(None, (_title(finding, info), _short(text.cost))))
    folded = " ".join(filter(None, (_short(text.basis), _short(text.detail))))
    return "\n".join([first, f"  - {folded}", *(f"  - {markdown_step(step)}" for step in text.next_steps)])


def markdown_step(step: NextStep) -> str:
    """Return a next step, with its command as a span of code."""
    return f"{_short(step.text)} {code(clip(step.command, _LONGEST))}" if step.command else _short(step.text)


def _short(text: str) -> str:
    return plain(clip(text, _LONGEST))
