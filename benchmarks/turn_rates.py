"""How often sides recorded in turn on a machine that drifts are found to differ, by the method of the test.

    python benchmarks/turn_rates.py --out rates.json     # two minutes
    python benchmarks/turn_rates.py --docs rates.json    # the table in docs/statistics.md

The logarithm of a run's number is normal around its side's, 2 % between runs, plus the drift of the machine:

    none      nothing else
    steady    1 % more from run to run
    walk      steps of 1 % up or down
    heat      from a random time on, up to 10 % more
    settling  6 % more in the first run, which fades over the next ones
    states    5 % more in spells of four runs on average

In turn is base, new, new, base, … as ``tracekit record --interleave`` records, or base, new, base, new, ….
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from statistics_page import format_table, measure_or_write

from tracekit.comparison.drift import RunOrder
from tracekit.comparison.estimates import estimate_between_runs
from tracekit.record.interleaving import iter_interleaved_places
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.distributions import t_upper_tail
from tracekit.statistics.share_intervals import LEVEL

RUN_SPREAD, TRUE_CHANGE, PAIRS = 0.02, 0.05, 4000
RUNS = (3, 4, 5, 10)
Drift = Callable[[np.random.Generator, int, int], FloatArray]


def draw_heat(rng: np.random.Generator, pairs: int, runs: int) -> FloatArray:
    begin, time = rng.uniform(0, 1.2, (pairs, 1)), np.arange(runs) / runs
    return np.asarray(0.10 * np.clip((time - begin) / 0.4, 0, 1))


def draw_states(rng: np.random.Generator, pairs: int, runs: int) -> FloatArray:
    changes = rng.random((pairs, runs)) < 0.25
    changes[:, 0] = rng.random(pairs) < 0.5
    return np.asarray(0.05 * (np.cumsum(changes, axis=1) % 2))


DRIFTS: dict[str, Drift] = {
    "none": lambda _, pairs, runs: np.zeros((pairs, runs)),
    "steady": lambda _, pairs, runs: np.tile(0.01 * np.arange(runs), (pairs, 1)),
    "walk": lambda rng, pairs, runs: np.cumsum(rng.normal(0, 0.01, (pairs, runs)), axis=1),
    "heat": draw_heat,
    "settling": lambda _, pairs, runs: np.tile(0.06 * np.exp(-np.arange(runs) / 1.5), (pairs, 1)),
    "states": draw_states,
}


def place_sides(order: str, runs: int) -> RunOrder:
    """Return the places of both sides: "mirrored" pairs, or "alternating" ones."""
    if order == "alternating":
        return RunOrder(np.arange(0, 2 * runs, 2), np.arange(1, 2 * runs, 2))
    places = list(iter_interleaved_places(runs))
    base, new = (
        np.array([place.position - 1 for place in places if place.side == side]) for side in ("base", "new")
    )
    return RunOrder(base, new)


def differ_as_pairs(base: FloatArray, new: FloatArray) -> bool:
    """Return whether Student's t of the differences of pairs finds one."""
    change = np.log(new / base)
    error = float(change.std(ddof=1)) / math.sqrt(len(change))
    return 2 * t_upper_tail(abs(float(change.mean())) / error, len(change) - 1.0) < 1 - LEVEL


def differ_as_sides(base: FloatArray, new: FloatArray, order: RunOrder | None) -> bool:
    """Return whether a comparison finds a difference."""
    estimate = estimate_between_runs(base, new, [], "log", order=order)
    return estimate is not None and estimate.probability < 1 - LEVEL


def measure_row(drift: str, order: str, runs: int, pairs: int) -> dict[str, Any]:
    """Return how often each method finds a difference: where there is none, and of 5 %."""
    rng = np.random.default_rng([14, runs, list(DRIFTS).index(drift), len(order)])
    places = place_sides(order, runs)
    series = rng.normal(0, RUN_SPREAD, (pairs, 2 * runs)) + DRIFTS[drift](rng, pairs, 2 * runs)
    found: dict[str, list[bool]] = {}
    for values in np.exp(series):
        base, same = values[places.base], values[places.new]
        for event, new in (("alarm", same), ("found", same * (1 + TRUE_CHANGE))):
            found.setdefault(f"{event}, sides", []).append(differ_as_sides(base, new, None))
            found.setdefault(f"{event}, pairs", []).append(differ_as_pairs(base, new))
            found.setdefault(f"{event}, as here", []).append(differ_as_sides(base, new, places))
    rates = {name: round(100 * float(np.mean(events)), 1) for name, events in sorted(found.items())}
    return {"drift": drift, "order": order, "runs": runs, **rates}


def iter_rows(pairs: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table."""
    for order, drift, runs in itertools.product(("mirrored", "alternating"), DRIFTS, RUNS):
        yield measure_row(drift, order, runs, pairs)


def main() -> None:
    measure_or_write(__doc__, PAIRS, iter_rows, lambda rows: {"rates of turns": format_table(rows)})


if __name__ == "__main__":
    main()
