"""One server per library."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from dashboard.errors import Conflict

_NOTE_BYTES = 20


class Lock:
    """Held from construction to ``release``, or until the process ends in whatever way.

    Raises ``Conflict`` when another process, or another ``Library`` of this one, holds it.
    """

    def __init__(self, path: Path) -> None:
        # Not inheritable, so that a worker that outlives the server does not hold the lock.
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            _lock(self._descriptor)
        except OSError:
            note = ""
            with suppress(OSError):  # Windows lets no one read what is locked
                note = os.read(self._descriptor, _NOTE_BYTES).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            holder = f" (pid {note})" if note.isdecimal() else ""
            raise Conflict(
                f"Another dashboard{holder} uses the library {path.parent}. Use that one, end it, or name"
                " another folder with --library."
            ) from None
        os.truncate(self._descriptor, 0)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let another server in; the file stays, because removing it would let two in."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
