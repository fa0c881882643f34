"""One recorder at a time: only one can profile a Mac, or a device (the kernel's kperf is not shared)."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracekit.errors import XctraceError

_NOTE_BYTES = 4096


@contextmanager
def recorder_lock(device: str, output: Path) -> Iterator[None]:
    """Hold the right to record a device ("" is this Mac) while the block runs.

    Raises ``XctraceError`` when another tracekit of this user holds it. Other programs are not held back:
    xctrace tells when they are in the way.
    """
    try:
        import fcntl
    except ImportError:  # Windows, where there is nothing to record
        yield
        return
    name = hashlib.sha256(device.encode()).hexdigest()[:12] if device else "mac"
    path = Path(tempfile.gettempdir()) / f"tracekit-{os.getuid()}-{name}.lock"
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise XctraceError(f"{path} cannot be locked: {error.strerror or error}. Remove it.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            note = os.pread(descriptor, _NOTE_BYTES, 0).decode("utf-8", "replace")
            os.close(descriptor)
            raise XctraceError(
                f"Another tracekit records already{note}: only one can profile this Mac or device at a time."
                " Wait until it ends, or stop it with Ctrl-C in its terminal."
            ) from None
        if _is_still_there(descriptor, path):
            break
        os.close(descriptor)  # its holder removed it between our opening and locking it
    try:
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, os.fsencode(f" (pid {os.getpid()}, into {output})"), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _is_still_there(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
