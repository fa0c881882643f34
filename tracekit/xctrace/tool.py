"""The installed ``xctrace``, and short commands of it and other tools."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tracekit.errors import UsageError, XctraceError
from tracekit.frozen import frozen

_TIMEOUT_SECONDS = 60
"""`xctrace list devices` waits for devices that do not answer: tens of seconds are normal."""
_MAX_BYTES = 4 << 20
_LAST_OUTPUT_SECONDS = 1.0
_SELECT = "sudo xcode-select --switch /Applications/Xcode.app"
_COMMAND_LINE_TOOLS = ("unable to find utility", "is a command line tools instance")
LICENCE = "not agreed to the Xcode license"
"""The message of every tool of an Xcode without an accepted licence (exit code 69)."""


@frozen
class Xctrace:
    """One installed ``xctrace``."""

    path: str


@frozen
class CommandResult:
    """The exit code and output of a command; no code if it could not start or did not end in time."""

    code: int | None
    output: str = ""
    error: str = ""

    @property
    def ok(self) -> bool:
        """True if the command succeeded."""
        return self.code == 0

    @property
    def last_lines(self) -> str:
        """The last lines of its messages, as one; without messages, the exit code."""
        lines = [line.strip() for line in (self.error or self.output).splitlines() if line.strip()]
        return " ".join(lines[-2:]).rstrip(".") or f"exit code {self.code}"


def run_command(command: Sequence[str], seconds: float = _TIMEOUT_SECONDS) -> CommandResult:
    """Run a short command without input; it and what it started are killed after ``seconds``.

    Its output is cut at the size of the longest list.
    """
    try:
        child = subprocess.Popen(  # noqa: S603 - a list of words; no shell reads them
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return CommandResult(None, error=f"{command[0]} could not be started: {error}")
    # Both pipes are emptied at once: a command that fills the one that is not read would never end.
    texts: dict[str, bytes] = {}
    readers = [
        threading.Thread(target=_read_pipe, args=(name, pipe, texts), daemon=True)
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
            _kill_group(child)
            child.wait()
        for reader in readers:
            # An interrupt may come before a thread is started, and then it cannot be joined.
            if reader.is_alive():
                reader.join(_LAST_OUTPUT_SECONDS)
    streams = (texts.get(name, b"").decode("utf-8", "replace") for name in ("output", "error"))
    return CommandResult(child.returncode, *streams)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a command with the processes that it started: it leads a session of its own."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (OSError, AttributeError):  # it has just ended; Windows has no groups
        child.kill()


def read_cpu_time(pid: int) -> str:
    """Return the time that a process has used the CPU, in the notation of ps; "" if it is not known."""
    return run_command(["ps", "-o", "time=", "-p", str(pid)]).output.strip()


def _read_pipe(name: str, pipe: IO[bytes] | None, texts: dict[str, bytes]) -> None:
    assert pipe is not None
    with pipe:  # closed at the limit: a command that writes on gets SIGPIPE
        texts[name] = pipe.read(_MAX_BYTES)


def find_xctrace(path: str | None = None) -> Xctrace | None:
    """Return the xctrace at ``path``, else that of the selected Xcode, None if there is none.

    ``DEVELOPER_DIR`` selects another Xcode: xcrun obeys it.
    """
    if path:
        usable = Path(path).is_file() and os.access(path, os.X_OK)
        return Xctrace(str(Path(path).absolute())) if usable else None
    if not shutil.which("xcrun"):
        in_path = shutil.which("xctrace")
        return Xctrace(in_path) if in_path else None
    result = run_command(["xcrun", "--find", "xctrace"]) if _is_xcode_selected() else CommandResult(None)
    location = result.output.strip()
    return Xctrace(location) if result.ok and location and os.access(location, os.X_OK) else None


def require_xctrace(path: str | None = None) -> Xctrace:
    """Return the xctrace of ``find_xctrace``; raise ``XctraceError`` with advice if there is none."""
    if path and not os.path.lexists(path):
        raise UsageError(f"--xctrace {path}: there is no such file.")
    tool = find_xctrace(path)
    if tool is None:
        raise XctraceError(_explain_missing_tool(path))
    return tool


def _is_xcode_selected() -> bool:
    """Return False where xcrun would open macOS's dialog that offers to install the Command Line Tools."""
    if not shutil.which("xcrun"):
        return False
    has_override = os.environ.get("DEVELOPER_DIR") or not shutil.which("xcode-select")
    return bool(has_override) or run_command(["xcode-select", "-p"]).ok


def _explain_missing_tool(path: str | None) -> str:
    if path:
        return f"{path} is not an executable program. Name the xctrace of an Xcode."
    if not _is_xcode_selected():
        return (
            "xctrace was not found: it comes with Xcode, on a Mac. Install Xcode and select it with"
            f" {_SELECT}."
        )
    return explain_failure(run_command(["xcrun", "--find", "xctrace"]))


def explain_failure(result: CommandResult) -> str:
    """Return the reason why ``xcrun`` or xctrace failed, with advice."""
    text = result.error + result.output
    if LICENCE in text:
        return "The licence of Xcode was not accepted. Read and accept it with sudo xcodebuild -license."
    if any(sign in text for sign in _COMMAND_LINE_TOOLS):
        return (
            "Only the Command Line Tools are selected, and they have no xctrace. Install Xcode and select it"
            f" with {_SELECT}, or for a single command with DEVELOPER_DIR=/Applications/Xcode.app."
        )
    if result.code is None:
        return f"xctrace does not work: {result.last_lines}. Run tracekit doctor to check the installation."
    return f"xctrace does not work: {result.last_lines}. Select an Xcode with {_SELECT}."
