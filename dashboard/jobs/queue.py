"""The queue of jobs, each of which runs in a worker process.

A job is work under a key. The queue runs jobs in the order of submission, or those that a ``claim`` function
finds (the catalog of recordings is such a queue, which survives a restart). A thread waits for each running
process; cancelling a job stops its process.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from dashboard.jobs.process import WorkerProcess
from tracekit.errors import TracekitError

Key = TypeVar("Key", bound=Hashable)
_LOG = logging.getLogger(__name__)
_RETRY_SECONDS = 5.0


class JobCancelled(Exception):  # noqa: N818 - not an error
    """The job was cancelled before it began."""


@dataclass(frozen=True)
class ProcessResult:
    """The end of a worker process; ``failure`` is the sentence that the worker sent, "" for none."""

    code: int
    failure: str
    timed_out: bool


@dataclass(eq=False)
# The life of a job; ``cancelled`` may be set at any point of it:
#   submit ──► waiting ──► running ──► done      done.set_result, or the exception that ``work`` raised
#                 └─ cancel ─► done              JobCancelled: ``work`` is never called
# A running job that is cancelled ends as its process does; ``work`` decides what that means.
class Job(Generic[Key]):
    """Work under a key; ``done`` completes when nothing of it runs any more."""

    key: Key
    work: Callable[[Job[Key]], None]
    cancelled: bool = False
    timed_out: bool = False
    done: Future[None] = field(default_factory=Future)
    _process: WorkerProcess | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self,
        process: WorkerProcess,
        seconds: float,
        on_message: Callable[[dict[str, Any]], None] = lambda _message: None,
    ) -> ProcessResult:
        """Wait for the end of a process; it is stopped after ``seconds`` or when the job is cancelled."""
        with self._lock:
            self._process = process
            # Setting the process and the test are one step under the lock: a cancel comes before it or finds
            # the process.
            if self.cancelled:  # while the process was being started
                process.stop()
        clock = threading.Timer(seconds, self._expire)
        clock.daemon = True
        clock.start()
        failure = ""
        try:
            for message in process.messages():
                failure = str(message.get("failed", failure))
                on_message(message)
        except BaseException:
            process.stop()
            raise
        finally:
            code = process.wait()
            clock.cancel()
        return ProcessResult(code, failure, self.timed_out)

    def cancel(self) -> None:
        """Stop the process, now or as soon as it is started; return at once."""
        with self._lock:
            self.cancelled = True
            if self._process is not None:
                self._process.stop()

    def _expire(self) -> None:
        with self._lock:
            self.timed_out = True
            if self._process is not None:
                self._process.stop()


Claim: TypeAlias = Callable[[Collection[Key]], tuple[Key, Callable[[Job[Key]], None]] | None]


class JobQueue(Generic[Key]):
    """Runs up to ``workers`` jobs at once, one per key; safe to use from several threads.

    ``claim`` is called with the keys of running jobs, under the queue's lock, so that a caller that changes
    the state from which it claims finds the job that it must cancel.
    """

    def __init__(self, name: str, workers: int, claim: Claim[Key] | None = None) -> None:
        self._claim = claim
        self._changed = threading.Condition()
        self._waiting: deque[Job[Key]] = deque()
        self._running: dict[Key, Job[Key]] = {}
        self._started = False
        self.closing = False
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True)
            for number in range(workers)
        ]

    def start(self) -> None:
        """Start the threads; ``submit`` does so, too."""
        with self._changed:
            if self._started or self.closing:
                return
            self._started = True
            for thread in self._threads:
                thread.start()

    def submit(self, key: Key, work: Callable[[Job[Key]], None]) -> Job[Key]:
        """Append a job and return it; its ``done`` carries the exception that ``work`` raises."""
        self.start()
        job = Job(key, work)
        with self._changed:
            if self.closing:
                job.done.set_exception(JobCancelled())
                return job
            self._waiting.append(job)
            self._changed.notify_all()
        return job

    def find(self, key: Key) -> Job[Key] | None:
        """Return the job of a key that runs or waits."""
        return next((job for job in self.unfinished() if job.key == key), None)

    def wake(self) -> None:
        """Call ``claim`` again."""
        with self._changed:
            self._changed.notify_all()

    def unfinished(self) -> list[Job[Key]]:
        """Return the jobs that run or wait."""
        with self._changed:
            return [*self._running.values(), *self._waiting]

    def cancel(self, selects: Callable[[Key], bool]) -> None:
        """Cancel the jobs whose keys are selected, and wait until nothing of them runs."""
        with self._changed:
            dropped = [job for job in self._waiting if selects(job.key)]
            running = [job for job in self._running.values() if selects(job.key)]
            for job in dropped:
                self._waiting.remove(job)
        for job in dropped:
            job.cancel()
            job.done.set_exception(JobCancelled())
        for job in running:
            job.cancel()
        # Outside the lock: ``_serve`` needs it to end a job, and waiting for that while holding it would last
        # forever.
        wait([job.done for job in running])

    def close(self) -> None:
        """Cancel all jobs and end the threads."""
        with self._changed:
            self.closing = True
            self._changed.notify_all()
        self.cancel(lambda _key: True)
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            problem: BaseException | None = None
            try:
                job.work(job)
            except Exception as error:  # noqa: BLE001 - the next job runs all the same
                problem = error
            with self._changed:
                del self._running[job.key]
                self._changed.notify_all()
            if problem is None:
                job.done.set_result(None)
            else:
                job.done.set_exception(problem)

    def _next(self) -> Job[Key] | None:
        with self._changed:
            while not self.closing:
                job, retry_seconds = self._claimed()
                if job is not None:
                    self._running[job.key] = job
                    return job
                self._changed.wait(retry_seconds)
        return None

    def _claimed(self) -> tuple[Job[Key] | None, float | None]:
        """Return the next job, or None and the seconds after which to look again without being woken."""
        if self._claim is None:
            # The oldest job whose key is free: a second job of a running key waits, and does not hold up
            # those behind it.
            index = next((n for n, job in enumerate(self._waiting) if job.key not in self._running), None)
            if index is None:
                return None, None
            job = self._waiting[index]
            del self._waiting[index]
            return job, None
        try:
            claimed = self._claim(self._running)
        except TracekitError as error:  # such as a full disk or a locked catalog
            _LOG.warning("no job could be begun: %s", error)
            return None, _RETRY_SECONDS
        except Exception:  # noqa: BLE001 - must not end the thread
            _LOG.exception("claiming a job")
            return None, _RETRY_SECONDS
        return (None if claimed is None else Job(*claimed)), None
