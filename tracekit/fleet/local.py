"""A pool of processes on this machine that survives its workers.

Each worker holds one task, which the pool knows: when a worker ends, that recording ended it, perhaps because
memory ran out. It is tried once more when nothing else runs, and then set aside.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext, SpawnProcess

from tracekit.errors import TracekitError
from tracekit.fleet.schema import KILLED
from tracekit.fleet.task import FleetTask, TaskOutcome, make_failure, run_task
from tracekit.frozen import frozen
from tracekit.text import format_size, printable

_MODULES = ["tracekit.fleet.task"]
"""What a server that starts workers by forking has imported, so that a worker begins at once."""
_END_SECONDS = 5.0


@frozen
class LocalLimits:
    """The number of workers, what each may use of memory, and how long a recording may take; 0: no limit."""

    workers: int
    memory_bytes: int = 0
    timeout_seconds: float = 0.0


def _choose_context() -> ForkServerContext | SpawnContext:
    """Return the way to start processes: never a fork of this one, which may have threads and locks.

    macOS has libraries with threads from their import on, and Windows cannot fork: there, workers import.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_MODULES)
    return context


class _Worker:
    """A process that analyzes one recording after another."""

    def __init__(self, limits: LocalLimits, work: Callable[[FleetTask], TaskOutcome]) -> None:
        context = _choose_context()
        self.connection, theirs = context.Pipe()
        self._timeout_seconds = limits.timeout_seconds
        self.task: FleetTask | None = None
        self._is_ready = False
        self._began = 0.0
        self.process: ForkServerProcess | SpawnProcess = context.Process(
            target=_serve, args=(theirs, limits.memory_bytes, work), daemon=True, name="tracekit-fleet"
        )
        try:
            self.process.start()
        except (OSError, EOFError) as error:  # EOFError: the process that starts the others was killed
            raise TracekitError(
                f"A worker process cannot be started: {printable(str(error))}. Run the same command again."
            ) from error
        theirs.close()

    def give(self, task: FleetTask) -> bool:
        """Send a task; False if the process has ended."""
        self.task, self._began = task, time.monotonic()
        try:
            self.connection.send(task)
        except OSError:
            return False
        return True

    def receive_message(self) -> TaskOutcome | None:
        """Return the outcome that the process has sent, None when it is ready; ``EOFError`` if it ended."""
        try:
            outcome: TaskOutcome | None = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        if outcome is None:  # its imports are done: the time of its task begins
            self._is_ready, self._began = True, time.monotonic()
        else:
            self.task = None
        return outcome

    @property
    def remaining_seconds(self) -> float | None:
        """The time that is left for the task; None without a limit."""
        if not self._timeout_seconds or self.task is None or not self._is_ready:
            return None
        return max(0.0, self._began + self._timeout_seconds - time.monotonic())

    def end(self) -> int:
        """End the process and return its exit code."""
        self.connection.close()
        self.process.terminate()
        self.process.join(_END_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        return self.process.exitcode or 0


class LocalPool:
    """Runs tasks in worker processes; ``run`` yields their outcomes as they come."""

    def __init__(self, limits: LocalLimits, work: Callable[[FleetTask], TaskOutcome] = run_task) -> None:
        self._limits, self._work = limits, work
        self._workers: list[_Worker] = []

    def run(self, tasks: Sequence[FleetTask]) -> Iterator[TaskOutcome]:
        """Yield the outcome of each task. When the iterator is closed, no process is left."""
        suspects: list[FleetTask] = []
        try:
            yield from self._run_round(tasks, self._limits.workers, suspects, is_last=False)
            for task in suspects:  # each alone: what it needs, it has
                self._end_all()
                yield from self._run_round([task], 1, [], is_last=True)
        finally:
            self._end_all()

    def _end_all(self) -> None:
        while self._workers:
            self._workers.pop().end()

    def _run_round(
        self, tasks: Sequence[FleetTask], max_workers: int, suspects: list[FleetTask], *, is_last: bool
    ) -> Iterator[TaskOutcome]:
        waiting = deque(tasks)
        while waiting or any(worker.task for worker in self._workers):
            self._give_tasks(waiting, max_workers)
            busy = {worker.connection: worker for worker in self._workers if worker.task}
            seconds = [
                seconds_left
                for worker in busy.values()
                if (seconds_left := worker.remaining_seconds) is not None
            ]
            ready = wait(list(busy), min(seconds, default=None))
            for worker in [busy[connection] for connection in ready if isinstance(connection, Connection)]:
                yield from self._collect_outcome(worker, suspects, is_last=is_last)
            for worker in [worker for worker in self._workers if worker.remaining_seconds == 0]:
                yield self._set_aside(worker, f"It took longer than {self._limits.timeout_seconds:g} s.")

    def _give_tasks(self, waiting: deque[FleetTask], max_workers: int) -> None:
        """Give each free worker a task, and start workers up to their number."""
        while len(self._workers) < min(
            max_workers, len(waiting) + sum(bool(worker.task) for worker in self._workers)
        ):
            self._workers.append(_Worker(self._limits, self._work))
        for worker in [worker for worker in self._workers if not worker.task][: len(waiting)]:
            if not worker.give(waiting.popleft()):
                continue  # ``_collect_outcome`` finds that it has ended

    def _collect_outcome(
        self, worker: _Worker, suspects: list[FleetTask], *, is_last: bool
    ) -> Iterator[TaskOutcome]:
        task = worker.task
        try:
            outcome = worker.receive_message()
        except EOFError:
            if is_last:
                yield self._set_aside(worker)
                return
            self._remove_worker(worker)
            suspects += [task] if task else []
            return
        if outcome is not None:
            yield outcome

    def _set_aside(self, worker: _Worker, reason: str = "") -> TaskOutcome:
        """Return the outcome of a worker's task that it ended by, or for ``reason`` is ended for."""
        task = worker.task
        assert task is not None  # the worker was busy
        code = self._remove_worker(worker, seconds=0 if reason else _END_SECONDS)
        return make_failure(task, reason or self._explain_end(code), state=KILLED)

    def _explain_end(self, code: int) -> str:
        how = (
            f"signal {signal.Signals(-code).name}" if -code in {*map(int, signal.Signals)} else f"code {code}"
        )
        limit = (
            f" (at most {format_size(self._limits.memory_bytes)} each)" if self._limits.memory_bytes else ""
        )
        return f"It ended its worker twice ({how}), perhaps because memory{limit} ran out."

    def _remove_worker(self, worker: _Worker, seconds: float = _END_SECONDS) -> int:
        self._workers.remove(worker)
        worker.process.join(seconds)  # an exit code of its own, where it has ended
        return worker.end()


def _serve(connection: Connection, memory_bytes: int, work: Callable[[FleetTask], TaskOutcome]) -> None:
    """Analyze what comes until the pool closes its end; Ctrl-C is the pool's to handle."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory(memory_bytes)
    import pyarrow as pa

    pa.set_cpu_count(1)  # the cores are taken by the other workers
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            connection.send(work(connection.recv()))


def _limit_memory(memory_bytes: int) -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory_bytes:  # not the address space, of which numpy and threads reserve far more than they use
            resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
