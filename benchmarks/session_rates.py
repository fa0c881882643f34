"""How often two sides of one program are found to differ, where each was recorded in a session of its own.

Values of runs are normal: 2 % between the runs of a session, and a spread between sessions. Rates are in
percent.

    python benchmarks/session_rates.py --out rates.json     # a minute
    python benchmarks/session_rates.py --docs rates.json    # the table in docs/statistics.md
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from statistics_page import format_table, measure_or_write

from tracekit.comparison.estimates import estimate_between_runs
from tracekit.comparison.sessions import SessionNoise
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.share_intervals import LEVEL

RUN_SPREAD = 0.02
SPREADS = (0.0, 0.005, 0.01, 0.02, 0.03)
RUNS = (1, 3, 5, 10)
BUILDS = (3, 6)
SESSIONS_OF_BUILD, RUNS_OF_SESSION = 3, 2
PAIRS = 4000


def is_found(
    base: FloatArray, new: FloatArray, noise: list[FloatArray], sessions: SessionNoise | None
) -> bool | None:
    """Return True where a difference is found; None where nothing shows how runs differ."""
    estimate = estimate_between_runs(base, new, noise, "linear", sessions=sessions)
    return None if estimate is None else estimate.probability < 1 - LEVEL


def measure_row(spread: float, runs: int, pairs: int) -> dict[str, float | None]:
    """Return how often a difference is found, by what is known of the spread between sessions."""
    rng = np.random.default_rng([13, runs, round(1000 * spread)])

    def draw(count: int) -> FloatArray:
        return np.asarray(1 + rng.normal(0, spread) + rng.normal(0, RUN_SPREAD, count))

    found: dict[str, list[bool | None]] = {}
    for _ in range(pairs):
        base, new = draw(runs), draw(runs)
        found.setdefault("by runs alone", []).append(is_found(base, new, [], None))
        found.setdefault("spread given", []).append(is_found(base, new, [], SessionNoise(spread)))
        for builds in BUILDS:
            numbers = [build for build in range(builds) for _ in range(SESSIONS_OF_BUILD)]
            noise = [draw(RUNS_OF_SESSION) for _ in numbers]
            known = SessionNoise(None, numbers)
            found.setdefault(f"{builds} builds", []).append(is_found(base, new, noise, known))
    row: dict[str, float | None] = {"between sessions, %": 100 * spread, "runs": runs}
    for name, events in found.items():
        row[name] = None if None in events else round(100 * float(np.mean(np.array(events, bool))), 2)
    return row


def iter_rows(pairs: int) -> Iterator[dict[str, float | None]]:
    """Yield the rows of the table."""
    for spread, runs in itertools.product(SPREADS, RUNS):
        yield measure_row(spread, runs, pairs)


def main() -> None:
    measure_or_write(__doc__, PAIRS, iter_rows, lambda rows: {"session rates": format_table(rows)})


if __name__ == "__main__":
    main()
