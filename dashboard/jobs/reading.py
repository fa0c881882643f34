"""Reading recordings: those that wait in the catalog are read, each by a worker, a few at once."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from typing import Any, TypeVar

from dashboard.errors import Busy, NotFound
from dashboard.jobs.process import WorkerProcess, worker_memory_bytes
from dashboard.jobs.queue import Job, JobQueue
from dashboard.jobs.workers.read import Task
from dashboard.library.catalog import UNFINISHED, Catalog, Recording
from dashboard.library.reading_results import RESULTS_VERSION, SUMMARY
from dashboard.library.store import TEMPORARY, WORK, Store
from dashboard.settings import Limits

_LOG = logging.getLogger(__name__)
_LOCKED_SECONDS = 0.5
Result = TypeVar("Result")
_FACTS = ("verdict", "device", "system", "duration_ns", "samples", "windows")


class ReadingJobs:
    """Reads the recordings that wait. The catalog is the queue, so that a restart loses none."""

    def __init__(self, store: Store, catalog: Catalog, limits: Limits) -> None:
        self._store, self._catalog, self._limits = store, catalog, limits
        self._queue: JobQueue[str] = JobQueue("reading", limits.workers, self._claim)

    # The states of a recording. They live in the catalog, so that each survives a killed server:
    #   waiting ──claim──► reading ──results complete──► ready
    #      ▲                  ├── failure, cancel ──────► failed, cancelled ──┐
    #      └──── restart ─────┘                                               │
    #      └──────────────────────── try again ───────────────────────────────┘
    def start(self) -> None:
        """Resume the recordings that a previous server was reading, and read from now on."""
        for recording in self._catalog.in_state("reading"):
            if not self._adopt_results(recording.id):
                self._requeue(recording)
        for recording in self._catalog.in_state("ready"):
            if recording.is_dropped:
                self._store.discard(self._store.results(recording.id))  # unless the server ended before
            elif self._facts(recording.id) is None:  # a reading was requested, or made by an earlier version
                self._catalog.change(recording.id, state="waiting", results_bytes=None)
            elif recording.results_bytes is None:  # an earlier version's catalog had no sizes
                self._catalog.change(recording.id, results_bytes=self._store.results_bytes(recording.id))
        self._queue.start()

    def _requeue(self, recording: Recording) -> None:
        # A recording whose reading ends the server (memory, for example) would end each new server as well:
        # so the starts are counted, and after some of them it counts as failed.
        if self._catalog.starts(recording.id) < self._limits.job_starts:
            self._catalog.change(recording.id, state="waiting", stage="", progress=None)
            return
        text = f"The dashboard ended {self._limits.job_starts} times while it read {recording.name}."
        self._catalog.change(
            recording.id, state="failed", stage="", progress=None, message=f"{text} Try again if you like."
        )

    def wake(self) -> None:
        """Look again for recordings that wait."""
        self._queue.wake()

    def stop(self, recording_id: str) -> None:
        """Stop reading a recording, and wait until its worker has ended."""
        self._queue.cancel(lambda key: key == recording_id)

    def close(self) -> None:
        """Stop all workers; the recordings that they were reading wait for the next start."""
        self._queue.close()

    def _claim(self, running: Collection[str]) -> tuple[str, Any] | None:
        recording_id = self._catalog.claim(running)
        return None if recording_id is None else (recording_id, self._read)

    def _read(self, job: Job[str]) -> None:
        try:
            self._run(job)
        except Busy as error:  # at the dashboard's end
            _LOG.warning("reading recording %s: %s", job.key, error)
        except Exception:  # noqa: BLE001 - the next recording is read all the same
            _LOG.exception("reading recording %s", job.key)
            with suppress(Exception):
                self._finish(job, "The worker process could not be supervised. The server's log says why.")

    def _run(self, job: Job[str]) -> None:
        try:
            recording = self._patiently(lambda: self._catalog.find(job.key))
        except NotFound:  # purged meanwhile
            return
        self._store.discard(self._store.results(job.key))
        folder = self._store.recording(job.key)
        work = f"{WORK}{secrets.token_hex(4)}"
        task = Task(
            recording.name,
            os.fsencode(recording.path).hex() if recording.origin == "file" else "",
            work,
            worker_memory_bytes(self._limits),
        )
        try:
            process = WorkerProcess(
                "dashboard.jobs.workers.read",
                [str(self._store.folder), job.key],
                log=folder / "worker.log",
                task=asdict(task),
                temporary=folder / work / TEMPORARY,
                reports=True,
            )
        except OSError as error:
            self._finish(job, f"No worker could be started: {error.strerror or error}. Try again.")
            return
        try:
            result = job.run(
                process, self._limits.job_seconds, lambda message: self._note_progress(job.key, message)
            )
        finally:
            self._store.discard(folder / work)
        # Complete results decide, and not the exit code: a worker may be killed after its last step.
        failure = result.failure or _unexpected_end(recording.name, result.code)
        self._patiently(lambda: self._finish(job, failure))

    def _patiently(self, work: Callable[[], Result]) -> Result:
        """Return the result of work on the catalog, repeated while another program has locked it.

        At the dashboard's end ``Busy`` is raised: the next start finds the results, or reads again.
        """
        while True:
            try:
                return work()
            except Busy:
                if self._queue.closing:
                    raise
                time.sleep(_LOCKED_SECONDS)

    def _note_progress(self, recording_id: str, message: dict[str, Any]) -> None:
        if "stage" not in message:
            return
        progress = message.get("progress")
        with suppress(Busy):  # the next message has a later state
            self._catalog.change(
                recording_id,
                states=("reading",),
                stage=str(message["stage"]),
                progress=float(progress) if isinstance(progress, (int, float)) else None,
            )

    def _finish(self, job: Job[str], failure: str) -> None:
        """Record the result in the catalog, unless a caller that stopped the job has changed the state."""
        if self._adopt_results(job.key):
            return
        cleared: dict[str, Any] = {"stage": "", "progress": None}
        # The worker was stopped because the server ends: no failure of the recording. It waits, with its
        # starts forgiven.
        if self._queue.closing:
            self._catalog.change(job.key, states=("reading",), state="waiting", starts=0, **cleared)
            return
        if job.timed_out:
            minutes = self._limits.job_seconds / 60
            failure = f"Reading it took longer than {minutes:.0f} minutes and was stopped."
        self._catalog.change(
            job.key, states=("reading",), state="failed", message=failure, starts=0, **cleared
        )

    def _adopt_results(self, recording_id: str) -> bool:
        """Mark a recording as ready if its results are complete."""
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
            results_bytes=self._store.results_bytes(recording_id),
            **facts,
        )

    def _facts(self, recording_id: str) -> dict[str, Any] | None:
        """Return the facts of a recording's results; None if there are none of the present version."""
        try:
            summary = json.loads((self._store.results(recording_id) / SUMMARY).read_bytes())
            return {name: summary[name] for name in _FACTS} if summary["results"] == RESULTS_VERSION else None
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _unexpected_end(name: str, code: int) -> str:
    if code < 0:
        return (
            f"Reading {name} was killed (signal {-code}), perhaps because memory ran out."
            " Try again when less is running."
        )
    return f"Reading {name} ended without a result (exit code {code}). Try again."
