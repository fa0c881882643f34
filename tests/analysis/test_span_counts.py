"""Spans in groups are counted in windows, all or some of them, and the one that reaches furthest is found."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.engines.span_counts import SpanCounts

#         0    5    10   15   20
# group 0   ────────      ──
# group 1      ──
SPANS = SpanCounts(*np.array([[0, 2, 10], [1, 5, 7], [0, 15, 17], [0, 16, 16]]).T)


def counted(group: int, start: int, end: int, marked: list[bool] | None = None) -> int:
    query = (np.array([value]) for value in (group, start, end))
    return int(SPANS.count(*query, None if marked is None else np.array(marked))[0])


def test_spans_of_a_group_that_share_time_with_a_window_are_counted() -> None:
    assert counted(0, 0, 20) == 2
    assert counted(0, 9, 15) == 1
    assert counted(0, 10, 15) == 0
    assert counted(1, 0, 20) == 1
    assert counted(2, 0, 20) == 0
    assert counted(-1, 0, 20) == 0


def test_marked_spans_alone_are_counted() -> None:
    assert counted(0, 0, 20, [True, True, False, True]) == 1
    assert counted(1, 0, 20, [True, False, True, True]) == 0


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 6)), max_size=8)


@given(ROWS, st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(1, 6)))
def test_counts_and_the_furthest_equal_a_slow_count(
    rows: list[tuple[int, int, int]], window: tuple[int, int, int]
) -> None:
    group, starts, lengths = np.array(rows, np.int64).reshape(-1, 3).T
    spans = SpanCounts(group, starts, starts + lengths)
    number, start, end = window[0], window[1], window[1] + window[2]
    shared = [
        row
        for row, (of, begin, length) in enumerate(rows)
        if of == number and length and begin < end and start < begin + length
    ]
    of, since, until = (np.array([value]) for value in (number, start, end))
    assert spans.count(of, since, until).tolist() == [len(shared)]
    if shared:
        furthest = int(spans.find_furthest(of, until)[0])
        assert furthest in shared
        assert starts[furthest] + lengths[furthest] == max(starts[row] + lengths[row] for row in shared)
