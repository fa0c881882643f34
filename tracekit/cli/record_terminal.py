"""Messages of ``tracekit record`` on standard error: progress, notes and the plan."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from tracekit.cli.standard_error import clear_progress, write_message, write_progress
from tracekit.errors import UsageError
from tracekit.record.expected_evidence import ExpectedEvidence
from tracekit.record.leftover import Leftover
from tracekit.record.recorder import StopReason
from tracekit.record.recording_plan import InstrumentPlan
from tracekit.record.session import RecordSettings
from tracekit.record.target import ALL_PROCESSES
from tracekit.text import format_shell_command, format_size, printable

if TYPE_CHECKING:
    from tracekit.model.trace import Trace
    from tracekit.record.session import RecordingAttempt

_SAVING = {
    "": "Saving",
    "asked": "Stopping and saving",
    "disk": "The disk is nearly full: stopping early and saving",
    "overdue": "xctrace did not stop at its time limit: stopping it and saving",
}
_SECONDS_BEFORE_MESSAGE = 2.0


@contextmanager
def write_message_if_slow(text: str) -> Iterator[None]:
    """Write ``text`` if the block takes longer than people wait without a message."""
    timer = threading.Timer(_SECONDS_BEFORE_MESSAGE, write_message, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def make_consent(is_requested: bool, may_ask: bool) -> Callable[[Leftover], bool]:
    """Return the decision to end an xctrace left running: by the option, else by a question on a terminal."""

    def consents(leftover: Leftover) -> bool:
        consent = is_requested
        if not consent and may_ask and sys.stdin is not None and sys.stdin.isatty():
            write_message(f"{leftover} was left running by a tracekit that was killed.")
            consent = _confirm_in_terminal("End it? It saves its recording first.")
        if consent:
            write_message(f"Ending {leftover}; it saves first …")
        return consent

    return consents


def _confirm_in_terminal(question: str) -> bool:
    """Return the answer to a question; Ctrl-C is a no, although it stops a recording otherwise."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        return False
    finally:
        signal.signal(signal.SIGINT, handler)


class TerminalProgress:
    """Progress of a recording on standard error. Implements ``recorder.RecordingListener``."""

    def __init__(self, settings: RecordSettings, bundle: Path, until_enter: bool) -> None:
        self._limit = settings.limits.time_limit_seconds
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._line_shown = False
        limit = f"{'at most ' if until_enter else ''}{_format_duration(self._limit)}"
        self._subject = f"{_describe_target(settings)} for {limit}"
        self._bundle = bundle
        self._stop = "Enter or Ctrl-C stops" if until_enter else "Ctrl-C stops"

    def on_recording(self) -> None:
        """See ``RecordingListener``."""
        write_message(f"Recording {self._subject} into {self._bundle}. {self._stop} and saves.")

    def on_saving(self, reason: StopReason) -> None:
        """See ``RecordingListener``."""
        self.clear()
        write_message(f"{_SAVING.get(reason, 'Saving')} …")

    def on_no_output(self) -> None:
        """See ``RecordingListener``."""
        write_message(
            f"xctrace was started to record {self._subject}, and has written nothing yet. {self._stop} it."
        )

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        """See ``RecordingListener``."""
        if self._is_terminal:
            step = "Saving" if saving else "Recording"
            limit = "" if saving else f" of {_format_duration(self._limit)}"
            write_progress(f"{step}: {seconds:.0f} s{limit}, {format_size(size_bytes)}")
            self._line_shown = True

    def on_stop_while_saving(self, seconds: float) -> None:
        """See ``RecordingListener``."""
        self.clear()
        write_message(
            "xctrace is still saving; killing it now can lose the recording. Ctrl-C again within"
            f" {seconds:.0f} s kills it."
        )

    def clear(self) -> None:
        """Remove the progress line."""
        if self._line_shown:
            clear_progress()
            self._line_shown = False


def format_plan(plan: InstrumentPlan, evidence: Sequence[ExpectedEvidence]) -> str:
    """Return the template and instruments with the reason for each, and what the recording will show."""
    kinds = ["template" if name == plan.template else "instrument" for name, _ in plan.reasons]
    width = max((len(name) for name, _ in plan.reasons), default=0)
    lines = [
        f"{kind:10}  {name:{width}}  {reason}"
        for kind, (name, reason) in zip(kinds, plan.reasons, strict=True)
    ]
    lines += [f"note: {note}" for note in plan.notes]
    width = max(len(row.subject) for row in evidence)
    lines += ["The recording will show:", *(f"  {row.subject:{width}}  {row.text}" for row in evidence)]
    return "".join(f"{printable(line)}\n" for line in lines)


def _describe_target(settings: RecordSettings) -> str:
    target = settings.target
    if target == ALL_PROCESSES:
        return "all processes"
    return f"{target.name} ({target.reason})" if target.reason else target.name


def _format_duration(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 600 else f"{seconds / 60:g} min"


def select_process(recording: RecordingAttempt, trace: Trace) -> int | None:
    """Return the pid of the process that is meant, among all that were recorded; None for all of them."""
    process = recording.settings.target.pid_among_all
    if process is None:
        return None
    if process not in set(trace.threads["pid"]):
        write_message(f"note: it has no thread of the process {process}: all processes are analyzed.")
        return None
    command = ["tracekit", "analyze", str(recording.bundle), "--process", str(process)]
    write_message(f"To analyze that process again: {format_shell_command(command)}")
    return process


def open_standard_input() -> IO[bytes]:
    """Return the input for a launched program; raise ``UsageError`` where it is a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("--stdin - needs a pipe or a file on standard input: name the file instead.")
    return sys.stdin.buffer


def write_target_output(line: bytes) -> None:
    """Write a line of the launched program to standard output."""
    if sys.stdout is not None:
        with suppress(BrokenPipeError):  # a reader that is gone is no reason to stop recording
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
