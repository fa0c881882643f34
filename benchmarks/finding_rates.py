"""How often a comparison marks a finding as appeared or vanished, without a difference and with one.

Each run has each finding by chance, independently, in a share of the runs. Rows are in percent.

    python benchmarks/finding_rates.py --out rates.json     # a few seconds
    python benchmarks/finding_rates.py --docs rates.json    # the table in docs/statistics.md
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from statistics_page import format_table, measure_or_write

from tracekit.comparison.finding_tests import mark_different
from tracekit.comparison.result import FindingSide

RUNS = (1, 2, 3, 5, 10)
SHARES = (0.1, 0.25, 0.5, 0.75)
FINDINGS = (1, 2, 5)
PAIRS = 4000
RARE, FREQUENT = 0.1, 1.0


def measure_marks(runs: int, base: Sequence[float], new: Sequence[float], pairs: int) -> float:
    """Return the percentage of comparisons with a mark: on any finding, or on the first where it differs."""
    rng = np.random.default_rng([11, runs, len(base), round(1000 * base[0])])
    counts = np.stack([rng.binomial(runs, side, (pairs, len(base))) for side in (base, new)], axis=2)
    is_equal = list(base) == list(new)
    marked = 0
    for pair in counts.tolist():
        marks = mark_different(
            [(FindingSide(runs, in_base), FindingSide(runs, in_new)) for in_base, in_new in pair]
        )
        marked += any(marks) if is_equal else marks[0]
    return round(100 * marked / pairs, 2)


def iter_rows(pairs: int) -> Iterator[dict[str, float]]:
    """Yield the rows of the table."""
    for runs, findings in itertools.product(RUNS, FINDINGS):
        row: dict[str, float] = {"runs": runs, "findings": findings}
        for share in SHARES:
            shares = (share,) * findings
            row[f"marked, in {100 * share:.0f} % of runs"] = measure_marks(runs, shares, shares, pairs)
        rest = (RARE,) * (findings - 1)
        row["10 % to 100 % marked"] = measure_marks(runs, (RARE, *rest), (FREQUENT, *rest), pairs)
        yield row


def main() -> None:
    measure_or_write(__doc__, PAIRS, iter_rows, lambda rows: {"finding rates": format_table(rows)})


if __name__ == "__main__":
    main()
