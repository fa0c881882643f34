"""A comparison as annotations of a run of GitHub Actions."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Comparison
from tracekit.mlmodels.plans.differences import PlanDifferences
from tracekit.report.annotations import LEVEL_OF_OUTCOME, format_annotation
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.headline import sentence
from tracekit.report.comparison.wording import change_reason


def to_github(
    comparison: Comparison, changes: Sequence[ChangeResult] = (), _differences: PlanDifferences | None = None
) -> str:
    """Return one annotation for each change that is not passed, then the first sentence and the cautions.

    What moved between plans is in the summary of the step.
    Nothing else is printed, because a line of text from a recording could be read as a command.
    """
    lines = [
        format_annotation(
            LEVEL_OF_OUTCOME[result.outcome], f"fail-on {result.change.text}", change_reason(result)
        )
        for result in changes
        if result.outcome != "passed"
    ]
    lines.append(format_annotation("notice", "tracekit compare", sentence(comparison)))
    lines += [
        format_annotation("notice", "caution", caution_text(caution)) for caution in comparison.cautions
    ]
    return "\n".join(lines) + "\n"
