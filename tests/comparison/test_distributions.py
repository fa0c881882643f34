"""Student's t and the binomial distribution against tables, closed forms and sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tracekit.comparison.distributions import (
    binomial_at_most,
    incomplete_beta,
    normal_quantile,
    t_quantile,
    t_upper_tail,
)


@pytest.mark.parametrize(
    ("probability", "df", "value"),
    [
        # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 4, 2.776),
        (0.95, 10, 1.812),
        (0.995, 3, 5.841),
        (0.975, 30, 2.042),
        (0.999, 100, 3.174),
        (0.025, 4, -2.776),
    ],
)
def test_values_of_the_table(probability: float, df: float, value: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize("t", [0.01, 0.5, 2.0, 30.0, 1e6])
def test_closed_forms_of_one_and_two_degrees(t: float) -> None:
    assert t_upper_tail(t, 1) == pytest.approx(math.atan(1 / t) / math.pi, rel=1e-9)
    assert t_upper_tail(t, 2) == pytest.approx(
        1 / (math.hypot(t, math.sqrt(2)) * (math.hypot(t, math.sqrt(2)) + t)), rel=1e-6
    )


@pytest.mark.parametrize("df", [1.7, 3.4, 12.9])
def test_degrees_of_freedom_that_are_not_whole_by_integration(df: float) -> None:
    t = np.linspace(0, 2.3, 200_001)
    density = (1 + t * t / df) ** (-(df + 1) / 2)
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    below = 0.5 + scale * float(((density[1:] + density[:-1]) / 2).sum()) * (t[1] - t[0])
    assert t_upper_tail(2.3, df) == pytest.approx(1 - below, abs=1e-9)
    assert t_quantile(below, df) == pytest.approx(2.3, abs=1e-8)


def test_infinitely_many_degrees_are_the_normal_distribution() -> None:
    assert t_quantile(0.975, math.inf) == normal_quantile(0.975) == pytest.approx(1.959964, abs=1e-6)
    assert t_quantile(0.975, 1e7) == pytest.approx(1.959964, abs=1e-5)
    assert t_upper_tail(1.959964, math.inf) == pytest.approx(0.025, abs=1e-7)
    assert t_quantile(0.5, 3) == 0.0


def test_the_binomial_distribution_is_its_sum() -> None:
    for trials, p in ((1, 0.5), (30, 0.9), (200, 0.01)):
        terms = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
        for count in range(trials):
            assert binomial_at_most(count, trials, p) == pytest.approx(sum(terms[: count + 1]), abs=1e-12)
    assert (binomial_at_most(-1, 5, 0.5), binomial_at_most(5, 5, 0.5)) == (0.0, 1.0)
    assert binomial_at_most(90_000, 100_000, 0.9) == pytest.approx(0.5, abs=0.01)


def test_the_ends_of_the_incomplete_beta_function() -> None:
    assert (incomplete_beta(2, 3, 0), incomplete_beta(2, 3, 1)) == (0.0, 1.0)
    assert incomplete_beta(2, 3, 0.4) == pytest.approx(1 - incomplete_beta(3, 2, 0.6), abs=1e-15)
