"""Commands in bounded child processes, and the table in which every attack prints its result."""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATHS = [str(ROOT), *(str(ROOT / name) for name in ("tests", "tests/support"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}

MAX_PEAK_BYTES = 3 << 29
MAX_SECONDS = 30.0
"""The promise of docs/security.md for any input of at most 100 MB."""
MAX_INPUT_BYTES = 100_000_000

_ADDRESS_SPACE = 6 << 30  # protects the machine; the promise is about resident memory
_KILL_SECONDS = 10 * MAX_SECONDS  # on a machine with much else to do
_SIGNS_OF_A_DEFECT = ("Traceback", "MemoryError", "RecursionError", "Fatal Python error")
_OUTPUT_BYTES = 20_000


@dataclass(frozen=True)
class Ending:
    """The end of a child process: its exit code (negative for a signal), its costs and its last output.

    ``seconds`` are the processor's: those on the clock depend on what else the machine does. A child that
    waits without an end is killed by the clock, which is another finding.
    """

    code: int
    seconds: float
    peak_bytes: int
    output: str

    def problem(self) -> str:
        """Return the promise that this end breaks, or ""."""
        for sign in _SIGNS_OF_A_DEFECT:
            if sign in self.output:
                return f"{sign}: {self.last_line}"
        if self.code not in range(6):
            return f"exit code {self.code}: {self.last_line}"
        if not self.output.strip():
            return "no verdict and no sentence"
        if self.peak_bytes > MAX_PEAK_BYTES:
            return f"{self.peak_bytes >> 20} MiB"
        return f"{self.seconds:.0f} s" if self.seconds > MAX_SECONDS else ""

    @property
    def last_line(self) -> str:
        """The last line of the output: the sentence of an error, the exception of a traceback."""
        return self.output.strip().rpartition("\n")[2]


def run_limited(command: Sequence[str], max_seconds: float = _KILL_SECONDS) -> Ending:
    """Run a command in a process group of its own, under limits, until it ends or is killed.

    It is killed after ``max_seconds``, and at the latest after ten times the time of the promise.

    The peak of memory is that of the child and of what it waited for. A child begins with the memory of
    this process, so callers keep theirs small.
    """
    with tempfile.TemporaryFile() as stream:
        deadline = time.monotonic() + min(max_seconds, _KILL_SECONDS)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=ENVIRONMENT,
            start_new_session=True,
            preexec_fn=_limit_memory,
        )
        status, usage = _end_of(process.pid, deadline)
        process.returncode = os.waitstatus_to_exitcode(status)
        end = stream.seek(0, os.SEEK_END)
        stream.seek(max(end - _OUTPUT_BYTES, 0))
        output = stream.read().decode("utf-8", "replace")
    unit = 1 if sys.platform == "darwin" else 1024
    seconds = usage.ru_utime + usage.ru_stime
    return Ending(process.returncode, seconds, usage.ru_maxrss * unit, output)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_of(pid: int, deadline: float) -> tuple[int, Any]:
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return status, usage
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            return status, usage
        time.sleep(0.01)


def in_child(work: Callable[[Path], object], folder: Path) -> bool:
    """Do some work in a forked child, so that its memory is not this process's; return False if it failed."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            work(folder)
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


@dataclass
class Report:
    """The table of an attack: how often each kind was tried, and the findings."""

    title: str
    planned: int = 0
    """The attempts that there would be with enough time."""
    counts: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def count(self, kind: str, number: int = 1) -> None:
        """Count attempts of a kind."""
        self.counts[kind] = self.counts.get(kind, 0) + number

    def find(self, kind: str, description: str) -> None:
        """Note a finding and print it at once: a program that is interrupted has still shown it."""
        self.findings.append(f"{kind}: {description}")
        print(f"FINDING {kind}: {description}", flush=True)

    def finish(self) -> int:
        """Print the table and return the exit code: 1 if there is a finding."""
        seconds = time.monotonic() - self.started
        width = max(map(len, [*self.counts, *self.notes, "total"]))
        print(f"\n{self.title}")
        for kind, number in self.counts.items():
            print(f"  {kind:{width}}  {number:>8,}")
        tried = sum(self.counts.values())
        is_whole = tried >= self.planned
        of_planned = "" if is_whole else f" of {self.planned:,}: the others had no time"
        print(f"  {'total':{width}}  {tried:>8,}{of_planned}  in {seconds:.0f} s")
        for name, note in self.notes.items():
            print(f"  {name:{width}}  {note}")
        print(f"  {len(self.findings)} findings")
        for finding in self.findings:
            print(f"    {finding}")
        sys.stdout.flush()
        return 1 if self.findings else 0


def parser_of(doc: str | None, cases: int) -> argparse.ArgumentParser:
    """Return a parser of the options that every attack has; ``seconds`` is infinite unless given."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=cases, help=f"attempts of each kind (default {cases})")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after this time")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other attempts")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the kinds with this in their name")
    return parser
