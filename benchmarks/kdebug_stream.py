"""Measure how fast kdebug streams are read, and how that grows with their size.

    python benchmarks/kdebug_stream.py [--out FILE.json] [--megabytes 100,500]

A stream has samples of 28 frames on four cores, from 20,000 stacks of 40,000 functions, as of a busy
app.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from kdebug_files import SAMPLE, THREAD_DATA, USER_DATA, USER_HEADER, write_version_2

_EVENT = np.dtype(
    [("ticks", "<u8"), ("arguments", "<u8", 4), ("tid", "<u8"), ("code", "<u4"), ("cpu", "<u4"), ("x", "<u8")]
)
_FRAMES, _DATA_EVENTS, _STACKS, _FUNCTIONS = 28, 7, 20_000, 40_000
_EVENTS = 4 + _DATA_EVENTS
_READ = (
    "import resource, sys; from tracekit.api import open_trace; trace = open_trace(sys.argv[1]);"
    "usage = resource.getrusage(resource.RUSAGE_SELF);"
    "print(len(trace.samples), len(trace.stacks), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    parser.add_argument("--megabytes", default="100,500")
    options = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in map(int, options.megabytes.split(",")):
            file = Path(folder) / "stream.ktrace"
            write_stream(file, megabytes * 1_000_000)
            figures[f"{megabytes} MB"] = measure(file)
            print(f"{megabytes} MB: {figures[f'{megabytes} MB']}")
    if options.out:
        options.out.write_text(json.dumps({"kdebug_stream": figures}, indent=2) + "\n")


def write_stream(file: Path, size_bytes: int) -> None:
    """Write a stream of about a size."""
    count = size_bytes // (_EVENTS * _EVENT.itemsize)
    random = np.random.default_rng(1)
    stacks = random.integers(0, _FUNCTIONS, (_STACKS, _FRAMES)).astype(np.uint64) * 64 + 0x1_0000_0000
    events = np.zeros((count, _EVENTS), _EVENT)
    number = np.arange(count)
    events["ticks"] = (number // 4 * 24_000)[:, None] + np.arange(_EVENTS)
    events["tid"], events["cpu"] = (100 + number % 4)[:, None], (number % 4)[:, None]
    codes = [SAMPLE | 1, THREAD_DATA, USER_HEADER, *[USER_DATA] * _DATA_EVENTS, SAMPLE | 2]
    events["code"] = np.array(codes, np.uint32)
    events["arguments"][:, 1] = np.stack(
        [np.full(count, 42), 100 + number % 4, 0 * number, 1 + 0 * number], axis=1
    )
    events["arguments"][:, 2, 1] = _FRAMES
    chosen = stacks[random.integers(0, _STACKS, count)]
    events["arguments"][:, 3 : 3 + _DATA_EVENTS] = chosen.reshape(count, _DATA_EVENTS, 4)
    head = write_version_2([], [(100 + cpu, 42, "MyApp") for cpu in range(4)])
    with file.open("wb") as out:
        out.write(head)
        events.tofile(out)


def measure(file: Path) -> dict[str, float]:
    """Return the figures of reading a file in a process of its own, less those of an empty one."""
    result = subprocess.run(  # noqa: S603 - this program and its own files
        [sys.executable, "-c", _READ, str(file)], capture_output=True, text=True, check=True
    )
    samples, stacks, seconds, peak = result.stdout.split()
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import tracekit.api, pandas"], check=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    reading = float(seconds) - (end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    return {
        "samples": int(samples),
        "stacks": int(stacks),
        "cpu_seconds": round(reading, 2),
        "megabytes_per_cpu_second": round(file.stat().st_size / 1e6 / reading, 1),
        "peak_mib": round(int(peak) / 1024),
    }


if __name__ == "__main__":
    main()
