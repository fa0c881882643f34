"""Lengths on a grid: frames of a display and few values are recognised, other lengths are not."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.comparison.grid import Grid, recognize_grid

MS = 1e6
FRAME = 1e9 / 60
RNG = np.random.default_rng(3)
JITTER = RNG.normal(0, 0.05 * MS, 40)


def test_calls_that_end_at_frames() -> None:
    frames = np.repeat([1.0, 2, 1, 1, 3, 1, 1, 2, 1, 1], 4)
    grid = recognize_grid([frames * FRAME + JITTER, np.ones(40) * FRAME + JITTER])
    assert grid is not None
    assert (grid.period_ns, grid.limit_ns) == (pytest.approx(16.667 * MS, rel=1e-4), 17.0 * MS)


def test_frames_of_a_fast_display_and_the_tick_that_divides_the_calls_best() -> None:
    frames = np.repeat([3.0, 4, 4, 5, 5, 5, 5, 6, 7, 4], 4)
    grid = recognize_grid([frames * FRAME / 2 + JITTER])
    assert grid is not None
    assert grid.period_ns == pytest.approx(8.333 * MS, rel=1e-4)
    assert grid.limit_ns == pytest.approx(33.5 * MS)  # four frames of 8.33 ms: 24 of 40 calls take longer


def test_few_values_are_divided_between_two_of_them() -> None:
    lengths = np.repeat([20.0, 20, 20, 25, 25, 40], 10) * MS + RNG.normal(0, 0.02 * MS, 60)
    assert recognize_grid([lengths]) == Grid(0.0, 22.5 * MS)


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([20 * MS * np.exp(RNG.normal(0, 0.02, 200))], id="a quiet bench"),
        pytest.param([np.full(200, FRAME) + RNG.normal(0, 0.05 * MS, 200)], id="around one frame, by chance"),
        pytest.param(
            [np.append(np.full(195, FRAME), [21e6, 38e6, 71e6, 90e6, 104e6])], id="outliers are not on frames"
        ),
        pytest.param([np.full(100, 20 * MS), np.full(100, 22 * MS)], id="each side takes a value of its own"),
        pytest.param([np.append(np.full(99, 20 * MS), 200 * MS)], id="one outlier"),
        pytest.param([RNG.uniform(10, 60, 300) * MS], id="anywhere"),
        pytest.param([np.array([1.0, 2, 1, 3]) * FRAME], id="too few calls"),
        pytest.param([np.repeat([20.0, 25], 10) * MS], id="too few calls for values"),
        pytest.param([np.zeros(50)], id="lengths of nothing"),
        pytest.param([], id="no run"),
    ],
)
def test_other_lengths_are_on_no_grid(runs: list[np.ndarray]) -> None:
    assert recognize_grid(runs) is None
