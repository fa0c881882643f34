"""One run of ``xctrace record``, watched from its start until its recording is saved.

xctrace saves when it reaches its time limit, when its target ends, or at an interrupt (SIGINT). A second
interrupt, SIGTERM or SIGKILL while it saves leaves a recording without its template, which nothing of Apple's
opens ("Document Missing Template Error"; cmyr/cargo-instruments#99, software-mansion/argent#330). So it runs
in a session of its own, where no terminal's Ctrl-C reaches it, is interrupted once and never again, and is
killed only when somebody insists or when it shows no sign of life.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol, TypeAlias

from tracekit.errors import XctraceError
from tracekit.record.signals import StopRequests
from tracekit.xctrace.tool import run_command

StopReason: TypeAlias = Literal["", "asked", "disk", "overdue", "silent", "insisted"]
"""Why the recording was ended by us: "" when xctrace ended it (time limit, or the target ended)."""

_BEGUN = ("Starting recording", "Ctrl-C to stop the recording")
_ENDING = (
    "Reached specified time limit",
    "Stopping recording",
    "Target app exited",
    "Recording completed",
    "Recording failed",
)
CHATTER = (*_BEGUN, *_ENDING, "Output file saved as", "Run issues were detected", "* [")
"""How the lines begin that xctrace itself writes while it records."""
_POLL_SECONDS = 0.05
_LOOK_SECONDS = 0.5
_INSIST_SECONDS = 15
_LAST_OUTPUT_SECONDS = 1.0
_MOST_SAID = 2000
_MOST_WAITING = 500
_LINE_BYTES = 1 << 16
_SILENT_SECONDS = 5.0


@dataclass(frozen=True)
class RecordLimits:
    """How long each step may take, and how much disk must stay free."""

    time_limit_seconds: float
    silence_seconds: float = 600
    """How long saving may go on without a word of xctrace's and without the bundle's growth."""
    start_seconds: float = 90
    overdue_seconds: float = 30
    term_seconds: float = 5
    min_free_bytes: int = 10**9

    @classmethod
    def within(cls, time_limit_seconds: float, patience_seconds: float, min_free_bytes: int) -> RecordLimits:
        """Return the usual limits, none longer than ``patience_seconds``."""
        usual = cls(time_limit_seconds)
        return cls(
            time_limit_seconds,
            patience_seconds,
            min(usual.start_seconds, patience_seconds),
            min(usual.overdue_seconds, patience_seconds),
            min_free_bytes=min_free_bytes,
        )


class RecordingListener(Protocol):
    """Told what goes on; called from the thread that records."""

    def on_recording(self) -> None:
        """xctrace records now."""

    def on_saving(self, reason: StopReason) -> None:
        """The recording ends, xctrace begins to save it."""

    def on_no_output(self) -> None:
        """xctrace was started a while ago and has not said a word."""

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        """Some time passed: of the recording, or of saving; the bundle has grown to that size."""

    def on_stop_while_saving(self, seconds: float) -> None:
        """Somebody asked to stop while xctrace saves; once more within ``seconds`` kills it."""


@dataclass(frozen=True)
class XctraceRun:
    """What one ``xctrace record`` did. Times are seconds since the epoch."""

    command: tuple[str, ...]
    exit_code: int
    said: tuple[str, ...]
    reason: StopReason
    killed: bool
    started: float
    began: float | None
    ending: float | None
    ended: float


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk that a folder lies on."""
    return shutil.disk_usage(folder).free


class Recorder:
    """Runs one command; ``record`` may be called once."""

    def __init__(
        self,
        command: Sequence[str],
        bundle: Path,
        limits: RecordLimits,
        requests: StopRequests,
        listener: RecordingListener,
        *,
        stdin: IO[bytes] | None = None,
        pass_on: Callable[[bytes], None] | None = None,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        """Prepare a run of ``command``, which writes ``bundle``.

        Requests to stop that came before it began count as well. ``stdin`` is what xctrace reads (nothing by
        default); ``pass_on`` gets the lines of its output that are not its own: those of a target whose
        output xctrace was told to pass.
        """
        self._command = tuple(command)
        self._bundle = bundle
        self._limits = limits
        self._requests = requests
        self._listener = listener
        self._stdin = stdin
        self._pass_on = pass_on
        self._free = free
        # Bounded, so that a target that never stops talking waits like one before any full pipe.
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)
        self._said: deque[str] = deque(maxlen=_MOST_SAID)
        self._silent = False  # the pipe of its output was closed
        self._began: float | None = None
        self._ending: float | None = None
        self._reason: StopReason = ""
        self._interrupted = False
        self._told_silence = False
        self._cpu_time = ""
        self._heeded = 0
        self._insisting_until = 0.0
        self._size_bytes = 0
        self._epoch = time.time() - time.monotonic()
        self._sign_of_life = self._looked = self._started = time.monotonic()

    def record(self) -> XctraceRun:
        """Run to the end; xctrace never outlives this call. Raises ``XctraceError`` if it cannot start."""
        child = self._start()
        killed = False
        try:
            while child.poll() is None:
                self._listen(_POLL_SECONDS)
                killed = self._look_after(child) or killed
        finally:
            if child.poll() is None:
                self._end(child)
        self._listen_to_the_end()
        return XctraceRun(
            self._command,
            child.returncode,
            tuple(self._said),
            self._reason,
            killed,
            self._started + self._epoch,
            None if self._began is None else self._began + self._epoch,
            None if self._ending is None else self._ending + self._epoch,
            time.time(),
        )

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            child = subprocess.Popen(  # noqa: S603 - a list of words; no shell reads them
                self._command,
                stdin=self._stdin or subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise XctraceError(f"{self._command[0]} could not be started: {error}.") from error
        assert child.stdout is not None
        threading.Thread(target=self._read, args=(child.stdout,), daemon=True).start()
        return child

    # What xctrace says -------------------------------------------------------------------------------------

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(_LINE_BYTES):
                self._lines.put(line)
        self._lines.put(None)

    def _listen(self, seconds: float) -> None:
        """Take what was said, waiting for a first line; not for ever, for there is other work."""
        try:
            self._hear(self._lines.get(timeout=seconds))
            for _ in range(_MOST_WAITING):
                self._hear(self._lines.get_nowait())
        except queue.Empty:
            return

    def _listen_to_the_end(self) -> None:
        """Take the last lines; a target that lives on may hold the pipe open, so not for ever."""
        until = time.monotonic() + _LAST_OUTPUT_SECONDS
        while not self._silent and time.monotonic() < until:
            self._listen(_POLL_SECONDS)

    def _hear(self, line: bytes | None) -> None:
        if line is None:
            self._silent = True
            return
        text = line.decode("utf-8", "replace").rstrip()
        self._sign_of_life = time.monotonic()
        begins, ends = text.startswith(_BEGUN), text.startswith(_ENDING) and self._may_end(text)
        if self._pass_on and not text.startswith(CHATTER):
            self._pass_on(line)
        if text:
            self._said.append(text)
        if begins and self._began is None:
            self._began = time.monotonic()
            self._listener.on_recording()
        if ends:
            self._ends("")

    def _may_end(self, text: str) -> bool:
        """Return False for what may be the target's own words, where those and xctrace's come by one pipe."""
        if self._pass_on is None or self._ending is not None:
            return True
        passed = time.monotonic() - (self._began or self._started)
        at_limit = text.startswith(_ENDING[0]) and passed > 0.9 * self._limits.time_limit_seconds
        return at_limit or text.startswith("Target app exited")

    def _ends(self, reason: StopReason) -> None:
        if self._ending is None:
            self._ending = self._sign_of_life = time.monotonic()
            self._reason = reason
            self._listener.on_saving(reason)

    # What is done about it ---------------------------------------------------------------------------------

    def _look_after(self, child: subprocess.Popen[bytes]) -> bool:
        """End the recording where it is time; return True when xctrace had to be killed."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._look(now)
        asked = self._requests.count > self._heeded
        if self._ending is None:
            reason = self._reason_to_stop(now, asked)
            if reason:
                self._heeded = self._requests.count
                self._interrupt(child)  # first of all: a listener may fail, and its terminal be gone
                self._ends(reason)
            return False
        if asked:
            self._heeded = self._requests.count
            if now < self._insisting_until:
                return self._kill(child, "insisted")
            self._insisting_until = now + _INSIST_SECONDS
            self._listener.on_stop_while_saving(_INSIST_SECONDS)
        if now - self._sign_of_life > self._limits.silence_seconds and not self._works(child, now):
            return self._kill(child, "silent")
        return False

    def _works(self, child: subprocess.Popen[bytes], now: float) -> bool:
        """Return whether xctrace has used the CPU since this was last asked: it may save out of our sight."""
        before, self._cpu_time = (
            self._cpu_time,
            run_command(["ps", "-o", "time=", "-p", str(child.pid)]).output.strip(),
        )
        if self._cpu_time in ("", before):
            return False
        self._sign_of_life = now
        return True

    def _look(self, now: float) -> None:
        size = _size_bytes(self._bundle)
        if size != self._size_bytes:
            self._size_bytes, self._sign_of_life = size, now
        if not self._told_silence and self._began is None and now - self._started > _SILENT_SECONDS:
            self._told_silence = True
            self._listener.on_no_output()
        since = self._ending or self._began
        if since is not None:
            self._listener.on_progress(self._ending is not None, now - since, size)

    def _reason_to_stop(self, now: float, asked: bool) -> StopReason:
        if asked:
            return "asked"
        limits = self._limits
        began = self._began or self._started + limits.start_seconds
        if now > began + limits.time_limit_seconds + limits.overdue_seconds:
            return "overdue"
        # Instruments records into the temporary folder, and moves what it saved to its place.
        folders = (self._bundle.absolute().parent, Path(tempfile.gettempdir()))
        return "disk" if self._looked == now and any(map(self._is_nearly_full, folders)) else ""

    def _is_nearly_full(self, folder: Path) -> bool:
        try:
            return self._free(folder) < self._limits.min_free_bytes
        except OSError:  # it was ejected, or moved: xctrace will notice
            return False

    def _interrupt(self, child: subprocess.Popen[bytes]) -> None:
        """Let xctrace stop and save; never twice."""
        if not self._interrupted:
            self._interrupted = True
            child.send_signal(signal.SIGINT)

    def _kill(self, child: subprocess.Popen[bytes], reason: StopReason) -> bool:
        self._reason = reason
        child.terminate()
        try:
            child.wait(self._limits.term_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        return True

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """Leave nothing behind when this process fails: let xctrace save, within reason."""
        if self._ending is None:
            self._interrupt(child)
        try:
            child.wait(self._limits.overdue_seconds)
        except subprocess.TimeoutExpired:
            self._kill(child, "silent")


def _size_bytes(bundle: Path) -> int:
    total = 0
    for folder, _, names in os.walk(bundle):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118
            except OSError:
                continue  # it was moved meanwhile
    return total
