"""Runs in turn: the drift of the machine is taken out of both sides, and costs a degree of freedom."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from compare_support import recorded

from tracekit import Analysis, analyze, compare
from tracekit.comparison.drift import Drift, RunOrder, fit_drift
from tracekit.comparison.estimates import Estimate, estimate_between_runs
from tracekit.comparison.observations import Observations
from tracekit.comparison.turns import place_runs

ALTERNATING = RunOrder(np.array([0, 2, 4, 6]), np.array([1, 3, 5, 7]))
MIRRORED = RunOrder(np.array([0, 3, 4, 7, 8]), np.array([1, 2, 5, 6, 9]))


def fit(base: list[float], new: list[float], order: RunOrder) -> Drift:
    drift = fit_drift([np.array(base), np.array(new)], order)
    assert drift is not None
    return drift


def between(base: np.ndarray, new: np.ndarray, order: RunOrder | None) -> Estimate:
    estimate = estimate_between_runs(np.exp(base), np.exp(new), [], "log", order=order)
    assert estimate is not None
    return estimate


def test_a_steady_drift_is_no_difference() -> None:
    drift = fit([0.0, 2, 4, 6], [1.0, 3, 5, 7], ALTERNATING)
    assert [side.tolist() for side in drift.sides] == [[3.5] * 4, [3.5] * 4]
    assert drift.change == 7
    # The sides are one place apart, of 2 × (3² + 1² + 1² + 3²) = 40 around their means: 1/40 of 1/4 + 1/4.
    assert drift.widening == pytest.approx(6 / 5 * (1 + 1 / 40 / (1 / 4 + 1 / 4)))


def test_the_estimate_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(36)
    base, new = rng.normal(0, 1, 5), rng.normal(1, 1, 5)
    estimate = between(base, new, MIRRORED)
    # The same by a solver: a mean, a slope and the difference, from ten values.
    places = np.concatenate([MIRRORED.base, MIRRORED.new]).astype(float)
    design = np.column_stack([np.ones(10), places, np.repeat([0.0, 1.0], 5)])
    values = np.concatenate([base, new])
    coefficients, squares, *_ = np.linalg.lstsq(design, values, rcond=None)
    error = np.sqrt(squares[0] / 7 * np.linalg.inv(design.T @ design)[2, 2])
    assert (estimate.change, estimate.error, estimate.df) == pytest.approx((coefficients[2], error, 7))
    assert estimate.drift == pytest.approx(np.expm1(9 * coefficients[1]))


@pytest.mark.parametrize(
    ("base", "new", "order"),
    [
        ([1.0, 2, 3], [1.0, 2, 3], RunOrder(np.array([0, 3, 4]), np.array([1, 2, 5]))),  # three runs per side
        ([1.0, 2, 3], [1.0, 2, 3, 4], ALTERNATING),  # a run without the number
        ([1.0, 2, 3, 4], [1.0, 2, 3, 4], RunOrder(np.zeros(4, int), np.zeros(4, int))),  # all at one time
    ],
)
def test_no_drift_can_be_fitted(base: list[float], new: list[float], order: RunOrder) -> None:
    assert fit_drift([np.array(base), np.array(new)], order) is None


def test_of_sides_that_spread_differently_no_drift_is_taken_out() -> None:
    # Seven times the spread: the line would be that of the chance of NEW.
    assert between(np.array([0.0, 1, 0, 1, 0]), np.array([0.0, 7, -7, 7, -7]), MIRRORED).drift is None


def test_sides_of_unequal_size_have_degrees_of_freedom_of_their_own() -> None:
    order = RunOrder(np.array([0, 2, 4, 6]), np.array([1, 3, 5, 7, 8]))
    base, new = np.array([0.0, 1, -1, 0]), np.array([0.0, 4, -4, 4, -4])
    estimate = between(base, new, order)
    assert estimate.drift is not None
    assert 3 < estimate.df < 3.5 + 2.5


@pytest.mark.integration
@pytest.mark.parametrize("per_run", [0.0, 0.01])
def test_the_rate_of_false_alarms_and_the_power(per_run: float) -> None:
    rng = np.random.default_rng(37)
    drift = per_run * np.arange(8)
    rates = {"alarm": 0, "found": 0, "found without it": 0}
    drifts = np.stack([drift[ALTERNATING.base], drift[ALTERNATING.new]])
    for base, new in rng.normal(0, 0.02, (1500, 2, 4)) + drifts:
        rates["alarm"] += between(base, new, ALTERNATING).probability < 0.05
        rates["found"] += between(base, new + 0.05, ALTERNATING).probability < 0.05
        rates["found without it"] += between(base, new + 0.05, None).probability < 0.05
    assert 0.03 < rates["alarm"] / 1500 < 0.07
    assert rates["found"] / 1500 > 0.74
    # Without a drift, the line costs three points; with 1 % a run, the spread of the sides hides the difference.
    assert (rates["found"] > rates["found without it"]) == (per_run > 0)


def run(minute: int, length_ms: float) -> Analysis:
    analysis = recorded([length_ms] * 12)
    info = replace(analysis.trace.info, start=f"2026-11-02T10:{minute:02}:00Z")
    return analyze(replace(analysis.trace, info=info))


@pytest.mark.integration
def test_a_comparison_of_runs_in_turn_states_the_drift() -> None:
    levels = 20 * np.exp(0.01 * np.arange(8) + np.array([2, -1, 1, -2, 1, 2, -2, -1]) / 1000)
    series = [run(minute, level) for minute, level in enumerate(levels)]
    base, new = series[0::2], series[1::2]
    order = place_runs([Observations(entry) for entry in base], [Observations(entry) for entry in new])
    assert (order.base.tolist(), order.new.tolist()) == ([0, 2, 4, 6], [1, 3, 5, 7])
    comparison = compare(base, new)
    text = comparison.to_json()
    sentence = json.loads(text)["sentence"]
    assert "between 4 runs of BASE and 4 of NEW, in turn and without the drift of both (" in sentence
    assert "p50 +7.1 % from the first run to the last)" in sentence
    rows = {row["metric"]: row for row in json.loads(text)["groups"][0]["rows"]}
    assert rows["p50"]["drift"] == pytest.approx(0.071, abs=5e-4)
    assert rows["ANE share"]["drift"] is None
    # Without the drift of 1 % a run, NEW is as long as BASE.
    assert rows["p50"]["ratio"] == pytest.approx(0, abs=3e-3)
    assert "of runs in turn, a time is that in the middle" in " ".join(comparison.to_text().split())
    after = compare(series[:4], series[4:])
    assert all(row.drift is None for group in after.groups for row in group.rows)
