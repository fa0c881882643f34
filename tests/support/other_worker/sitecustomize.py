"""Python imports this at its start when the folder is on PYTHONPATH: a worker that misbehaves on request.

WORKER_DOES is "hang" (with a child of its own), "grow" or "fail"; WORKER_NOTES is a folder for process ids.
Only workers of libraries beside that folder do it: those of another test's library, which is read in the
background all the while, inherit the variables, too.
"""

import os
import subprocess
import sys
import time
from pathlib import Path


def open_source(path, progress, **_options):
    notes, does = Path(os.environ["WORKER_NOTES"]), os.environ["WORKER_DOES"]
    if does == "fail":
        raise KeyError("no such thing")
    if does == "grow":
        blocks = [bytes(64 << 20) for _ in range(64)]
        raise AssertionError(f"took {len(blocks)} blocks")
    time.sleep(0.25)  # progress is reported no more often
    size_bytes = Path(path).stat().st_size
    progress(size_bytes // 4, size_bytes)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    Path(os.environ["TMPDIR"], "scratch").write_bytes(b"x")
    (notes / f"{os.getpid()}.new").write_text(f"{os.getpid()} {child.pid}")
    (notes / f"{os.getpid()}.new").rename(notes / f"{os.getpid()}.pids")
    if does == "hang deaf":
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


if "WORKER_DOES" in os.environ and sys.argv[0] == "-m":
    own = os.path.join(os.path.dirname(os.environ["WORKER_NOTES"]), "")
    if any(argument.startswith(own) for argument in sys.orig_argv):
        from tracekit import detect

        detect.open_source = open_source
