"""One recording at a time: the kernel's profiler (kperf) serves one client per Mac or device."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from tracekit.errors import XctraceError

_NOTE_BYTES = 4096


@contextmanager
def hold_recorder_lock(device: str, output: Path) -> Iterator[None]:
    """Hold the right to record a device ("" is this Mac) while the block runs.

    Raises ``XctraceError`` when another tracekit of this user holds it. Other programs take no part in this
    lock: xctrace itself reports when they are in the way.

    The operating system releases the lock when its process ends in whatever way, so a stale file is harmless.
    The empty lock file stays: removing it would let a third process lock a new file of that name while a
    second one still waits for the old.
    """
    path = build_lock_path(device)
    note = path.with_suffix(".holder")
    lock = FileLock(path, mode=0o600)
    try:
        lock.acquire(blocking=False)
    except Timeout:  # before OSError, which it is, too
        raise XctraceError(
            f"Another tracekit is recording{read_note(note)}. Only one recording at a time can profile this"
            " Mac or device. Wait until it ends, or stop it with Ctrl-C in its terminal."
        ) from None
    except OSError as error:
        raise XctraceError(f"{path} cannot be locked: {error.strerror or error}. Remove it.") from error
    try:
        write_note(note, f" (pid {os.getpid()}, into {output})")
        yield
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def build_lock_path(device: str) -> Path:
    """Return the path of a device's lock; "" is this Mac."""
    # Hashed, because a device's name or identifier may hold characters that a file name cannot.
    name = hashlib.sha256(device.encode()).hexdigest()[:12] if device else "mac"
    return Path(tempfile.gettempdir()) / f"tracekit-{_get_user_id()}-{name}.lock"


def list_lock_paths() -> list[Path]:
    """Return the locks of every device that this user has recorded."""
    return sorted(Path(tempfile.gettempdir()).glob(f"tracekit-{_get_user_id()}-*.lock"))


def is_free(path: Path) -> bool:
    """Return True if no tracekit holds the lock."""
    lock = FileLock(path, mode=0o600)
    try:
        lock.acquire(blocking=False)
    except (Timeout, OSError):
        return False
    lock.release()
    return True


def _get_user_id() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def write_note(path: Path, text: str) -> None:
    """Write a note beside a lock; a note that cannot be written is no reason to fail."""
    # Made anew: in a shared /tmp, a link of that name could lead to another file.
    with suppress(OSError):
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.fsencode(text))


def read_note(path: Path) -> str:
    """Return the text of a note of this user, "" where there is none."""
    try:
        with path.open("rb") as file:
            # In a shared /tmp, another user could write a note in this user's name.
            is_foreign = hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid()
            return "" if is_foreign else file.read(_NOTE_BYTES).decode("utf-8", "replace")
    except OSError:  # its holder has the lock and has not written it yet
        return ""
