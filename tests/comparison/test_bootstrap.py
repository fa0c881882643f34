"""Intervals of differences: what chance alone may do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.comparison.bootstrap import ColumnStatistic, Panel, estimate, fewest_values, intervals, rank

NAN = float("nan")
Runs = list[list[float]]
runs_of = st.lists(st.lists(st.integers(1, 1000).map(float), min_size=1, max_size=12), min_size=1, max_size=4)


def panel(runs: Runs) -> Panel:
    return Panel(
        tuple(len(run) for run in runs), (np.array([value for run in runs for value in run], float),)
    )


def interval(base: Runs, new: Runs, statistic: float | str = "mean") -> tuple[float, float]:
    interval = intervals(panel(base), panel(new), [ColumnStatistic(0, statistic)])[0]  # type: ignore[arg-type]
    assert interval is not None
    return interval


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.99]))
def test_percentiles_are_numpys_nearest_rank(values: list[int], fraction: float) -> None:
    expected = np.percentile(values, 100 * fraction, method="inverted_cdf")
    assert estimate(np.array(values, float), fraction) == expected


def test_nearest_ranks() -> None:
    assert [rank(10, q) for q in (0.5, 0.9, 0.99)] == [5, 9, 10]
    assert [rank(100, q) for q in (0.5, 0.9, 0.99)] == [50, 90, 99]


def test_how_many_windows_each_number_wants() -> None:
    assert [fewest_values(q) for q in ("mean", 0.5, 0.9, 0.99)] == [5, 5, 10, 100]  # type: ignore[arg-type]


def test_what_is_not_known_is_left_out() -> None:
    assert estimate(np.array([NAN, 1.0, 3.0]), "mean") == 2.0
    assert np.isnan(estimate(np.array([NAN]), 0.5))
    base = Panel((4,), (np.array([NAN, 1.0, 1.0, 1.0]),))
    new = Panel((3,), (np.array([2.0, 2.0, NAN]),))
    assert intervals(base, new, [ColumnStatistic(0, "mean"), ColumnStatistic(0, 0.5)]) == [
        (1.0, 1.0),
        (1.0, 1.0),
    ]
    nothing = Panel((2,), (np.array([NAN, NAN]),))
    assert intervals(base, nothing, [ColumnStatistic(0, "mean")]) == [None]
    assert intervals(base, Panel((), (np.zeros(0),)), [ColumnStatistic(0, 0.9)]) == [None]


@given(runs_of, runs_of, st.sampled_from(["mean", 0.5, 0.9]))
def test_swapping_the_sides_turns_the_interval_round(base: Runs, new: Runs, statistic: float | str) -> None:
    low, high = interval(base, new, statistic)
    assert interval(new, base, statistic) == pytest.approx((-high, -low), abs=1e-9)


@given(runs_of, st.sampled_from(["mean", 0.5, 0.9]))
def test_the_same_on_both_sides_is_around_zero(runs: Runs, statistic: float | str) -> None:
    low, high = interval(runs, runs, statistic)
    assert low <= 0 <= high
    assert low == pytest.approx(-high, abs=1e-9)


@given(runs_of, runs_of, st.randoms())
def test_the_order_of_runs_does_not_matter(base: Runs, new: Runs, random: object) -> None:
    shuffled = sorted(base, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert interval(shuffled, new) == interval(base, new)


def test_the_same_input_gives_the_same_interval() -> None:
    base, new = [[1.0, 5.0, 9.0, 2.0, 7.0]], [[2.0, 4.0, 8.0, 8.0, 1.0]]
    assert interval(base, new) == interval(base, new)
    assert interval(base, new) != (0.0, 0.0)


@pytest.mark.parametrize(("statistic", "least"), [("mean", 0.88), (0.5, 0.88), (0.9, 0.80)])
def test_the_interval_contains_the_true_difference_about_as_often_as_its_level(
    statistic: float | str, least: float
) -> None:
    rng = np.random.default_rng(7)
    shift = 3.0
    covered = 0
    for _ in range(100):
        base, new = rng.gamma(4, 2, 40), rng.gamma(4, 2, 40) + shift
        low, high = interval([base.tolist()], [new.tolist()], statistic)
        covered += low <= shift <= high
    assert least <= covered / 100 <= 1


def test_windows_of_one_run_are_not_taken_for_independent() -> None:
    """Four runs that differ by their temperature: drawing windows alone would be far too sure."""
    rng = np.random.default_rng(3)
    levels = rng.normal(10, 2, 8)
    runs = [rng.normal(level, 0.1, 50).tolist() for level in levels]
    base, new = runs[:4], runs[4:]
    as_one = [[value for run in side for value in run] for side in (base, new)]
    wide, narrow = interval(base, new), interval([as_one[0]], [as_one[1]])
    assert wide[1] - wide[0] > 3 * (narrow[1] - narrow[0])


def test_many_windows_stay_quick_and_give_a_narrow_interval() -> None:
    rng = np.random.default_rng(1)
    base, new = rng.normal(10, 1, 60_000), rng.normal(10.1, 1, 60_000)
    low, high = interval([base.tolist()], [new.tolist()])
    shift = new.mean() - base.mean()
    assert shift - 0.02 < low < shift < high < shift + 0.02
