"""Finding ``xctrace``, and asking it and its like short questions."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tracekit.errors import UsageError, XctraceError

_ANSWER_SECONDS = 60
"""`xctrace list devices` waits for devices that do not answer: tens of seconds are normal."""
_MOST_BYTES = 4 << 20
_LAST_OUTPUT_SECONDS = 1.0
_SELECT = "sudo xcode-select --switch /Applications/Xcode.app"
_COMMAND_LINE_TOOLS = ("unable to find utility", "is a command line tools instance")
LICENCE = "not agreed to the Xcode license"
"""What every tool of an Xcode says whose licence was not accepted (exit code 69)."""


@dataclass(frozen=True)
class Xctrace:
    """One installed ``xctrace``."""

    path: str


@dataclass(frozen=True)
class CommandResult:
    """What a command answered; ``code`` is None where it could not be started or did not end in time."""

    code: int | None
    output: str = ""
    error: str = ""

    @property
    def ok(self) -> bool:
        """True when the command ended well."""
        return self.code == 0

    @property
    def gist(self) -> str:
        """The last lines of what was said, as one."""
        lines = [line.strip() for line in (self.error or self.output).splitlines() if line.strip()]
        return " ".join(lines[-2:]).rstrip(".") or f"exit code {self.code}"


def run_command(command: Sequence[str], seconds: float = _ANSWER_SECONDS) -> CommandResult:
    """Run a command that ends soon; it is stopped after ``seconds`` and never asks for input.

    No more of its output is kept than the longest list needs.
    """
    try:
        child = subprocess.Popen(  # noqa: S603 - the words are ours, and no shell reads them
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return CommandResult(None, error=f"{command[0]} could not be started: {error}")
    texts: dict[str, bytes] = {}
    readers = [
        threading.Thread(target=_read, args=(name, pipe, texts), daemon=True)
        for name, pipe in (("output", child.stdout), ("error", child.stderr))
    ]
    try:
        for reader in readers:
            reader.start()
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return CommandResult(None, error=f"{command[0]} did not answer within {seconds:g} s")
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        for reader in readers:
            if (
                reader.is_alive()
            ):  # an interrupt may come before it is started, and one that is not cannot be joined
                reader.join(_LAST_OUTPUT_SECONDS)
    said = (texts.get(name, b"").decode("utf-8", "replace") for name in ("output", "error"))
    return CommandResult(child.returncode, *said)


def _read(name: str, pipe: IO[bytes] | None, texts: dict[str, bytes]) -> None:
    assert pipe is not None
    with pipe:  # closed early, whoever goes on writing is told so
        texts[name] = pipe.read(_MOST_BYTES)


def find_xctrace(path: str | None = None) -> Xctrace | None:
    """Return the xctrace at ``path``, else that of the selected Xcode, None where there is none.

    ``DEVELOPER_DIR`` selects another Xcode: xcrun heeds it.
    """
    if path:
        usable = Path(path).is_file() and os.access(path, os.X_OK)
        return Xctrace(str(Path(path).absolute())) if usable else None
    if not shutil.which("xcrun"):
        alone = shutil.which("xctrace")
        return Xctrace(alone) if alone else None
    found = run_command(["xcrun", "--find", "xctrace"]) if _is_xcode_selected() else CommandResult(None)
    place = found.output.strip()
    return Xctrace(place) if found.ok and place and os.access(place, os.X_OK) else None


def require_xctrace(path: str | None = None) -> Xctrace:
    """Return the xctrace that is there; raise ``XctraceError`` with what to do when there is none."""
    if path and not os.path.lexists(path):
        raise UsageError(f"--xctrace {path}: there is no such file.")
    found = find_xctrace(path)
    if found is None:
        raise XctraceError(_why_missing(path))
    return found


def _is_xcode_selected() -> bool:
    """False where asking xcrun would open macOS's dialog that offers to install the Command Line Tools."""
    if not shutil.which("xcrun"):
        return False
    named = os.environ.get("DEVELOPER_DIR") or not shutil.which("xcode-select")
    return bool(named) or run_command(["xcode-select", "-p"]).ok


def _why_missing(path: str | None) -> str:
    if path:
        return f"{path} is no program that can be run. Name the xctrace of an Xcode."
    if not _is_xcode_selected():
        return (
            "xctrace was not found: it comes with Xcode, on a Mac. Install Xcode and select it with"
            f" {_SELECT}."
        )
    return failure_reason(run_command(["xcrun", "--find", "xctrace"]))


def failure_reason(answer: CommandResult) -> str:
    """Say why ``xcrun`` or xctrace did not work, and what to do."""
    said = answer.error + answer.output
    if LICENCE in said:
        return "The licence of Xcode was not accepted. Read and accept it with sudo xcodebuild -license."
    if any(sign in said for sign in _COMMAND_LINE_TOOLS):
        return (
            "Only the Command Line Tools are selected, and they have no xctrace. Install Xcode and select it"
            f" with {_SELECT}, or for one command with DEVELOPER_DIR=/Applications/Xcode.app."
        )
    if answer.code is None:
        return f"xctrace does not work: {answer.gist}. tracekit doctor may tell why."
    return f"xctrace does not work: {answer.gist}. Select an Xcode with {_SELECT}."
