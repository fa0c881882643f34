"""Measure what the budgets of calls add to an analysis, and fail above 0.6 s for 100,000 calls.

    python benchmarks/budget.py [--scale 1] [--out FILE.json]

Each row has as many samples and intervals, and more calls than the one before. Seconds are those of the CPU,
the best of three: of the analysis without budgets, and of the sums of all calls.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from fusion import synthetic

from tracekit import analyze
from tracekit.analysis.budget.budget import Budget

TARGET_SECONDS = 0.6
_SAMPLES, _INTERVALS = 1_000_000, 1_000_000
_CALLS = (10_000, 100_000)
_RUNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1, help="times the sizes; below 1 there is no target")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    arguments = parser.parse_args()
    print(f"{'samples':>10} {'intervals':>10} {'calls':>8} {'analysis':>9} {'budgets':>8}")
    figures = []
    for calls in _CALLS:
        sizes = [max(int(size * arguments.scale), 10) for size in (_SAMPLES, _INTERVALS, calls)]
        figure = measure(*sizes)
        figures.append(figure)
        print(
            f"{figure['samples']:>10,} {figure['intervals']:>10,} {figure['calls']:>8,}"
            f" {figure['analysis_seconds']:>9.2f} {figure['budget_seconds']:>8.2f}"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps({"budget": figures}, indent=2) + "\n")
    if arguments.scale >= 1 and figures[-1]["budget_seconds"] > TARGET_SECONDS:
        raise SystemExit(
            f"The budgets add {figures[-1]['budget_seconds']:.2f} s, at most {TARGET_SECONDS} s."
        )


def measure(samples: int, intervals: int, calls: int) -> dict[str, Any]:
    """Return the seconds of one recording."""
    trace = synthetic(samples, intervals, calls)
    begun = time.process_time()
    analysis = analyze(trace, windows="coreml")  # random stacks would make a hundred thousand more
    analysis_seconds = time.process_time() - begun
    seconds = []
    for _ in range(_RUNS):
        budget = Budget(analysis.budget.evidence)
        begun = time.process_time()
        budget.sums  # noqa: B018 - computed where it is read
        seconds.append(time.process_time() - begun)
    return {
        "samples": samples,
        "intervals": intervals,
        "calls": len(analysis.window_rows),
        "analysis_seconds": analysis_seconds,
        "budget_seconds": min(seconds),
    }


if __name__ == "__main__":
    main()
