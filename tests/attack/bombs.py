"""Small inputs that claim or unpack to much: each must end in a verdict or a sentence, within the promise.

    python tests/attack/bombs.py [--cases 1000] [--seconds 600] [--only tar] [--keep FOLDER]

Every bomb has at most 100 MB on the disk. ``tracekit`` reads it in a child process whose peak of resident
memory and time are measured; 1.5 GiB, 30 seconds, a traceback or an unforeseen exit code are findings.
``--keep`` leaves the bombs in a folder, to read them again by hand.
"""

from __future__ import annotations

import random
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [
        str(Path(__file__).resolve().parents[2] / name) for name in ("", "tests", "tests/support")
    ]

from attack import bombs_archives, bombs_bundles, bombs_exports, bombs_others, symbol_bombs
from attack.bomb import Bomb
from attack.runner import MAX_INPUT_BYTES, MAX_SECONDS, Report, in_child, parser_of, run_limited

BOMBS: tuple[Bomb, ...] = (
    *bombs_archives.BOMBS,
    *bombs_exports.BOMBS,
    *bombs_bundles.BOMBS,
    *bombs_others.BOMBS,
    *symbol_bombs.BOMBS,
)


_LONGEST_OVERRUN_SECONDS = 60.0


def main(arguments: list[str] | None = None, bombs: Sequence[Bomb] = BOMBS, doc: str | None = __doc__) -> int:
    """Read the bombs one after the other, in random order, and print the table."""
    parser = parser_of(doc, len(bombs))
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="leave the bombs in this folder")
    chosen = parser.parse_args(arguments)
    deadline = time.monotonic() + chosen.seconds
    slowest = largest = 0.0
    named = [bomb for bomb in bombs if chosen.only in bomb.name]
    sample = random.Random(chosen.seed).sample(named, min(chosen.cases, len(named)))
    report = Report("bombs", len(sample))
    for bomb in sample:
        if time.monotonic() > deadline:
            break
        with tempfile.TemporaryDirectory(prefix="bomb-") as folder:
            if not in_child(bomb.write, Path(folder)):
                report.find(bomb.name, "could not be written")
                continue
            size_bytes = disk_bytes(Path(folder))
            if chosen.keep:
                shutil.copytree(folder, chosen.keep / bomb.name.replace("/", "-"), symlinks=True)
            command = [sys.executable, "-m", "tracekit", *bomb.command(Path(folder))]
            ending = run_limited(command, deadline + _LONGEST_OVERRUN_SECONDS - time.monotonic())
        if ending.code == -signal.SIGKILL and time.monotonic() > deadline and ending.seconds < MAX_SECONDS:
            break  # it had no time
        report.count(bomb.family)
        slowest, largest = max(slowest, ending.seconds), max(largest, ending.peak_bytes)
        figures = f"{size_bytes / 1e6:6.1f} MB  {ending.seconds:5.1f} s  {ending.peak_bytes >> 20:5} MiB"
        print(f"{figures}  {bomb.name}: {ending.code} {ending.last_line[:120]}", flush=True)
        if size_bytes > MAX_INPUT_BYTES:
            report.find(bomb.name, f"is no fair bomb: it has {size_bytes / 1e6:.0f} MB")
        if problem := ending.problem():
            report.find(bomb.name, problem)
    report.notes["slowest"] = f"{slowest:.1f} s"
    report.notes["largest"] = f"{int(largest) >> 20} MiB"
    return report.finish()


def disk_bytes(folder: Path) -> int:
    """Return the bytes that the files of a folder occupy, holes left out."""
    entries = (path.lstat() for path in folder.rglob("*"))
    sizes = (min(entry.st_size, 512 * entry.st_blocks) for entry in entries if stat.S_ISREG(entry.st_mode))
    return sum(sizes)


if __name__ == "__main__":
    raise SystemExit(main())
