"""Measure how CPU time and memory grow with the size of recordings of many shapes.

    python benchmarks/growth.py [--shapes NAME,NAME] [--scale 1] [--out FILE.json]

Each shape (``shapes.py``) is written in three sizes, each the double of the one before, and read by a process
of its own. The exponent is that of the cost without what a recording of next to nothing costs: 1 is linear.
Fails where an exponent exceeds 1.15, or the largest size exceeds its seconds of CPU or its memory; a cost of
less than half a second, or 100 MiB, has no exponent. What exceeds a target is measured again, at most twice:
other programs only add to a cost, so each size keeps its least.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, Popen, run
from typing import Any

TARGET_EXPONENT = 1.15
_STEPS = (4, 2, 1)
_LEAST_SECONDS, _LEAST_MIB = 0.5, 100
_START = 10
_RUNS = 2
_TRIALS = 3


@dataclass(frozen=True)
class Target:
    """The largest size, and the most that it may cost; None is not bounded.

    Seconds are about twice those measured, so that a busy machine does not fail.
    """

    size: int
    cpu_seconds: float | None = None
    peak_mib: float = 1536


TARGETS = {
    "overlapping predictions": Target(8_000, 3),
    "concurrent calls": Target(100_000),
    "owned work": Target(100_000),
    "one instant": Target(100_000),
    "over everything": Target(100_000),
    "overlapping windows": Target(1_000_000),
    "nested windows": Target(100_000),
    "one moment": Target(50_000),
    "processes": Target(1_000),
    "requests at once": Target(60_000, 12),
    "thread definitions": Target(100_000, 5),
    "JSON": Target(100_000, 12),
    "Perfetto": Target(1_000_000),
    "Firefox": Target(1_000_000),
    "speedscope": Target(1_000_000),
    "CSV": Target(500_000),
    "table": Target(500_000),
    "report": Target(1_000_000),
    "deep first row": Target(200_000),
    "tables": Target(20_000, 5),
    "different tables": Target(10_000, 6),
    "unread tables": Target(20_000, 4),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(TARGETS), help="names, with commas between them")
    parser.add_argument("--scale", type=float, default=1, help="times the sizes; 1 has targets of seconds")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    arguments = parser.parse_args()
    print(f"{'shape':24} {'size':>9} {'CPU s':>7} {'MiB':>6}  grows with the size to the")
    figures = [measure(name, arguments.scale) for name in arguments.shapes.split(",")]
    if arguments.out:
        arguments.out.write_text(json.dumps({"growth": figures}, indent=2) + "\n")
    problems = [problem for figure in figures for problem in figure["problems"]]
    if problems:
        raise SystemExit("\n".join(problems))


def measure(name: str, scale: float) -> dict[str, Any]:
    """Return the figures of one shape, and what exceeds its targets."""
    target = TARGETS[name]
    sizes = [_START, *(max(_START, int(target.size * scale) // step) for step in _STEPS)]
    costs = [(math.inf, math.inf)] * len(sizes)
    for _ in range(_TRIALS):
        costs = [least(cost, measured(name, size)) for cost, size in zip(costs, sizes, strict=True)]
        seconds, mib = (list(column) for column in zip(*costs, strict=True))
        exponents = exponent(sizes, seconds, _LEAST_SECONDS), exponent(sizes, mib, _LEAST_MIB)
        problems = exceeded(name, target, exponents, (seconds[-1], mib[-1]), scale)
        if not problems:
            break
    for size, cost in zip(sizes[1:], costs[1:], strict=True):
        grows = f"  CPU {exponents[0]:.2f}, memory {exponents[1]:.2f}" if size == sizes[-1] else ""
        print(f"{name:24} {size:>9,} {cost[0]:>7.2f} {cost[1]:>6.0f}{grows}", flush=True)
    return {
        "shape": name,
        "sizes": sizes[1:],
        "cpu_seconds": seconds[1:],
        "peak_mib": mib[1:],
        "cpu_exponent": exponents[0],
        "memory_exponent": exponents[1],
        "problems": problems,
    }


def exceeded(
    name: str, target: Target, exponents: tuple[float, float], largest: tuple[float, float], scale: float
) -> list[str]:
    """Return what exceeds the targets: the exponents of CPU and memory, and the cost of the largest size."""
    problems = [
        f"{name}: {what} grows with the size to the {value:.2f}"
        for what, value in zip(("CPU", "memory"), exponents, strict=True)
        if value > TARGET_EXPONENT
    ]
    seconds, mib = largest
    if scale == 1 and target.cpu_seconds is not None and seconds > target.cpu_seconds:
        problems.append(f"{name}: {seconds:.1f} s of CPU, more than {target.cpu_seconds:g}")
    if mib > target.peak_mib * max(1, scale):
        problems.append(f"{name}: {mib:.0f} MiB, more than {target.peak_mib:g}")
    return problems


def measured(name: str, size: int) -> tuple[float, float]:
    """Return the cost of a shape in one size."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = written(name, size, folder)
        return least(*(cost_of(arguments) for _ in range(_RUNS)))


def least(*costs: tuple[float, float]) -> tuple[float, float]:
    """Return the least CPU seconds and the least MiB of several runs."""
    seconds, mib = zip(*costs, strict=True)
    return min(seconds), min(mib)


def exponent(sizes: list[int], costs: list[float], least: float) -> float:
    """Return the exponent from the smallest size to the largest, 0 where the cost is too small for one."""
    start, smallest, *_, largest = costs
    if largest - start < least or sizes[-1] == sizes[1]:
        return 0
    return math.log((largest - start) / max(smallest - start, least / 8), sizes[-1] / sizes[1])


def written(shape: str, size: int, folder: str) -> list[str]:
    """Write a shape, and return the arguments of tracekit that read it.

    In a process of its own: on Linux, the peak memory of a process includes that of the one that started it.
    """
    program = Path(__file__).with_name("shapes.py")
    command = [sys.executable, str(program), shape, str(size), folder]
    return run(command, check=True, stdout=PIPE, text=True).stdout.splitlines()  # noqa: S603


def cost_of(arguments: list[str]) -> tuple[float, float]:
    """Return CPU seconds and peak MiB of tracekit with these arguments."""
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "tracekit", *arguments]
        process = Popen(command, stdout=output)  # noqa: S603 - this interpreter
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{' '.join(command)} failed with status {status}")
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit_bytes / 2**20


if __name__ == "__main__":
    main()
