"""A comparison as Markdown, for the text of a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Comparison
from tracekit.mlmodels.plans.differences import PlanDifferences
from tracekit.report.comparison.document import build_document
from tracekit.report.document.markdown_printer import print_markdown

_MOST_FUNCTIONS = 10


def to_markdown(
    comparison: Comparison, changes: Sequence[ChangeResult] = (), plans: PlanDifferences | None = None
) -> str:
    """Return the differences, the sentence first."""
    document = build_document(comparison, changes, _MOST_FUNCTIONS, plans)
    return f"## Comparison\n\n{print_markdown(document)}"
