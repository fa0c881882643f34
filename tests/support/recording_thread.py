"""The worker that records, in a thread: a process of Python needs half a second to load what reads the recording."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from tracekit_dashboard.jobs.process import ProcessResult
from tracekit_dashboard.jobs.workers.record import make_attempt

_END_SECONDS = 60


class Lines(io.FileIO):
    """The end of a pipe that closes itself when the other end is closed."""

    def readline(self, size: int | None = -1) -> bytes:
        line = super().readline(size)
        if not line:
            self.close()
        return line


class WorkerThread:
    """The part of ``WorkerProcess`` that ``Attempts`` uses."""

    started: ClassVar[list[WorkerThread]] = []

    def __init__(self, module: str, arguments: Sequence[str], *, task: dict[str, Any], **_: Any) -> None:
        assert module == make_attempt.__module__
        (folder,) = arguments
        reading, writing = os.pipe()
        self._input = io.FileIO(writing, "w")
        self._lines = Lines(reading)
        self._thread = threading.Thread(target=self._run, args=(Path(folder),), daemon=True)
        self.write_line(json.dumps(task))
        self._thread.start()
        WorkerThread.started.append(self)

    def _run(self, folder: Path) -> None:
        make_attempt(folder, self._lines)

    def is_running(self) -> bool:
        return self._thread.is_alive()

    def write_line(self, line: str) -> None:
        with suppress(OSError, ValueError):
            self._input.write(line.encode() + b"\n")

    def stop(self) -> None:
        self._input.close()

    def run(self, _on_message: object) -> ProcessResult:
        self._thread.join()
        self.stop()
        return ProcessResult(0)

    @classmethod
    def end_all(cls) -> None:
        """Stop every worker, and wait until it has saved."""
        while cls.started:
            worker = cls.started.pop()
            worker.stop()
            worker._thread.join(_END_SECONDS)
            assert not worker.is_running()
