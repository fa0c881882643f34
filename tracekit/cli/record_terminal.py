"""What ``tracekit record`` says: progress while it records, and what came of it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from tracekit.record.messages import size_text
from tracekit.record.plan import InstrumentPlan
from tracekit.record.recorder import StopReason
from tracekit.record.session import RecordSettings
from tracekit.text import printable

_ENDING = {
    "": "Saving",
    "asked": "Stopping and saving",
    "disk": "The disk is nearly full: stopping early and saving",
    "overdue": "xctrace did not stop at its time limit: stopping it and saving",
}


_SILENT_SECONDS = 2.0


def say(text: str) -> None:
    """Write a line of talk: to standard error, with nothing in it that could drive a terminal.

    Its reader may be gone: a closed terminal or pipe is no reason to lose a recording.
    """
    with suppress(OSError):
        click.echo("\n".join(map(printable, text.split("\n"))), err=True)


@contextmanager
def message_if_slow(text: str) -> Iterator[None]:
    """Say ``text`` when the block takes longer than people wait without a word."""
    timer = threading.Timer(_SILENT_SECONDS, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Talk:
    """Tells on standard error how a recording goes on. Implements ``recorder.RecordingListener``."""

    def __init__(self, settings: RecordSettings, bundle: Path, until_enter: bool) -> None:
        self._limit = settings.limits.time_limit_seconds
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._shown = False
        self._what = f"{_target(settings)} for {'at most ' if until_enter else ''}{_seconds(self._limit)}"
        self._bundle = bundle
        self._stop = "Enter or Ctrl-C stops" if until_enter else "Ctrl-C stops"

    def on_recording(self) -> None:
        """See ``RecordingListener``."""
        say(f"Recording {self._what} into {self._bundle}. {self._stop} and saves.")

    def on_saving(self, reason: StopReason) -> None:
        """See ``RecordingListener``."""
        self.clear()
        say(f"{_ENDING.get(reason, 'Saving')} …")

    def on_no_output(self) -> None:
        """See ``RecordingListener``."""
        say(f"xctrace was started to record {self._what}, and has said nothing yet. {self._stop} it.")

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        """See ``RecordingListener``."""
        if self._live:
            what = "Saving" if saving else "Recording"
            limit = "" if saving else f" of {_seconds(self._limit)}"
            with suppress(OSError):
                click.echo(
                    f"\r\x1b[K{what}: {seconds:.0f} s{limit}, {size_text(size_bytes)}", nl=False, err=True
                )
            self._shown = True

    def on_stop_while_saving(self, seconds: float) -> None:
        """See ``RecordingListener``."""
        self.clear()
        say(
            "xctrace still saves; what is killed now can be lost. Once more within"
            f" {seconds:.0f} s kills it all the same."
        )

    def clear(self) -> None:
        """Remove the line of progress."""
        if self._shown:
            with suppress(OSError):
                click.echo("\r\x1b[K", nl=False, err=True)
            self._shown = False


def plan_text(plan: InstrumentPlan) -> str:
    """Return what is recorded, and why, line by line."""
    kinds = ["template" if name == plan.template else "instrument" for name, _ in plan.reasons]
    width = max((len(name) for name, _ in plan.reasons), default=0)
    lines = [
        f"{kind:10}  {name:{width}}  {why}" for kind, (name, why) in zip(kinds, plan.reasons, strict=True)
    ]
    return "".join(f"{printable(line)}\n" for line in [*lines, *(f"note: {note}" for note in plan.notes)])


def _target(settings: RecordSettings) -> str:
    target = settings.target
    if target.kind == "all":
        return "all processes"
    return f"{target.name} ({target.why})" if target.why else target.name


def _seconds(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 600 else f"{seconds / 60:g} min"
