"""Rows of lengths that no program should have: a number or a reason, never NaN, infinity or a claim."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROWS = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks" / "error_rates.py"))["rows"]
OUTLIER = np.array([10.0] * 59 + [1e7])
CALLS = 20.0 + np.arange(60) * 7 % 20 / 5


@pytest.mark.parametrize("run_noise", [None, 0.02])
@pytest.mark.parametrize(
    ("base", "new", "judgement"),
    [
        ([np.array([10.0])], [CALLS], "too few to tell"),
        ([np.array([10.0])], [np.full(100_000, 30.0)], "too few to tell"),
        ([np.zeros(60)], [np.zeros(60)], "within the noise"),
        ([np.zeros(60)] * 3, [np.zeros(60)] * 3, "within the noise"),
        ([np.full(60, 7.0)] * 3, [np.full(60, 7.0)] * 3, "within the noise"),
        ([OUTLIER], [OUTLIER], "within the noise"),
        ([CALLS, CALLS + 1, OUTLIER], [OUTLIER, CALLS, CALLS + 1], "within the noise"),
    ],
)
def test_lengths_that_no_program_has(
    base: list[Any], new: list[Any], judgement: str, run_noise: float | None
) -> None:
    for row in ROWS(base, new, ["p50", "p90"], run_noise=run_noise):
        assert row.judgement == judgement
        numbers = (row.low, row.high, row.relative_low, row.relative_high, row.smallest, row.ratio)
        assert all(number is None or math.isfinite(number) for number in numbers)
