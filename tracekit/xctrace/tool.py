"""Finding ``xctrace``."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from tracekit.errors import XctraceError


@dataclass(frozen=True)
class Xctrace:
    """One installed ``xctrace``."""

    path: str


def find_xctrace() -> Xctrace | None:
    """Return the xctrace of the selected Xcode (``DEVELOPER_DIR`` included), None where there is none."""
    xcrun = shutil.which("xcrun")
    if xcrun:
        found = subprocess.run(  # noqa: S603 - the command is ours, no shell reads it
            [xcrun, "--find", "xctrace"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        path = found.stdout.strip()
        if found.returncode == 0 and path and os.access(path, os.X_OK):
            return Xctrace(path)
    alone = shutil.which("xctrace")
    return Xctrace(alone) if alone else None


def require_xctrace() -> Xctrace:
    """Return the xctrace that is there; raise ``XctraceError`` with what to do when there is none."""
    found = find_xctrace()
    if found is None:
        raise XctraceError(
            "xctrace was not found: it comes with Xcode, on a Mac. Install Xcode and select it with"
            " sudo xcode-select --switch /Applications/Xcode.app."
        )
    return found
