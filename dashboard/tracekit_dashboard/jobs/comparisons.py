"""Comparisons of two recordings: made one after the other, each in a worker process, and kept.

::

    comparisons/<base>-<new>/read    the revisions of the recordings that were compared: if they have changed,
                                     the comparison is out of date
                             …       see ``workers.compare``
                work-…/              a comparison that is being made, and its worker's log

Reading one of the recordings again, or purging it, removes its comparisons.
"""

from __future__ import annotations

import os
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

import tracekit
from tracekit.errors import TracekitError, UsageError
from tracekit_dashboard.errors import Conflict, NotFound
from tracekit_dashboard.jobs.process import make_work_folder, start_task_process
from tracekit_dashboard.jobs.queue import Job, JobKind, JobQueue, JobStatus
from tracekit_dashboard.jobs.ready_recordings import ReadyRecordings, read_revision, require_unchanged
from tracekit_dashboard.jobs.workers.compare import SECTIONS, Pair
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.store import Store
from tracekit_dashboard.settings import ServerLimits

_REVISIONS = "read"
COMPARISON = JobKind("comparison", "Comparing", at_once=1, priority=2, max_unfinished=16)
Ids: TypeAlias = tuple[str, str]


class ComparisonFailed(TracekitError):  # noqa: N818
    """Failure to make a comparison, with the reason as a sentence."""


class Comparisons:
    """Makes comparisons and keeps them; safe to use from several threads."""

    def __init__(self, library: ReadyRecordings, store: Store, queue: JobQueue, limits: ServerLimits) -> None:
        self._library, self._store, self._queue, self._limits = library, store, queue, limits
        self._lock = threading.Lock()
        self._begun: dict[Ids, tuple[str, Job]] = {}
        """The last job of each pair that is not kept, with the revisions of its recordings."""

    def find_or_begin(self, base: str, new: str) -> JobStatus:
        """Return the status of a comparison, which is begun if it was not before.

        Raises ``NotFound`` if a recording is deleted or not ready, ``UsageError`` if both are the same, and
        ``QueueFull`` if many comparisons wait.
        """
        revisions = self._read_revisions(base, new)
        with self._lock:
            if self._is_kept(base, new, revisions):
                self._begun.pop((base, new), None)
                return JobStatus("done")
            begun_of, job = self._begun.get((base, new), ("", None))
            # A job that has failed stays, so that the page shows why, until a recording is read again: it
            # is outdated then.
            if job is None or (job.done.done() and (begun_of != revisions or job.status.state == "done")):
                job = self._queue.submit(
                    COMPARISON, (base, new), lambda job: self._make_comparison(job, revisions)
                )
                self._begun[base, new] = revisions, job
            return job.status

    def retry(self, base: str, new: str) -> JobStatus:
        """Begin a comparison that has failed or was cancelled; another one stays as it is."""
        with self._lock:
            _revisions, job = self._begun.get((base, new), ("", None))
            if job is not None and job.done.done():
                del self._begun[base, new]
        return self.find_or_begin(base, new)

    def cancel(self, base: str, new: str) -> None:
        """Stop making a comparison; does nothing if it is not being made."""
        self._queue.cancel(lambda job: job.kind is COMPARISON and job.key == (base, new))

    def end_comparisons(self, recording_id: str) -> None:
        """Stop making comparisons of a recording, and wait until they have ended."""
        self._queue.end(recording_id, COMPARISON)
        with self._lock:
            self._begun = {ids: job for ids, job in self._begun.items() if recording_id not in ids}

    def forget(self, recording_id: str) -> None:
        """End and remove the comparisons of a recording."""
        self.end_comparisons(recording_id)
        for folder in self._store.comparisons.glob(f"*{recording_id}*"):
            self._store.discard(folder)

    def find_file(self, base: str, new: str, name: str = SECTIONS) -> Path:
        """Return a file of a ready comparison; raises as ``find_or_begin`` does, and begins no comparison."""
        if not self._is_kept(base, new, self._read_revisions(base, new)):
            raise NotFound("These recordings have not been compared yet. Open their comparison first.")
        return self._store.comparison(base, new) / name

    def _read_revisions(self, base: str, new: str) -> str:
        """Return a text that changes when a recording is read again, or by another version of tracekit."""
        if base == new:
            raise UsageError("A recording cannot be compared with itself. Choose two.")
        try:
            read = (read_revision(self._library, recording_id) for recording_id in (base, new))
            return " ".join([tracekit.__version__, *read])
        except OSError:
            raise NotFound("The analysis of a recording is missing. Read the recording again.") from None

    def _is_kept(self, base: str, new: str, revisions: str) -> bool:
        try:
            return (self._store.comparison(base, new) / _REVISIONS).read_text("utf-8") == revisions
        except OSError:
            return False

    def _make_comparison(self, job: Job, revisions: str) -> None:
        base, new = (require_unchanged(self._library, recording_id, "compared") for recording_id in job.key)
        with make_work_folder(self._store.comparisons, self._limits.free_disk_bytes) as work:
            result = work / "result"
            pair = Pair(
                (base.name, new.name),
                (self._encode_input(base), self._encode_input(new)),
                (base.origin != "file", new.origin != "file"),
                str(result),
            )
            process = start_task_process(
                "tracekit_dashboard.jobs.workers.compare",
                [],
                asdict(pair),
                work,
                self._limits.job_seconds,
                self._limits,
            )
            process_result = job.run(process)
            if job.cancelled.is_set():
                return
            if problem := process_result.describe_problem(COMPARISON.activity):
                raise ComparisonFailed(problem)
            # The result is published by one renaming, after the last look at what it was made from: no reader
            # sees half of it, or one of an outdated reading.
            if self._read_revisions(*job.key) != revisions:
                raise Conflict("A recording was read again meanwhile. Compare them again.")
            for recording_id in job.key:
                require_unchanged(self._library, recording_id, "compared")
            (result / _REVISIONS).write_text(revisions, "utf-8")
            final = self._store.comparison(*job.key)
            self._store.discard(final)
            result.rename(final)

    def _encode_input(self, recording: Recording) -> str:
        path = recording.path if recording.origin == "file" else self._store.input(recording.id)
        return os.fsencode(path).hex()
