"""Comparisons of two recordings: made one after the other, each in a worker process, and kept.

::

    comparisons/<base>-<new>/read    the revisions of the recordings that were compared: if they have changed,
                                     the comparison is out of date
                             …       see ``workers.compare``
                work-…/              a comparison that is being made, and its worker's log

Reading one of the recordings again, or purging it, removes its comparisons.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import tracekit
from dashboard.errors import Conflict, NoSpace, NotFound
from dashboard.jobs.downloads import ReadyRecordings
from dashboard.jobs.process import WorkerProcess, log_tail, worker_memory_bytes
from dashboard.jobs.queue import Job, JobQueue
from dashboard.jobs.workers.compare import SECTIONS, Pair
from dashboard.library.catalog import Recording
from dashboard.library.store import TEMPORARY, WORK, Store
from dashboard.settings import Limits
from tracekit.errors import TracekitError, UsageError

_LOG = logging.getLogger(__name__)
_REVISIONS = "read"
_MAX_UNFINISHED = 16
_UNEXPECTED = "Comparing failed because of an error in tracekit. The dashboard's terminal has the details."
Ids: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class ComparisonStatus:
    """The progress of a comparison."""

    state: str
    """ "waiting", "comparing", "ready", "failed" or "cancelled"."""
    stage: str = ""
    progress: float | None = None
    """0 to 1 of this stage; None if unknown."""
    message: str = ""
    """Why it failed: a sentence."""


_CANCELLED = ComparisonStatus("cancelled")


@dataclass
class _Entry:
    """A comparison that is under way, has failed or was cancelled; ``revisions`` are its recordings'."""

    revisions: str
    status: ComparisonStatus
    is_over: bool = False


class ComparisonFailed(TracekitError):  # noqa: N818
    """Failure to make a comparison, with the reason as a sentence."""


class Comparisons:
    """Makes comparisons and keeps them; safe to use from several threads."""

    def __init__(self, library: ReadyRecordings, store: Store, limits: Limits) -> None:
        self._library, self._store, self._limits = library, store, limits
        self._lock = threading.Lock()
        self._queue: JobQueue[Ids] = JobQueue("comparisons", 1)
        self._entries: dict[Ids, _Entry] = {}

    def ask(self, base: str, new: str) -> ComparisonStatus:
        """Return the status of a comparison, which is begun if it was not before.

        Raises ``NotFound`` if a recording is deleted or not ready, ``UsageError`` if both are the same, and
        ``Conflict`` if many comparisons wait.
        """
        revisions = self._revisions(base, new)
        with self._lock:
            if self._is_kept(base, new, revisions):
                return ComparisonStatus("ready")
            entry = self._entries.get((base, new))
            # An entry that has failed stays, so that the page shows why, until a recording is read again:
            # then it is outdated.
            if entry is None or (entry.is_over and entry.revisions != revisions):
                entry = self._begin((base, new), revisions)
            return entry.status

    def again(self, base: str, new: str) -> ComparisonStatus:
        """Begin a comparison that has failed or was cancelled; another one stays as it is."""
        with self._lock:
            entry = self._entries.get((base, new))
            if entry is not None and entry.is_over:
                del self._entries[base, new]
        return self.ask(base, new)

    def cancel(self, base: str, new: str) -> None:
        """Stop making a comparison; does nothing if it is not being made."""
        self._cancel(lambda ids: ids == (base, new))

    def end(self, recording_id: str) -> None:
        """Stop making comparisons of a recording, and wait until they have ended."""
        self._cancel(lambda ids: recording_id in ids)
        with self._lock:
            for ids in [ids for ids in self._entries if recording_id in ids]:
                del self._entries[ids]

    def forget(self, recording_id: str) -> None:
        """Remove the comparisons of a recording."""
        self.end(recording_id)
        for folder in self._store.comparisons.glob(f"*{recording_id}*"):
            self._store.discard(folder)

    def close(self) -> None:
        """Stop all comparisons, and begin no other."""
        self._cancel(lambda _ids: True)
        self._queue.close()

    def path(self, base: str, new: str, name: str = SECTIONS) -> Path:
        """Return a file of a ready comparison; raises as ``ask`` does, and begins no comparison."""
        if not self._is_kept(base, new, self._revisions(base, new)):
            raise NotFound("These recordings have not been compared yet. Open their comparison first.")
        return self._store.comparison(base, new) / name

    def _revisions(self, base: str, new: str) -> str:
        """Return a text that changes when a recording is read again, or by another version of tracekit."""
        if base == new:
            raise UsageError("A recording cannot be compared with itself. Choose two.")
        try:
            statuses = [self._library.analysis_path(recording_id).stat() for recording_id in (base, new)]
        except OSError:
            raise NotFound("The analysis of a recording is missing. Read the recording again.") from None
        return " ".join([tracekit.__version__, *(f"{file.st_ino} {file.st_mtime_ns}" for file in statuses)])

    def _is_kept(self, base: str, new: str, revisions: str) -> bool:
        try:
            return (self._store.comparison(base, new) / _REVISIONS).read_text("utf-8") == revisions
        except OSError:
            return False

    def _cancel(self, selects: Callable[[Ids], bool]) -> None:
        with self._lock:
            entries = [entry for ids, entry in self._entries.items() if selects(ids) and not entry.is_over]
            for entry in entries:  # first, so that no worker changes the status any more
                entry.status = _CANCELLED
        self._queue.cancel(selects)
        with self._lock:
            for entry in entries:
                entry.is_over = True

    def _begin(self, ids: Ids, revisions: str) -> _Entry:
        if self._queue.closing or len(self._queue.unfinished()) >= _MAX_UNFINISHED:
            raise Conflict("Many comparisons are waiting. Try again in a moment.")
        entry = self._entries[ids] = _Entry(revisions, ComparisonStatus("waiting"))
        self._queue.submit(ids, lambda job: self._compare(job, entry))
        return entry

    def _compare(self, job: Job[Ids], entry: _Entry) -> None:
        """Make a comparison and record how it ended."""
        failure = ""
        try:
            self._make(job, entry)
        except TracekitError as error:
            failure = " ".join([str(error), *error.lines])
        except OSError as error:
            failure = f"The comparison could not be made: {error.strerror or 'the disk failed'}."
        except Exception:  # noqa: BLE001 - shown as a sentence, and logged
            _LOG.exception("comparing %s", " and ".join(job.key))
            failure = _UNEXPECTED
        with self._lock:
            entry.is_over = True
            if entry.status is _CANCELLED:
                return
            entry.status = ComparisonStatus("failed" if failure else "ready", message=failure)
            # Ready comparisons need no entry, because their files are the state; a newer entry of the same
            # pair is not this job's.
            if not failure and self._entries.get(job.key) is entry:
                del self._entries[job.key]

    def _make(self, job: Job[Ids], entry: _Entry) -> None:
        work = self._store.comparisons / f"{WORK}{secrets.token_hex(4)}"
        result = work / "result"
        base, new = (self._unchanged(recording_id) for recording_id in job.key)
        if self._store.free_bytes() < self._limits.free_disk_bytes:
            raise NoSpace("The disk has too little room left for a comparison. Make room and try again.")
        pair = Pair(
            (base.name, new.name),
            (self._input(base), self._input(new)),
            (base.origin != "file", new.origin != "file"),
            str(result),
            worker_memory_bytes(self._limits),
        )
        try:
            work.mkdir(mode=0o700)
            self._run(job, entry, pair, work)
            if entry.status is _CANCELLED:
                return
            # The result is published by one renaming, after the last look at what it was made from: no reader
            # sees half of it, or one of an outdated reading.
            if self._revisions(*job.key) != entry.revisions:
                raise Conflict("A recording was read again meanwhile. Compare them again.")
            for recording_id in job.key:
                self._unchanged(recording_id)
            (result / _REVISIONS).write_text(entry.revisions, "utf-8")
            final = self._store.comparison(*job.key)
            self._store.discard(final)
            result.rename(final)
        finally:
            self._store.discard(work)

    def _unchanged(self, recording_id: str) -> Recording:
        """Return a recording whose file is as it was read; raise ``Conflict`` if the file has changed."""
        recording = self._library.recording(recording_id)
        if recording.origin == "file" and recording.message:
            raise Conflict(
                f"{recording.name} cannot be compared: its file is gone, or has changed since it was read."
                " Put it back, or read it again."
            )
        return recording

    def _input(self, recording: Recording) -> str:
        path = recording.path if recording.origin == "file" else self._store.input(recording.id)
        return os.fsencode(path).hex()

    def _run(self, job: Job[Ids], entry: _Entry, pair: Pair, work: Path) -> None:
        """Run the worker; raise ``ComparisonFailed`` unless it succeeds in time, or is cancelled."""
        with self._lock:
            if entry.status is _CANCELLED:
                return
            entry.status = ComparisonStatus("comparing", "starting")
        process = WorkerProcess(
            "dashboard.jobs.workers.compare",
            [],
            log=work / "log",
            task=asdict(pair),
            temporary=work / TEMPORARY,
            reports=True,
        )
        result = job.run(process, self._limits.job_seconds, lambda message: self._note(entry, message))
        if result.timed_out:
            minutes = f"{self._limits.job_seconds / 60:.0f} minutes"
            raise ComparisonFailed(f"Comparing took longer than {minutes} and was stopped.")
        if result.code and entry.status is not _CANCELLED:
            raise ComparisonFailed(result.failure or _unexpected_end(result.code, work, job))

    def _note(self, entry: _Entry, message: dict[str, Any]) -> None:
        """Update the status from a worker's message."""
        progress = message.get("progress")
        with self._lock:
            if "stage" in message and entry.status is not _CANCELLED:
                entry.status = replace(
                    entry.status,
                    stage=str(message["stage"]),
                    progress=float(progress) if isinstance(progress, (int, float)) else None,
                )


def _unexpected_end(code: int, work: Path, job: Job[Ids]) -> str:
    ids = " and ".join(job.key)
    _LOG.error("comparing %s ended with exit code %d:\n%s", ids, code, log_tail(work / "log"))
    if code < 0:
        return f"Comparing was killed (signal {-code}), perhaps because memory ran out."
    return _UNEXPECTED
