"""The results of checks as Markdown, for the summary of a CI's run."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import CheckResult
from tracekit.model.trace import Issue
from tracekit.report.checks.document import build_document
from tracekit.report.document.markdown_printer import print_markdown


def to_markdown(results: Sequence[CheckResult], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return one entry per requirement, failures first, and then the recording's warnings."""
    return f"## Requirements\n\n{print_markdown(build_document(results, name, issues))}"
