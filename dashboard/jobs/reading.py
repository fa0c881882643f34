"""Analyses of recordings: those that wait in the catalog are made, each by a worker, a few at once."""

from __future__ import annotations

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
from dashboard.jobs.spare_worker import SpareWorker
from dashboard.jobs.workers.read import Task
from dashboard.library.catalog import UNFINISHED, Catalog, Recording
from dashboard.library.reading_results import facts_of
from dashboard.library.store import Store, split
from dashboard.settings import Limits
from tracekit.cli.analysis_options import Values

_LOG = logging.getLogger(__name__)
_LOCKED_SECONDS = 0.5
Result = TypeVar("Result")


class ReadingJobs:
    """Analyses the recordings that wait. The catalog is their queue, so that a restart loses none.

    The key of a job is (recording, variant); "" is the analysis without options. ``VariantJobs`` are those of
    the others.
    """

    def __init__(
        self, store: Store, catalog: Catalog, queue: JobQueue, spare: SpareWorker, limits: Limits
    ) -> None:
        self._store, self._catalog, self._queue, self._limits = store, catalog, queue, limits
        self._spare = spare
        self.kind = Kind("analysis", "Reading", limits.workers, priority=3)

    # The states of a recording. They live in the catalog, so that each survives a killed server:
    #   waiting ──claim──► reading ──results complete──► ready
    #      ▲                  ├── failure, cancel ──────► failed, cancelled ──┐
    #      └──── restart ─────┘                                               │
    #      └──────────────────────── try again ───────────────────────────────┘
    def start(self) -> None:
        """Resume the recordings that a previous server was reading, and read from now on."""
        for recording in self._catalog.in_state("reading"):
            self._resume((recording.id, ""), self._catalog.starts(recording.id), recording.name)
        for recording in self._catalog.in_state("ready"):
            if recording.is_dropped:
                self._store.discard(self._store.results(recording.id))  # unless the server ended before
            elif facts_of(self._store.results(recording.id)) is None:
                # A reading was requested, or made by an earlier version.
                self._catalog.change(recording.id, state="waiting", results_bytes=None)
            elif recording.results_bytes is None:  # an earlier version's catalog had no sizes
                self._catalog.change(recording.id, results_bytes=self._store.results_bytes(recording.id))
        self._queue.claim_from(self.kind, self._claim, self._read)

    def _resume(self, key: Key, starts: int, name: str) -> None:
        """Continue with what a previous server began: its results are complete, or it waits again."""
        if self._adopt_results(key):
            return
        # A recording whose reading ends the server (memory, for example) would end each new server as well:
        # so the starts are counted, and after some of them it counts as failed.
        if starts < self._limits.job_starts:
            self._change(key, state="waiting", stage="", progress=None)
            return
        text = f"The dashboard ended {self._limits.job_starts} times while it read {name}."
        message = f"{text} Try again if you like."
        self._change(key, state="failed", stage="", progress=None, message=message)

    def _change(self, key: Key, states: Collection[str] = (), **values: Any) -> bool:
        """Set columns of a key's row in the catalog, if it is in one of these states."""
        return self._catalog.change(key[0], states=states, **values)

    def _options(self, _key: Key) -> Values:
        """Return the options of the analysis; raise ``NotFound`` if it was removed."""
        return {}

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
        try:
            recording = self._patiently(lambda: self._catalog.find(job.key[0]))
            options = self._patiently(lambda: self._options(job.key))
        except NotFound:  # removed meanwhile
            return
        self._store.discard(self._store.results(_analysis(job.key)))
        try:
            result = self._worked(job, recording, options)
        except OSError as error:
            failure = f"No worker could be started: {error.strerror or error}. Try again."
        else:
            failure = (
                "" if job.cancelled.is_set() else result.problem(f"{self.kind.activity} {recording.name}")
            )
        # Complete results decide, and not the exit code: a worker may be killed after its last step.
        self._patiently(lambda: self._finish(job, failure))

    def _worked(self, job: Job, recording: Recording, options: Values) -> ProcessResult:
        folder = self._store.recording(recording.id)
        with work_folder(folder) as work:
            task = self._task(job.key, recording, options, work.name)
            process = self._waiting(job.key)
            if process is None:
                process = self._started(task)
            else:
                process.give(asdict(task))
            result = job.run(process, lambda status: self._note_progress(job.key, status))
            job.release()
        self._spare.keep(recording.id, process)
        return result

    def _waiting(self, _key: Key) -> WorkerProcess | None:
        """Return a worker that has the recording in memory: a recording that is read again is read anew."""
        return None

    def _task(self, key: Key, recording: Recording, options: Values, work: str = "") -> Task:
        path = os.fsencode(recording.path).hex() if recording.origin == "file" else ""
        return Task(_analysis(key), recording.name, path, work, options, self._limits.spare_bytes)

    def _started(self, task: Task) -> WorkerProcess:
        return WorkerProcess(
            "dashboard.jobs.workers.read",
            [str(self._store.folder)],
            log=self._store.recording(split(task.analysis)[0]) / "worker.log",
            task=asdict(task),
            reports=True,
            seconds=self._limits.job_seconds,
            memory_bytes=worker_memory_bytes(self._limits),
        )

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

    def _note_progress(self, key: Key, status: JobStatus) -> None:
        with suppress(Busy):  # the next message has a later state
            self._change(key, ("reading",), stage=status.stage, progress=status.progress)

    def _finish(self, job: Job, failure: str) -> None:
        """Record the result in the catalog, unless a caller that stopped the job has changed the state."""
        if self._adopt_results(job.key):
            return
        cleared: dict[str, Any] = {"stage": "", "progress": None, "starts": 0}
        # The worker was stopped because the server ends, or for a state that has changed since: no failure
        # of the recording. It waits, with its starts forgiven.
        if job.cancelled.is_set():
            self._change(job.key, ("reading",), state="waiting", **cleared)
            return
        self._change(job.key, ("reading",), state="failed", message=failure, **cleared)

    def _adopt_results(self, key: Key) -> bool:
        """Mark a recording as ready if its results are complete."""
        facts = facts_of(self._store.results(_analysis(key)))
        if facts is None:
            return False
        size_bytes = self._store.results_bytes(key[0])
        done = {"state": "ready", "stage": "", "progress": None, "message": "", "starts": 0}
        return self._change(key, UNFINISHED, **done, **facts, results_bytes=size_bytes)


def _analysis(key: Key) -> str:
    """Return the id of an analysis' results; see ``store.split``."""
    return ".".join(filter(None, key))
