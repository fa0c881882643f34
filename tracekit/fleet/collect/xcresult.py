"""Attachments of ``.xcresult`` bundles, through ``xcresulttool``, which is a part of Xcode.

``xcrun xcresulttool export attachments --path X.xcresult --output-path FOLDER`` (Xcode 16 or later) writes
the files and a ``manifest.json``: a list of tests, each with ``attachments`` with an ``exportedFileName``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from tracekit.errors import InputError, UsageError
from tracekit.text import printable
from tracekit.xctrace.tool import CommandResult, run_command

ENDING = ".xcresult"
_SECONDS = 600
_MANIFEST = "manifest.json"


def export_attachments(
    bundle: Path, folder: Path, run: Callable[[Sequence[str], float], CommandResult] = run_command
) -> list[Path]:
    """Export the attachments of a bundle into a folder, and return them.

    Raises ``UsageError`` where there is no Xcode, and ``InputError`` where the bundle cannot be read.
    """
    if shutil.which("xcrun") is None:
        raise UsageError(
            f"{printable(str(bundle))} is read by Apple's xcresulttool, which needs a Mac with Xcode. Export"
            " its attachments there, or run this command there."
        )
    command = ["xcrun", "xcresulttool", "export", "attachments", "--path", str(bundle)]
    result = run([*command, "--output-path", str(folder)], _SECONDS)
    if not result.ok:
        raise InputError(str(bundle), f"xcresulttool could not export its attachments: {result.last_lines}.")
    try:
        tests = json.loads((folder / _MANIFEST).read_bytes())
        names = [entry["exportedFileName"] for test in tests for entry in test["attachments"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(str(bundle), "xcresulttool wrote no manifest that tracekit reads.") from error
    return [folder / name for name in names if _is_plain(name) and (folder / name).exists()]


def _is_plain(name: object) -> bool:
    """Return whether a name is that of a file in the folder itself."""
    return isinstance(name, str) and name not in ("", ".", "..") and Path(name).name == name
