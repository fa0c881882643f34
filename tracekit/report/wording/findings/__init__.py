"""Findings as English: a title, the cost, what it rests on, and the next step with its command."""

from tracekit.report.wording.findings.actions import NextStep
from tracekit.report.wording.findings.text import FindingText, finding_text, finding_texts

__all__ = ["FindingText", "NextStep", "finding_text", "finding_texts"]
