"""A comparison as a page of text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Comparison
from tracekit.mlmodels.plans.differences import PlanDifferences
from tracekit.report.comparison.document import build_document
from tracekit.report.document.text_printer import Page, print_text
from tracekit.text import PARAGRAPH_WIDTH


def to_text(
    comparison: Comparison, changes: Sequence[ChangeResult] = (), plans: PlanDifferences | None = None
) -> str:
    """Return the differences as text, the summary sentence first."""
    return print_text(build_document(comparison, changes, plans=plans), Page(PARAGRAPH_WIDTH))
