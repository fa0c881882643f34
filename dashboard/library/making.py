"""``python -m dashboard.library.making report …``: tracekit's command line, which ends with the server.

The server keeps standard input open: when that ends, the server has ended in whatever way, and so does this.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

_GRACE_SECONDS = 2.0
_NICENESS = 5
_OOM_SCORE = 500


def main() -> None:
    """Run the command that the arguments are."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    with suppress(OSError):  # of Linux: the one to end when memory runs out
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE))
    from tracekit.cli import main as command

    command(prog_name="tracekit")


def _end_with_server() -> None:
    while os.read(0, 1 << 12):
        pass
    os.kill(os.getpid(), signal.SIGTERM)  # so that xctrace, if it was started, is ended in good order
    time.sleep(_GRACE_SECONDS)
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
