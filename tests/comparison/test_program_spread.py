"""The spread between runs of a program: by build and session, with the changes that comparisons decide."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import geometric_mean, stdev, variance

import numpy as np
import pytest
from compare_support import recorded
from scipy import stats

from tracekit import Analysis, analyze
from tracekit.comparison.estimates import estimate_between_runs
from tracekit.comparison.program_spread import NumberSpread, measure_spreads, select_alike
from tracekit.report.spread.document import LARGEST_FACTORS

CALLS = [10 + call * 1.37 % 3 for call in range(12)]


def run(level: float, start: str = "", model: str = "Net") -> Analysis:
    analysis = recorded([level * length for length in CALLS], models=[model] * len(CALLS))
    return analyze(replace(analysis.trace, info=replace(analysis.trace.info, start=start)))


def by_metric(spreads: list[NumberSpread]) -> dict[str, NumberSpread]:
    return {spread.metric: spread for spread in spreads}


@pytest.mark.integration
def test_runs_of_one_build_spread_around_their_mean() -> None:
    levels = [1.0, 1.02, 0.97, 1.05]
    spreads = by_metric(measure_spreads([[run(level) for level in levels]]))
    assert list(spreads) == ["p50", "p90", "mean"]
    expected = stdev([math.log(level) for level in levels])
    for spread in spreads.values():
        assert (spread.model, spread.df, spread.runs, spread.session_fraction) == ("Net", 3, 4, None)
        assert spread.fraction == pytest.approx(expected, rel=1e-4)
    mean_ms = geometric_mean(levels) * sum(CALLS) / len(CALLS)
    assert spreads["mean"].value == pytest.approx(1e6 * mean_ms, rel=1e-4)


@pytest.mark.integration
def test_builds_have_their_own_means() -> None:
    slow = [3.0, 3.3]
    fast = [1.0, 1.02, 0.97]
    (spread, *_) = measure_spreads([[run(level) for level in side] for side in (slow, fast)])
    logs = [[math.log(level) for level in side] for side in (slow, fast)]
    assert spread.fraction == pytest.approx(
        math.sqrt((variance(logs[0]) + 2 * variance(logs[1])) / 3), rel=1e-4
    )
    assert (spread.df, spread.runs) == (3, 5)


@pytest.mark.integration
def test_sessions_of_a_build_spread_by_more_than_their_runs() -> None:
    """Five days of one build, two equal runs each: all of the spread is between days."""
    days = [1.0, 1.04, 0.97, 1.02, 0.95]
    runs = [
        run(level * factor, f"2026-11-{day + 1:02}T10:0{minute}:00Z")
        for day, level in enumerate(days)
        for minute, factor in enumerate((1.0, 1.0001))
    ]
    (spread, *_) = measure_spreads([runs])
    assert spread.session_fraction == pytest.approx(stdev([math.log(level) for level in days]), rel=1e-3)
    assert spread.fraction == pytest.approx(0.0001 / math.sqrt(2), rel=0.02)
    assert spread.df == 5


def test_a_copy_of_a_recording_is_no_second_run() -> None:
    assert measure_spreads([[run(1.0), run(1.0)]]) == []


def test_runs_with_calls_of_another_kind_are_not_used() -> None:
    """Predictions, and the engine's own intervals of the same program."""
    alike = [run(1.0), run(1.02)]
    engine = recorded(CALLS, windows="ane")
    assert set(engine.window_rows["source"]) != set(alike[0].window_rows["source"])
    assert select_alike([[*alike, engine], [engine]]) == ([alike], 2)
    assert select_alike([[]]) == ([], 0)


def test_each_model_has_its_own_spread_and_too_few_calls_have_none() -> None:
    both = [
        recorded(
            [*(level * length for length in CALLS), *(5 * other * length for length in CALLS[:7])],
            models=["Net"] * 12 + ["Other"] * 7,
        )
        for level, other in ((1.0, 1.1), (1.02, 1.0), (0.97, 1.3))
    ]
    spreads = measure_spreads([both])
    assert [(spread.model, spread.metric) for spread in spreads] == [
        ("Net", "p50"),
        ("Net", "p90"),
        ("Net", "mean"),
        ("Other", "p50"),
        ("Other", "mean"),
    ]
    assert spreads[3].fraction == pytest.approx(
        stdev([math.log(level) for level in (1.1, 1.0, 1.3)]), rel=1e-4
    )


def test_percentiles_on_a_grid_are_marked() -> None:
    frames = [16.7, 16.7, 33.3, 16.7, 16.7] * 4
    runs = [recorded([length + level for length in frames]) for level in (0.0, 0.01, 0.02)]
    spreads = by_metric(measure_spreads([runs]))
    assert [spread.is_on_grid for spread in spreads.values()] == [True, True, False]


def test_the_smallest_change_is_shown_in_four_of_five_comparisons() -> None:
    spread = NumberSpread("Net", "p50", 1e7, 0.03, 9, 10)
    change = math.log1p(spread.compute_smallest(5))
    rng = np.random.default_rng(4)
    found = []
    for _ in range(1000):
        base, new = np.exp(rng.normal(0, 0.03, 5)), np.exp(rng.normal(change, 0.03, 5))
        estimate = estimate_between_runs(base, new, (), "log")
        assert estimate is not None
        found.append(estimate.ends()[0] > 0)
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize(("df", "factor"), list(LARGEST_FACTORS.items()))
def test_how_large_a_true_spread_may_be_is_that_of_the_chi_square_distribution(
    df: int, factor: float
) -> None:
    assert factor == pytest.approx(math.sqrt(df / stats.chi2.ppf(0.025, df)), rel=0.03)
