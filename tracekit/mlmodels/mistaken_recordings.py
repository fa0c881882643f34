"""Recordings that are given in place of a model or a plan: recognised by their names and first bytes."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tracekit.text import format_shell_command

_ENDINGS = (".trace", ".trace.zip", ".tracekit.zip")
_MARKS = (b"<trace-query-result", b"<trace-toc")
"""The roots of the documents that ``xctrace export`` writes."""
_HEAD_BYTES = 4096
_MOST_FILES = 20


def describe_recording(path: Path, expected: str) -> tuple[str, str] | None:
    """Return what is wrong with a recording that is given as what is ``expected``, and the command for it."""
    if not _is_recording(path):
        return None
    command = format_shell_command(["tracekit", "analyze", str(path)])
    return (
        f"is a recording and no {expected}",
        f"Show it, with --model and --plan to hold a model's file and its plan against its calls: {command}",
    )


def _is_recording(path: Path) -> bool:
    try:
        if path.name.endswith(_ENDINGS) and path.exists():
            return True
        files = islice(path.glob("*.xml"), _MOST_FILES) if path.is_dir() else [path]
        return any(map(_is_export, files))
    except OSError:
        return False


def _is_export(path: Path) -> bool:
    if not path.is_file():  # a pipe is read once
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return any(mark in head for mark in _MARKS)
