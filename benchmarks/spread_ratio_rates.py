"""How often runs of sides that spread differently differ by chance: by Welch's t, Student's, and ours.

    python benchmarks/spread_ratio_rates.py --out rates.json     # two minutes
    python benchmarks/spread_ratio_rates.py --docs rates.json    # the table in docs/statistics.md

Logarithms of runs' numbers are normal; the spread of NEW is a multiple of that of BASE. *+10 % found* is of
sides that spread alike, by as much as the p50 of 100 calls of the model *spread* does. SciPy has Welch's and
Student's t.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import ttest_ind
from statistics_page import format_table, measure_or_write

from tracekit.comparison.estimates import estimate_between_runs
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.share_intervals import LEVEL

RUNS, RATIOS, PAIRS = (2, 3, 5), (1, 2, 4, 6, 12, 20), 20_000
SPREAD_OF_BASE, SPREAD_OF_P50, TRUE_CHANGE = 0.01, 0.028, 0.10


def differ_as_here(base: FloatArray, new: FloatArray) -> list[bool]:
    """Return whether a comparison finds a difference of each pair of sides."""
    pairs = zip(np.exp(base), np.exp(new), strict=True)
    estimates = (estimate_between_runs(of_base, of_new, [], "log") for of_base, of_new in pairs)
    return [estimate is not None and estimate.probability < 1 - LEVEL for estimate in estimates]


METHODS = {
    "Welch": lambda base, new: ttest_ind(base, new, axis=1, equal_var=False).pvalue < 1 - LEVEL,
    "Student": lambda base, new: ttest_ind(base, new, axis=1).pvalue < 1 - LEVEL,
    "as here": differ_as_here,
}


def iter_rows(pairs: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table."""
    for runs in RUNS:
        rng = np.random.default_rng([15, runs])
        base, new = rng.normal(0, SPREAD_OF_BASE, (2, pairs, runs))
        scale = SPREAD_OF_P50 / SPREAD_OF_BASE
        for method, differ in METHODS.items():
            rates = {f"ratio {ratio}": differ(base, ratio * new) for ratio in RATIOS}
            rates["+10 % found"] = differ(scale * base, scale * new + np.log1p(TRUE_CHANGE))
            percentages = {name: round(100 * float(np.mean(marks)), 1) for name, marks in rates.items()}
            yield {"runs": runs, "method": method, "pairs": pairs, **percentages}


def main() -> None:
    measure_or_write(__doc__, PAIRS, iter_rows, lambda rows: {"spread ratios": format_table(rows)})


if __name__ == "__main__":
    main()
