"""How often a comparison marks a finding as appeared or vanished, without a difference and with one.

Each run has each finding by chance, independently, in a share of the runs. Rows are in percent.

    python benchmarks/finding_rates.py --out rates.json     # a few seconds
    python benchmarks/finding_rates.py --docs rates.json    # the table in docs/statistics.md
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from statistics_page import write_tables

from tracekit.comparison.finding_tests import mark_different
from tracekit.comparison.result import FindingSide

BEGIN, END = "<!-- finding rates: make calibrate -->", "<!-- end of finding rates -->"
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
    return 100 * marked / pairs


def print_table(rows: Sequence[Mapping[str, float | None]]) -> str:
    """Return the rows as a table in Markdown; a number that is not there is a dash."""
    header = list(rows[0])
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_print_cell(row[name]) for name in header) + " |" for row in rows]
    return "\n".join(lines)


def _print_cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=PAIRS, help="simulated comparisons per number")
    parser.add_argument("--out", type=Path, help="a file for the rows, as JSON")
    parser.add_argument("--docs", type=Path, help="a file of rows to write into docs/statistics.md")
    arguments = parser.parse_args()
    if arguments.docs:
        write_tables(BEGIN, END, print_table(json.loads(arguments.docs.read_text("utf-8"))))
        return
    rows = []
    for runs, findings in itertools.product(RUNS, FINDINGS):
        row: dict[str, float] = {"runs": runs, "findings": findings}
        for share in SHARES:
            shares = (share,) * findings
            row[f"marked, in {100 * share:.0f} % of runs"] = measure_marks(
                runs, shares, shares, arguments.pairs
            )
        rest = (RARE,) * (findings - 1)
        row["10 % to 100 % marked"] = measure_marks(runs, (RARE, *rest), (FREQUENT, *rest), arguments.pairs)
        rows.append(row)
        print(json.dumps(row, ensure_ascii=False), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
