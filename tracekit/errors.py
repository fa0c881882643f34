"""The errors that library code raises; ``tracekit.cli`` alone turns them into a sentence and an exit code."""

from __future__ import annotations

from typing import ClassVar


class TracekitError(Exception):
    """Something that a user can understand and act upon.

    The message is one or two sentences: what is wrong, in which file, what to do next. ``lines`` are printed
    below it, one each: names to choose from, a command to paste.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *lines: str) -> None:
        super().__init__(message)
        self.lines = lines


class UsageError(TracekitError):
    """The request itself cannot be carried out as stated (exit code 2)."""

    exit_code = 2


class InputError(TracekitError):
    """The input is unreadable, damaged, or not something that tracekit reads (exit code 3)."""

    exit_code = 3

    def __init__(self, source: str, problem: str, advice: str = "") -> None:
        self.source = source
        self.problem = problem
        self.advice = advice
        super().__init__(f"{source}: {problem}" + (f" {advice}" if advice else ""))


class NotMeasurableError(TracekitError):
    """The recordings do not show what was asked (exit code 5, as for an open requirement)."""

    exit_code = 5


class XctraceError(TracekitError):
    """``xctrace`` failed, or is not installed (exit code 4)."""

    exit_code = 4
