"""Differences between runs: literal values in, Welch's and the pooled t by hand out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.comparison.estimates import (
    Estimate,
    RunVariation,
    compute_centre,
    estimate_between_runs,
    estimate_within_runs,
    scale_of,
)

NONE: list[np.ndarray] = []
values_of_runs = st.lists(st.floats(0.1, 1000), min_size=2, max_size=6).map(np.array)


def between(
    base: list[float], new: list[float], noise: list[float] | None = None, scale: str = "linear"
) -> Estimate:
    estimate = estimate_between_runs(np.array(base), np.array(new), [np.array(noise)] if noise else [], scale)  # type: ignore[arg-type]
    assert estimate is not None
    return estimate


def test_welch_by_hand() -> None:
    estimate = between([1.0, 2, 3], [4.0, 14, 24])
    # Variances 1 and 100 of three runs each: 1/3 + 100/3; Satterthwaite (101/3)² / ((1/3)²/2 + (100/3)²/2).
    assert (estimate.change, estimate.error**2, estimate.df) == pytest.approx(
        (12, 101 / 3, 2 * 10201 / 10001)
    )
    assert estimate.tested == "between runs"
    unequal = between([1.0, 2, 3], [4.0, 6, 8, 10])
    assert unequal.df == pytest.approx((1 / 3 + 5 / 3) ** 2 / ((1 / 3) ** 2 / 2 + (5 / 3) ** 2 / 3))


def test_equally_many_runs_of_similar_spread_are_students_t() -> None:
    assert between([1.0, 2, 3], [4.0, 9, 14]).df == 4  # five times the spread, as chance gives one in twenty
    estimate = between([1.0, 2, 3], [4.0, 6, 8])
    assert (estimate.error**2, estimate.df) == pytest.approx((5 / 3, 4))
    assert estimate.interval() == pytest.approx((4 - 2.7764 * 1.29099, 4 + 2.7764 * 1.29099), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1.0, 2, 4, 6, 20])
def test_false_alarms_of_three_runs_whatever_their_spreads(spread: float) -> None:
    rng = np.random.default_rng(6)
    base, new = rng.normal(0, 1, (2500, 3)), rng.normal(0, spread, (2500, 3))
    alarms = [estimate.probability < 0.05 for estimate in map(between, base.tolist(), new.tolist())]
    assert 0.03 < np.mean(alarms) < 0.09


def test_one_run_borrows_the_spread_of_the_side_that_has_several() -> None:
    estimate = between([10.0], [11.0, 12, 13])
    assert (estimate.df, estimate.error**2) == pytest.approx((2, 1 * (1 + 1 / 3)))
    assert estimate_between_runs(np.array([1.0]), np.array([2.0]), NONE, "linear") is None


def test_recordings_for_the_noise_are_pooled_with_the_runs() -> None:
    estimate = between([10.0], [12.0], [9.0, 10, 11])
    assert (estimate.df, estimate.error**2) == pytest.approx((2, 1 * 2))
    both = between([10.0, 12], [12.0, 14], [9.0, 10, 11])
    assert (both.df, both.error**2) == pytest.approx((4, (2 + 2 + 2) / 4 * 1))


def test_groups_for_the_noise_spread_around_their_own_means() -> None:
    groups = [np.array([1.0, 2, 3]), np.array([101.0, 103]), np.array([7.0]), np.array([])]
    estimate = estimate_between_runs(np.array([10.0]), np.array([12.0]), groups, "linear")
    assert estimate is not None
    assert (estimate.df, estimate.error**2) == pytest.approx((3, (2 + 2) / 3 * 2))
    alone = estimate_between_runs(
        np.array([10.0]), np.array([12.0]), [np.array([7.0]), np.array([8.0])], "linear"
    )
    assert alone is None


def test_times_are_compared_as_factors() -> None:
    estimate = between([10.0, 10.1, 9.9], [12.0, 12.1, 11.9], scale="log")
    low, high = estimate.compute_ratio_interval() or (0, 0)
    assert 0.17 < low < 0.2 < high < 0.23
    assert estimate.base == pytest.approx((10 * 10.1 * 9.9) ** (1 / 3))
    assert estimate.interval()[0] < estimate.new - estimate.base < estimate.interval()[1]


@given(values_of_runs, values_of_runs, st.sampled_from(["log", "linear"]))
def test_swapping_the_sides_negates_the_interval(base: np.ndarray, new: np.ndarray, scale: str) -> None:
    forward = estimate_between_runs(base, new, NONE, scale)  # type: ignore[arg-type]
    backward = estimate_between_runs(new, base, NONE, scale)  # type: ignore[arg-type]
    assert forward is not None
    assert backward is not None
    low, high = forward.interval()
    assert backward.interval() == pytest.approx((-high, -low), rel=1e-6, abs=1e-9)
    assert low <= high


@given(values_of_runs)
def test_a_side_does_not_differ_from_itself(side: np.ndarray) -> None:
    low, high = between(side.tolist(), side.tolist(), scale="log").interval()
    assert low <= 0 <= high


shares_of_runs = st.lists(st.floats(0, 1), min_size=2, max_size=4).map(np.array)


@given(shares_of_runs, shares_of_runs)
def test_an_interval_of_shares_is_possible_and_shows_what_that_of_student_shows(
    base: np.ndarray, new: np.ndarray
) -> None:
    estimate = estimate_between_runs(base, new, NONE, "linear", 1.0)
    assert estimate is not None
    low, high = estimate.interval()
    assert -1 <= low <= estimate.change <= high <= 1
    below, above = estimate.ends()
    near_zero = 1e-9
    if min(abs(below), abs(above)) > near_zero:
        assert (low > near_zero, high < -near_zero) == (below > 0, above < 0)


def test_an_interval_of_amounts_is_that_of_student() -> None:
    # NEW does not vary, so two degrees of freedom: 4.303 × the standard error of BASE's mean. BASE's true number may
    # be above 11.5, so that NEW may be more than 11.5 below it; a factor cannot be below -100 %.
    estimate = between([25.0, 5.5, 4.0], [0.0, 0, 0])
    half = 4.3027 * math.sqrt(((13.5**2 + 6**2 + 7.5**2) / 2) / 3)
    assert estimate.interval() == pytest.approx((-11.5 - half, -11.5 + half), rel=1e-4)
    assert estimate.compute_ratio_interval() == pytest.approx((-1.0, (half - 11.5) / 11.5), rel=1e-4)


def test_a_share_differs_by_no_more_than_1() -> None:
    estimate = estimate_between_runs(np.array([0.0, 1.0]), np.array([1.0, 1.0]), NONE, "linear", 1.0)
    assert estimate is not None
    assert estimate.interval() == (-1, 1)


def test_runs_that_are_all_alike_have_no_nan() -> None:
    same, other = between([5.0, 5, 5], [5.0, 5, 5]), between([5.0, 5], [6.0, 6])
    assert (same.interval(), same.probability) == ((0.0, 0.0), 1.0)
    assert (other.interval(), other.probability, other.compute_smallest()) == ((1.0, 1.0), 0.0, 0.0)


def test_one_outlier_of_a_million_times_is_no_overflow() -> None:
    estimate = between([1e-9, 1e300], [1e-9, 1e-9], scale="log")
    assert all(
        math.isfinite(end) for end in (*estimate.interval(), *(estimate.compute_ratio_interval() or ()))
    )
    assert math.isfinite(estimate.compute_smallest())


def test_zeros_are_compared_as_amounts() -> None:
    zeros = np.array([0.0, 1.0])
    assert scale_of(True, zeros, np.array([1.0])) == "linear"
    assert scale_of(True, np.array([1.0])) == "log"
    assert scale_of(False, np.array([1.0])) == "linear"
    assert compute_centre(zeros, "linear") == 0.5
    assert between([0.0, 0.0], [1.0, 2.0]).compute_ratio_interval() is None


def test_within_two_runs_the_variation_between_runs_is_unknown() -> None:
    base, new = [RunVariation(10.0, 0.01, 4)], [RunVariation(12.0, 0.03, 4)]
    estimate = estimate_within_runs(base, new, "linear", None)
    assert (estimate.tested, estimate.error) == ("within these recordings", pytest.approx(0.2))
    assert estimate.df == pytest.approx(0.04**2 / (0.01**2 / 4 + 0.03**2 / 4))
    assert estimate.count_runs_needed(0.5) is None


def test_a_given_spread_is_added_for_each_run() -> None:
    base, new = [RunVariation(10.0, 0.0001, 9)], [RunVariation(12.0, 0.0001, 9)]
    one = estimate_within_runs(base, new, "log", 0.02)
    assert (one.tested, one.error**2) == ("given noise", pytest.approx(0.0002 + 2 * 0.02**2))
    four = estimate_within_runs(base * 4, new * 4, "log", 0.02)
    assert four.error == pytest.approx(one.error / 2)
    exact = estimate_within_runs(
        [RunVariation(10.0, 0.0, math.inf)], [RunVariation(10.0, 0.0, math.inf)], "linear", 0.1
    )
    assert (exact.error, exact.df) == (pytest.approx(math.sqrt(2)), math.inf)


@pytest.mark.integration
def test_the_smallest_change_that_would_show_and_the_runs_that_it_takes() -> None:
    estimate = between([10.0, 10.2, 9.8, 10.1, 9.9], [10.0, 10.2, 9.8, 10.1, 9.9], scale="log")
    # 3.201 × 1.0 %, by the noncentral t with eight degrees of freedom
    assert estimate.compute_smallest() == pytest.approx(0.0325, abs=0.0005)
    assert estimate.count_runs_needed(estimate.compute_smallest() + 1e-9) == 5
    assert (estimate.count_runs_needed(0.5), estimate.count_runs_needed(0.02)) == (2, 12)
    assert (estimate.count_runs_needed(0.0001), estimate.count_runs_needed(0.0)) == (None, None)


def test_that_change_shows_in_four_of_five_simulated_comparisons() -> None:
    rng = np.random.default_rng(4)
    sides = rng.normal(10, 1, (2000, 2, 5))
    # Of eight degrees of freedom and a spread of 1: (2.306 + 0.889) × sqrt(2 / 5).
    sides[:, 1] += (2.306 + 0.889) * math.sqrt(2 / 5)
    shown = [estimate_between_runs(base, new, NONE, "linear").interval()[0] > 0 for base, new in sides]  # type: ignore[union-attr]
    assert 0.76 < np.mean(shown) < 0.84
