"""The server's end of one worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from dashboard.jobs.process import Child
from dashboard.jobs.workers.read import TEMPORARY, Task
from dashboard.library.store import Store

_LONGEST_LINE = 1 << 16


class WorkerProcess:
    """A started worker. It ends when ``stop`` is called, or when this process ends in whatever way."""

    def __init__(self, store: Store, recording_id: str, task: Task) -> None:
        folder = store.recording(recording_id)
        self._store, self._work = store, folder / task.work
        self._child = Child(
            "dashboard.jobs.workers.read",
            [str(store.folder), recording_id],
            temporary=self._work / TEMPORARY,
            log=folder / "worker.log",
            talks=True,
        )
        self.pid = self._child.pid
        with suppress(OSError):  # it has ended already, which its exit code tells
            self._child.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
            self._child.stdin.flush()

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield what it tells, until it closes its end."""
        return messages_of(self._child)

    def wait(self) -> int:
        """Wait for its end and return the exit code; what it started and its work folder go with it."""
        code = self._child.wait()
        self._store.discard(self._work)
        return code

    def stop(self) -> None:
        """Ask it to end, and make it end when it does not; returns at once."""
        self._child.stop()


def messages_of(child: Child) -> Iterator[dict[str, Any]]:
    """Yield the objects that a child tells, a line each, until it closes its end."""
    assert child.stdout is not None
    while line := child.stdout.readline(_LONGEST_LINE):
        with suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                yield message
