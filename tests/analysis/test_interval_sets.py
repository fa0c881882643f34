"""Interval sets are sets of nanoseconds: every operation equals the same on sets of integers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.engines.interval_sets import (
    EMPTY,
    IntervalSet,
    find_covered_twice,
    find_places,
    merge_by_group,
    merge_sets,
)

Edges = list[tuple[int, int]]

# Backwards and empty spans are among them.
ROWS = st.lists(st.tuples(st.integers(-20, 40), st.integers(-20, 40)), max_size=12)
WINDOWS = st.lists(st.tuples(st.integers(-25, 45), st.integers(0, 30)), max_size=8).map(
    lambda rows: [(start, start + length) for start, length in rows]
)


def columns(rows: Edges) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.int64)


def spans(*rows: tuple[int, int]) -> IntervalSet:
    return IntervalSet.of(*columns(list(rows)))


def held(rows: Iterable[tuple[int, int]]) -> set[int]:
    return {time for start, end in rows for time in range(start, end)}


def pairs(made: IntervalSet) -> Edges:
    return list(zip(made.starts.tolist(), made.ends.tolist(), strict=True))


def assert_is(made: IntervalSet, expected: set[int]) -> None:
    """It holds just that time, in order, and no two of its spans touch."""
    assert held(pairs(made)) == expected
    assert made.total_ns == len(expected)
    flat = [edge for pair in pairs(made) for edge in pair]
    assert flat == sorted(set(flat))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([(3, 5)], [(3, 5)]),
        ([(3, 5), (3, 5)], [(3, 5)]),
        ([(0, 9), (2, 4)], [(0, 9)]),
        ([(0, 2), (2, 4)], [(0, 4)]),
        ([(5, 7), (0, 2), (1, 3)], [(0, 3), (5, 7)]),
        ([(4, 4), (6, 5)], []),
        ([(-5, 2), (2**62, 2**63 - 1)], [(-5, 2), (2**62, 2**63 - 1)]),
    ],
)
def test_of_is_the_union(rows: Edges, expected: Edges) -> None:
    assert pairs(spans(*rows)) == expected


def test_literal_operations() -> None:
    first, second = spans((0, 10), (20, 30)), spans((5, 25))
    assert pairs(first & second) == [(5, 10), (20, 25)]
    assert pairs(first | second) == [(0, 30)]
    assert pairs(first - second) == [(0, 5), (25, 30)]
    assert pairs(second - first) == [(10, 20)]
    assert first.within(*columns([(8, 22), (10, 20), (-5, 100), (7, 7)])).tolist() == [4, 0, 20, 0]
    window, starts, ends = first.pieces(*columns([(8, 22), (10, 20), (25, 26)]))
    assert [window.tolist(), starts.tolist(), ends.tolist()] == [[0, 0, 2], [8, 20, 25], [10, 22, 26]]


def test_nothing() -> None:
    single = spans((1, 2))
    for made in (
        EMPTY & single,
        single & EMPTY,
        EMPTY - single,
        merge_sets([]),
        find_covered_twice([single]),
    ):
        assert pairs(made) == []
    assert pairs(single - EMPTY) == pairs(EMPTY | single) == [(1, 2)]
    assert EMPTY.until(np.array([0, 5])).tolist() == [0, 0]
    assert EMPTY.within(*columns([(0, 5)])).tolist() == [0]
    assert len(EMPTY) == EMPTY.total_ns == 0


@given(ROWS)
def test_of_equals_a_set(rows: Edges) -> None:
    assert_is(IntervalSet.of(*columns(rows)), held(rows))


@given(ROWS, ROWS)
def test_set_operations(left: Edges, right: Edges) -> None:
    first, second = IntervalSet.of(*columns(left)), IntervalSet.of(*columns(right))
    assert_is(first & second, held(left) & held(right))
    assert_is(first | second, held(left) | held(right))
    assert_is(first - second, held(left) - held(right))


@given(st.lists(ROWS, max_size=4))
def test_union_and_held_twice(sets: list[Edges]) -> None:
    made = [IntervalSet.of(*columns(rows)) for rows in sets]
    times = [held(rows) for rows in sets]
    assert_is(merge_sets(made), set().union(*times))
    counted = [moment for moments in times for moment in moments]
    assert_is(find_covered_twice(made), {moment for moment in counted if counted.count(moment) > 1})


@given(ROWS, WINDOWS)
def test_within_and_pieces(rows: Edges, windows: Edges) -> None:
    made, time = IntervalSet.of(*columns(rows)), held(rows)
    starts, ends = columns(windows)
    expected = [time & held([window]) for window in windows]
    assert made.within(starts, ends).tolist() == [len(moments) for moments in expected]
    windows_of_pieces, begin, end = made.pieces(starts, ends)
    assert windows_of_pieces.tolist() == sorted(windows_of_pieces.tolist())
    for row, moments in enumerate(expected):
        cut = [
            (b, e)
            for a, b, e in zip(windows_of_pieces.tolist(), begin.tolist(), end.tolist(), strict=True)
            if a == row
        ]
        assert held(cut) == moments
        assert sum(e - b for b, e in cut) == len(moments)


@given(ROWS, st.lists(st.integers(-25, 45), max_size=8))
def test_until(rows: Edges, times: list[int]) -> None:
    made = IntervalSet.of(*columns(rows))
    expected = [sum(moment < time for moment in held(rows)) for time in times]
    assert made.until(np.array(times, np.int64)).tolist() == expected


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("keys", "values"), [(3_000, 3_000), (3_000, 1_000), (10, 3_000), (30_000, 1_200), (0, 2_000)]
)
def test_places_of_many_values_are_those_of_a_search(
    keys: int, values: int, side: Literal["left", "right"]
) -> None:
    # Of 5,000 moments, many are a key and a value, and some several times.
    random = np.random.default_rng(keys + values)
    sorted_keys, moments = np.sort(random.integers(0, 5_000, keys)), random.integers(-5, 5_005, values)
    known = sorted_keys.tolist()
    for sought in (np.sort(moments), moments):
        expected = [(bisect_left if side == "left" else bisect_right)(known, moment) for moment in sought]
        assert find_places(sorted_keys, sought, side).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-20, 40), st.integers(-20, 40)), max_size=20))
def test_union_by_group(rows: list[tuple[int, int, int]]) -> None:
    group = np.array([row[0] for row in rows], np.int64)
    united = merge_by_group(group, *columns([row[1:] for row in rows]))
    of, starts, ends = (part.tolist() for part in united)
    assert of == sorted(of)
    for number in range(4):
        of_group = [(s, e) for g, s, e in zip(of, starts, ends, strict=True) if g == number]
        assert_is(IntervalSet(*columns(of_group)), held(row[1:] for row in rows if row[0] == number))


def test_union_by_group_far_apart() -> None:
    """Sums of group and time would not fit into 64 bits."""
    group = np.array([1, 0, 1, 0], np.int64)
    starts, ends = columns([(2**62, 2**62 + 5), (0, 2**62), (2**62 + 5, 2**63 - 1), (2**61, 2**62 + 1)])
    of, begin, end = merge_by_group(group, starts, ends)
    assert list(zip(of.tolist(), begin.tolist(), end.tolist(), strict=True)) == [
        (0, 0, 2**62 + 1),
        (1, 2**62, 2**63 - 1),
    ]
