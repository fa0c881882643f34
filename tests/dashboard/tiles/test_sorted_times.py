"""Sorted times in blocks: literal blocks, and sums and counts beside a loop over the times."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.tiles.sorted_times import BLOCK_ROWS, SortedTimes, compacted

FAR = 1 << 62
SPAN = 1 << 32


def stored(times: list[int], runs: list[int]) -> SortedTimes:
    return SortedTimes(**compacted(np.array(times, np.int64), np.array(runs, np.int64)))


def test_a_block_ends_with_its_run_after_so_many_rows_and_before_offsets_overflow() -> None:
    arrays = compacted(np.array([5, 12, 14, SPAN + 1, 3, *range(100, 165)]), np.array([0, 4, 5]))
    assert arrays["first"].tolist() == [0, 3, 4, 5, 69, 70]
    assert arrays["start"].tolist() == [5, SPAN + 1, 3, 100, 164]
    assert arrays["offset"].tolist() == [0, 7, 9, 0, 0, *range(64), 0]
    assert arrays["sums"].tolist() == [0, 31, SPAN + 32, SPAN + 35, SPAN + 35 + sum(range(100, 164))]


def test_no_times() -> None:
    times = stored([], [])
    assert times[:].tolist() == []
    assert times.count_before(0, 0, np.array([-FAR, 0, FAR])).tolist() == [0, 0, 0]
    assert times.rows_before(0, 0, FAR) == 0


@pytest.mark.parametrize("step", [1, 1_000_000, SPAN // 3, 3 * SPAN])
@pytest.mark.parametrize("edge_count", [2, 40])
def test_rows_counts_and_sums(step: int, edge_count: int) -> None:
    dice = np.random.default_rng(step)
    lengths = [1, 3, BLOCK_ROWS, 700, BLOCK_ROWS + 1]
    runs = [0, *np.cumsum(lengths).tolist()]
    parts = [np.sort(dice.integers(-step * length, step * length, length)) for length in lengths]
    every = np.concatenate(parts)
    times = stored(every.tolist(), runs[:-1])
    assert times[:].tolist() == every.tolist()
    assert times[70:900].tolist() == every[70:900].tolist()
    assert times[6:6].tolist() == []
    rows = dice.permutation(len(every))
    assert times.at(rows).tolist() == every[rows].tolist()
    for first, end, part in zip(runs[:-1], runs[1:], parts, strict=True):
        inner = dice.choice(part, edge_count - 2).tolist()
        edges = sorted([-FAR, FAR, *inner, *(edge + 1 for edge in inner)])
        before = [[int(time) for time in part if time < edge] for edge in edges]
        assert times.count_before(first, end, np.array(edges)).tolist() == [len(some) for some in before]
        assert [times.rows_before(first, end, edge) for edge in edges] == [len(some) for some in before]
        distance = times.distance_before(first, end, np.array(edges))
        expected = [sum(edge - time for time in some) for edge, some in zip(edges, before, strict=True)]
        assert [int(value) % (1 << 64) for value in distance] == [value % (1 << 64) for value in expected]
