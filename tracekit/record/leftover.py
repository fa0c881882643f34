"""An xctrace that outlived its tracekit: ``kill -9`` ends a supervisor before it can end what it supervises.

While a recording runs, a note beside its lock names the pid of its xctrace and the time at which that process
started. A note whose lock is free is of a tracekit that was killed. Pids are used again, so a process is
signalled only if it started at about the noted time and is an ``xctrace record``, and only with the user's
consent.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from tracekit.errors import XctraceError
from tracekit.frozen import frozen
from tracekit.record.lock import build_lock_path, is_free, list_lock_paths, read_note, write_note
from tracekit.xctrace.tool import run_command

_POLL_SECONDS = 0.1
# ps prints whole seconds, and the clock may have been set since. No pid is used again within this time.
_SAME_START_SECONDS = 5
_PS_TIME = "%a %b %d %H:%M:%S %Y"
# The times of ps depend on the language and the time zone, which may differ between two terminals.
_PS = ("/usr/bin/env", "LC_ALL=C", "TZ=UTC", "ps", "-ww")


@frozen
class Leftover:
    """An xctrace that still records, or saves, for a tracekit that was killed."""

    pid: int
    started: float
    """When it was started, in seconds since 1970."""
    bundle: str

    def __str__(self) -> str:
        return f"xctrace (pid {self.pid}, recording into {self.bundle})"

    @property
    def is_running(self) -> bool:
        """Return True if this very process still runs."""
        started, command = _inspect_process(self.pid)
        # NaN, which a damaged note may hold, is near no time.
        is_near = started is not None and abs(started - self.started) <= _SAME_START_SECONDS
        return is_near and "xctrace" in command and " record " in command

    def end(self, seconds: float, is_cancelled: Callable[[], bool]) -> None:
        """Interrupt it, so that it saves, and wait for its end.

        Raises ``XctraceError`` after ``seconds``, or when ``is_cancelled`` returns True.
        """
        deadline = time.monotonic() + seconds
        if self.is_running:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGINT)
        while self.is_running:
            if is_cancelled():
                raise XctraceError(f"Stopped. {self} was interrupted and is still saving.")
            if time.monotonic() > deadline:
                raise XctraceError(
                    f"{self} was interrupted and did not end within {seconds:g} s. kill -9 {self.pid} ends it"
                    " and can lose its recording."
                )
            time.sleep(_POLL_SECONDS)


@contextmanager
def note_recorder(device: str, bundle: Path) -> Iterator[Callable[[int], None]]:
    """Yield a function that notes the pid of an xctrace just started; it is removed with the block."""
    path = _build_note_path(build_lock_path(device))
    try:
        # Nothing slow comes before the note: without it, a killed tracekit leaves no trace of xctrace.
        yield lambda pid: write_note(path, _format_note(pid, bundle))
    finally:
        path.unlink(missing_ok=True)


def find_leftover(device: str) -> Leftover | None:
    """Return the leftover that records a device. To be called with the device's lock held."""
    return _read_leftover(build_lock_path(device))


def find_all_leftovers() -> tuple[Leftover, ...]:
    """Return the leftovers of every device; notes of a tracekit that still runs are none."""
    found = (
        _read_leftover(path)
        for path in list_lock_paths()
        if _build_note_path(path).exists() and is_free(path)
    )
    return tuple(leftover for leftover in found if leftover)


def end_leftover(
    device: str,
    consents: Callable[[Leftover], bool],
    seconds: float,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """End the leftover that records a device, if ``consents`` returns True for it.

    Raises ``XctraceError`` without consent, because a second recording beside it would fail, and where it
    does not end (``Leftover.end``).
    """
    leftover = find_leftover(device)
    if leftover is None:
        return
    if not consents(leftover):
        raise XctraceError(
            f"{leftover} was left running by a tracekit that was killed. Only one recording at a time can"
            " profile this Mac or device. To end it and let it save, record with --end-leftover, or run:",
            f"kill -INT {leftover.pid}",
        )
    leftover.end(seconds, is_cancelled)


def _build_note_path(lock: Path) -> Path:
    return lock.with_suffix(".xctrace")


def _format_note(pid: int, bundle: Path) -> str:
    return json.dumps({"pid": pid, "started": round(time.time(), 3), "bundle": str(bundle.absolute())})


def _read_leftover(lock: Path) -> Leftover | None:
    """Return the noted process if it still runs; a note that makes no sense is of none."""
    try:
        note = json.loads(read_note(_build_note_path(lock)))
        leftover = Leftover(int(note["pid"]), float(note["started"]), str(note["bundle"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return leftover if leftover.pid > 1 and leftover.is_running else None


def _inspect_process(pid: int) -> tuple[float | None, str]:
    """Return when a process started, in seconds since 1970, and its command line; None if it does not run."""
    output = run_command([*_PS, "-o", "lstart=", "-o", "command=", "-p", str(pid)]).output.strip()
    words = output.split(maxsplit=5)  # "Sun Nov 22 08:00:00 2026 /Xcode/usr/bin/xctrace record …"
    try:
        started = datetime.strptime(" ".join(words[:5]), _PS_TIME).replace(tzinfo=UTC)
    except ValueError:
        return None, ""
    return started.timestamp(), " ".join(words[5:])
