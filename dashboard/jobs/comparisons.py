"""Comparisons of two recordings: made one after the other, each in a process of its own, and kept.

::

    comparisons/<base>-<new>/read    what of the recordings it was made of: it is stale when that has changed
                             …       see ``workers.compare``
                work-…/              what is being made, and what its maker said

Reading one of the recordings anew, or purging it, removes them.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import tracekit
from dashboard.errors import Conflict, NoSpace, NotFound
from dashboard.jobs.downloads import ReadyRecordings
from dashboard.jobs.process import Child, most_memory
from dashboard.jobs.worker_process import messages_of
from dashboard.jobs.workers.compare import SECTIONS, Pair
from dashboard.jobs.workers.read import TEMPORARY
from dashboard.library.catalog import Recording
from dashboard.library.store import WORK, Store
from dashboard.settings import Limits
from tracekit.errors import TracekitError, UsageError

_LOG = logging.getLogger(__name__)
_READ = "read"
_TOLD_BYTES = 8_000
_MOST_AT_ONCE = 16
Ids: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class ComparisonStatus:
    """How far a comparison is."""

    state: str
    """ "waiting", "comparing", "ready", "failed" or "cancelled"."""
    stage: str = ""
    progress: float | None = None
    """0 to 1 of this stage; None where it is not known."""
    message: str = ""
    """Why it failed: a sentence."""


@dataclass
class _Job:
    """A comparison that is wanted; ``child`` is None until it has started. It stays when it has failed."""

    ids: Ids
    read: str
    stand: ComparisonStatus = field(default_factory=lambda: ComparisonStatus("waiting"))
    child: Child | None = None
    stopped: bool = False
    ended: threading.Event = field(default_factory=threading.Event)


class NotMade(TracekitError):  # noqa: N818 - named as in ``dashboard.errors``
    """The comparison could not be made; the sentence says why."""


class Comparisons:
    """Makes comparisons and keeps them; safe to use from several threads."""

    def __init__(self, library: ReadyRecordings, store: Store, limits: Limits) -> None:
        self._library, self._store, self._limits = library, store, limits
        self._changing = threading.Lock()
        self._turn = threading.Lock()
        self._jobs: dict[Ids, _Job] = {}
        self._closing = False

    def ask(self, base: str, new: str) -> ComparisonStatus:
        """Return how far a comparison is; it is begun now if it was not before.

        Raises ``NotFound`` when a recording is deleted or not ready, ``UsageError`` when it is one and the
        same, ``Conflict`` when many comparisons wait.
        """
        read = self._read(base, new)
        with self._changing:
            if self._is_kept(base, new, read):
                return ComparisonStatus("ready")
            job = self._jobs.get((base, new))
            if job is None or (job.ended.is_set() and job.read != read):
                job = self._begin((base, new), read)
            return job.stand

    def again(self, base: str, new: str) -> ComparisonStatus:
        """Begin a comparison that has failed or was cancelled; another stays as it is."""
        with self._changing:
            job = self._jobs.get((base, new))
            if job is not None and job.ended.is_set():
                del self._jobs[base, new]
        return self.ask(base, new)

    def cancel(self, base: str, new: str) -> None:
        """Stop making a comparison; nothing happens when it is not being made."""
        self._stop([job for job in self._all() if job.ids == (base, new)])

    def end(self, recording_id: str) -> None:
        """Stop making comparisons of a recording, and wait until nothing of that is left."""
        self._stop([job for job in self._all() if recording_id in job.ids])
        with self._changing:
            for ids in [ids for ids in self._jobs if recording_id in ids]:
                del self._jobs[ids]

    def forget(self, recording_id: str) -> None:
        """Remove the comparisons of a recording."""
        self.end(recording_id)
        for folder in self._store.comparisons.glob(f"*{recording_id}*"):
            self._store.discard(folder)

    def close(self) -> None:
        """Stop all that is being made; nothing is begun any more."""
        self._closing = True
        self._stop(self._all())

    def path(self, base: str, new: str, name: str = SECTIONS) -> Path:
        """Return a file of a comparison that is ready; raises as ``ask`` does, and begins none."""
        if not self._is_kept(base, new, self._read(base, new)):
            raise NotFound("These recordings have not been compared yet. Open their comparison first.")
        return self._store.comparison(base, new) / name

    def _read(self, base: str, new: str) -> str:
        """Return what changes when a recording is read anew, or by another tracekit."""
        if base == new:
            raise UsageError("A recording is not compared with itself. Choose two.")
        try:
            found = [self._library.analysis_path(one).stat() for one in (base, new)]
        except OSError:
            raise NotFound("What was read of a recording is gone. Read it again.") from None
        return " ".join([tracekit.__version__, *(f"{one.st_ino} {one.st_mtime_ns}" for one in found)])

    def _is_kept(self, base: str, new: str, read: str) -> bool:
        try:
            return (self._store.comparison(base, new) / _READ).read_text("utf-8") == read
        except OSError:
            return False

    def _all(self) -> list[_Job]:
        with self._changing:
            return [job for job in self._jobs.values() if not job.ended.is_set()]

    def _stop(self, jobs: list[_Job]) -> None:
        for job in jobs:
            with self._changing:
                if job.ended.is_set():
                    continue
                job.stopped = True
                job.stand = ComparisonStatus("cancelled")
                if job.child is not None:
                    job.child.stop()
        for job in jobs:
            job.ended.wait()

    def _begin(self, ids: Ids, read: str) -> _Job:
        if self._closing or sum(not job.ended.is_set() for job in self._jobs.values()) >= _MOST_AT_ONCE:
            raise Conflict("Many comparisons wait to be made. Try again in a moment.")
        job = self._jobs[ids] = _Job(ids, read)
        threading.Thread(target=self._serve, args=[job], name="comparison", daemon=True).start()
        return job

    def _serve(self, job: _Job) -> None:
        """Wait for the turn, make it, and write down how it ended."""
        failed = ""
        try:
            with self._turn:
                if not job.stopped:
                    self._make(job)
        except TracekitError as error:
            failed = " ".join([str(error), *error.lines])
        except OSError as error:
            failed = f"The comparison could not be made: {error.strerror or 'the disk failed'}."
        except Exception:  # noqa: BLE001 - whatever it is, the page says so and the log has it
            _LOG.exception("comparing %s", " and ".join(job.ids))
            failed = "Comparing failed in a way that was not foreseen. The dashboard's terminal says more."
        with self._changing:
            if not job.stopped:
                job.stand = (
                    ComparisonStatus("failed", message=failed) if failed else ComparisonStatus("ready")
                )
                if not failed and self._jobs.get(job.ids) is job:
                    del self._jobs[job.ids]
            job.ended.set()

    def _make(self, job: _Job) -> None:
        work = self._store.comparisons / f"{WORK}{secrets.token_hex(4)}"
        result = work / "result"
        base, new = (self._unchanged(one) for one in job.ids)
        if self._store.free_bytes() < self._limits.free_disk_bytes:
            raise NoSpace("The disk has too little room left for a comparison. Make room and try again.")
        pair = Pair(
            (base.name, new.name),
            (self._input(base), self._input(new)),
            (base.origin != "file", new.origin != "file"),
            str(result),
            most_memory(self._limits),
        )
        try:
            work.mkdir(mode=0o700)
            self._run(job, pair, work)
            if job.stopped:
                return
            if self._read(*job.ids) != job.read:
                raise Conflict("A recording was read anew meanwhile. Compare them again.")
            for one in job.ids:
                self._unchanged(one)
            (result / _READ).write_text(job.read, "utf-8")
            kept = self._store.comparison(*job.ids)
            self._store.discard(kept)
            result.rename(kept)
        finally:
            self._store.discard(work)

    def _unchanged(self, recording_id: str) -> Recording:
        """Return a recording whose input is what was read; raise ``Conflict`` for another."""
        recording = self._library.recording(recording_id)
        if recording.origin == "file" and recording.message:
            told = "its file is gone, or has changed since it was read. Put it back, or read it again"
            raise Conflict(f"{recording.name} cannot be compared: {told}.")
        return recording

    def _input(self, recording: Recording) -> str:
        path = recording.path if recording.origin == "file" else self._store.input(recording.id)
        return os.fsencode(path).hex()

    def _run(self, job: _Job, pair: Pair, work: Path) -> None:
        """Run the child; raise ``NotMade`` unless it ends well and in time, or was told to end."""
        with self._changing:
            if job.stopped:
                return
            job.child = child = Child(
                "dashboard.jobs.workers.compare", [], temporary=work / TEMPORARY, log=work / "log", talks=True
            )
            job.stand = ComparisonStatus("comparing", "starting")
        late = threading.Event()
        clock = threading.Timer(self._limits.job_seconds, _expire, [child, late])
        clock.daemon = True
        clock.start()
        failed = ""
        try:
            with suppress(OSError):  # it has ended already, which its exit code tells
                child.stdin.write(json.dumps(asdict(pair)).encode() + b"\n")
                child.stdin.flush()
            for message in messages_of(child):
                failed = str(message.get("failed", failed))
                self._note(job, message)
        except BaseException:
            child.stop()
            raise
        finally:
            code = child.wait()
            clock.cancel()
        if late.is_set():
            minutes = f"{self._limits.job_seconds / 60:.0f} minutes"
            raise NotMade(f"Comparing took longer than {minutes} and was stopped.")
        if code and not job.stopped:
            raise NotMade(failed or _ended_by(code, work, job))

    def _note(self, job: _Job, message: dict[str, object]) -> None:
        progress = message.get("progress")
        known = float(progress) if isinstance(progress, (int, float)) else None
        with self._changing:
            if "stage" in message and not job.stopped:
                job.stand = replace(job.stand, stage=str(message["stage"]), progress=known)


def _expire(child: Child, late: threading.Event) -> None:
    late.set()
    child.stop()


def _ended_by(code: int, work: Path, job: _Job) -> str:
    with (work / "log").open("rb") as log:
        log.seek(max(0, (work / "log").stat().st_size - _TOLD_BYTES))
        told = log.read().decode("utf-8", "replace")
    _LOG.error("comparing %s ended with exit code %d:\n%s", " and ".join(job.ids), code, told)
    if code < 0:
        return f"Comparing was ended from outside (signal {-code}), perhaps because memory ran out."
    return "Comparing failed in a way that was not foreseen. The dashboard's terminal says more."
