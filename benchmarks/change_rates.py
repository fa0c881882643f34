"""Error rates of changes over builds, on simulated series whose truth is known.

    python benchmarks/change_rates.py --out rates.json     every cell: about a minute
    python benchmarks/change_rates.py --docs rates.json    writes the tables of docs/statistics.md

Runs of a build differ by a standard deviation, as a fraction; ``fleets.run_noise`` adds the noise: gauss;
outliers (2 % of the runs are slower by 15 to 100 %); two-level (outliers, and a state of the device that
all runs of a build share, 1.5 spreads slower); walk (outliers, and a drift of 0.1 spreads a build). Series
are judged by ``levels`` and ``bands`` as those of a dataset are, one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests" / "support")]

from fleets import run_noise  # noqa: E402
from statistics_page import format_titled_tables, measure_or_write  # noqa: E402

from tracekit.fleet.history.bands import Bands  # noqa: E402
from tracekit.fleet.history.build_series import summarize_builds  # noqa: E402
from tracekit.fleet.history.levels import LAG, MIN_BUILDS, Levels  # noqa: E402
from tracekit.fleet.history.series_changes import MIN_LENGTH_CHANGE, MIN_SHARE_CHANGE, is_alarm  # noqa: E402

FloatArray = npt.NDArray[np.float64]
Alarms = list[tuple[int, int]]
NOISES = ("gauss", "outliers", "two-level", "walk")
STEPS = (0.03, 0.05, 0.10)
FIRST = MIN_BUILDS + LAG


def builds_of(runs: FloatArray) -> FloatArray:
    """Return the values of builds from those of runs: series × builds × runs."""
    series, builds, count = runs.shape
    group = np.repeat(np.arange(series * builds), count)
    return summarize_builds(runs.reshape(-1), group)[0].reshape(series, builds)


def alarms(values: FloatArray) -> Alarms:
    """Return the series and the build of each change of lengths that is found, build after build."""
    levels = Levels(len(values))
    result: Alarms = []
    for build in range(values.shape[1]):
        levels.update()
        evidence = levels.weigh(values[:, build])
        hits = is_alarm(evidence, MIN_LENGTH_CHANGE)
        result += [(int(series), build) for series in np.flatnonzero(hits)]
        levels.add_values(values[:, build], np.where(hits, evidence.length, 0))
    return result


def band_alarms(low: FloatArray, high: FloatArray) -> Alarms:
    """Return the series and the build of each change of shares that is found, build after build."""
    bands = Bands(len(low))
    result: Alarms = []
    for build in range(low.shape[1]):
        bands.update()
        evidence = bands.weigh(low[:, build], high[:, build])
        hits = is_alarm(evidence, MIN_SHARE_CHANGE)
        result += [(int(series), build) for series in np.flatnonzero(hits)]
        bands.add_values(low[:, build], high[:, build], np.where(hits, evidence.length, 0))
    return result


def false_rate(found: Alarms, series: int, builds: int) -> float:
    """Return the alarms per 1,000 points that could raise one."""
    return round(1000 * len(found) / (series * (builds - FIRST)), 2)


def share_within(found: Alarms, steps: npt.NDArray[np.int64], builds: int) -> float:
    """Return the percentage of series whose step is found within so many builds."""
    first = np.full(len(steps), 10**6)
    for series, build in found:
        if build >= steps[series]:
            first[series] = min(first[series], build - steps[series] + 1)
    return round(100 * float(np.mean(first <= builds)), 1)


def lengths_cell(spread: float, runs: int, series: int, builds: int = 200) -> dict[str, Any]:
    """Return false alarms by noise, and the steps found under outliers within 2 and 5 builds."""
    row: dict[str, Any] = {"table": "lengths", "spread %": round(100 * spread), "runs": runs}
    for noise in NOISES:
        rng = np.random.default_rng([1, int(1000 * spread), runs, NOISES.index(noise)])
        values = builds_of(run_noise(rng, noise, spread, (series, builds, runs)))
        row[f"false {noise}"] = false_rate(alarms(values), series, builds)
    for step in STEPS:
        rng = np.random.default_rng([2, int(1000 * spread), runs, int(100 * step)])
        values = builds_of(run_noise(rng, "outliers", spread, (series, 90, runs)))
        places = rng.integers(60, 75, series)
        values = values + np.log1p(step) * (np.arange(90) >= places[:, None])
        found = alarms(values)
        for within in (2, 5):
            row[f"+{100 * step:g} % in {within}"] = share_within(found, places, within)
    return row


def engines_cell(share: float, calls: int, runs: int, unknown: float, series: int) -> dict[str, Any]:
    """Return false alarms of an engine's share, and how often a change to ``share`` is found at its build.

    Before it, the engine serves no call. Of ``unknown`` of the calls, the engine is not determined.
    """
    rng = np.random.default_rng([3, int(100 * share), calls, runs, int(100 * unknown)])
    builds, place = 60, 30
    shape = (series, builds, runs)
    part = np.where(np.arange(builds) >= place, share, 0.0)[None, :, None]
    missing = rng.binomial(calls, unknown, shape)
    served = rng.binomial(calls - missing, np.broadcast_to(part, shape))
    low, high = builds_of(served / calls), builds_of((served + missing) / calls)
    found = band_alarms(low, high)
    before = [alarm for alarm in found if alarm[1] < place]
    after = [alarm for alarm in found if alarm[1] > place + 1]
    steps = np.full(series, place)
    return {
        "table": "engines",
        "new share %": round(100 * share),
        "calls": calls,
        "runs": runs,
        "unknown %": round(100 * unknown),
        "false before": round(1000 * len(before) / (series * (place - 5)), 2),
        "false after": round(1000 * len(after) / (series * (builds - place - 2)), 2),
        "at its build": share_within(found, steps, 1),
        "in 2": share_within(found, steps, 2),
    }


def patterns() -> dict[str, Callable[..., Any]]:
    """Return the generators of otava-test-data by name."""
    import otava_test_data as otava
    from otava_test_data.generators import advanced

    names = ("constant", "noise_normal", "noise_uniform", "outlier", "step_function", "regression_fix")
    more = ("banding", "variance_change", "phase_change", "multiple_changes")
    found = {name: getattr(otava, name) for name in (*names, *more)}
    several = ("multiple_outliers", "multiple_variance_changes")
    return {**found, **{name: getattr(advanced, name) for name in several}}


def pattern_cell(name: str, series: int, sigma: float, length: int = 120) -> dict[str, Any]:
    """Return how often the steps of a pattern are found, and alarms that follow no step within 5 builds.

    Values are logarithms; noise of ``sigma`` percent is added.
    """
    rng = np.random.default_rng([4, int(10 * sigma)])
    values, truths = [], []
    for seed in range(series):
        made = patterns()[name](length=length, seed=seed)
        data = made.data + rng.normal(0, sigma, length)
        values.append(np.log(np.maximum(data, 1.0)))
        kinds = ("step", "regression_start", "regression_end")
        truths.append([point.index for point in made.change_points if point.change_type in kinds])
    found = alarms(np.array(values))
    by_series: dict[int, list[int]] = {}
    for number, build in found:
        by_series.setdefault(number, []).append(build)
    steps = [(number, step) for number, truth in enumerate(truths) for step in truth if step >= FIRST]
    within = {
        limit: [
            any(step <= build < step + limit for build in by_series.get(number, ())) for number, step in steps
        ]
        for limit in (2, 5)
    }
    false = [alarm for alarm in found if not any(0 <= alarm[1] - step < 5 for step in truths[alarm[0]])]
    return {
        "table": "patterns",
        "pattern": name,
        "spread %": sigma,
        "steps": len(steps),
        "in 2": round(100 * float(np.mean(within[2])), 1) if steps else None,
        "in 5": round(100 * float(np.mean(within[5])), 1) if steps else None,
        "other alarms per 1,000": false_rate(false, series, length),
    }


def cells(series: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of all tables."""
    for spread in (0.01, 0.02, 0.05):
        for runs in (1, 3, 5, 10):
            yield lengths_cell(spread, runs, series)
    for share, calls, runs, unknown in (
        (1.0, 20, 1, 0.0),
        (1.0, 20, 5, 0.0),
        (0.58, 20, 5, 0.0),
        (0.2, 20, 5, 0.0),
        (0.2, 100, 5, 0.0),
        (0.58, 20, 5, 0.2),
        (0.2, 100, 5, 0.2),
    ):
        yield engines_cell(share, calls, runs, unknown, series)
    for name in patterns():
        for sigma in (1.0, 2.0):
            yield pattern_cell(name, max(series // 4, 10), sigma)


TITLES = {
    "lengths": "Lengths: false alarms per 1,000 points by noise, and steps found within 2 and 5 builds under"
    " outliers, in percent",
    "engines": "Engines: false alarms per 1,000 points, and the change found at its build and within two, in"
    " percent",
    "patterns": "The generators of otava-test-data, one run a build: steps found, in percent, and alarms that"
    " follow no step within five builds",
}


def main() -> None:
    measure_or_write(
        __doc__, 1000, cells, lambda rows: {"changes over builds": format_titled_tables(rows, TITLES)}
    )


if __name__ == "__main__":
    main()
