"""Numbers and states in words, as every page shows them."""

from __future__ import annotations

from datetime import datetime

from dashboard.library.catalog import Recording
from tracekit.text import printable

STATES = {
    "waiting": "waiting",
    "reading": "being read",
    "ready": "ready",
    "failed": "could not be read",
    "cancelled": "cancelled",
}


def shown(text: str) -> str:
    """Return text of a recording fit for display: no character in it reverses or hides other text."""
    return printable(text)


def when(moment: datetime) -> str:
    """Return a moment to the minute, in the time zone of this machine."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def progress(recording: Recording) -> str:
    """Return the present stage of a recording with its progress."""
    share = "" if recording.progress is None else f", {100 * recording.progress:.0f} %"
    return f"{recording.stage or STATES[recording.state]}{share}"


def is_busy(recording: Recording) -> bool:
    """Return True while a recording waits or is being read."""
    return recording.state in {"waiting", "reading"}
