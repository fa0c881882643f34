"""Intervals of shares: published examples, ends that are never 0 … 0, and spells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.comparison.estimates import estimate_between_runs
from tracekit.comparison.shares import compute_newcombe_interval, compute_share_interval
from tracekit.statistics.share_intervals import count_independent_calls


def calls(share: float, count: int) -> np.ndarray:
    """A share of calls, evenly spread over the run."""
    return np.diff(np.floor(np.linspace(0, share * count + 1e-9, count + 1)))


def test_newcombes_own_examples() -> None:
    """Newcombe 1998, Statistics in Medicine 17:873, table II, method 10: 56/70 - 48/80, 9/10 - 3/10, 10/10 - 0/20."""
    for successes, totals, expected in (
        ((48, 56), (80, 70), (0.0524, 0.3339)),
        ((3, 9), (10, 10), (0.1705, 0.8090)),
        ((0, 10), (20, 10), (0.6791, 1.0)),
    ):
        shares = successes[0] / totals[0], successes[1] / totals[1]
        assert compute_newcombe_interval(shares, totals) == pytest.approx(expected, abs=5e-5)


@given(st.integers(5, 60), st.integers(5, 60), st.integers(1, 4))
def test_no_interval_is_zero_to_zero(base: int, new: int, runs: int) -> None:
    sides = [np.ones(base)] * runs, [np.ones(new)] * runs
    spread = None
    if runs > 1:
        spread = estimate_between_runs(np.ones(runs), np.ones(runs), np.zeros(0), "linear")
    low, high = compute_share_interval(*sides, spread, None)
    assert low < 0 < high


def test_calls_in_spells_count_for_fewer() -> None:
    spells = np.repeat(np.tile([1.0, 1, 0, 1, 1, 1, 0, 1, 1, 1], 2), 5)
    assert count_independent_calls(spells) < 40
    assert count_independent_calls(calls(0.8, 100)) == 100
    assert (
        count_independent_calls(np.ones(7)),
        count_independent_calls(np.zeros(0)),
        count_independent_calls(np.ones(1)),
    ) == (
        7,
        0,
        1,
    )


def test_a_run_without_a_spell_counts_as_the_runs_that_show_them() -> None:
    spells, alike = np.repeat(np.tile([1.0, 1, 0, 1, 1], 4), 5), np.ones(100)
    assert count_independent_calls(alike) == 100
    assert (
        count_independent_calls(alike, [alike, spells])
        == count_independent_calls(spells, [alike, spells])
        < 30
    )
    assert count_independent_calls(np.ones(50), [np.ones(50), calls(0.8, 100)]) == 50


def test_a_change_in_one_spell_is_not_a_change_of_all_calls() -> None:
    base, spell, spread = calls(1.0, 100), np.repeat([1.0, 0.0], [80, 20]), calls(0.8, 100)
    in_a_spell, apart = (compute_share_interval([base], [new], None, None) for new in (spell, spread))
    assert apart == pytest.approx((-0.289, -0.124), abs=0.001)
    assert in_a_spell[0] < -0.5 < -0.06 < in_a_spell[1]


def test_runs_that_differ_widen_the_interval_and_runs_that_agree_do_not_narrow_it() -> None:
    base = [calls(0.9, 100)] * 3
    new = [calls(share, 100) for share in (0.5, 0.7, 0.9)]
    spread = estimate_between_runs(np.array([0.9] * 3), np.array([0.5, 0.7, 0.9]), np.zeros(0), "linear")
    assert compute_share_interval(base, new, spread, None)[1] > 0
    agreeing = estimate_between_runs(np.array([0.9] * 3), np.array([0.9] * 3), np.zeros(0), "linear")
    low, high = compute_share_interval(base, base, agreeing, None)
    assert (low, high) == pytest.approx((-0.049, 0.049), abs=0.002)


def test_a_given_spread_is_added_in_points() -> None:
    side = [calls(0.9, 1000)]
    narrow, wide = (
        compute_share_interval(side, side, None, 0.0),
        compute_share_interval(side, side, None, 0.05),
    )
    assert wide[1] == pytest.approx(np.hypot(narrow[1], 1.96 * 0.05 * np.sqrt(2)), rel=1e-3)
    assert compute_share_interval([np.ones(5)], [np.zeros(5)], None, 0.9)[0] == -1.0
