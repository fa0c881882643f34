"""Hidden files in which a tool beside a recording writes: their names, their lock, and those left behind.

``.tracekit-log.X.ab12cd34`` takes the log beside ``X.trace`` until the recording is saved. tracekit holds a
lock on it, which the system releases with the process, however it ends: a file that is not locked was left by
one that was killed.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tracekit.frozen import frozen

if sys.platform != "win32":  # where nothing is recorded
    import fcntl

_MAX_STEM_CHARACTERS = 100
_HIDDEN = re.compile(r"\.tracekit-(?P<word>[a-z]+)\.(?:(?P<stem>.+)\.)?[a-z0-9_]{8}")


@frozen
class AbandonedFile:
    """What the tool ``word`` wrote beside ``stem``.trace ("" if unknown) for a tracekit that was killed."""

    path: Path
    word: str
    stem: str
    size_bytes: int


def create_hidden_file(word: str, final: Path) -> tuple[int, Path]:
    """Make the file for a tool beside the recording ``final``; return its locking descriptor and path."""
    # In the recording's folder, because only there is the renaming atomic and the space checked.
    prefix = f".tracekit-{word}.{final.stem[:_MAX_STEM_CHARACTERS]}."
    descriptor, path = tempfile.mkstemp(dir=final.absolute().parent, prefix=prefix)
    if sys.platform != "win32":
        with suppress(OSError):  # a file system without locks: the file may be named while it is written
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor, Path(path)


def find_abandoned_files(folder: Path, final: Path | None = None) -> list[AbandonedFile]:
    """Return the files that were left in a folder, or only those of the recording ``final``."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.startswith(".tracekit-"))
    except OSError:
        return []
    files = list(_iter_abandoned_files(folder, names))
    return [file for file in files if final is None or file.stem == final.stem[:_MAX_STEM_CHARACTERS]]


def _iter_abandoned_files(folder: Path, names: list[str]) -> Iterator[AbandonedFile]:
    for name in names:
        match = _HIDDEN.fullmatch(name)
        if match and (size_bytes := _measure_unlocked_file(folder / name)) is not None:
            yield AbandonedFile(folder / name, match["word"], match["stem"] or "", size_bytes)


def _measure_unlocked_file(path: Path) -> int | None:
    """Return the size of a file of this user that no process has locked; None for any other."""
    if sys.platform == "win32":
        return None
    try:
        # No link is followed, and a pipe is not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # locked
        return None
    else:
        return status.st_size
    finally:
        os.close(descriptor)
