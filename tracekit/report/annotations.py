"""Annotations of a run of GitHub Actions: workflow commands, one per line.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions; the escapes are those of
actions/toolkit, packages/core/src/command.ts.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from tracekit.text import printable

Level: TypeAlias = Literal["error", "warning", "notice"]
LEVEL_OF_OUTCOME: dict[str, Level] = {"failed": "error", "open": "warning", "not measurable": "warning"}
"""The level of each outcome of a requirement that is not met."""


def format_annotation(level: Level, title: str, message: str) -> str:
    """Return the line; no text of a recording in it is a command of its own."""
    title = _escape_data(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={title}::{_escape_data(message)}"


def _escape_data(text: str) -> str:
    # "%" first: the other escapes contain it.
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
