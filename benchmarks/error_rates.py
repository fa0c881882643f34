"""Error rates of comparisons and requirements, on simulated recordings whose truth is known.

    python benchmarks/error_rates.py --out rates.json              every cell: half an hour
    python benchmarks/error_rates.py --pairs 200 --calls 20 100    fewer pairs, these calls per run
    python benchmarks/error_rates.py --docs rates.json             writes the tables of docs/statistics.md

The calls of a recording: log-normal lengths around 20 ms (sigma 0.1), 2 % outliers of 3 to 10 times that.

    independent   nothing else
    alike         neighbours are alike: AR(1) with 0.5 in the logarithm
    warm-up       alike; the first call takes twice as long, and 10 % more fades over the next five
    spread        warm-up; each run is 1 + N(0, 2 %) times as long

Intervals come from ``iter_group_rows``, ``compare_functions`` and ``combine_runs``,
as those of a comparison and a check do; only the reading of recordings is left
out. The rates are those of this model.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent))

from statistics_page import format_titled_tables, write_table

from tracekit.checks.intervals import estimate_interval
from tracekit.checks.parser import parse_requirement
from tracekit.checks.requirements import Condition
from tracekit.checks.results import MetricValue
from tracekit.checks.run_values import RunNoise, combine_runs
from tracekit.comparison.estimates import compute_centre, find_usual_spread, scale_of
from tracekit.comparison.functions import FunctionWeights, compare_functions, find_changed
from tracekit.comparison.metrics import LATE, METRICS, Column, GroupMetric, run_values
from tracekit.comparison.result import Difference, Value
from tracekit.comparison.rows import Sides, iter_group_rows
from tracekit.comparison.sessions import GivenSpread
from tracekit.statistics.call_statistics import estimate
from tracekit.statistics.share_intervals import estimate_share_interval

FloatArray = npt.NDArray[np.float64]
Runs = Sequence[FloatArray]
BASE_MS, SIGMA, OUTLIERS, RHO, SPREAD = 20.0, 0.10, 0.02, 0.5, 0.02
TRUE_CHANGE = 0.10
CALLS_OF_FUNCTIONS = 100
MODELS = ("independent", "alike", "warm-up", "spread")


def recordings(rng: np.random.Generator, model: str, calls: int, count: int) -> FloatArray:
    """Return the lengths in ms of many recordings: an array of recordings × calls."""
    burn_in = 30
    shocks = rng.normal(size=(calls + burn_in, count))
    if model != "independent":
        scale = math.sqrt(1 - RHO**2)
        for call in range(1, calls + burn_in):
            shocks[call] = RHO * shocks[call - 1] + scale * shocks[call]
    values = BASE_MS * np.exp(SIGMA * shocks[burn_in:].T)
    slow = rng.random(values.shape) < OUTLIERS
    values[slow] *= rng.uniform(3, 10, int(slow.sum()))
    if model in ("warm-up", "spread"):
        fading = 1 + 0.1 * np.clip(1 - np.arange(-1, calls - 1) / 5, 0, 1)
        fading[0] = 2.0
        values *= fading
    if model == "spread":
        values *= 1 + rng.normal(0, SPREAD, (count, 1))
    return values


@dataclass(frozen=True)
class SimulatedSide:
    """One side of a group of windows as ``iter_group_rows`` reads it: its lengths, or shares of its calls."""

    runs: Runs
    unit: str = "ns"
    sources: frozenset[str] = frozenset(["simulated"])

    @property
    def lengths_ns(self) -> list[FloatArray]:
        """The lengths of the calls of each run; none where the values are shares."""
        return list(self.runs) if self.unit == "ns" else []

    def column(self, metric: GroupMetric) -> Column:
        """Return the same column for each metric; of late calls, 1 for each."""
        runs, unit = self.runs, self.unit
        if not len(runs):
            return Column((), Value(None, 0, 0), unit)  # type: ignore[arg-type]
        if metric.quantity == LATE:
            runs, unit = [(run > float(metric.of)).astype(float) for run in runs], "share"
        values = run_values(runs, metric.statistic)
        middle = compute_centre(values, scale_of(unit == "ns", values))
        count = sum(len(run) for run in runs)
        value = Value(middle, count, count, "measured", runs=tuple(values.tolist()))
        return Column(tuple(runs), value, unit)  # type: ignore[arg-type]


def metric(name: str) -> GroupMetric:
    """Return a metric of comparisons by name."""
    return next(candidate for candidate in METRICS if candidate.name == name)


def rows(base: Runs, new: Runs, names: Sequence[str], *, run_noise: float | None = None) -> list[Difference]:
    """Return the rows of metrics that a comparison of these runs has."""
    unit = "share" if names[0].endswith("share") else "ns"
    spread = GivenSpread({} if run_noise is None else {"p50": run_noise, "p90": run_noise})
    sides = Sides(SimulatedSide(base, unit), SimulatedSide(new, unit), (), spread)  # type: ignore[arg-type]
    return list(iter_group_rows(sides, [metric(name) for name in names]))


def is_shown(row: Difference) -> bool:
    """Return True where the interval does not contain 0."""
    return row.low is not None and row.high is not None and not row.low <= 0 <= row.high


def percent(marks: Sequence[bool]) -> float:
    """Return the share of True in percent."""
    return round(100 * float(np.mean(marks)), 1)


class Rates:
    """How often each of several events happened."""

    def __init__(self) -> None:
        self._marks: dict[str, list[bool]] = {}

    def note(self, name: str, happened: bool) -> None:
        """Count an event that happened, or not."""
        self._marks.setdefault(name, []).append(bool(happened))

    def percent(self) -> dict[str, float]:
        """Return the rates in percent."""
        return {name: percent(marks) for name, marks in self._marks.items()}


def lengths_cell(
    model: str, calls: int, runs: int, pairs: int, run_noise: float | None = None
) -> dict[str, Any]:
    """Return false alarms, coverage of the true difference, and how often +10 % is found."""
    rng = np.random.default_rng([1, calls, runs, MODELS.index(model)])
    rates = Rates()
    for _ in range(pairs):
        base, same, slower = recordings(rng, model, calls, 3 * runs).reshape(3, runs, calls)
        slower = slower * (1 + TRUE_CHANGE)
        for new, truth, event in ((same, 0.0, "alarm"), (slower, TRUE_CHANGE, "found")):
            for row in rows(list(base), list(new), ["p50", "p90"], run_noise=run_noise):
                if row.relative_low is not None and row.relative_high is not None:
                    rates.note(f"{event} {row.metric}", is_shown(row))
                    rates.note(f"covered {row.metric}", row.relative_low <= truth <= row.relative_high)
    return {
        "table": "one run" if runs == 1 else "lengths",
        "model": model,
        "calls": calls,
        "runs": runs,
        "pairs": pairs,
        "given": run_noise,
        **rates.percent(),
    }


def shares_cell(share: float, spell: int, calls: int, runs: int, pairs: int) -> dict[str, Any]:
    """Return the rates of a share of calls, whose verdicts come in spells."""
    rng = np.random.default_rng([2, calls, runs, spell, int(100 * share)])
    rates = Rates()

    def side(true_share: float) -> list[FloatArray]:
        drawn = rng.random((runs, -(-calls // spell))) < true_share
        return list(np.repeat(drawn, spell, axis=1)[:, :calls].astype(float))

    for _ in range(pairs):
        base = side(share)
        (row,) = rows(base, side(share), ["ANE share"])
        rates.note("alarm", is_shown(row))
        rates.note("zero to zero", row.low == row.high)
        (row,) = rows(base, side(share - 0.1), ["ANE share"])
        rates.note("found", is_shown(row))
        rates.note("covered", row.low is not None and row.high is not None and row.low <= -0.1 <= row.high)
    return {
        "table": "shares",
        "share": share,
        "spell": spell,
        "calls": calls,
        "runs": runs,
        "pairs": pairs,
        **rates.percent(),
    }


def functions_cell(functions: int, calls: int, runs: int, pairs: int) -> dict[str, Any]:
    """Return how often any of many functions is wrong, and how often a doubled one is found."""
    rng = np.random.default_rng([3, calls, runs, functions])
    weights = 1 / np.arange(1, functions + 1)
    weights /= weights.sum()
    names = np.array([("App", f"function{number}", "CPU") for number in range(functions)], "O,O,O").astype(
        object
    )
    rates = Rates()

    def run(true_weights: FloatArray) -> FunctionWeights:
        of_run = true_weights * (1 + rng.normal(0, 0.1, functions)).clip(0.1)
        samples = rng.poisson(12 * of_run * calls)
        function = np.repeat(np.arange(functions), samples)
        window = rng.integers(0, calls, len(function))
        keys, sizes = np.unique(function * calls + window, return_counts=True)
        frame = pd.DataFrame({"window": keys % calls, "weight": sizes * 1e6})
        frame.insert(0, "function", pd.Series([tuple(names[key // calls]) for key in keys], dtype=object))
        return FunctionWeights(frame, calls, 1e6)

    doubled = weights.copy()
    doubled[2] *= 2
    for _ in range(pairs):
        base = [run(weights) for _ in range(runs)]
        unchanged, result = (
            compare_functions(base, [run(of_new) for _ in range(runs)], []) for of_new in (weights, doubled)
        )
        rates.note("any alarm", bool(find_changed([unchanged])[0]))
        changed = {result.names[row][1] for row in find_changed([result])[0]}
        rates.note("doubled one found", "function2" in changed)
    return {
        "table": "functions",
        "functions": functions,
        "calls": calls,
        "runs": runs,
        "pairs": pairs,
        **rates.percent(),
    }


def check_cell(model: str, calls: int, runs: int, pairs: int) -> dict[str, Any]:
    """Return how often ``p90 <= limit`` passes and fails, by the limit as a part of the true p90."""
    rng = np.random.default_rng([4, calls, runs, MODELS.index(model)])
    many = recordings(rng, model, calls, max(300, 200_000 // calls))
    truth = estimate(many.ravel(), 0.9)
    if runs > 1:
        truth = float(np.exp(np.mean([np.log(estimate(run, 0.9)) for run in many])))
    rates = Rates()
    for _ in range(pairs):
        low, high = estimate_checked_interval(list(recordings(rng, model, calls, runs)), 0.9)
        for part in (0.9, 1.0, 1.1, 1.2):
            rates.note(f"passed {part:g}", high <= part * truth)
            rates.note(f"failed {part:g}", low > part * truth)
    return {"table": "check", "model": model, "calls": calls, "runs": runs, "pairs": pairs, **rates.percent()}


def estimate_checked_interval(side: Runs, fraction: float) -> tuple[float, float]:
    """Return the interval by which a check judges a percentile of runs of which nothing else is known."""
    rule = parse_requirement(f"p{100 * fraction:g} <= 1ms").rule
    assert isinstance(rule, Condition)
    values = []
    for run in side:
        percentile = estimate(run, fraction)
        interval = estimate_interval(run, fraction, 0.95)
        calls = len(run)
        values.append(
            MetricValue(
                "time", percentile, percentile, "measured", calls, interval=interval, calls=(run, run)
            )
        )
    assumed = RunNoise(find_usual_spread(rule.metric.statistic), is_assumed=True)
    return combine_runs(values, rule, 0.95, assumed, True).interval or (0.0, math.inf)


def check_shares_cell(share: float, spell: int, calls: int, runs: int, pairs: int) -> dict[str, Any]:
    """Return how often a share is passed and failed at a limit that is the true share.

    *none below* are the recordings that pass without a call of another verdict.
    """
    rng = np.random.default_rng([5, calls, runs, spell, int(100 * share)])
    rule = parse_requirement(f"ANE share >= {share}").rule
    assert isinstance(rule, Condition)
    rates = Rates()
    for _ in range(pairs):
        drawn = rng.random((runs, -(-calls // spell))) < share
        side = np.repeat(drawn, spell, axis=1)[:, :calls].astype(float)
        values = [
            MetricValue(
                "share", of_run, of_run, "measured", calls, interval=estimate_share_interval(run, 0.95)
            )
            for of_run, run in zip(side.mean(axis=1).tolist(), side, strict=True)
        ]
        value = values[0] if runs == 1 else combine_runs(values, rule, 0.95, RunNoise(), False)
        low, high = value.interval or (0.0, 1.0)
        rates.note("passed", low >= share)
        rates.note("none below", low >= share and bool(side.all()))
        rates.note("failed", high < share)
    return {
        "table": "check shares",
        "share": share,
        "spell": spell,
        "calls": calls,
        "runs": runs,
        "pairs": pairs,
        **rates.percent(),
    }


def _lengths(pairs: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    for calls, model, runs in itertools.product(sizes, MODELS, (2, 3, 5, 10)):
        yield lengths_cell(model, calls, runs, pairs)


def _one_run(pairs: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    for calls in sizes:
        yield lengths_cell("warm-up", calls, 1, pairs, 0.0)
        yield lengths_cell("spread", calls, 1, pairs, SPREAD)


def _shares(pairs: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    for calls, (share, spell), runs in itertools.product(sizes, ((1.0, 1), (0.9, 1), (0.9, 5)), (1, 3, 5)):
        yield shares_cell(share, spell, calls, runs, pairs)


def _functions(pairs: int, _: Sequence[int]) -> Iterator[dict[str, Any]]:
    for functions, runs in itertools.product((10, 200), (3, 5, 10)):
        yield functions_cell(functions, CALLS_OF_FUNCTIONS, runs, max(10, pairs // 4))


def _checks(pairs: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    cases = (("independent", 1), ("alike", 1), ("warm-up", 1), ("spread", 1), ("spread", 3), ("spread", 5))
    for calls, (model, runs) in itertools.product(sizes, cases):
        yield check_cell(model, calls, runs, pairs)


def _check_shares(pairs: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    cases = itertools.product((size for size in sizes if size > 5), (0.8, 0.9), (1, 5), (1, 3))
    for calls, share, spell, runs in cases:
        yield check_shares_cell(share, spell, calls, runs, pairs)


TABLES = {
    "lengths": _lengths,
    "one run": _one_run,
    "shares": _shares,
    "functions": _functions,
    "check": _checks,
    "check shares": _check_shares,
}
TITLES = {
    "lengths": "Lengths, several runs per side: false alarms, coverage of the true difference, +10 % found",
    "one run": "Lengths, one run per side with the true spread given (0 where there is none)",
    "shares": "Shares of calls: false alarms, coverage of a true -10 points, and -10 points found",
    "functions": "Functions: any false discovery, and a doubled function found",
    "check": "`p90 <= limit`: passed and failed, by limit / true p90",
    "check shares": "`ANE share >= limit` at the true share: passed (*none below*: no other verdict), failed",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--pairs", type=int, default=2000, help="simulated comparisons per row")
    parser.add_argument(
        "--calls", type=int, nargs="+", default=[5, 20, 100, 1000], help="calls of a recording"
    )
    parser.add_argument("--out", type=Path, help="a file for the rows, as JSON")
    parser.add_argument("--docs", type=Path, nargs="+", help="files of rows to write into docs/statistics.md")
    arguments = parser.parse_args()
    if arguments.docs:
        written = [row for path in arguments.docs for row in json.loads(path.read_text("utf-8"))]
        write_table("error rates", format_titled_tables(written, TITLES))
        return
    results = []
    for table in arguments.tables:
        for row in TABLES[table](arguments.pairs, arguments.calls):
            print(json.dumps(row, ensure_ascii=False), flush=True)
            results.append(row)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
