"""The table of docs/compare.md: the threshold at which a gate passes an unchanged program in four of five runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tracekit.comparison.drift import RunOrder
from tracekit.comparison.estimates import estimate_between_runs
from tracekit.comparison.program_spread import NumberSpread

DOCS = Path(__file__).parents[2] / "docs" / "compare.md"
SPREADS = (0.005, 0.01, 0.02, 0.05, 0.1)
RUNS = (3, 5, 10, 20)


def smallest(spread: float, runs: int) -> float:
    """Return the smallest change that is decided in four of five comparisons, as a fraction."""
    return NumberSpread("", "p50", 1.0, spread, runs, runs).compute_smallest(runs)


def test_the_documented_table_is_that_of_the_estimates() -> None:
    rows = [
        f"| {100 * spread:g} % | {' | '.join(f'{100 * smallest(spread, runs):.2g} %' for runs in RUNS)} |"
        for spread in SPREADS
    ]
    assert "\n".join(rows) in DOCS.read_text(), "\n".join(rows)


def test_an_unchanged_program_passes_at_the_documented_threshold_in_four_of_five() -> None:
    rng, in_turn = np.random.default_rng(36), RunOrder(np.array([0, 3, 4, 7, 8]), np.array([1, 2, 5, 6, 9]))
    limit = math.log1p(smallest(0.02, 5))
    passed = 0
    for _ in range(1_000):
        base, new = (np.exp(rng.normal(3.0, 0.02, 5)) for _ in range(2))
        estimate = estimate_between_runs(base, new, (), "log", order=in_turn)
        assert estimate is not None
        passed += estimate.ends()[1] <= limit
    assert 0.76 <= passed / 1_000 <= 0.84
