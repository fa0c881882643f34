"""What became of requirements, as GitHub's workflow commands: annotations of the run.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions; the escapes are those of
actions/toolkit, packages/core/src/command.ts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.gate.judge import Result
from tracekit.export.text import printable
from tracekit.report.gate_words import named, reason, sentence

_COMMAND = {"failed": "error", "not measurable": "warning"}


def to_github(results: Sequence[Result], name: str) -> str:
    """Return one annotation for each requirement that is not met, and a notice with the counts.

    Nothing else is printed: a line of other people's text could be a command.
    """
    lines = [
        f"::{_COMMAND[result.outcome]} title={_property(named(result))}::{_data(reason(result))}"
        for result in results
        if result.outcome != "passed"
    ]
    lines.append(f"::notice title=tracekit check::{_data(f'{name}: {sentence(results)}')}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
