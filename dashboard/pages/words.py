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
    """Return other people's text fit to be shown: nothing in it turns the line around or hides."""
    return printable(text)


def size(count_bytes: int) -> str:
    """Return bytes in the unit that people use."""
    value = float(count_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:,.1f} {unit}"
        value /= 1000
    raise AssertionError


def duration(length_ns: int) -> str:
    """Return a length of time with three digits."""
    if length_ns >= 60_000_000_000:
        minutes, seconds = divmod(round(length_ns / 1e9), 60)
        return f"{minutes:,} min {seconds} s"
    for unit, one in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        value = length_ns / one
        if value >= 1:
            decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{decimals}f} {unit}"
    return f"{length_ns} ns"


def when(moment: datetime) -> str:
    """Return a moment to the minute, in the time zone of this machine."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def progress(recording: Recording) -> str:
    """Return what is being done to a recording."""
    share = "" if recording.progress is None else f", {100 * recording.progress:.0f} %"
    return f"{recording.stage or STATES[recording.state]}{share}"


def is_busy(recording: Recording) -> bool:
    """True while a recording waits or is read."""
    return recording.state in {"waiting", "reading"}
