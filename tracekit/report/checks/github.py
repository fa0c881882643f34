"""What became of requirements, as GitHub's workflow commands: annotations of the run.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions; the escapes are those of
actions/toolkit, packages/core/src/command.ts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.issue_codes import is_damage
from tracekit.checks.judge import Result
from tracekit.model.trace import Issue
from tracekit.report.checks.wording import MOST_WARNINGS, left_out, named, reason, sentence, warnings
from tracekit.text import printable

_COMMAND = {"failed": "error", "not measurable": "warning"}


def to_github(results: Sequence[Result], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return one annotation for each requirement that is not met, and a notice with the counts.

    The recording's warnings follow, at most ten: damage as warnings, doubts as notices.

    Nothing else is printed: a line of other people's text could be a command.
    """
    lines = [
        f"::{_COMMAND[result.outcome]} title={_property(named(result))}::{_data(reason(result))}"
        for result in results
        if result.outcome != "passed"
    ]
    lines.append(f"::notice title=tracekit check::{_data(f'{name}: {sentence(results)}')}")
    warned = warnings(issues)
    for one in warned[:MOST_WARNINGS]:
        command = "warning" if is_damage(one) else "notice"
        lines.append(f"::{command} title={_property(f'recording: {one.code}')}::{_data(one.message)}")
    if more := left_out(warned):
        lines.append(f"::notice title={_property('recording')}::{_data(more)}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
