"""The results of checks as GitHub's workflow commands: annotations of the run.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions; the escapes are those of
actions/toolkit, packages/core/src/command.ts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.issue_codes import is_damage
from tracekit.checks.results import CheckResult
from tracekit.model.trace import Issue
from tracekit.report.checks.wording import (
    MOST_WARNINGS,
    more_warnings,
    reason,
    requirement_text,
    sentence,
    warnings,
)
from tracekit.text import printable

_COMMAND = {"failed": "error", "open": "warning", "not measurable": "warning"}


def to_github(results: Sequence[CheckResult], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return one annotation for each requirement that is not met, and a notice with the counts.

    The recording's warnings follow, at most ten: damage as warnings, others as notices.

    Nothing else is printed, because a line of text from a recording could be read as a command.
    """
    lines = [
        f"::{_COMMAND[result.outcome]} title={_property(requirement_text(result))}::{_data(reason(result))}"
        for result in results
        if result.outcome != "passed"
    ]
    lines.append(f"::notice title=tracekit check::{_data(f'{name}: {sentence(results)}')}")
    listed = warnings(issues)
    for issue in listed[:MOST_WARNINGS]:
        command = "warning" if is_damage(issue) else "notice"
        lines.append(f"::{command} title={_property(f'recording: {issue.code}')}::{_data(issue.message)}")
    if more := more_warnings(listed):
        lines.append(f"::notice title={_property('recording')}::{_data(more)}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    # "%" first: the other escapes contain it.
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
