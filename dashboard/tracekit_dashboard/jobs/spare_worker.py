"""The spare worker: it has a recording in memory, so that another analysis of it needs no reading."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tracekit_dashboard.jobs.process import WorkerProcess


class SpareWorker:
    """The worker that analyzed a recording last, or opens one for a visitor who is about to choose options.

    There is at most one: a new one replaces it, and after ``seconds`` without work it ends. It is not a job:
    nothing waits for it, and a job that takes it limits and stops it like its own worker.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._recording = ""
        self._process: WorkerProcess | None = None
        self._clock: threading.Timer | None = None
        self._is_closed = False

    def take(self, recording: str) -> WorkerProcess | None:
        """Return the worker that has this recording, which is the caller's from now on; None for none."""
        with self._lock:
            process = self._remove_worker() if self._recording == recording else None
        if process is not None and not process.is_running():  # killed while it waited, or it could not open
            process.end()
            return None
        return process

    def keep(self, recording: str, process: WorkerProcess) -> None:
        """Take over a worker that waits for a task, in the place of the present one."""
        if not process.is_running():
            return
        superfluous: WorkerProcess | None = process
        with self._lock:
            if not (process.is_stopping() or self._is_closed):
                superfluous = self._remove_worker()
                self._recording, self._process = recording, process
                self._clock = threading.Timer(self._seconds, self._expire_worker, [process])
                self._clock.daemon = True
                self._clock.start()
        if superfluous is not None:
            superfluous.end()

    def prepare(self, recording: str, start: Callable[[], WorkerProcess]) -> None:
        """Start a worker that opens a recording, unless there is one; return at once."""
        with self._lock:
            is_there = (
                self._recording == recording and self._process is not None and self._process.is_running()
            )
            if is_there or self._is_closed:
                return
        self.keep(recording, start())

    def end(self, recording: str) -> None:
        """End the worker that has this recording, and wait for its end."""
        process = self.take(recording)
        if process is not None:
            process.end()

    def close(self) -> None:
        """End the worker, and keep no other."""
        with self._lock:
            self._is_closed = True
            process = self._remove_worker()
        if process is not None:
            process.end()

    def _remove_worker(self) -> WorkerProcess | None:
        if self._clock is not None:
            self._clock.cancel()
        process, self._process, self._recording = self._process, None, ""
        return process

    def _expire_worker(self, process: WorkerProcess) -> None:
        with self._lock:
            if self._process is not process:
                return
            self._remove_worker()
        process.end()
