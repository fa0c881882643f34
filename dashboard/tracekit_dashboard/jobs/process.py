"""The server's end of a worker process: the one way to start, watch, limit and end one.

``worker_process`` is the worker's end.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tracekit
from tracekit_dashboard.errors import NoSpace
from tracekit_dashboard.jobs.worker_process import MEMORY_VARIABLE
from tracekit_dashboard.library.store import TEMPORARY, WORK
from tracekit_dashboard.settings import ServerLimits

_LOG = logging.getLogger(__name__)
_SOURCE_ROOTS = (
    str(Path(tracekit.__file__).resolve().parents[1]),
    str(Path(__file__).resolve().parents[2]),
)
"""The folders of both packages, in which a worker finds the modules of this process."""
_GRACE_SECONDS = 3.0
_MIN_MEMORY_BYTES = 2 << 30
_MAX_LINE_BYTES = 1 << 16
_POSIX = os.name == "posix"


@dataclass(frozen=True)
class ProcessResult:
    """The end of a worker process; ``failure`` is the sentence that the worker sent, "" for none."""

    code: int
    failure: str = ""
    timed_out: bool = False
    seconds: float | None = None
    log: Path | None = None

    def describe_problem(self, subject: str) -> str:
        """Return why the process failed, as a sentence about ``subject``; "" if it succeeded."""
        if self.timed_out and self.seconds is not None:
            return f"{subject} took longer than {self.seconds / 60:.0f} minutes and was stopped."
        if not self.code or self.failure:
            return self.failure
        _LOG.error("%s: exit code %d:\n%s", subject, self.code, self.read_log_tail())
        if self.code < 0:
            return (
                f"{subject} was killed (signal {-self.code}), perhaps because memory ran out."
                " Try again when less is running."
            )
        return f"{subject} failed because of an error in tracekit. The dashboard's terminal has the details."

    def read_log_tail(self, size_bytes: int = 8_000) -> str:
        """Return the end of the worker's log."""
        with suppress(OSError):
            if self.log is not None:
                with self.log.open("rb") as file:
                    file.seek(max(0, self.log.stat().st_size - size_bytes))
                    return file.read().decode("utf-8", "replace")
        return ""


class WorkerProcess:
    """A started ``python -m module``. It ends after ``stop``, and when this process ends for any reason.

    Its standard input stays open while it may run: the worker takes the end of input for the server's end.
    The caller must call ``run``. ``task`` is the first line of its input, as JSON. A worker with ``reports``
    prints messages. ``temporary`` is made, and becomes the worker's folder for temporary files. The worker
    may take ``seconds`` and ``memory_bytes``. It leads a session of its own, so that Ctrl-C in the terminal
    reaches the server alone, and ``run`` ends all processes of that session.

    A worker that ``saves`` is never killed: ``stop`` closes its input, and it saves its work and ends by
    itself, after this process if need be.

    A worker that sends ``{"done": true}`` waits for another task: the caller gives it one and calls ``run``
    again, or calls ``end``.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        log: Path,
        task: dict[str, Any] | None = None,
        temporary: Path | None = None,
        reports: bool = False,
        saves: bool = False,
        seconds: float | None = None,
        memory_bytes: int = 0,
    ) -> None:
        path = os.pathsep.join(filter(None, (*_SOURCE_ROOTS, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
        environment[MEMORY_VARIABLE] = str(memory_bytes)
        if temporary is not None:
            temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
            environment["TMPDIR"] = str(temporary)
        self._saves, self._seconds, self._log = saves, seconds, log
        self._ended = self._timed_out = False
        # ``_ended`` and signals share a lock: once ``_wait_for_end`` has returned, the pid may belong to
        # another process, which must not be signalled.
        self._lock = threading.Lock()
        self._killer: threading.Timer | None = None
        # The log is a file and not a pipe: a worker that writes without end, with no one to read, would
        # otherwise block.
        with log.open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own program; no shell reads it
                [sys.executable, "-P", "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if reports else subprocess.DEVNULL,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._unfinished = 0
        if task is not None:
            self.give(task)

    def is_running(self) -> bool:
        """Return True until the process has ended."""
        return self._process.poll() is None

    def is_stopping(self) -> bool:
        """Return True once ``stop`` was called."""
        return self._killer is not None

    def give(self, task: dict[str, Any]) -> None:
        """Write a task to the worker's input; ``run`` ends when all are done."""
        self._unfinished += 1
        self.write_line(json.dumps(task))

    def write_line(self, line: str) -> None:
        """Write a line to the worker's input; a worker that has ended ignores it."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # ended or closed: the exit code says so
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def run(self, on_message: Callable[[dict[str, Any]], None] = lambda _message: None) -> ProcessResult:
        """Wait for the end of the process, or of its tasks; pass on the messages.

        The process ends after the given seconds at the latest.
        """
        clock = threading.Timer(self._seconds or 0, self._expire_process)
        clock.daemon = True
        if self._seconds is not None:
            clock.start()
        failure, is_done = "", False
        try:
            for message in self._iter_messages():
                if message.get("done"):
                    self._unfinished -= 1
                    is_done = self._unfinished == 0
                if is_done:
                    break
                failure = str(message.get("failed", failure))
                on_message(message)
        except BaseException:
            self.stop()
            raise
        finally:
            code = 0 if is_done else self._wait_for_end()
            clock.cancel()
        return ProcessResult(code, failure, self._timed_out and not is_done, self._seconds, self._log)

    def end(self) -> None:
        """Stop the process and wait for its end."""
        self.stop()
        self._wait_for_end()

    def _iter_messages(self) -> Iterator[dict[str, Any]]:
        """Yield the JSON objects that the worker prints, one per line, until it closes its output."""
        if self._process.stdout is None:
            return
        # A longer line arrives in pieces, none of which is JSON: it is skipped, and no memory is needed for
        # it.
        while line := self._process.stdout.readline(_MAX_LINE_BYTES):
            with suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict):
                    yield message

    def _wait_for_end(self) -> int:
        """Wait for the end, end what the worker started, and return the exit code, negative for a signal."""
        code = self._process.wait()
        with self._lock:
            self._ended = True
            if not self._saves:
                self._kill_group()
            if self._killer is not None:
                self._killer.cancel()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        return code

    def _expire_process(self) -> None:
        self._timed_out = True
        self.stop()

    def stop(self) -> None:
        """Request an orderly end, kill the process group after a grace period, and return at once."""
        if self._saves:
            assert self._process.stdin is not None
            with suppress(OSError):  # the remainder of a line that is not read any more
                self._process.stdin.close()
            return
        with self._lock:
            if self._ended or self._killer is not None:
                return
            # SIGTERM first, so that the worker can end what it started; the group is killed if it does not in
            # time.
            self._killer = threading.Timer(_GRACE_SECONDS, self._kill_process)
            self._killer.daemon = True
            self._killer.start()
        self.send(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the worker alone, unless it has ended; it is responsible for its children."""
        with self._lock:
            if not self._ended:
                self._process.send_signal(number)

    def _kill_process(self) -> None:
        with self._lock:
            if not self._ended:
                self._kill_group()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if _POSIX:
                os.killpg(self.pid, signal.SIGKILL)  # the worker leads a process group of its own
            else:
                self._process.kill()


def start_task_process(
    module: str,
    arguments: Sequence[str],
    task: dict[str, Any],
    work: Path,
    seconds: float,
    limits: ServerLimits,
) -> WorkerProcess:
    """Start a worker that reports, on a task whose files are in the folder ``work``."""
    return WorkerProcess(
        module,
        arguments,
        log=work / "log",
        task=task,
        temporary=work / TEMPORARY,
        reports=True,
        seconds=seconds,
        memory_bytes=find_worker_memory_bytes(limits),
    )


def find_worker_memory_bytes(limits: ServerLimits) -> int:
    """Return the memory that a worker may use: the configured limit, or three quarters of the machine's."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        total = 0
    return limits.job_memory_bytes or max(_MIN_MEMORY_BYTES, total * 3 // 4)


@contextmanager
def make_work_folder(parent: Path, free_disk_bytes: int = 0) -> Iterator[Path]:
    """Make a temporary working folder, removed on exit; results must be moved out first.

    Raises ``NoSpace`` unless ``free_disk_bytes`` are free.
    """
    if shutil.disk_usage(parent).free < free_disk_bytes:
        raise NoSpace("The disk has too little room left to make this. Make room and try again.")
    folder = parent / f"{WORK}{secrets.token_hex(4)}"
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
