"""The length of blocks that are drawn together, held to an independent implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.statistics.blocks import choose_block_length, compute_block_length, find_longest_block


def make_waves(count: int, period: float, height: float) -> np.ndarray:
    """Return values without chance: a slow wave, and a fast one without a common period."""
    calls = np.arange(count)
    return height * np.sin(2 * np.pi * calls / period) + np.sin(2.399963 * calls**2 / 7)


def test_blocks_of_calls_that_resemble_few_neighbours_grow_with_the_root() -> None:
    assert [compute_block_length(count) for count in (1, 5, 20, 100, 1000, 100_000)] == [1, 2, 6, 13, 42, 412]


# ``optimal_block_length`` of arch 8.0, the circular length rounded up.
@pytest.mark.parametrize(
    ("values", "length"),
    [
        (np.repeat([0.0, 3.0, 0.0, 3.0, 0.0], 40), 23),
        (np.concatenate([np.zeros(900), np.full(100, 3.0)]) + make_waves(1000, 500, 0.0), 65),
        (np.cumsum(make_waves(1000, 50, 0.0)), 64),
        (make_waves(400, 200, 2.0), 38),
    ],
    ids=["states", "one spell", "walk", "wave"],
)
def test_calls_that_resemble_many_neighbours_have_longer_blocks(values: np.ndarray, length: int) -> None:
    assert choose_block_length(values) == length


@given(st.lists(st.floats(-1e9, 1e9), max_size=200), st.sampled_from([1.0, 1e-9, 1e9]))
def test_a_run_has_three_blocks_whatever_its_calls_are(values: list[float], unit: float) -> None:
    length = choose_block_length(np.array(values) * unit)
    assert compute_block_length(len(values)) <= length <= max(1, find_longest_block(len(values)))
