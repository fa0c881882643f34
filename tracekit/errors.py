"""The errors that library code raises; ``tracekit.cli`` alone turns them into a sentence and an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NamedTuple


class ExitCode(NamedTuple):
    """An exit code of the command line: in a few words, and what it means for each command."""

    summary: str
    meaning: str


EXIT_CODES: Mapping[int, ExitCode] = MappingProxyType(
    {
        0: ExitCode("done", "The command did what it was asked to do."),
        1: ExitCode(
            "a comparison or requirement failed",
            "`check`, `fleet check`: a requirement is shown to be broken. `compare --fail-on`: a "
            "difference is shown to be too large. `lint --fail-on`: a rule of the effect matches. "
            "`watch --until`: what it names was seen. `verify-native`: the two readings differ.",
        ),
        2: ExitCode(
            "wrong usage",
            "An option, a run, a table or a column does not exist, or an output exists, cannot be "
            "written or is an input.",
        ),
        3: ExitCode(
            "unreadable or damaged input",
            "The input cannot be read, is damaged, or is no recording, model or plan. Nothing was written.",
        ),
        4: ExitCode(
            "xctrace failed or is not installed",
            "xctrace (or the program of `record --via`) was needed, and failed or is not there."
            " `doctor`: this machine cannot record.",
        ),
        5: ExitCode(
            "a requirement cannot be measured in this recording",
            "Nothing failed, but the recordings leave a requirement, a difference or a question open,"
            " or cannot measure it. It is no pass: the message has the reason and the step that would"
            " answer.",
        ),
        70: ExitCode(
            "a defect of tracekit",
            "A traceback is on standard error: neither a result nor wrong usage. Please report it.",
        ),
        129: ExitCode("ended", "The terminal was closed."),
        130: ExitCode(
            "interrupted",
            "Ctrl-C. A single recording that is stopped in this way is saved and analyzed, and its "
            "code is 0; a series of recordings ends with 130.",
        ),
        141: ExitCode("ended", "The program that read the output closed its pipe."),
        143: ExitCode("ended", "Another program asked tracekit to end."),
    }
)
"""Every code that tracekit ends with."""


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


class DeviceProgramError(TracekitError):
    """The program that records a device in the place of xctrace failed (exit code 4)."""

    exit_code = 4


class XctraceError(TracekitError):
    """``xctrace`` failed, or is not installed (exit code 4)."""

    exit_code = 4
