"""Analyses of recordings: those that wait in the catalog are made, each by a worker, a few at once."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from typing import Any, TypeVar

from tracekit.cli.analysis_options import Values
from tracekit_dashboard.errors import Busy, NotFound
from tracekit_dashboard.jobs.process import (
    ProcessResult,
    WorkerProcess,
    find_worker_memory_bytes,
    make_work_folder,
)
from tracekit_dashboard.jobs.queue import Job, JobKind, JobQueue, JobStatus, Key
from tracekit_dashboard.jobs.spare_worker import SpareWorker
from tracekit_dashboard.jobs.workers.read import ReadingTask
from tracekit_dashboard.library.catalog import UNFINISHED, Catalog, Recording
from tracekit_dashboard.library.reading_results import read_facts
from tracekit_dashboard.library.store import Store, split
from tracekit_dashboard.settings import ServerLimits

_LOG = logging.getLogger(__name__)
_LOCKED_SECONDS = 0.5
Result = TypeVar("Result")


class ReadingJobs:
    """Analyses the recordings that wait. The catalog is their queue, so that a restart loses none.

    The key of a job is (recording, variant); "" is the analysis without options. ``VariantJobs`` are those of
    the others.
    """

    def __init__(
        self, store: Store, catalog: Catalog, queue: JobQueue, spare: SpareWorker, limits: ServerLimits
    ) -> None:
        self._store, self._catalog, self._queue, self._limits = store, catalog, queue, limits
        self._spare = spare
        self.kind = JobKind("analysis", "Reading", limits.workers, priority=3)

    # The states of a recording. They live in the catalog, so that each survives a killed server:
    #   waiting ──claim──► reading ──results complete──► ready
    #      ▲                  ├── failure, cancel ──────► failed, cancelled ──┐
    #      └──── restart ─────┘                                               │
    #      └──────────────────────── try again ───────────────────────────────┘
    def start(self) -> None:
        """Resume the recordings that a previous server was reading, and read from now on."""
        for recording in self._catalog.list_in_state("reading"):
            self._resume_analysis(
                (recording.id, ""), self._catalog.count_starts(recording.id), recording.name
            )
        for recording in self._catalog.list_in_state("ready"):
            if recording.is_dropped:
                self._store.discard(self._store.results(recording.id))  # unless the server ended before
            elif read_facts(self._store.results(recording.id)) is None:
                # A reading was requested, or made by an earlier version.
                self._catalog.change(recording.id, state="waiting", results_bytes=None)
            elif recording.results_bytes is None:  # an earlier version's catalog had no sizes
                self._catalog.change(recording.id, results_bytes=self._store.measure_results(recording.id))
        self._queue.claim_from(self.kind, self._claim_analysis, self._read_recording)

    def _resume_analysis(self, key: Key, starts: int, name: str) -> None:
        """Continue with what a previous server began: its results are complete, or it waits again."""
        if self._adopt_results(key):
            return
        # A recording whose reading ends the server (memory, for example) would end each new server as well:
        # so the starts are counted, and after some of them it counts as failed.
        if starts < self._limits.job_starts:
            self._change_row(key, state="waiting", stage="", progress=None)
            return
        text = f"The dashboard ended {self._limits.job_starts} times while it read {name}."
        message = f"{text} Try again if you like."
        self._change_row(key, state="failed", stage="", progress=None, message=message)

    def _change_row(self, key: Key, states: Collection[str] = (), **values: Any) -> bool:
        """Set columns of a key's row in the catalog, if it is in one of these states."""
        return self._catalog.change(key[0], states=states, **values)

    def _find_options(self, _key: Key) -> Values:
        """Return the options of the analysis; raise ``NotFound`` if it was removed."""
        return {}

    def claim_again(self) -> None:
        """Look again for recordings that wait."""
        self._queue.claim_again(self.kind)

    def _claim_analysis(self, running: Collection[Key]) -> Key | None:
        recording_id = self._catalog.claim([key[0] for key in running])
        return None if recording_id is None else (recording_id, "")

    def _read_recording(self, job: Job) -> None:
        try:
            self._run_analysis(job)
        except Busy as error:  # at the dashboard's end
            _LOG.warning("reading recording %s: %s", job.key[0], error)
        except Exception:
            with suppress(Exception):
                self._finish(job, "The worker process could not be supervised. The server's log says why.")
            raise

    def _run_analysis(self, job: Job) -> None:
        try:
            recording = self._retry_while_locked(lambda: self._catalog.find(job.key[0]))
            options = self._retry_while_locked(lambda: self._find_options(job.key))
        except NotFound:  # removed meanwhile
            return
        self._store.discard(self._store.results(_join_analysis_id(job.key)))
        try:
            result = self._run_worker(job, recording, options)
        except OSError as error:
            failure = f"No worker could be started: {error.strerror or error}. Try again."
        else:
            failure = (
                ""
                if job.cancelled.is_set()
                else result.describe_problem(f"{self.kind.activity} {recording.name}")
            )
        # Complete results decide, and not the exit code: a worker may be killed after its last step.
        self._retry_while_locked(lambda: self._finish(job, failure))

    def _run_worker(self, job: Job, recording: Recording, options: Values) -> ProcessResult:
        folder = self._store.recording_folder(recording.id)
        with make_work_folder(folder) as work:
            task = self._build_task(job.key, recording, options, work.name)
            process = self._take_waiting_worker(job.key)
            if process is None:
                process = self._start_worker(task)
            else:
                process.give(asdict(task))
            result = job.run(process, lambda status: self._note_progress(job.key, status))
            job.release()
        self._spare.keep(recording.id, process)
        return result

    def _take_waiting_worker(self, _key: Key) -> WorkerProcess | None:
        """Return None: reading a recording again never reuses a worker that has it in memory."""
        return None

    def _build_task(self, key: Key, recording: Recording, options: Values, work: str = "") -> ReadingTask:
        path = os.fsencode(recording.path).hex() if recording.origin == "file" else ""
        return ReadingTask(
            _join_analysis_id(key), recording.name, path, work, options, self._limits.spare_bytes
        )

    def _start_worker(self, task: ReadingTask) -> WorkerProcess:
        return WorkerProcess(
            "tracekit_dashboard.jobs.workers.read",
            [str(self._store.folder)],
            log=self._store.recording_folder(split(task.analysis)[0]) / "worker.log",
            task=asdict(task),
            reports=True,
            seconds=self._limits.job_seconds,
            memory_bytes=find_worker_memory_bytes(self._limits),
        )

    def _retry_while_locked(self, work: Callable[[], Result]) -> Result:
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
            self._change_row(key, ("reading",), stage=status.stage, progress=status.progress)

    def _finish(self, job: Job, failure: str) -> None:
        """Record the result in the catalog, unless a caller that stopped the job has changed the state."""
        if self._adopt_results(job.key):
            return
        cleared: dict[str, Any] = {"stage": "", "progress": None, "starts": 0}
        # The worker was stopped because the server ends, or for a state that has changed since: no failure
        # of the recording. It waits, with its starts forgiven.
        if job.cancelled.is_set():
            self._change_row(job.key, ("reading",), state="waiting", **cleared)
            return
        self._change_row(job.key, ("reading",), state="failed", message=failure, **cleared)

    def _adopt_results(self, key: Key) -> bool:
        """Mark a recording as ready if its results are complete."""
        facts = read_facts(self._store.results(_join_analysis_id(key)))
        if facts is None:
            return False
        size_bytes = self._store.measure_results(key[0])
        done = {"state": "ready", "stage": "", "progress": None, "message": "", "starts": 0}
        return self._change_row(key, UNFINISHED, **done, **facts, results_bytes=size_bytes)


def _join_analysis_id(key: Key) -> str:
    """Return the id of an analysis' results; see ``store.split``."""
    return ".".join(filter(None, key))
