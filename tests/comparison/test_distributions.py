"""Distributions, tests and intervals against scipy, an implementation of its own; ends and overflow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tracekit.comparison.estimates import estimate_between_runs
from tracekit.comparison.functions import find_discoveries
from tracekit.statistics.distributions import (
    binomial_at_most,
    incomplete_beta,
    normal_quantile,
    t_quantile,
    t_shift,
    t_upper_tail,
)
from tracekit.statistics.share_intervals import compute_wilson_interval

DEGREES = [1, 1.7, 2, 3.4, 8, 12.9, 100, 1e7]


@pytest.mark.parametrize("df", DEGREES)
def test_students_t(df: float) -> None:
    for t in (0.01, 0.5, 2.0, 30.0, 1e6):
        assert t_upper_tail(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-6, abs=1e-300)
    for probability in (0.025, 0.8, 0.975, 0.98667, 0.9995):
        assert t_quantile(probability, df) == pytest.approx(stats.t.ppf(probability, df), rel=1e-7)


def test_the_normal_distribution_is_that_of_infinitely_many_degrees() -> None:
    for probability in (0.01, 0.3, 0.975, 0.9999):
        expected = pytest.approx(stats.norm.ppf(probability), rel=1e-9)
        assert t_quantile(probability, math.inf) == normal_quantile(probability) == expected
    assert t_upper_tail(1.5, math.inf) == pytest.approx(stats.norm.sf(1.5), rel=1e-9)
    assert t_quantile(0.5, 3) == 0.0


@pytest.mark.parametrize("df", DEGREES)
def test_the_change_that_an_interval_excludes_is_that_of_the_noncentral_t(df: float) -> None:
    for confidence, power in ((0.95, 0.8), (0.98, 0.8), (0.9, 0.5)):
        shift = t_shift(confidence, power, df)
        limit = stats.t.ppf((1 + confidence) / 2, df)
        if df < 1e5:
            assert stats.nct.sf(limit, df, shift) == pytest.approx(power, abs=2e-4)
        else:
            assert shift == pytest.approx(limit + stats.norm.ppf(power), rel=1e-6)


def test_the_binomial_distribution() -> None:
    for trials, p in ((1, 0.5), (30, 0.9), (200, 0.01), (100_000, 0.9)):
        counts = np.unique(np.linspace(0, trials, 40).astype(int))
        for count in counts.tolist():
            expected = stats.binom.cdf(count, trials, p)
            assert binomial_at_most(count, trials, p) == pytest.approx(expected, abs=1e-9)
    assert (binomial_at_most(-1, 5, 0.5), binomial_at_most(5, 5, 0.5)) == (0.0, 1.0)


def test_the_ends_of_the_incomplete_beta_function() -> None:
    assert (incomplete_beta(2, 3, 0), incomplete_beta(2, 3, 1)) == (0.0, 1.0)
    assert incomplete_beta(2.5, 3, 0.4) == pytest.approx(stats.beta.cdf(0.4, 2.5, 3), rel=1e-12)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_wilsons_interval(level: float) -> None:
    for successes, count in ((81, 263), (15, 148), (0, 20), (20, 20)):
        interval = stats.binomtest(successes, count).proportion_ci(level, "wilson")
        assert compute_wilson_interval(successes / count, count, level) == pytest.approx(
            (interval.low, interval.high), abs=1e-9
        )
    assert compute_wilson_interval(0.5, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("base_spread", "new_spread", "equal"), [(1, 1.5, True), (1, 20, False)])
def test_students_and_welchs_test_between_runs(base_spread: float, new_spread: float, equal: bool) -> None:
    deviations = np.array([-1.1, 0.2, 0.4, 0.5])
    base, new = 10 + base_spread * deviations, 11 + new_spread * deviations
    estimate = estimate_between_runs(base, new, [], "linear")
    assert estimate is not None
    expected = stats.ttest_ind(new, base, equal_var=equal)
    assert (estimate.probability, estimate.df) == pytest.approx((expected.pvalue, expected.df), rel=1e-7)
    interval = expected.confidence_interval(0.95)
    assert estimate.ends() == pytest.approx((interval.low, interval.high), rel=1e-7)


def test_the_false_discovery_rate() -> None:
    probabilities = np.array([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.9])
    for rate in (0.01, 0.05, 0.1):
        expected = np.flatnonzero(stats.false_discovery_control(probabilities) <= rate)
        assert find_discoveries(probabilities, len(probabilities), rate).tolist() == expected.tolist()
