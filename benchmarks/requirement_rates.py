"""How often a requirement on a percentile is decided wrongly at its limit, on simulated recordings.

    python benchmarks/requirement_rates.py --out rates.json     every cell: four minutes
    python benchmarks/requirement_rates.py --docs rates.json    writes the table of docs/statistics.md

``recording_models`` has the recordings. The limit is the program's true number: the geometric mean of those
of many runs. Passed and failed are then both wrong, and open is right. A program 10 % below its limit should
pass. Lengths on a grid are left out: the mean of their percentiles lies between two ticks, where no run is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from error_rates import Rates, estimate_checked_interval
from recording_models import MODELS
from statistics_page import format_table, measure_or_write

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


@cache
def measure_truth(model: str, fraction: float) -> float:
    """Return the geometric mean of the percentile of many recordings."""
    many = MODELS[model](np.random.default_rng(12), 4000, CALLS, 1.0)
    of_runs = np.percentile(many, 100 * fraction, axis=1, method="inverted_cdf")
    return float(np.exp(np.log(of_runs).mean()))


def iter_rows(checks: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table."""
    for model, runs in itertools.product([name for name in MODELS if name not in _ON_A_GRID], RUNS):
        yield requirement_cell(model, runs, checks)


def main() -> None:
    measure_or_write(
        __doc__, CHECKS, iter_rows, lambda rows: {"requirements at their limit": format_table(rows)}
    )


if __name__ == "__main__":
    main()
