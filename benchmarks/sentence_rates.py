"""How often the first sentence and gates are wrong, and find a change, on recordings whose truth is known.

    python benchmarks/sentence_rates.py --out rates.json     every cell: about five minutes
    python benchmarks/sentence_rates.py --docs rates.json    writes the table of docs/statistics.md

``recording_models`` has the recordings. The sentence is decided by ``compare_lengths`` and ``decide_model``,
gates by ``judge_difference``, as those of a comparison are; only the reading of recordings is left out.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from error_rates import Rates, SimulatedSide, is_shown
from recording_models import MODELS
from statistics_page import Row, format_table, measure_or_write

from tracekit.checks.changes import judge_difference
from tracekit.checks.parser import parse_change
from tracekit.comparison.first_sentence import compare_lengths
from tracekit.comparison.result import MIN_CHANGE, Difference
from tracekit.comparison.rows import Sides, iter_group_rows
from tracekit.comparison.sessions import GivenSpread
from tracekit.report.comparison.decision import decide_model

GATES = [parse_change(text) for text in ("p50 > +5%", "p90 > +10%", "mean > +5%")]
LATE_POINTS = 5
RUNS, CALLS, PAIRS = (3, 5, 10), (20, 100), 3000
CALLS_OF_ONE_RUN = (100, 1000)


def sentence_cell(model: str, calls: int, runs: int, pairs: int) -> dict[str, Any]:
    """Return the rates of one model: without a difference, and with work that takes 10 % longer."""
    rng = np.random.default_rng([7, calls, runs, list(MODELS).index(model)])
    base, same = MODELS[model](rng, 2 * pairs * runs, calls, 1.0).reshape(2, pairs, runs, calls)
    more = MODELS[model](rng, pairs * runs, calls, 1.1).reshape(pairs, runs, calls)
    true_change = measure_mean(model, calls, 1.1) / measure_mean(model, calls, 1.0) - 1
    rates = Rates()
    for pair in range(pairs):
        sides = make_sides(base[pair], same[pair])
        outcome = decide(sides)
        rates.note("wrong", outcome not in ("same", "not shown"))
        rates.note("no change", outcome == "same")
        rates.note("gate failed", any(judge_gates(list_gated_rows(sides))))
        slower_sides = make_sides(base[pair], more[pair])
        outcome = decide(slower_sides)
        rows = list_gated_rows(slower_sides)
        rates.note("+10 % found", outcome == "slower")
        rates.note("+10 % denied", outcome == "same" or "faster" in outcome)
        rates.note("gate found", any(judge_gates(rows)))
        mean = rows["mean"]
        if mean.relative_low is not None and mean.relative_high is not None:
            rates.note("mean covered", mean.relative_low <= true_change <= mean.relative_high)
        rates.note("on a grid", sides.grid is not None)
    return {"model": model, "calls": calls, "runs": runs, "pairs": pairs, **rates.percent()}


def one_run_cell(model: str, calls: int, pairs: int) -> dict[str, Any]:
    """Return the rates of two runs with the true spreads given: of one program, and of 10 % more work."""
    rng = np.random.default_rng([9, calls, list(MODELS).index(model)])
    base, same = MODELS[model](rng, 2 * pairs, calls, 1.0).reshape(2, pairs, 1, calls)
    more = MODELS[model](rng, pairs, calls, 1.1).reshape(pairs, 1, calls)
    spreads = measure_spreads(model, calls)
    of_p50 = {**spreads, "p90": spreads["p50"]}
    rates = Rates()
    for pair in range(pairs):
        sides = make_sides(base[pair], same[pair], spreads)
        rates.note("wrong", decide(sides) not in ("same", "not shown"))
        rates.note("+10 % found", decide(make_sides(base[pair], more[pair], spreads)) == "slower")
        rows = list_gated_rows(sides)
        rates.note("gate failed", any(judge_gates(rows)))
        if sides.grid is None:
            for name in ("p50", "p90", "mean"):
                rates.note(name, is_shown(rows[name]))
            rates.note("p90 tested", rows["p90"].low is not None)
            widened = list_gated_rows(make_sides(base[pair], same[pair], of_p50))
            rates.note("p90 by the p50's", is_shown(widened["p90"]))
    percentages = {f"spread {name}": round(100 * size, 1) for name, size in spreads.items()}
    return {"model": model, "calls": calls, "pairs": pairs, **percentages, **rates.percent()}


def measure_spreads(model: str, calls: int) -> dict[str, float]:
    """Return the standard deviation of the logarithm of numbers of long recordings."""
    many = MODELS[model](np.random.default_rng([10, calls]), 3000, 2000, 1.0)
    of_runs = {
        "p50": np.percentile(many, 50, axis=1),
        "p90": np.percentile(many, 90, axis=1),
        "mean": many.mean(axis=1),
    }
    return {name: float(np.log(values).std()) for name, values in of_runs.items()}


def measure_mean(model: str, calls: int, work: float) -> float:
    """Return the true mean length: the geometric mean of those of many recordings."""
    many = MODELS[model](np.random.default_rng([8, calls]), 400_000 // calls, calls, work)
    return float(np.exp(np.log(many.mean(axis=1)).mean()))


def make_sides(base: np.ndarray, new: np.ndarray, run_noise: dict[str, float] | None = None) -> Sides:
    """Return two sides of a comparison."""
    spread = GivenSpread(run_noise or {})
    return Sides(SimulatedSide(list(base)), SimulatedSide(list(new)), (), spread)  # type: ignore[arg-type]


def decide(sides: Sides) -> str:
    """Return what the first sentence reports."""
    (lengths,) = compare_lengths([("", sides)])
    return decide_model(lengths, MIN_CHANGE)


def list_gated_rows(sides: Sides) -> dict[str, Difference]:
    """Return the rows that gates are about; of lengths on a grid, the calls above a tick as well."""
    metrics = [metric for metric in sides.metrics if is_gated(metric.name)]
    return {row.metric: row for row in iter_group_rows(sides, metrics)}


def judge_gates(rows: dict[str, Difference]) -> list[bool]:
    """Return which gates fail."""
    late = [parse_change(f"{name} > +{LATE_POINTS} points") for name in rows if name.startswith("calls")]
    return [judge_difference(rows[gate.metric], gate)[0] == "failed" for gate in (*GATES, *late)]


def is_gated(name: str) -> bool:
    """Return whether a gate is about a metric."""
    return name in ("p50", "p90", "mean") or name.startswith("calls")


def iter_rows(pairs: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of both tables."""
    for calls, model, runs in itertools.product(CALLS, MODELS, RUNS):
        yield sentence_cell(model, calls, runs, pairs)
    for calls, model in itertools.product(CALLS_OF_ONE_RUN, MODELS):
        yield one_run_cell(model, calls, pairs)


def format_tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the tables: of several runs, and of one run per side."""
    names = {True: "first sentences", False: "one run per side"}
    return {
        name: format_table([row for row in rows if ("runs" in row) is has_runs])
        for has_runs, name in names.items()
    }


def main() -> None:
    measure_or_write(__doc__, PAIRS, iter_rows, format_tables)


if __name__ == "__main__":
    main()
