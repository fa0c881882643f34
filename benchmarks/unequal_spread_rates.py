"""How often sides that spread differently are found to differ: by Welch's t, Student's t, and as compared.

    python benchmarks/unequal_spread_rates.py --out rates.json     # two minutes
    python benchmarks/unequal_spread_rates.py --docs rates.json    # the table in docs/statistics.md

Values of runs are normal. In the columns named by a ratio, the standard deviation of one side is that many
times the other's, and there is no difference. In the last column, both sides spread by 2.8 %, as the p50 of
100 calls does in the model *spread* of ``error_rates``, and one side is 10 % longer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from statistics_page import format_table, measure_or_write

from tracekit.comparison.estimates import estimate_between_runs
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.distributions import t_upper_tail
from tracekit.statistics.share_intervals import LEVEL

PAIRS = 20_000
RUNS, RATIOS = (2, 3, 5), (1, 2, 4, 6, 12, 20)
SPREAD, TRUE_CHANGE = 0.028, 0.10


def differ_by_welch(base: FloatArray, new: FloatArray) -> bool:
    """Return whether Welch's t finds a difference."""
    parts = [float(side.var(ddof=1)) / len(side) for side in (base, new)]
    df = sum(parts) ** 2 / sum(part**2 / (len(base) - 1) for part in parts)
    return is_significant(float(new.mean() - base.mean()) / math.sqrt(sum(parts)), df)


def differ_by_student(base: FloatArray, new: FloatArray) -> bool:
    """Return whether Student's t with a pooled variance finds a difference; sides have as many values."""
    pooled = float(base.var(ddof=1) + new.var(ddof=1)) / 2
    error = math.sqrt(2 * pooled / len(base))
    return is_significant(float(new.mean() - base.mean()) / error, 2.0 * len(base) - 2)


def differ_as_compared(base: FloatArray, new: FloatArray) -> bool:
    """Return whether a comparison finds a difference."""
    estimate = estimate_between_runs(base, new, [], "linear")
    return estimate is not None and estimate.probability < 1 - LEVEL


def is_significant(t: float, df: float) -> bool:
    """Return whether a two-sided test finds a difference."""
    return 2 * t_upper_tail(abs(t), df) < 1 - LEVEL


METHODS = {"Welch": differ_by_welch, "Student": differ_by_student, "as here": differ_as_compared}


def measure_method(method: str, runs: int, pairs: int) -> dict[str, Any]:
    """Return how often a method finds a difference; all methods see the same values."""
    differ = METHODS[method]
    rates: dict[str, float] = {}
    for ratio in RATIOS:
        base, new = np.random.default_rng([15, runs, ratio]).normal(size=(2, pairs, runs))
        rates[str(ratio)] = measure_rate([differ(*sides) for sides in zip(base, ratio * new, strict=True)])
    base, new = np.random.default_rng([16, runs]).normal(0, SPREAD, (2, pairs, runs))
    new += math.log1p(TRUE_CHANGE)
    rates["+10 % found"] = measure_rate([differ(*sides) for sides in zip(base, new, strict=True)])
    return {"runs per side": runs, "method": method, **rates}


def measure_rate(events: list[bool]) -> float:
    """Return the share of events that are true, in percent."""
    return round(100 * float(np.mean(events)), 1)


def iter_rows(pairs: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table."""
    for runs, method in itertools.product(RUNS, METHODS):
        yield measure_method(method, runs, pairs)


def main() -> None:
    measure_or_write(__doc__, PAIRS, iter_rows, lambda rows: {"unequal spreads": format_table(rows)})


if __name__ == "__main__":
    main()
