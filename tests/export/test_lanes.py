"""Spans in lanes: each in the first lane whose spans it is apart from or inside of."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracekit.export.lanes import arrange_in_lanes
from tracekit.export.spans import Span

Edges = tuple[int, int]


def spans_of(edges: list[Edges]) -> list[Span]:
    return [Span(start, end, str(number)) for number, (start, end) in enumerate(edges)]


def edges_of(lanes: list[list[Span]]) -> list[list[Edges]]:
    return [[(span.start_ns, span.end_ns) for span in lane] for lane in lanes]


def first_fit(spans: list[Span]) -> list[list[Span]]:
    """Return the lanes by their definition: every pair of spans is compared."""
    lanes: list[list[Span]] = []
    for span in sorted(spans, key=lambda span: (span.start_ns, -span.end_ns)):
        fitting = (
            lane
            for lane in lanes
            if all(past.end_ns <= span.start_ns or span.end_ns <= past.end_ns for past in lane)
        )
        lane = next(fitting, None)
        if lane is None:
            lanes.append(lane := [])
        lane.append(span)
    return lanes


def test_spans_that_nest_or_follow_share_a_lane() -> None:
    outer, inner, across, later = (0, 10), (1, 4), (3, 12), (10, 11)
    assert edges_of(arrange_in_lanes(spans_of([across, later, inner, outer]))) == [
        [outer, inner, later],
        [across],
    ]
    assert arrange_in_lanes([]) == []


def test_a_lane_is_used_again_as_soon_as_its_span_ends() -> None:
    lanes = arrange_in_lanes(spans_of([(0, 5), (1, 6), (2, 7), (6, 20), (7, 21), (8, 22)]))
    assert edges_of(lanes) == [[(0, 5), (6, 20)], [(1, 6), (7, 21)], [(2, 7), (8, 22)]]


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair))), max_size=60
    )
)
def test_the_lanes_are_those_of_first_fit(edges: list[Edges]) -> None:
    spans = spans_of(edges)
    names = [[span.name for span in lane] for lane in arrange_in_lanes(spans)]
    assert names == [[span.name for span in lane] for lane in first_fit(spans)]


class Counted(int):
    """A moment that counts how often it is compared."""

    comparisons = 0

    def __lt__(self, moment: Any) -> bool:
        Counted.comparisons += 1
        return int(self) < moment

    def __le__(self, moment: Any) -> bool:
        Counted.comparisons += 1
        return int(self) <= moment

    def __gt__(self, moment: Any) -> bool:
        Counted.comparisons += 1
        return int(self) > moment


def test_the_work_does_not_grow_with_the_square_of_the_lanes() -> None:
    count = 2_000
    lanes = arrange_in_lanes(Span(Counted(start), Counted(start + count), "") for start in range(count))
    assert len(lanes) == count
    assert Counted.comparisons < 60 * count
