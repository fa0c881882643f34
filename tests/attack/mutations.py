"""Mutated inputs of each kind, read in this process: an error of tracekit is a good end, anything else is a finding.

    python tests/attack/mutations.py [--cases 10000] [--seconds 600] [--seed 1] [--only pack] [--first 0] [--keep FOLDER]

A case is made from its kind, the seed and its number alone, so ``--only KIND --first NUMBER --cases 1`` repeats
it. Cases run in a forked child with bounded memory; warnings count as exceptions. A child that crashes, runs
out of memory or takes more than ``CASE_SECONDS`` of processor time for a case is replaced, and the case is a finding.
"""

from __future__ import annotations

import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(ROOT / name) for name in ("", "tests", "tests/support")]

from attack.mutated import KINDS, Kind, load_everything
from attack.mutated_models import MODEL_KINDS
from attack.runner import Report, parser_of
from tracekit.errors import TracekitError

CASE_SECONDS = 20
MEMORY_BYTES = 2 << 30
_PLACES = struct.Struct("<3q")  # the case under way, those refused, those read


def main(arguments: list[str] | None = None) -> int:
    """Try the cases of every kind and print the table."""
    parser = parser_of(__doc__, 10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the inputs of findings there")
    chosen = parser.parse_args(arguments)
    kinds = [kind for kind in (*KINDS, *MODEL_KINDS) if chosen.only in kind.name]
    report = Report("mutated inputs", len(kinds) * chosen.cases)
    load_everything()
    start = time.monotonic()
    for number, kind in enumerate(kinds, 1):
        deadline = start + chosen.seconds * number / len(kinds)
        attempts = _Attempts(kind, chosen.seed, report, deadline, chosen.keep)
        attempts.run(chosen.first, chosen.first + chosen.cases)
    return report.finish()


class _Attempts:
    """The cases of one kind, in children that are replaced when they end early."""

    def __init__(self, kind: Kind, seed: int, report: Report, deadline: float, keep: Path | None) -> None:
        self._kind, self._seed, self._report, self._deadline, self._keep = kind, seed, report, deadline, keep
        self._shared = mmap.mmap(-1, _PLACES.size)

    def run(self, first: int, end: int) -> None:
        case, refused, read = first, 0, 0
        while case < end and time.monotonic() < self._deadline:
            self._shared[:] = _PLACES.pack(case, 0, 0)
            with TemporaryDirectory(prefix="mutations-") as folder:
                status = self._child(case, end, Path(folder))
            last, more_refused, more_read = _PLACES.unpack(self._shared[:])
            refused, read, case = refused + more_refused, read + more_read, last + 1
            if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 2:
                name = (
                    "hang"
                    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
                    else f"{status=}"
                )
                self._found(last, name)
            elif os.WEXITSTATUS(status) == 0:
                break
        self._report.count(self._kind.name, refused + read)
        self._report.notes[f"{self._kind.name}, read"] = f"{read:,}"

    def _child(self, first: int, end: int, folder: Path) -> int:
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            return os.waitpid(pid, 0)[1]
        try:
            _limit()
            os._exit(self._work(first, end, folder))
        except BaseException:
            traceback.print_exc()
            os._exit(2)

    def _work(self, first: int, end: int, folder: Path) -> int:
        refused = read = 0
        for case in range(first, end):
            if time.monotonic() > self._deadline:
                self._shared[:] = _PLACES.pack(case - 1, refused, read)
                return 0
            self._shared[:] = _PLACES.pack(case, refused, read)
            data = self._kind.make(random.Random(f"{self._seed}/{self._kind.name}/{case}"))
            signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
            try:
                self._kind.read(data, folder)
                read += 1
            except TracekitError:
                refused += 1
            except Exception:
                self._found(case, _last_frames())
                refused += 1
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        self._shared[:] = _PLACES.pack(end, refused, read)
        return 0

    def _found(self, case: int, description: str) -> None:
        self._report.find(f"{self._kind.name} {case}", description)
        if self._keep is not None:
            self._keep.mkdir(parents=True, exist_ok=True)
            dice = random.Random(f"{self._seed}/{self._kind.name}/{case}")
            (self._keep / f"{self._kind.name}-{case}").write_bytes(self._kind.make(dice))


def _limit() -> None:
    """Bound the memory of this child, end it at a hang (whatever C code runs), and make warnings errors."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    warnings.simplefilter("error")
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _last_frames() -> str:
    """Return the exception under way, and the last lines of the product on the way to it."""
    kind, error, trace = sys.exc_info()
    frames = [frame for frame in traceback.extract_tb(trace) if "/tracekit/" in frame.filename]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))
    return f"{kind.__name__ if kind else ''}: {str(error)[:200]} ({places})"


if __name__ == "__main__":
    raise SystemExit(main())
