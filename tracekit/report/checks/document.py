"""The document of checks: each requirement with its outcome, built once for text and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import CheckResult
from tracekit.model.trace import Issue
from tracekit.report.analysis.limits import list_limits
from tracekit.report.checks.wording import (
    MOST_WARNINGS,
    more_warnings,
    reason,
    requirement_text,
    sentence,
    warnings,
)
from tracekit.report.document.blocks import Block, Headline, Outcome, Outcomes, Paragraph, Section

_ORDER = ("failed", "open", "not measurable", "passed")


def build_document(
    results: Sequence[CheckResult], name: str, issues: Sequence[Issue] = ()
) -> tuple[Section, ...]:
    """Return one entry per requirement, failures first, and then the recording's warnings."""
    ordered = sorted(results, key=lambda result: _ORDER.index(result.outcome))
    outcomes = (Outcome(result.outcome, requirement_text(result), reason(result)) for result in ordered)
    lead = (Headline(f"{name}: {sentence(results)}"), Outcomes(tuple(outcomes)))
    limits = warnings(issues)
    blocks: list[Block] = [*list_limits(limits[:MOST_WARNINGS], MOST_WARNINGS)]
    blocks += [Paragraph(more)] if (more := more_warnings(limits)) else []
    return (
        Section("checks", "Checks", lead, is_lead=True),
        Section("issues", "Limits of this recording", tuple(blocks)),
    )
