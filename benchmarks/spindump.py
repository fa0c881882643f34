"""Measure the analysis of a spindump of a whole system: the whole command, on a generated report.

    python benchmarks/spindump.py [--threads 1600] [--out FILE.json]

The report has the structure of a real one (macOS 13, 226 threads in 1 MB): processes with images, trees with
branches and frames of the kernel, sleeping worker threads that resemble each other, and a process that
recognises text. Fails above 1 s of CPU for 1,600 threads (3 MB).
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

THREADS = 1600
TARGET_SECONDS = 1.0
_THREADS_PER_PROCESS = 8
_RUNS = 3
_LIBRARIES = (
    "dyld",
    "libdispatch.dylib",
    "libsystem_kernel.dylib",
    "libsystem_pthread.dylib",
    "CoreFoundation",
)
_HEAD = """\
Date/Time:        2025-12-17 19:00:41.615 -0500
End time:         2025-12-17 19:00:42.625 -0500
OS Version:       macOS 26.2 (Build 25C56)
Architecture:     arm64e
Report Version:   67

Data Source:      Stackshots

Event:            manual sample
Duration:         1.01s
Steps:            101 (10ms sampling interval)

Hardware model:   Mac16,5

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "system.spindump.txt"
        path.write_text("".join(report(options.threads)))
        size_mb = path.stat().st_size / 1e6
        seconds = min(
            seconds_of([sys.executable, "-m", "tracekit", "analyze", str(path)]) for _ in range(_RUNS)
        )
        start = min(seconds_of([sys.executable, "-m", "tracekit", "--version"]) for _ in range(_RUNS))
    print(f"{options.threads:,} threads, {size_mb:.1f} MB: {seconds:.2f} s of CPU ({start:.2f} s to start)")
    if options.out is not None:
        figures = {"threads": options.threads, "mb": size_mb, "cpu_seconds": seconds, "start_seconds": start}
        options.out.write_text(json.dumps(figures, indent=1) + "\n")
    if options.threads <= THREADS and seconds > TARGET_SECONDS:
        sys.exit(f"The analysis took {seconds:.2f} s of CPU, more than {TARGET_SECONDS} s.")


def seconds_of(command: list[str]) -> float:
    """Return the CPU seconds of a command, of the user and of the system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - tracekit
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(threads: int) -> Iterator[str]:
    """Yield the parts of a report with so many threads."""
    rng = random.Random(7)  # noqa: S311 - a generated report
    yield _HEAD
    for pid in range(100, 100 + -(-threads // _THREADS_PER_PROCESS)):
        name = "mediaanalysisd" if pid == 100 else f"process{pid}"
        yield f"Process:          {name} [{pid}]\nUUID:             {uuid(rng)}\n"
        yield "Footprint:        5296 KB\nNum samples:      101 (1-101)\n\n"
        for number in range(min(_THREADS_PER_PROCESS, threads - (pid - 100) * _THREADS_PER_PROCESS)):
            yield from _thread(rng, name, pid * 100 + number, is_worker=number >= _THREADS_PER_PROCESS // 2)
        yield from _images(rng, name)


def _thread(rng: random.Random, process: str, tid: int, *, is_worker: bool) -> Iterator[str]:
    kind = f'Thread name "pool {tid}"' if is_worker else f'DispatchQueue "com.example.queue{tid}"({tid})'
    yield f"  Thread 0x{tid:x}    {kind}    101 samples (1-101)    priority 31 (base 31)    cpu time 0.004s\n"
    if is_worker:
        yield _frame(0, 101, "thread_start", 3)
        yield _frame(1, 101, "_pthread_start", 3)
        yield _frame(2, 101, "__psynch_cvwait", 2)
        yield _frame(3, 101, "psynch_cvcontinue", "kernel")
    else:
        yield from _tree(rng, process, 0, 101)
    yield "\n"


def _tree(rng: random.Random, process: str, depth: int, count: int) -> Iterator[str]:
    """Yield a tree that branches now and then, and ends in the kernel."""
    if depth > rng.randint(12, 22) or count == 0:
        yield _frame(depth, count, "ipc_mqueue_receive_continue", "kernel")
        return
    is_own = rng.random() < 0.3
    symbol = "???" if is_own else f"-[Service{rng.randrange(900)} handle:request:reply:]"
    if process == "mediaanalysisd" and depth > 6:
        symbol = f"Espresso::BNNSEngine::kernel{rng.randrange(9)}::__launch(std::shared_ptr<Espresso::batch>)"
    yield _frame(depth, count, symbol, process if is_own else rng.randrange(len(_LIBRARIES)))
    left = count
    if count > 1 and rng.random() < 0.08:
        part = rng.randint(1, count // 2)
        left -= part
        yield from _tree(rng, process, depth + 1, part)
    yield from _tree(rng, process, depth + 1, left)


def _frame(depth: int, count: int, symbol: str, binary: int | str) -> str:
    name = _LIBRARIES[binary] if isinstance(binary, int) else binary
    offset = hash_of(symbol + name)
    base = 0x100000000 + 0x1000000 * (hash_of(name) % 4096)
    marks = " " * (1 + 2 * depth) + "*" if binary == "kernel" else " " * (2 + 2 * depth)
    shown = symbol if symbol == "???" else f"{symbol} + {offset % 900}"
    return f"{marks}{count:<4} {shown} ({name} + {offset}) [0x{base + offset:x}]\n"


def _images(rng: random.Random, process: str) -> Iterator[str]:
    yield "  Binary Images:\n"
    for name in (process, *_LIBRARIES, "kernel"):
        base = 0x100000000 + 0x1000000 * (hash_of(name) % 4096)
        image = uuid(rng if name == process else random.Random(name))  # noqa: S311
        span = f"{f'0x{base:x}':>20} - {f'0x{base + 0xFFFFFF:x}':>18}"
        yield f"{span}  {name} (1.0) <{image}>  /usr/lib/{name}\n"
    yield "\n\n"


def hash_of(text: str) -> int:
    """Return a small number of a text, the same in every process."""
    return sum((position + 7) * ord(letter) for position, letter in enumerate(text)) * 37 % 0xFFFFF


def uuid(rng: random.Random) -> str:
    """Return a UUID in the spelling of a list of images."""
    digits = f"{rng.getrandbits(128):032X}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


if __name__ == "__main__":
    main()
