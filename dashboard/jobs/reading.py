"""The queue: recordings that wait are read, each by a worker process, a few at once."""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dashboard.errors import NotFound
from dashboard.jobs.process import most_memory
from dashboard.jobs.worker_process import WorkerProcess
from dashboard.jobs.workers.read import RESULTS, SUMMARY, Task
from dashboard.library.catalog import UNFINISHED, Catalog, Recording
from dashboard.library.store import WORK, Store
from dashboard.settings import Limits

_LOG = logging.getLogger(__name__)
_PATIENCE_SECONDS = 5.0
_FACTS = ("verdict", "device", "system", "duration_ns", "samples", "windows")


@dataclass
class _Job:
    """One recording in work; ``process`` is None until it has started."""

    id: str
    process: WorkerProcess | None = None
    stopped: bool = False
    late: bool = False
    ended: threading.Event = field(default_factory=threading.Event)


class Jobs:
    """Threads that each look after one worker at a time."""

    def __init__(self, store: Store, catalog: Catalog, limits: Limits) -> None:
        self._store, self._catalog, self._limits = store, catalog, limits
        self._changed = threading.Condition()
        self._running: dict[str, _Job] = {}
        self._closing = False
        self._threads = [
            threading.Thread(target=self._serve, name=f"jobs-{number}", daemon=True)
            for number in range(limits.workers)
        ]

    def start(self) -> None:
        """Take up what an ended server left, and serve from now on."""
        for recording in self._catalog.in_state("reading"):
            if not self._adopt(recording.id):
                self._give_back(recording)
        for recording in self._catalog.in_state("ready"):
            if self._facts(recording.id) is None:  # it was to be read again, or an earlier version read it
                self._catalog.change(recording.id, state="waiting")
        for thread in self._threads:
            thread.start()

    def _give_back(self, recording: Recording) -> None:
        if self._catalog.starts(recording.id) < self._limits.job_starts:
            self._catalog.change(recording.id, state="waiting", stage="", progress=None)
            return
        text = f"The dashboard ended {self._limits.job_starts} times while it read {recording.name}."
        self._catalog.change(
            recording.id, state="failed", stage="", progress=None, message=f"{text} Try again if you like."
        )

    def wake(self) -> None:
        """Look again for recordings that wait."""
        with self._changed:
            self._changed.notify_all()

    def stop(self, recording_id: str) -> None:
        """End the worker of a recording, if there is one, and wait until it has ended."""
        with self._changed:
            job = self._running.get(recording_id)
            if job is None:
                return
            job.stopped = True
            if job.process is not None:
                job.process.stop()
        job.ended.wait()

    def close(self) -> None:
        """End all workers; what they were at waits for the next start."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            running = list(self._running)
        for recording_id in running:
            self.stop(recording_id)
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._run(job)
            except Exception:  # noqa: BLE001 - the next recording is read all the same
                _LOG.exception("reading recording %s", job.id)
                with suppress(Exception):
                    self._settle(job, "The worker could not be looked after. The server's log says why.")
            finally:
                with self._changed:
                    del self._running[job.id]
                    self._changed.notify_all()
                job.ended.set()

    def _next(self) -> _Job | None:
        with self._changed:
            while not self._closing:
                # Under the lock, so that whoever changes a state finds the job that it must stop.
                patience = None
                try:
                    recording_id = self._catalog.claim(self._running)
                except Exception:  # noqa: BLE001 - such as a full disk, which must not end the thread
                    _LOG.exception("looking for recordings that wait")
                    recording_id, patience = None, _PATIENCE_SECONDS
                if recording_id is not None:
                    self._running[recording_id] = _Job(recording_id)
                    return self._running[recording_id]
                self._changed.wait(patience)
        return None

    def _run(self, job: _Job) -> None:
        try:
            recording = self._catalog.find(job.id)
        except NotFound:  # purged meanwhile
            return
        task = Task(
            recording.name,
            os.fsencode(recording.path).hex() if recording.origin == "file" else "",
            f"{WORK}{secrets.token_hex(4)}",
            most_memory(self._limits),
        )
        self._store.discard(self._store.results(job.id))
        try:
            process = WorkerProcess(self._store, job.id, task)
        except OSError as error:
            text = f"No worker could be started: {error.strerror or error}. Try again."
            self._settle(job, text)
            return
        with self._changed:
            job.process = process
            if job.stopped or self._closing:
                process.stop()
        clock = threading.Timer(self._limits.job_seconds, self._expire, [job])
        clock.daemon = True
        clock.start()
        failed = ""
        try:
            for message in process.messages():
                failed = str(message.get("failed", failed))
                if "stage" in message:
                    self._note(job, message)
        except BaseException:
            process.stop()
            raise
        finally:
            code = process.wait()
            clock.cancel()
        self._settle(job, failed or _ended_by(recording.name, code))

    def _note(self, job: _Job, message: dict[str, Any]) -> None:
        progress = message.get("progress")
        self._catalog.change(
            job.id,
            states=("reading",),
            stage=str(message["stage"]),
            progress=float(progress) if isinstance(progress, (int, float)) else None,
        )

    def _expire(self, job: _Job) -> None:
        with self._changed:
            job.late = True
            if job.process is not None:
                job.process.stop()

    def _settle(self, job: _Job, failed: str) -> None:
        """Write down how it ended; who stopped it has changed the state, which then stays."""
        if self._adopt(job.id):
            return
        done: dict[str, Any] = {"stage": "", "progress": None}
        if self._closing:
            self._catalog.change(job.id, states=("reading",), state="waiting", starts=0, **done)
            return
        if job.late:
            failed = (
                f"Reading it took longer than {self._limits.job_seconds / 60:.0f} minutes and was stopped."
            )
        self._catalog.change(job.id, states=("reading",), state="failed", message=failed, starts=0, **done)

    def _adopt(self, recording_id: str) -> bool:
        """Make a recording ready whose results are there."""
        facts = self._facts(recording_id)
        if facts is None:
            return False
        return self._catalog.change(
            recording_id,
            states=UNFINISHED,
            state="ready",
            stage="",
            progress=None,
            message="",
            starts=0,
            **facts,
        )

    def _facts(self, recording_id: str) -> dict[str, Any] | None:
        """Return what the results say of a recording; None where there are none that we can show."""
        try:
            found = json.loads((self._store.results(recording_id) / SUMMARY).read_bytes())
            return {name: found[name] for name in _FACTS} if found["results"] == RESULTS else None
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _ended_by(name: str, code: int) -> str:
    if code < 0:
        return (
            f"Reading {name} was ended from outside (signal {-code}), perhaps because memory ran out."
            " Try again when less is running."
        )
    return f"Reading {name} ended without a result (exit code {code}). Try again."
