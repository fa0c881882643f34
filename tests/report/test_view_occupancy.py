"""Occupancy of bins: exact, and no work disappears."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.report.viewmodel.occupancy import measure_covered_ns, measure_occupancy

Intervals = list[tuple[int, int]]


def plane(intervals: Intervals, bins: int, duration_ns: int) -> list[int]:
    starts, ends = (np.array([interval[side] for interval in intervals], np.int64) for side in (0, 1))
    return measure_occupancy(starts, ends, bins, duration_ns).tolist()


def slow_shares(intervals: Intervals, bins: int, duration_ns: int) -> list[Fraction]:
    """Nanosecond by nanosecond, in fractions."""
    covered = [Fraction(0)] * bins
    width = Fraction(duration_ns, bins)
    for start, end in intervals:
        for time in range(start, end):
            for index in range(bins):
                inside = min(time + 1, (index + 1) * width) - max(time, index * width)
                covered[index] += max(inside, Fraction(0))
    return [length / width for length in covered]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Intervals, int, int]:
    duration = draw(st.integers(1, 40))
    edges = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: (min(pair), max(pair)))
    return draw(st.lists(edges, max_size=5)), draw(st.integers(1, 9)), duration


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([], [0, 0, 0, 0]),
        ([(0, 40)], [255, 255, 255, 255]),
        ([(0, 10)], [255, 0, 0, 0]),
        ([(5, 15)], [128, 128, 0, 0]),
        ([(9, 11)], [26, 26, 0, 0]),
        ([(30, 90)], [0, 0, 0, 255]),  # beyond the end of the run
        ([(10, 10)], [0, 0, 0, 0]),
        ([(0, 5), (0, 5)], [255, 0, 0, 0]),  # two at once count twice
        ([(0, 10)] * 1000, [255, 0, 0, 0]),
    ],
)
def test_four_bins_of_ten(intervals: Intervals, expected: list[int]) -> None:
    assert plane(intervals, 4, 40) == expected


@pytest.mark.integration
@given(cases())
def test_a_plane_equals_the_slow_count(case: tuple[Intervals, int, int]) -> None:
    intervals, bins, duration = case
    shares = slow_shares(intervals, bins, duration)
    assert plane(intervals, bins, duration) == [ceil(min(share, Fraction(1)) * 255) for share in shares]


@given(cases(), st.integers(1, 49))
def test_splitting_intervals_changes_nothing(case: tuple[Intervals, int, int], cut: int) -> None:
    intervals, bins, duration = case
    split = [piece for s, e in intervals for piece in ([(s, cut), (cut, e)] if s < cut < e else [(s, e)])]
    assert plane(split, bins, duration) == plane(intervals, bins, duration)


@pytest.mark.integration
@given(cases())
def test_what_the_bins_cover_is_the_intervals_length_within_the_run(case: tuple[Intervals, int, int]) -> None:
    intervals, bins, duration = case
    starts, ends = (np.array([interval[side] for interval in intervals], np.int64) for side in (0, 1))
    covered = measure_covered_ns(starts, ends, np.linspace(0, duration, bins + 1))
    assert covered.sum() == pytest.approx(sum(min(e, duration) - min(s, duration) for s, e in intervals))


@pytest.mark.parametrize("bins", [256, 8192])
def test_a_microsecond_in_ten_hours_shows(bins: int) -> None:
    shown = plane([(35_999_000_000_000, 35_999_000_001_000)], bins, 36_000_000_000_000)
    assert [value for value in shown if value] == [1]


@pytest.mark.parametrize(
    ("count", "duration"), [(1_000_000, 60_000_000_000), (120_000, 600_000_000_000), (1_000_000, 36 * 10**12)]
)
def test_what_came_before_puts_no_work_into_empty_bins_and_takes_none_from_others(
    count: int, duration: int
) -> None:
    """The sum of so many times is beyond 2^53, where a float skips nanoseconds."""
    bins = 8192
    early = np.random.default_rng(0).integers(0, duration // 2 - 100_000, count)
    alone = np.arange(5_000, 8_000, 30)  # one interval of 1.777 µs in the middle of each of these bins
    late = alone * duration // bins + duration // bins // 2
    starts = np.append(early, late)
    ends = np.append(early + 10_000, late + 1_777)
    covered_bins = np.flatnonzero(measure_occupancy(starts, ends, bins, duration)[bins // 2 :]) + bins // 2
    assert covered_bins.tolist() == alone.tolist()


def test_a_run_without_length_has_bins_all_the_same() -> None:
    assert plane([(0, 5)], 4, 0) == [255, 255, 255, 255]
    assert plane([], 4, 0) == [0, 0, 0, 0]
