"""The worker's end of a worker process; ``process`` is the server's end.

The server keeps the worker's standard input open. When the input ends, the server has ended for whatever
reason, and the worker ends too, with every process that it started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn, TextIO

from tracekit.parsers.progress import format_remaining

_GRACE_SECONDS = 2.0
_NICENESS = 5
_OOM_SCORE = 500
_REPORT_SECONDS = 0.2
_SERVER_ENDED = threading.Event()
MEMORY_VARIABLE = "TRACEKIT_WORKER_MEMORY_BYTES"
"""The environment variable by which the server limits a worker's memory; 0 and nothing are no limit."""


def run_worker(main: Callable[[], int | None]) -> NoReturn:
    """Run ``main``, then end at once: no thread and no library's clean-up keeps the process alive."""
    try:
        code = main() or 0
    except SystemExit as request:
        code = request.code if isinstance(request.code, int) else int(request.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter would, which _end bypasses
        traceback.print_exc()
        code = 1
    _end_process(code)


def end_with_server(on_line: Callable[[bytes], None] = lambda _line: None) -> None:
    """End when standard input does, from now on; a task must have been read from it before.

    ``on_line`` gets what the server writes further, in a thread of its own.
    """
    signal.signal(signal.SIGTERM, _raise_exit)
    threading.Thread(target=_watch_input, args=(on_line,), daemon=True).start()


def iter_tasks() -> Iterator[dict[str, Any]]:
    """Yield the tasks that the server writes, one after the other; sets up the process as others do."""
    lines: SimpleQueue[bytes] = SimpleQueue()
    lines.put(sys.stdin.buffer.readline())
    end_with_server(lines.put)
    limit_resources()
    while True:
        yield json.loads(lines.get())


def use_temporary(folder: Path) -> None:
    """Let libraries and tools put their temporary files into a folder, which is made."""
    folder.mkdir(mode=0o700, exist_ok=True)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # it is looked up again


def measure_peak_bytes() -> int:
    """Return the most memory that this process ever had; a great number where the system does not count."""
    try:
        import resource
    except ImportError:
        return sys.maxsize
    # On Linux, ru_maxrss begins with what the process that started this one had: a server, for its workers.
    with suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text("ascii", "replace")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit_bytes


def limit_resources() -> None:
    """Lower the priority, offer this process first when memory runs out, and bound its memory."""
    memory_bytes = int(os.environ.get(MEMORY_VARIABLE, "0"))
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with suppress(OSError):  # Linux only
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE))
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory_bytes:  # not the address space, of which numpy and threads reserve far more than they use
            resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


class Channel:
    """Reports the progress of the work to the server, one JSON object per line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._stage = ""
        self._began = self._reported = 0.0

    @classmethod
    def on_standard_output(cls) -> Channel:
        """Return a channel on standard output, and send what libraries print to the log instead."""
        # A copy of descriptor 1 carries the messages; descriptor 1 itself becomes descriptor 2, the log, for
        # everything that prints.
        channel = cls(os.fdopen(os.dup(1), "w", encoding="utf-8"))
        os.dup2(2, 1)
        return channel

    def begin_stage(self, name: str) -> None:
        """Report the stage that begins."""
        self._stage, self._began = name, time.monotonic()
        self._reported = self._began
        self.send(stage=name, progress=None)

    def __call__(self, done: int, total: int | None) -> None:
        """Report progress, see ``parsers.source.Progress``, and how long the stage will take."""
        now = time.monotonic()
        if total and now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            time_left = format_remaining(done, total, now - self._began)
            stage = f"{self._stage} ({time_left})" if time_left else self._stage
            self.send(stage=stage, progress=min(done / total, 1.0))

    def send(self, **message: Any) -> None:
        """Send one line."""
        with suppress(OSError):  # the server has ended: the watch ends this process
            self._stream.write(json.dumps(message) + "\n")
            self._stream.flush()


def _raise_exit(_number: int, _frame: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def _watch_input(on_line: Callable[[bytes], None]) -> None:
    # The input ends when the server closes it or dies in whatever way: the kernel closes the pipes of a
    # killed process, too.
    while line := sys.stdin.buffer.readline():
        on_line(line)
    _SERVER_ENDED.set()
    os.kill(os.getpid(), signal.SIGTERM)  # so that xctrace, if it was started, is ended in good order
    time.sleep(_GRACE_SECONDS)
    _end_process(1)


def _end_process(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    # A living server kills the processes that this one started; without a server this process must.
    if _SERVER_ENDED.is_set() and hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(code)
