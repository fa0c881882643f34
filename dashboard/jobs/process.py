"""Processes that the server starts, of our own modules; ``bootstrap`` is their side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from dashboard.settings import Limits

_ROOT = Path(__file__).resolve().parents[2]
_GRACE_SECONDS = 3.0
_SMALLEST_MEMORY = 2 << 30
_POSIX = os.name == "posix"


class Child:
    """A started ``python -m module``. It ends when ``stop`` is called, or when this process ends in any way.

    Whoever starts one calls ``wait``. ``stdin`` must stay open as long as it shall run; ``stdout`` is None
    unless it ``talks``. What it and its libraries keep for a time lies in ``temporary``, which is made.
    """

    def __init__(
        self, module: str, arguments: Sequence[str], *, temporary: Path, log: Path, talks: bool = False
    ) -> None:
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        own = {"PYTHONPATH": path, "TMPDIR": str(temporary), "PYTHONIOENCODING": "utf-8"}
        self._ended = False
        self._lock = threading.Lock()
        self._killer: threading.Timer | None = None
        with log.open("wb") as told:
            self._process = subprocess.Popen(  # noqa: S603 - our own program; no shell reads it
                [sys.executable, "-P", "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if talks else subprocess.DEVNULL,
                stderr=told,
                env={**os.environ, **own},
                start_new_session=True,
            )
        self.pid = self._process.pid

    @property
    def stdin(self) -> IO[bytes]:
        """Where it is told things."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        """What it says."""
        return self._process.stdout

    def wait(self, seconds: float | None = None) -> int:
        """Wait for its end and return the exit code, negative for a signal; what it started ends with it.

        Raises ``TimeoutError`` when it takes longer, and leaves it as it is.
        """
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        with self._lock:
            if not self._ended:
                self._ended = True
                self._kill_group()
            if self._killer is not None:
                self._killer.cancel()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        return code

    def stop(self) -> None:
        """Ask it to end, which it does in good order, and end all when it does not; returns at once."""
        with self._lock:
            if self._ended or self._killer is not None:
                return
            self._killer = threading.Timer(_GRACE_SECONDS, self._kill)
            self._killer.daemon = True
            self._killer.start()
        self.send(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended; not to what it started, of which it takes care."""
        with self._lock:
            if not self._ended:
                self._process.send_signal(number)

    def _kill(self) -> None:
        with self._lock:
            if not self._ended:
                self._kill_group()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if _POSIX:
                os.killpg(self.pid, signal.SIGKILL)  # it leads a group of its own
            else:
                self._process.kill()


def most_memory(limits: Limits) -> int:
    """Return the bytes that a child may take: what was set, or three quarters of the machine's memory."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        whole = 0
    return limits.job_memory_bytes or max(_SMALLEST_MEMORY, whole * 3 // 4)
