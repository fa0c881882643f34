"""The results of checks as annotations of a run of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracekit.analysis.result import Analysis
from tracekit.checks.issue_codes import is_damage
from tracekit.checks.results import CheckResult
from tracekit.model.trace import Issue
from tracekit.report.annotations import LEVEL_OF_OUTCOME, Level, format_annotation
from tracekit.report.checks.wording import (
    MOST_TITLES,
    MOST_WARNINGS,
    more_warnings,
    reason,
    requirement_text,
    sentence,
    warnings,
)
from tracekit.report.wording.findings import FindingText, finding_text


def to_github(
    results: Sequence[CheckResult],
    name: str,
    issues: Sequence[Issue] = (),
    recordings: Sequence[Analysis] = (),
) -> str:
    """Return one annotation for each requirement that is not met, and a notice with the counts.

    The findings of the ``recordings`` that are errors or warnings follow, at most ten, with the next step.
    Then the recording's warnings, at most ten: damage as warnings, others as notices.

    Nothing else is printed, because a line of text from a recording could be read as a command.
    """
    lines = [
        format_annotation(LEVEL_OF_OUTCOME[result.outcome], requirement_text(result), _message(result))
        for result in results
        if result.outcome != "passed"
    ]
    lines.append(format_annotation("notice", "tracekit check", f"{name}: {sentence(results)}"))
    lines += _findings(results, recordings)
    listed = warnings(issues)
    for issue in listed[:MOST_WARNINGS]:
        level: Level = "warning" if is_damage(issue) else "notice"
        lines.append(format_annotation(level, f"recording: {issue.code}", issue.message))
    if more := more_warnings(listed):
        lines.append(format_annotation("notice", "recording", more))
    return "\n".join(lines) + "\n"


def _findings(results: Sequence[CheckResult], recordings: Sequence[Analysis]) -> Iterator[str]:
    """Yield an annotation per finding, without those that a requirement that is not met names already."""
    named = [finding for result in results for finding in result.actual.findings[:MOST_TITLES]]
    grave = [
        (finding, recording.trace.info)
        for recording in recordings
        for finding in recording.findings
        if finding.severity != "info" and finding not in named
    ]
    for finding, info in grave[:MOST_WARNINGS]:
        text = finding_text(finding, info)
        message = " ".join(filter(None, (text.title, text.whole_cost, _advice(text))))
        level: Level = "error" if finding.severity == "error" else "warning"
        yield format_annotation(level, f"finding: {finding.kind}", message)
    if more := len(grave) - MOST_WARNINGS if len(grave) > MOST_WARNINGS else 0:
        yield format_annotation("notice", "findings", f"… and {more:,} more: tracekit analyze lists them")


def _message(result: CheckResult) -> str:
    """Return the reason of an outcome; of a finding, with its next step."""
    actual = result.actual
    if actual.missing:
        return f"{result.outcome}: {reason(result)}"
    if not actual.findings or actual.recording is None:
        return reason(result)
    return f"{reason(result)} {_advice(finding_text(actual.findings[0], actual.recording))}".rstrip()


def _advice(text: FindingText) -> str:
    """Return the first next step that has a command."""
    return next((step.line for step in text.next_steps if step.command), "")
