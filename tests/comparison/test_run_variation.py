"""Statistics of the calls of a run, and how much they vary within it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tracekit.comparison.run_variation import RunVariation, measure_variation
from tracekit.statistics.call_statistics import count_required_values, estimate, find_percentile_ends, rank

NAN = float("nan")


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.99]))
def test_percentiles_are_numpys_nearest_rank(values: list[int], fraction: float) -> None:
    expected = np.percentile(values, 100 * fraction, method="inverted_cdf")
    assert estimate(np.array(values, float), fraction) == expected


def test_nearest_ranks() -> None:
    assert [rank(10, q) for q in (0.5, 0.9, 0.99)] == [5, 9, 10]
    assert [rank(100, q) for q in (0.5, 0.9, 0.99)] == [50, 90, 99]


def test_how_many_windows_each_number_wants() -> None:
    assert [count_required_values(q) for q in ("mean", 0.5, 0.9, 0.99)] == [5, 5, 10, 100]  # type: ignore[arg-type]


def test_calls_without_a_value_are_left_out() -> None:
    assert estimate(np.array([NAN, 1.0, 3.0]), "mean") == 2.0
    assert np.isnan(estimate(np.array([NAN]), 0.5))


@pytest.mark.parametrize(
    ("count", "fraction", "low", "high"),
    [(20, 0.5, 6, 15), (100, 0.5, 40, 61), (100, 0.9, 84, 96), (36, 0.9, 29, 36)],
)
def test_ends_of_a_percentile_have_scipys_ranks(count: int, fraction: float, low: int, high: int) -> None:
    below = stats.binom(count, fraction)
    assert below.cdf(low - 1) <= 0.025 < below.cdf(low)
    assert below.sf(high - 1) <= 0.025 < below.sf(high - 2)
    assert find_percentile_ends(np.arange(1.0, count + 1), fraction, count, 0.95) == (low, high)


def test_the_largest_of_few_independent_calls_does_not_bound_a_percentile_of_the_tail() -> None:
    """0.9^35 = 2.50 %, 0.9^36 = 2.25 %: so often all calls are below the true p90."""
    calls = np.arange(100.0)
    assert find_percentile_ends(calls, 0.9, 36, 0.95)[1] == 99.0
    assert find_percentile_ends(calls, 0.9, 35, 0.95)[1] == math.inf
    assert find_percentile_ends(calls, 0.01, 35, 0.95)[0] == -math.inf


def measure(values: np.ndarray, statistic: float | str, scale: str = "linear") -> RunVariation:
    variation = measure_variation(values, statistic, scale)  # type: ignore[arg-type]
    assert variation is not None
    return variation


def test_numbers_of_independent_calls_vary_as_their_theory_has_it() -> None:
    values = np.random.default_rng(1).normal(10, 1, 2000)
    assert measure(values, "mean").variance == pytest.approx(1 / 2000, rel=0.3)
    assert measure(values, 0.5).variance == pytest.approx(math.pi / 2 / 2000, rel=0.3)
    density = stats.norm.pdf(stats.norm.ppf(0.9))
    assert measure(values, 0.9).variance == pytest.approx(0.09 / density**2 / 2000, rel=0.3)


def test_variations_of_logarithms_are_factors() -> None:
    values = np.random.default_rng(1).normal(10, 0.1, 500)
    for statistic in ("mean", 0.5, 0.9):
        as_they_are, logarithms = measure(values, statistic), measure(values, statistic, "log")
        assert as_they_are.df == logarithms.df
        factor = logarithms.variance * as_they_are.value**2 / as_they_are.variance
        assert factor == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize("statistic", ["mean", 0.5, 0.9])
def test_calls_that_follow_each_other_are_not_independent(statistic: float | str) -> None:
    """Spells of ten calls: taken for independent they would seem to vary a third as much as they do."""
    rng = np.random.default_rng(2)
    spells = rng.normal(10, 1, 200)
    alone, in_spells = measure(rng.normal(10, 1, 2000), statistic), measure(np.repeat(spells, 10), statistic)
    assert 4 < in_spells.variance / alone.variance < 25


def test_a_percentile_beside_a_gap_varies_as_far_as_the_gap() -> None:
    """Every tenth call takes half as long again: the p90 is the longest of the others, or one of these."""
    calls = np.where(np.arange(100) % 10 == 0, 15.0, 10.0)
    variation = measure(calls, 0.9, "log")
    assert variation.value == 10.0
    assert math.sqrt(variation.variance) == pytest.approx(math.log(1.5) / (2 * 1.959964))


def test_a_percentile_of_one_spell_is_not_bounded() -> None:
    calls = np.random.default_rng(3).normal(10, 0.1, 100)
    assert measure_variation(calls, 0.9, "log") is not None
    calls[60:80] += 5
    assert measure_variation(calls, 0.9, "log") is None
    assert measure(calls, "mean").variance > 0


def test_calls_that_are_all_alike_do_not_vary() -> None:
    for statistic in ("mean", 0.5, 0.9):
        assert measure(np.full(50, 7.0), statistic, "log").variance == 0
