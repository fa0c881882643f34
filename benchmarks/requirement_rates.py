"""How often a requirement on a percentile is decided wrongly at its limit, on simulated recordings.

    python benchmarks/requirement_rates.py --out rates.json     every cell: four minutes
    python benchmarks/requirement_rates.py --docs rates.json    writes the table of docs/statistics.md

``recording_models`` has the recordings. The limit is the program's true number: the geometric mean of those
of many runs. Passed and failed are then both wrong, and open is right. A program 10 % below its limit should
pass. Lengths on a grid are left out: the mean of their percentiles lies between two ticks, where no run is.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from error_rates import Rates, estimate_checked_interval, markdown_table
from recording_models import MODELS

BEGIN, END = (
    "<!-- requirements at their limit: make calibrate -->\n",
    "<!-- end of requirements at their limit -->\n",
)
RUNS, CALLS, CHECKS = (1, 2, 3, 5, 10), 200, 2000
_ON_A_GRID = ("frames", "frames edge")
PERCENTILES = {"p50": 0.5, "p90": 0.9}


def requirement_cell(model: str, runs: int, checks: int) -> dict[str, Any]:
    """Return how often requirements are passed and failed at their limit, and passed 10 % below it."""
    rng = np.random.default_rng([11, runs, list(MODELS).index(model)])
    truth = {name: measure_truth(model, fraction) for name, fraction in PERCENTILES.items()}
    sides = MODELS[model](rng, checks * runs, CALLS, 1.0).reshape(checks, runs, CALLS)
    rates = Rates()
    for side, (name, fraction) in itertools.product(sides, PERCENTILES.items()):
        low, high = estimate_checked_interval(list(side), fraction)
        rates.note(f"{name} passed", high <= truth[name])
        rates.note(f"{name} failed", low > truth[name])
        rates.note(f"{name} 10 % below passed", high <= 1.1 * truth[name])
    return {"model": model, "runs": runs, "checks": checks, **rates.percent()}


def measure_truth(model: str, fraction: float) -> float:
    """Return the geometric mean of the percentile of many recordings."""
    many = MODELS[model](np.random.default_rng(12), 4000, CALLS, 1.0)
    of_runs = np.percentile(many, 100 * fraction, axis=1, method="inverted_cdf")
    return float(np.exp(np.log(of_runs).mean()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checks", type=int, default=CHECKS, help="simulated checks per row")
    parser.add_argument("--out", type=Path, help="a file for the rows, as JSON")
    parser.add_argument("--docs", type=Path, help="a file of rows to write into docs/statistics.md")
    arguments = parser.parse_args()
    if arguments.docs:
        from statistics_page import write_tables

        write_tables(BEGIN, END, markdown_table(json.loads(arguments.docs.read_text("utf-8"))))
        return
    results = []
    for model, runs in itertools.product([name for name in MODELS if name not in _ON_A_GRID], RUNS):
        results.append(requirement_cell(model, runs, arguments.checks))
        print(json.dumps(results[-1], ensure_ascii=False), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
