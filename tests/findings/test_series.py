"""Error rates of outliers, trends and groups on simulated lengths, and effects that are found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tracekit.analysis.findings.series import mark_longer_group, mark_outliers, measure_trend

Floats = npt.NDArray[np.float64]
RUNS = 300


def alike(count: int, correlation: float, spread: float, runs: int = RUNS, seed: int = 1) -> Floats:
    """Return logarithms of lengths without an effect, a run per row; neighbours correlate."""
    noise = np.random.default_rng(seed).standard_normal((count, runs))
    for row in range(1, count):
        noise[row] = correlation * noise[row - 1] + np.sqrt(1 - correlation**2) * noise[row]
    return 16 + spread * noise.T


def has_outlier(logs: Floats) -> bool:
    return bool(mark_outliers(logs).any())


def has_trend(logs: Floats) -> bool:
    return measure_trend(logs) != 0


def has_groups(logs: Floats) -> bool:
    return mark_longer_group(logs) is not None


@pytest.mark.slow
@pytest.mark.parametrize("effect", [has_outlier, has_trend, has_groups])
@pytest.mark.parametrize(("count", "runs"), [(20, RUNS), (100, RUNS), (1000, 100)])
@pytest.mark.parametrize("correlation", [0, 0.5, 0.9])
def test_at_most_a_run_in_a_hundred_has_an_effect_by_chance(
    effect: object, count: int, runs: int, correlation: float
) -> None:
    assert callable(effect)
    alarms = sum(effect(logs) for logs in alike(count, correlation, 0.2, runs))
    assert alarms <= runs / 100


@pytest.mark.parametrize(("count", "spread"), [(20, 0.02), (100, 0.05), (1000, 0.08)])
class TestEffects:
    """Effects that matter to a user are found in nine of ten runs or more."""

    def test_a_call_of_twice_the_length(self, count: int, spread: float) -> None:
        logs = alike(count, 0.3, spread, 60)
        logs[:, count // 2] += np.log(2)
        assert sum(map(has_outlier, logs)) >= 54

    def test_calls_that_grow_by_half(self, count: int, spread: float) -> None:
        logs = alike(count, 0.3, spread, 60) + np.linspace(0, np.log(1.5), count)
        assert sum(map(has_trend, logs)) >= 54
        assert not any(map(has_groups, logs))

    def test_a_third_of_the_calls_take_twice_as_long(self, count: int, spread: float) -> None:
        logs = alike(count, 0.3, spread, 60)
        logs[:, ::3] += np.log(2)
        assert sum(map(has_groups, logs)) >= 54
        assert not any(map(has_trend, logs))

    def test_a_warm_up_is_no_trend(self, count: int, spread: float) -> None:
        logs = alike(count, 0.3, spread, 60)
        logs[:, :5] += np.log(1.3) * np.linspace(1, 0.2, 5)
        assert sum(map(has_trend, logs)) <= 1


def test_far_outliers_do_not_hide_two_groups() -> None:
    logs = alike(200, 0, 0.03, 1)[0]
    logs[::2] += np.log(2)
    logs[::50] += np.log(10)
    is_longer = mark_longer_group(logs)
    assert is_longer is not None
    assert 98 <= is_longer.sum() <= 102


def test_series_that_are_equal() -> None:
    logs = np.full(50, 16.0)
    assert not (has_outlier(logs) or has_trend(logs) or has_groups(logs))
