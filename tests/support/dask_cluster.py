"""A Dask scheduler and its workers as processes of their own, as `docs/fleet.md` starts them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_START_SECONDS = 60
_LOCAL = ("--host", "127.0.0.1", "--no-dashboard")


@dataclass(frozen=True)
class Cluster:
    """A running cluster; its processes are the scheduler, then the workers."""

    address: str
    processes: list[subprocess.Popen[bytes]]


@contextmanager
def dask_cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """Start a cluster, and end all of its processes afterwards."""
    file = folder / "scheduler.json"
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(_start(folder, "scheduler", *_LOCAL, "--port", "0", "--scheduler-file", str(file)))
        address = _address(file)
        for number in range(workers):
            # Without a nanny: one process for each worker, that the test can end.
            options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder / f"worker {number}"))
            processes.append(_start(folder, "worker", address, *_LOCAL, *options))
        yield Cluster(address, processes)
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def _start(folder: Path, program: str, *arguments: str) -> subprocess.Popen[bytes]:
    with (folder / f"{program}.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "dask", program, *arguments], stdout=log, stderr=log)


def _address(file: Path) -> str:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if file.exists() and file.read_text().strip():
            address: str = json.loads(file.read_text())["address"]
            return address
        time.sleep(0.05)
    raise TimeoutError("the scheduler did not start")
