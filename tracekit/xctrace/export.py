"""Running ``xctrace export``."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tracekit.errors import XctraceError
from tracekit.parsers.source import Progress
from tracekit.xctrace.tool import Xctrace

_POLL_SECONDS = 0.2
_STOP_SECONDS = 10
_LAST_LINES = 3


def export_table(
    tool: Xctrace, bundle: str, query: Sequence[str], output: Path, progress: Progress | None = None
) -> None:
    """Run ``xctrace export`` on a bundle into a new file.

    ``query`` is ``--toc`` or ``--xpath …``. The exit code is 0 even when nothing matched, so the file
    decides; raises ``XctraceError`` with what xctrace said when there is none.
    """
    command = [tool.path, "export", "--input", bundle, *query, "--output", str(output)]
    code, said = _run(command, output, progress)
    if code != 0 or not output.exists() or not output.stat().st_size:
        output.unlink(missing_ok=True)
        shown = " ".join(f"'{word}'" if " " in word or "[" in word else word for word in command)
        raise XctraceError(
            f"xctrace could not export {bundle}: {_gist(said) or f'exit code {code}'}. It was: {shown}"
        )


def _run(command: Sequence[str], output: Path, progress: Progress | None) -> tuple[int, str]:
    """Run to the end and return (exit code, what was said); the child never outlives this call."""
    with subprocess.Popen(  # noqa: S603 - the command is ours, no shell reads it
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        try:
            while True:
                try:
                    said, _ = child.communicate(timeout=_POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    if progress is not None and output.exists():
                        progress(output.stat().st_size, None)
                else:
                    return child.returncode, said
        finally:
            if child.poll() is None:
                _stop(child)


def _stop(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGINT)
    try:
        child.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def _gist(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return " ".join(lines[-_LAST_LINES:]).rstrip(".")
