"""The results of checks as text."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import CheckResult
from tracekit.model.trace import Issue
from tracekit.report.checks.document import build_document
from tracekit.report.document.text_printer import Page, print_text
from tracekit.text import PARAGRAPH_WIDTH


def to_text(results: Sequence[CheckResult], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return one entry per requirement, failures first, and then the recording's warnings."""
    return print_text(build_document(results, name, issues), Page(PARAGRAPH_WIDTH))
