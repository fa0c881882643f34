"""The one queue of background work: jobs of several kinds, each under a key, most in a worker process.

A kind has a limit on its running jobs, and a priority; all kinds together have a limit as well. Jobs are
submitted, or claimed: work that must survive the server stands in the catalog or in folders, and the queue
calls the kind's ``claim`` when there is room for it. Further requests for an unfinished key join its job.
Each running job has a thread, which waits for the job's process; cancelling a job stops its process.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tracekit.errors import TracekitError
from tracekit_dashboard.errors import Busy
from tracekit_dashboard.jobs.process import ProcessResult, WorkerProcess

_LOG = logging.getLogger(__name__)
_RETRY_SECONDS = 5.0
_MAX_RUNNING_JOBS = 4
Key: TypeAlias = tuple[str, ...]
"""The ids of the subject of a job, which identify it: (recording, variant), (base, new), …"""
State: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]


class JobCancelled(Exception):  # noqa: N818 - not an error
    """The job was cancelled before it began."""


class QueueFull(Busy):
    """Too many jobs of a kind are unfinished."""


@dataclass(frozen=True)
class JobKind:
    """A kind of work."""

    name: str
    activity: str
    """The subject of sentences about its failures: "Comparing"."""
    at_once: int
    """The number of its jobs that run at once."""
    priority: int
    """Of two kinds with waiting jobs, the lower number is first."""
    max_unfinished: int = 1_000
    """The number of unfinished jobs; further ones are refused."""
    is_live: bool = False
    """True for live work: it never waits for other kinds, and continues when the queue is closed."""


@dataclass(frozen=True)
class JobStatus:
    """The progress of a job."""

    state: State
    stage: str = ""
    progress: float | None = None
    """0 to 1 of this stage; None if unknown."""
    message: str = ""
    """Why it failed: a sentence."""


# The life of a job; it may be cancelled at any point of it:
#   submit ──► waiting ──► running ──► done, failed    done.set_result, or the exception that ``work`` raised
#                 └─ cancel ─► cancelled               JobCancelled: ``work`` is never called
# A running job that is cancelled ends as its process does; ``work`` decides what that means.
class Job:
    """Work identified by a key; ``done`` completes when all of it has ended."""

    def __init__(self, kind: JobKind, key: Key, work: Callable[[Job], None]) -> None:
        self.kind, self.key, self.work = kind, key, work
        self.done: Future[None] = Future()
        self.cancelled = threading.Event()
        self.process: WorkerProcess | None = None
        self._status = JobStatus("waiting")
        self._lock = threading.Lock()

    @property
    def status(self) -> JobStatus:
        """The present status; "cancelled" from the request on, even while the process is being stopped."""
        return JobStatus("cancelled") if self.cancelled.is_set() else self._status

    def run(
        self, process: WorkerProcess, on_progress: Callable[[JobStatus], None] = lambda _status: None
    ) -> ProcessResult:
        """Wait for the end of a process; it is stopped when the job is cancelled."""
        with self._lock:
            self.process = process
            # Setting the process and the test are one step under the lock: a cancel comes before it or finds
            # the process.
            if self.cancelled.is_set():  # while the process was being started
                process.stop()

        def note(message: dict[str, Any]) -> None:
            if "stage" in message:
                progress = message.get("progress")
                fraction = float(progress) if isinstance(progress, (int, float)) else None
                self._status = JobStatus("running", str(message["stage"]), fraction)
                on_progress(self._status)

        return process.run(note)

    def release(self) -> None:
        """Leave the process to other work: cancelling this job does not stop it any more."""
        with self._lock:
            self.process = None

    def cancel(self) -> None:
        """Stop the process, now or as soon as it is started; return at once."""
        with self._lock:
            self.cancelled.set()
            if self.process is not None:
                self.process.stop()

    def do_work(self) -> Exception | None:
        """Do the work; return the exception that ended it, None if it was done."""
        self._status = JobStatus("running", "starting")
        try:
            self.work(self)
        except Exception as problem:  # noqa: BLE001 - a sentence of the status, and the next job runs
            self._status = JobStatus("failed", message=self._explain_problem(problem))
            return problem
        self._status = JobStatus("done")
        return None

    def _explain_problem(self, problem: Exception) -> str:
        if isinstance(problem, TracekitError):
            return " ".join([str(problem), *problem.lines])
        if isinstance(problem, OSError):
            return f"{self.kind.activity} failed: {problem.strerror or 'the disk failed'}."
        _LOG.error("%s %s", self.kind.name, " ".join(self.key), exc_info=problem)
        return (
            f"{self.kind.activity} failed because of an error in tracekit."
            " The dashboard's terminal has the details."
        )


Work: TypeAlias = Callable[[Job], None]
Claim: TypeAlias = Callable[[Collection[Key]], Key | None]


class JobQueue:
    """Runs jobs, one per kind and key at a time; safe to use from several threads."""

    def __init__(self, at_once: int = _MAX_RUNNING_JOBS) -> None:
        self._at_once = at_once
        self._claims: dict[str, tuple[JobKind, Claim, Work]] = {}
        self._to_claim: set[str] = set()
        self._lock = threading.Lock()
        # Held from before a claim until its job is among the running ones: a caller that changes the state
        # from which jobs are claimed, and then cancels, finds the job that it must cancel.
        self._claiming = threading.Lock()
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        self._look = threading.Event()
        self._dispatcher = threading.Thread(target=self._dispatch_jobs, name="jobs", daemon=True)
        self._started = self.closing = False

    def claim_from(self, kind: JobKind, claim: Claim, work: Work) -> None:
        """Begin jobs of a kind whose keys ``claim`` returns; it gets the keys of those that run."""
        with self._lock:
            self._claims[kind.name] = (kind, claim, work)
        self.claim_again(kind)

    def claim_again(self, kind: JobKind) -> None:
        """Claim again: there may be work of that kind."""
        with self._lock:
            self._to_claim.add(kind.name)
        self._start_dispatcher()

    def submit(self, kind: JobKind, key: Key, work: Work) -> Job:
        """Return the unfinished job of a key, or a new one; raise ``QueueFull`` if the kind has many."""
        with self._lock:
            of_kind = [job for job in (*self._running, *self._waiting) if job.kind.name == kind.name]
            for job in of_kind:
                if job.key == key and not job.cancelled.is_set():
                    return job
            job = Job(kind, key, work)
            if self.closing:
                job.cancel()
                job.done.set_exception(JobCancelled())
                return job
            if len(of_kind) >= kind.max_unfinished:
                raise QueueFull(f"Other {kind.name} jobs are under way. Try again in a moment.")
            self._waiting.append(job)
        self._start_dispatcher()
        return job

    def find(self, kind: JobKind, key: Key) -> Job | None:
        """Return the job of a key that runs or waits."""
        return next((job for job in self.list_unfinished(kind) if job.key == key), None)

    def list_unfinished(self, kind: JobKind) -> list[Job]:
        """Return the jobs of a kind that run or wait."""
        with self._lock:
            return [job for job in (*self._running, *self._waiting) if job.kind.name == kind.name]

    def cancel(self, selects: Callable[[Job], bool]) -> None:
        """Cancel the selected jobs, and wait until nothing of them runs."""
        with self._claiming, self._lock:
            dropped = [job for job in self._waiting if selects(job)]
            running = [job for job in self._running if selects(job)]
            self._waiting = [job for job in self._waiting if job not in dropped]
        for job in dropped:
            job.cancel()
            job.done.set_exception(JobCancelled())
        for job in running:
            job.cancel()
        # Outside the lock, which a job needs to end.
        wait([job.done for job in running if not job.kind.is_live])

    def end(self, recording_id: str, *kinds: JobKind) -> None:
        """Cancel the jobs of a recording, of these kinds or of all, and wait until nothing of them runs."""

        def is_of_recording(job: Job) -> bool:
            # A part of a key may be the id of a variant's results, <recording>.<variant>.
            recordings = [part.partition(".")[0] for part in job.key]
            return recording_id in recordings and (not kinds or job.kind in kinds)

        self.cancel(is_of_recording)

    def close(self) -> None:
        """Cancel all jobs and begin no other."""
        with self._lock:
            self.closing = True
        self._look.set()
        self.cancel(lambda _job: True)
        if self._dispatcher.is_alive():
            self._dispatcher.join()

    def _start_dispatcher(self) -> None:
        with self._lock:
            if not self._started and not self.closing:
                self._started = True
                self._dispatcher.start()
        self._look.set()

    def _dispatch_jobs(self) -> None:
        while not self.closing:
            self._look.wait(_RETRY_SECONDS)
            self._look.clear()
            while (job := self._next()) is not None:
                thread = threading.Thread(
                    target=self._serve_job, args=(job,), name=job.kind.name, daemon=True
                )
                try:
                    thread.start()
                except RuntimeError as error:  # no more threads: it waits for a while
                    _LOG.warning("no job could be begun: %s", error)
                    with self._lock:
                        self._running.remove(job)
                        self._waiting.insert(0, job)
                    break

    def _serve_job(self, job: Job) -> None:
        problem = job.do_work()
        with self._lock:
            self._running.remove(job)
            if job.kind.name in self._claims:
                self._to_claim.add(job.kind.name)
        if problem is None:
            job.done.set_result(None)
        else:
            job.done.set_exception(problem)
        self._look.set()

    def _next(self) -> Job | None:
        """Return a job that begins now, None if nothing waits or there is no room."""
        with self._claiming:
            with self._lock:
                waiting = {job.kind.name: job.kind for job in self._waiting}
                waiting |= {name: self._claims[name][0] for name in self._to_claim & self._claims.keys()}
            for kind in sorted(waiting.values(), key=lambda kind: kind.priority):
                if (job := self._begin_next(kind)) is not None:
                    return job
        return None

    def _begin_next(self, kind: JobKind) -> Job | None:
        with self._lock:
            running = [job for job in self._running if job.kind.name == kind.name]
            other_jobs = [job for job in self._running if not job.kind.is_live]
            is_full = not kind.is_live and len(other_jobs) >= self._at_once
            if self.closing or is_full or len(running) >= kind.at_once:
                return None
            keys = [job.key for job in running]
            # The oldest job whose key is free: a second job of a running key waits, and does not hold up
            # those behind it.
            for job in self._waiting:
                if job.kind.name == kind.name and job.key not in keys:
                    self._waiting.remove(job)
                    self._running.append(job)
                    return job
            if kind.name not in self._to_claim:
                return None
            self._to_claim.remove(kind.name)  # before the claim: a ``claim_again`` during it counts
        key = self._claim_key(kind, keys)
        if key is None:
            return None
        job = Job(kind, key, self._claims[kind.name][2])
        with self._lock:
            self._to_claim.add(kind.name)
            self._running.append(job)
        return job

    def _claim_key(self, kind: JobKind, running: Collection[Key]) -> Key | None:
        try:
            return self._claims[kind.name][1](running)
        except TracekitError as error:  # such as a full disk or a locked catalog
            _LOG.warning("no job could be begun: %s", error)
        except Exception:  # noqa: BLE001 - must not end the thread
            _LOG.exception("claiming a job")
        with self._lock:
            self._to_claim.add(kind.name)  # looked at again after a while
        return None
