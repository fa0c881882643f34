"""Outputs of one command for a CI: several files, and the summary of a step of GitHub Actions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tracekit.cli.output import check_output
from tracekit.errors import UsageError
from tracekit.text import without_commands

_Command = TypeVar("_Command", bound=Callable[..., Any])
_SUMMARY = "GITHUB_STEP_SUMMARY"
_MOST_SUMMARY_BYTES = 1 << 20
"""A larger summary is refused as a whole (docs.github.com, "Step isolation and limits")."""


def add_report_option(command: _Command) -> _Command:
    """Add ``--report``: the page for people, beside the result that the CI reads."""
    return click.option("--report", metavar="FILE", help="Write the HTML report to FILE as well.")(command)


def check_outputs(force: bool, output: str, **further: str | None) -> None:
    """Raise ``UsageError``, before any work, where an output cannot be written, or two would be in one place.

    ``further`` are the values of the options that name a second and third output.
    """
    names = [output, *(name for name in further.values() if name is not None)]
    for name in names:
        check_output(name, force)
    options = " or ".join(f"--{option}" for option in further)
    if names.count("-") > 1:
        raise UsageError(f"Standard output can hold only one result: give -o or {options} a file.")
    places = Counter(str(Path(name).resolve()) for name in names if name != "-")
    for name in names:
        if name != "-" and places[str(Path(name).resolve())] > 1:
            raise UsageError(f"{name} cannot hold both results: name a file for each of -o and {options}.")


def append_step_summary(markdown: str) -> None:
    """Append Markdown to the file that GitHub Actions shows as the summary of a step; elsewhere do nothing.

    Raises ``UsageError`` where the file cannot be written.
    """
    name = os.environ.get(_SUMMARY)
    if not name:
        return
    try:
        with Path(name).open("ab") as file:
            content = f"{without_commands(markdown)}\n".encode("utf-8", "backslashreplace")
            if file.tell() + len(content) > _MOST_SUMMARY_BYTES:
                content = b"The result of tracekit is too long for this summary: --report FILE writes it.\n"
            file.write(content)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{name} ({_SUMMARY}) cannot be written: {reason}. Unset it.") from error
