"""The server's end of one worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dashboard.library.store import Store
from dashboard.library.worker import TEMPORARY, Task

_ROOT = Path(__file__).resolve().parents[2]
_GRACE_SECONDS = 3.0
_LONGEST_LINE = 1 << 16
_POSIX = os.name == "posix"


class WorkerProcess:
    """A started worker. It ends when ``stop`` is called, or when this process ends in whatever way."""

    def __init__(self, store: Store, recording_id: str, task: Task) -> None:
        folder = store.recording(recording_id)
        self._store, self._work = store, folder / task.work
        (self._work / TEMPORARY).mkdir(mode=0o700, parents=True)
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        self._ended = False
        self._lock = threading.Lock()
        with (folder / "worker.log").open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program; no shell reads it
                [sys.executable, "-P", "-m", "dashboard.library.worker", str(store.folder), recording_id],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(self._work / TEMPORARY)},
                start_new_session=True,
            )
        self.pid = self._process.pid
        with suppress(OSError):  # it has ended already, which its exit code tells
            self._stdin.write(json.dumps(asdict(task)).encode() + b"\n")
            self._stdin.flush()

    @property
    def _stdin(self) -> Any:
        return self._process.stdin

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield what it tells, until it closes its end."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline(_LONGEST_LINE):
            with suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict):
                    yield message

    def wait(self) -> int:
        """Wait for its end and return the exit code, negative for a signal; what it started ends with it."""
        code = self._process.wait()
        with self._lock:
            self._ended = True
            self._signal_group(getattr(signal, "SIGKILL", signal.SIGTERM))
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._store.discard(self._work)
        return code

    def stop(self) -> None:
        """Ask it to end, and make it end when it does not; returns at once."""
        self._send(signal.SIGTERM)
        killer = threading.Timer(_GRACE_SECONDS, self._send, [getattr(signal, "SIGKILL", signal.SIGTERM)])
        killer.daemon = True
        killer.start()

    def _send(self, number: signal.Signals) -> None:
        with self._lock:
            if not self._ended:
                self._signal_group(number)

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if _POSIX:
                os.killpg(self.pid, number)  # it leads a group of its own
            elif not self._ended:
                self._process.terminate()
