"""What a process that the server started does to be a good child; ``process`` is the server's side.

The server keeps standard input open: when that ends, the server has ended in whatever way, and the child
does too, with all that it started.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_GRACE_SECONDS = 2.0
_NICENESS = 5
_OOM_SCORE = 500
_ALONE = threading.Event()


def run(main: Callable[[], int | None]) -> NoReturn:
    """Do what the process is for, then end: no thread and no library's clean-up keeps it alive."""
    try:
        code = main() or 0
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else int(asked.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter would, which _end goes past
        traceback.print_exc()
        code = 1
    _end(code)


def end_with_server() -> None:
    """From now on, end when standard input does; what is to be read of it must have been read."""
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=_watch, daemon=True).start()


def limit_resources(memory_bytes: int = 0) -> None:
    """Let the server go first, and be the one that the system ends when memory runs out.

    ``memory_bytes`` bounds what may be taken; 0 sets no bound.
    """
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with suppress(OSError):  # of Linux
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE))
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory_bytes:  # not the address space, of which numpy and threads reserve far more than they use
            resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


def _interrupt(_number: int, _frame: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def _watch() -> None:
    while os.read(0, 1 << 12):
        pass
    _ALONE.set()
    os.kill(os.getpid(), signal.SIGTERM)  # so that xctrace, if it was started, is ended in good order
    time.sleep(_GRACE_SECONDS)
    _end(1)


def _end(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if _ALONE.is_set() and hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)  # what it started; else the server does it
    os._exit(code)
