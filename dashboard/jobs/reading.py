"""Analyses of recordings: those that wait in the catalog are made, each by a worker, a few at once."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from typing import Any, TypeVar

from dashboard.errors import Busy, NotFound
from dashboard.jobs.process import ProcessResult, WorkerProcess, work_folder, worker_memory_bytes
from dashboard.jobs.queue import Job, JobQueue, JobStatus, Key, Kind
from dashboard.jobs.workers.read import Task
from dashboard.library.catalog import UNFINISHED, Catalog, Recording
from dashboard.library.reading_results import RESULTS_VERSION, SUMMARY
from dashboard.library.store import TEMPORARY, Store
from dashboard.settings import Limits

_LOG = logging.getLogger(__name__)
_LOCKED_SECONDS = 0.5
Result = TypeVar("Result")
_FACTS = ("verdict", "device", "system", "duration_ns", "samples", "windows")


class ReadingJobs:
    """Analyses the recordings that wait. The catalog is their queue, so that a restart loses none.

    The key of a job is (recording, variant); "" is the variant without options.
    """

    def __init__(self, store: Store, catalog: Catalog, queue: JobQueue, limits: Limits) -> None:
        self._store, self._catalog, self._queue, self._limits = store, catalog, queue, limits
        self.kind = Kind("analysis", "Reading", limits.workers, priority=3)

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
        self._queue.claim_from(self.kind, self._claim, self._read)

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
        self._queue.wake(self.kind)

    def _claim(self, running: Collection[Key]) -> Key | None:
        recording_id = self._catalog.claim([key[0] for key in running])
        return None if recording_id is None else (recording_id, "")

    def _read(self, job: Job) -> None:
        try:
            self._run(job)
        except Busy as error:  # at the dashboard's end
            _LOG.warning("reading recording %s: %s", job.key[0], error)
        except Exception:
            with suppress(Exception):
                self._finish(job, "The worker process could not be supervised. The server's log says why.")
            raise

    def _run(self, job: Job) -> None:
        recording_id = job.key[0]
        try:
            recording = self._patiently(lambda: self._catalog.find(recording_id))
        except NotFound:  # purged meanwhile
            return
        self._store.discard(self._store.results(recording_id))
        try:
            result = self._worked(job, recording)
        except OSError as error:
            failure = f"No worker could be started: {error.strerror or error}. Try again."
        else:
            failure = "" if job.cancelled.is_set() else result.problem(f"Reading {recording.name}")
        # Complete results decide, and not the exit code: a worker may be killed after its last step.
        self._patiently(lambda: self._finish(job, failure))

    def _worked(self, job: Job, recording: Recording) -> ProcessResult:
        folder = self._store.recording(recording.id)
        path = os.fsencode(recording.path).hex() if recording.origin == "file" else ""
        folder.mkdir(mode=0o700, exist_ok=True)
        with work_folder(folder) as work:
            process = WorkerProcess(
                "dashboard.jobs.workers.read",
                [str(self._store.folder), recording.id],
                log=folder / "worker.log",
                task=asdict(Task(recording.name, path, work.name)),
                temporary=work / TEMPORARY,
                reports=True,
                seconds=self._limits.job_seconds,
                memory_bytes=worker_memory_bytes(self._limits),
            )
            return job.run(process, lambda status: self._note_progress(recording.id, status))

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

    def _note_progress(self, recording_id: str, status: JobStatus) -> None:
        with suppress(Busy):  # the next message has a later state
            self._catalog.change(
                recording_id, states=("reading",), stage=status.stage, progress=status.progress
            )

    def _finish(self, job: Job, failure: str) -> None:
        """Record the result in the catalog, unless a caller that stopped the job has changed the state."""
        recording_id = job.key[0]
        if self._adopt_results(recording_id):
            return
        cleared: dict[str, Any] = {"stage": "", "progress": None, "starts": 0}
        # The worker was stopped because the server ends, or for a state that has changed since: no failure
        # of the recording. It waits, with its starts forgiven.
        if job.cancelled.is_set():
            self._catalog.change(recording_id, states=("reading",), state="waiting", **cleared)
            return
        self._catalog.change(recording_id, states=("reading",), state="failed", message=failure, **cleared)

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
