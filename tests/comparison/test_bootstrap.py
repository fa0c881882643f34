"""Statistics of a run, and how much they vary within it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.comparison.bootstrap import (
    ColumnStatistic,
    choose_draw_count,
    count_required_values,
    estimate,
    rank,
    resample_statistics,
)
from tracekit.statistics.blocks import compute_block_length

NAN = float("nan")
MEAN = [ColumnStatistic(0, "mean")]


def drawn(values: list[float], statistic: float | str = "mean") -> np.ndarray:
    return resample_statistics(
        [np.array(values, float)],
        [ColumnStatistic(0, statistic)],
        500,
        compute_block_length(len(values)),
        (0,),
    )[:, 0]  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.99]))
def test_percentiles_are_numpys_nearest_rank(values: list[int], fraction: float) -> None:
    expected = np.percentile(values, 100 * fraction, method="inverted_cdf")
    assert estimate(np.array(values, float), fraction) == expected


def test_nearest_ranks() -> None:
    assert [rank(10, q) for q in (0.5, 0.9, 0.99)] == [5, 9, 10]
    assert [rank(100, q) for q in (0.5, 0.9, 0.99)] == [50, 90, 99]


def test_how_many_windows_each_number_wants() -> None:
    assert [count_required_values(q) for q in ("mean", 0.5, 0.9, 0.99)] == [5, 5, 10, 100]  # type: ignore[arg-type]


def test_what_is_not_known_is_left_out() -> None:
    assert estimate(np.array([NAN, 1.0, 3.0]), "mean") == 2.0
    assert np.isnan(estimate(np.array([NAN]), 0.5))
    assert set(drawn([NAN, 1.0, 1.0, 1.0])) <= {1.0}
    assert np.isnan(drawn([NAN, NAN])).all()
    assert np.isnan(resample_statistics([np.zeros(0)], MEAN, 5, 1, (0,))).all()


@given(st.lists(st.integers(1, 1000).map(float), min_size=1, max_size=40))
def test_a_draw_has_as_many_windows_as_the_run(values: list[float]) -> None:
    ones = resample_statistics(
        [np.array(values), np.ones(len(values))],
        [*MEAN, ColumnStatistic(1, "mean")],
        50,
        compute_block_length(len(values)),
        (1,),
    )
    assert (ones[:, 1] == 1.0).all()
    assert min(values) - 1e-9 <= ones[:, 0].min() <= ones[:, 0].max() <= max(values) + 1e-9


def test_draws_vary_about_as_much_as_the_mean_of_independent_calls() -> None:
    values = np.random.default_rng(1).normal(10, 1, 2000)
    assert drawn(values.tolist()).std() == pytest.approx(1 / np.sqrt(2000), rel=0.2)


def test_calls_that_follow_each_other_are_not_independent() -> None:
    """Spells of ten calls: drawn one by one they would seem to vary a third as much as they do."""
    values = np.repeat(np.random.default_rng(2).normal(10, 1, 200), 10)
    assert drawn(values.tolist()).std() > 2 * values.std() / np.sqrt(2000)


def test_the_same_input_gives_the_same_draws() -> None:
    assert (drawn([1.0, 5.0, 9.0, 2.0, 7.0], 0.5) == drawn([1.0, 5.0, 9.0, 2.0, 7.0], 0.5)).all()


def test_very_many_calls_are_drawn_less_often() -> None:
    assert (choose_draw_count(100), choose_draw_count(100_000), choose_draw_count(10**7)) == (1000, 200, 100)
