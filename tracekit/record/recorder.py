"""One run of ``xctrace record``, supervised from its start until its recording is saved.

xctrace saves when it reaches its time limit, when its target ends, or at an interrupt (SIGINT). A second
interrupt, SIGTERM or SIGKILL while it saves leaves a recording without its template, which nothing of Apple's
opens ("Document Missing Template Error"; cmyr/cargo-instruments#99, software-mansion/argent#330). So it runs
in a session of its own, where no terminal's Ctrl-C reaches it, is interrupted once and never again, and is
killed only at a repeated request or when it shows no activity::

    starting ──"Starting recording"──► recording ──"Reached specified …", "Stopping …"──► saving ──► ended
       │                                   │                                                │
       │ stop request, overdue,            │ stop request, overdue,                         │ second request
       │ disk nearly full                  │ disk nearly full                               │ in time, silence
       └────────────── SIGINT ─────────────┴───────────────► saving            SIGTERM, then SIGKILL ► ended

Two threads take part: one reads the pipe into a bounded queue, the other (the caller's) empties the queue,
polls the process, and alone changes the state.
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
from pathlib import Path
from typing import IO, Literal, Protocol, TypeAlias

from tracekit.errors import XctraceError
from tracekit.frozen import frozen
from tracekit.record.signals import StopRequests
from tracekit.xctrace.tool import read_cpu_time

StopReason: TypeAlias = Literal["", "asked", "disk", "overdue", "silent", "insisted"]
"""Why tracekit ended the recording; "" if xctrace did (time limit, or its target ended).

The values are written to the journal (``stopped_by``). "insisted" is a repeated request that killed xctrace.
"""

_STARTED_MARKS = ("Starting recording", "Ctrl-C to stop the recording")
TIME_LIMIT = "Reached specified time limit"
_TARGET_EXITED = "Target app exited"
_ENDING_MARKS = (TIME_LIMIT, "Stopping recording", _TARGET_EXITED, "Recording completed", "Recording failed")
XCTRACE_LINES = (*_STARTED_MARKS, *_ENDING_MARKS, "Output file saved as", "Run issues were detected", "* [")
"""Beginnings of the lines that xctrace itself writes while it records."""
_POLL_SECONDS = 0.05
_PROGRESS_SECONDS = 0.5
_FORCE_SECONDS = 15
_LAST_OUTPUT_SECONDS = 1.0
_MAX_OUTPUT_LINES = 2000
_MAX_QUEUED_LINES = 500
_LINE_BYTES = 1 << 16
_NO_OUTPUT_SECONDS = 5.0


@frozen
class RecordLimits:
    """Limits on the duration of each step, and on the disk space that must stay free."""

    time_limit_seconds: float
    silence_seconds: float = 600
    """How long saving may go on without output from xctrace and without growth of the bundle."""
    start_seconds: float = 90
    overdue_seconds: float = 30
    term_seconds: float = 5
    min_free_bytes: int = 10**9

    @classmethod
    def build_within(
        cls, time_limit_seconds: float, patience_seconds: float, min_free_bytes: int
    ) -> RecordLimits:
        """Return the usual limits, none longer than ``patience_seconds``."""
        usual = cls(time_limit_seconds)
        return cls(
            time_limit_seconds,
            patience_seconds,
            min(usual.start_seconds, patience_seconds),
            min(usual.overdue_seconds, patience_seconds),
            min(usual.term_seconds, patience_seconds),
            min_free_bytes,
        )


class RecordingListener(Protocol):
    """Callbacks on the progress of a recording, called from the thread that records."""

    def on_recording(self) -> None:
        """xctrace has begun to record."""

    def on_saving(self, reason: StopReason) -> None:
        """The recording ends; xctrace begins to save it."""

    def on_no_output(self) -> None:
        """xctrace was started a while ago and has written nothing yet."""

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        """Recording or saving has gone on for ``seconds``; the bundle has grown to that size."""

    def on_stop_while_saving(self, seconds: float) -> None:
        """A stop was requested while xctrace saves; a further one within ``seconds`` kills it."""


@frozen
class XctraceRun:
    """One finished ``xctrace record``. Times are seconds since the epoch."""

    command: tuple[str, ...]
    exit_code: int
    output: tuple[str, ...]
    stop_reason: StopReason
    killed: bool
    started: float
    recording_from: float | None
    saving_from: float | None
    ended: float


def measure_free_bytes(folder: Path) -> int:
    """Return the free space of the disk that holds a folder."""
    return shutil.disk_usage(folder).free


class Recorder:
    """Supervisor of one command; ``record`` may be called once."""

    def __init__(
        self,
        command: Sequence[str],
        bundle: Path,
        limits: RecordLimits,
        requests: StopRequests,
        listener: RecordingListener,
        *,
        stdin: IO[bytes] | None = None,
        forward_output: Callable[[bytes], None] | None = None,
        free_space: Callable[[Path], int] = measure_free_bytes,
        on_start: Callable[[int], None] | None = None,
    ) -> None:
        """Prepare a run of ``command``, which writes ``bundle``.

        Stop requests made before it began count as well. ``stdin`` is xctrace's input (nothing by default);
        ``forward_output`` gets those lines of its output that are not its own: the output of the target, if
        xctrace forwards it. ``on_start`` gets xctrace's pid.
        """
        self._command = tuple(command)
        self._bundle = bundle
        self._limits = limits
        self._requests = requests
        self._listener = listener
        self._stdin = stdin
        self._forward_output = forward_output
        self._free_space = free_space
        self._on_start = on_start
        # Bounded: a target that writes without end is held up by a full pipe, not by our memory.
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MAX_QUEUED_LINES)
        self._output: deque[str] = deque(maxlen=_MAX_OUTPUT_LINES)
        self._output_closed = False
        # Monotonic times; None until that state is reached.
        self._recording_from: float | None = None
        self._saving_from: float | None = None
        self._stop_reason: StopReason = ""
        self._interrupted = False
        self._reported_no_output = False
        self._cpu_time = ""
        self._requests_handled = 0
        self._force_deadline = 0.0
        self._size_bytes = 0
        # Durations are measured by the monotonic clock, which no one sets; the journal needs the time of day.
        self._epoch = time.time() - time.monotonic()
        self._last_sign_of_life = self._last_progress = self._started = time.monotonic()

    def record(self) -> XctraceRun:
        """Run to the end; xctrace never outlives this call. Raises ``XctraceError`` if it cannot start."""
        child = self._start_process()
        killed = False
        try:
            if self._on_start:
                self._on_start(child.pid)
            while child.poll() is None:
                self._process_output(_POLL_SECONDS)
                killed = self._poll_process(child) or killed
        finally:
            if child.poll() is None:
                self._end_process(child)
        self._process_remaining_output()
        return XctraceRun(
            self._command,
            child.returncode,
            tuple(self._output),
            self._stop_reason,
            killed,
            self._started + self._epoch,
            None if self._recording_from is None else self._recording_from + self._epoch,
            None if self._saving_from is None else self._saving_from + self._epoch,
            time.time(),
        )

    def _start_process(self) -> subprocess.Popen[bytes]:
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
        threading.Thread(target=self._read_lines, args=(child.stdout,), daemon=True).start()
        return child

    # Output of xctrace -------------------------------------------------------------------------------------

    def _read_lines(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(_LINE_BYTES):
                self._lines.put(line)
        self._lines.put(None)

    def _process_output(self, seconds: float) -> None:
        """Process the queued lines, waiting up to ``seconds`` for the first.

        No more than a queue full at a time: with a target that writes without end, the queue is never empty.
        """
        try:
            self._on_line(self._lines.get(timeout=seconds))
            for _ in range(_MAX_QUEUED_LINES):
                self._on_line(self._lines.get_nowait())
        except queue.Empty:
            return

    def _process_remaining_output(self) -> None:
        """Process the last lines, for a limited time: a target that lives on may hold the pipe open."""
        deadline = time.monotonic() + _LAST_OUTPUT_SECONDS
        while not self._output_closed and time.monotonic() < deadline:
            self._process_output(_POLL_SECONDS)

    def _on_line(self, line: bytes | None) -> None:
        if line is None:
            self._output_closed = True
            return
        text = line.decode("utf-8", "replace").rstrip()
        self._last_sign_of_life = time.monotonic()
        # xctrace documents none of these lines: they are taken from its output. An unknown line is no event,
        # and the limits on time end the run all the same.
        begins = text.startswith(_STARTED_MARKS)
        ends = text.startswith(_ENDING_MARKS) and self._is_credible_end(text)
        if self._forward_output and not text.startswith(XCTRACE_LINES):
            self._forward_output(line)
        if text:
            self._output.append(text)
        if begins and self._recording_from is None:
            self._recording_from = time.monotonic()
            self._listener.on_recording()
        if ends:
            self._begin_saving("")

    def _is_credible_end(self, text: str) -> bool:
        """Return False for an ending that the target may have printed itself.

        Where the target's output shares the pipe with xctrace's, "Stopping recording" proves nothing; a time
        limit counts only when the time has nearly passed.
        """
        if self._forward_output is None or self._saving_from is not None:
            return True
        elapsed = time.monotonic() - (self._recording_from or self._started)
        at_limit = text.startswith(TIME_LIMIT) and elapsed > 0.9 * self._limits.time_limit_seconds
        return at_limit or text.startswith(_TARGET_EXITED)

    def _begin_saving(self, reason: StopReason) -> None:
        if self._saving_from is None:
            self._saving_from = self._last_sign_of_life = time.monotonic()
            self._stop_reason = reason
            self._listener.on_saving(reason)

    # Supervision -------------------------------------------------------------------------------------------

    # The states of a run, and what moves it on:
    #   started ──"Starting recording"──► recording ──limit, target's end──────────────► saving ──► ended
    #      └──────────── request, disk, overdue: SIGINT, once ─────────────────────────►   │
    #                          a second request within 15 s, or silence: SIGTERM, SIGKILL ◄┘
    # A second SIGINT may cut the saving short, and a bundle that lacks its template cannot be exported. So
    # saving is ended by other signals only, and only on demand or after a long silence.
    def _poll_process(self, child: subprocess.Popen[bytes]) -> bool:
        """End the recording when it is time; return True if xctrace had to be killed."""
        now = time.monotonic()
        if now - self._last_progress >= _PROGRESS_SECONDS:
            self._last_progress = now
            self._sample_progress(now)
        requested = self._requests.count > self._requests_handled
        if self._saving_from is None:
            reason = self._find_stop_reason(now, requested)
            if reason:
                # All requests so far are one interrupt, however many Ctrl-C they were.
                self._requests_handled = self._requests.count
                self._interrupt(child)  # before the listener, which may fail: its terminal may be gone
                self._begin_saving(reason)
            return False
        if requested:
            self._requests_handled = self._requests.count
            if now < self._force_deadline:
                return self._kill_process(child, "insisted")
            self._force_deadline = now + _FORCE_SECONDS
            self._listener.on_stop_while_saving(_FORCE_SECONDS)
        silent = now - self._last_sign_of_life > self._limits.silence_seconds
        if silent and not self._has_used_cpu(child, now):
            return self._kill_process(child, "silent")
        return False

    def _has_used_cpu(self, child: subprocess.Popen[bytes], now: float) -> bool:
        """Return True if xctrace used the CPU since the last call: it may save to files not watched here."""
        # ``ps`` and not the size of files: saving may write where this process cannot look, but not without
        # using the CPU.
        previous = self._cpu_time
        self._cpu_time = read_cpu_time(child.pid)
        if self._cpu_time in ("", previous):
            return False
        self._last_sign_of_life = now
        return True

    def _sample_progress(self, now: float) -> None:
        size = _measure_size_bytes(self._bundle)
        if size != self._size_bytes:
            self._size_bytes, self._last_sign_of_life = size, now
        overdue = now - self._started > _NO_OUTPUT_SECONDS
        if overdue and self._recording_from is None and not self._reported_no_output:
            self._reported_no_output = True
            self._listener.on_no_output()
        since = self._saving_from or self._recording_from
        if since is not None:
            self._listener.on_progress(self._saving_from is not None, now - since, size)

    def _find_stop_reason(self, now: float, requested: bool) -> StopReason:
        if requested:
            return "asked"
        limits = self._limits
        # Before the first sign of recording, the time limit runs from the latest start that is still
        # accepted.
        recording_from = self._recording_from or self._started + limits.start_seconds
        if now > recording_from + limits.time_limit_seconds + limits.overdue_seconds:
            return "overdue"
        # Instruments records into the temporary folder, and moves the saved bundle to its path.
        folders = (self._bundle.absolute().parent, Path(tempfile.gettempdir()))
        return "disk" if self._last_progress == now and any(map(self._is_nearly_full, folders)) else ""

    def _is_nearly_full(self, folder: Path) -> bool:
        try:
            return self._free_space(folder) < self._limits.min_free_bytes
        except OSError:  # the disk was ejected, or the folder moved: xctrace will notice
            return False

    def _interrupt(self, child: subprocess.Popen[bytes]) -> None:
        """Make xctrace stop and save; never twice."""
        if not self._interrupted:
            self._interrupted = True
            child.send_signal(signal.SIGINT)

    def _kill_process(self, child: subprocess.Popen[bytes], reason: StopReason) -> bool:
        self._stop_reason = reason
        child.terminate()
        try:
            child.wait(self._limits.term_seconds)
        except subprocess.TimeoutExpired:
            # The whole group: xctrace leads a session of its own, with its helpers in it.
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        return True

    def _end_process(self, child: subprocess.Popen[bytes]) -> None:
        """Leave no process behind when this one fails; xctrace gets a limited time to save."""
        if self._saving_from is None:
            self._interrupt(child)
        try:
            child.wait(self._limits.overdue_seconds)
        except subprocess.TimeoutExpired:
            self._kill_process(child, "silent")


def _measure_size_bytes(bundle: Path) -> int:
    total = 0
    for folder, _, names in os.walk(bundle):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118
            except OSError:
                continue  # xctrace moved it meanwhile
    return total
