"""Spans of a timeline in lanes, of which any two are nested or disjoint, as formats of nested slices need."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable

from tracekit.export.spans import Span


def arrange_in_lanes(spans: Iterable[Span]) -> list[list[Span]]:
    """Return the spans in lanes, by first fit; each lane is in order of time, outer spans first.

    A stack per lane holds the ends of the open spans: a new span fits if it ends within the innermost of
    them. The time grows with the number of spans and the logarithm of the number of lanes.
    """
    lanes: list[list[Span]] = []
    open_ends: list[list[int]] = []  # per lane
    next_ends: list[tuple[int, int]] = []  # a heap of the ends of all lanes, each with its lane
    rooms = _LaneRooms()
    for span in sorted(spans, key=lambda span: (span.start_ns, -span.end_ns)):
        # First fit over spans by start, longer ones first:
        #   a ───────────       lane 1   a, and b inside it
        #     b ───             lane 2   c, which begins in a and ends after it
        #         c ─────────
        while next_ends and next_ends[0][0] <= span.start_ns:
            _, lane = heapq.heappop(next_ends)
            ends = open_ends[lane]
            ends.pop()
            rooms.change(lane, ends[-1] if ends else math.inf)
        lane = rooms.find(span.end_ns)
        if lane == len(lanes):
            lanes.append([])
            open_ends.append([])
        lanes[lane].append(span)
        open_ends[lane].append(span.end_ns)
        heapq.heappush(next_ends, (span.end_ns, lane))
        rooms.change(lane, span.end_ns)
    return lanes


class _LaneRooms:
    """How late a span of each lane may end now: of any number of lanes, empty ones have room for any.

    A binary tree in a list: the lanes are its leaves, and a parent has the larger room of its two children::

                 ∞                 the first lane with room for 6: down from the root,
            7         ∞            left wherever there is room, so lane 1
          5   7     6   ∞
    """

    def __init__(self) -> None:
        self._leaf_count = 1
        self._rooms = [math.inf, math.inf]  # the children of node n are 2 n and 2 n + 1; 0 is none

    def find(self, end_ns: int) -> int:
        """Return the first lane in which a span may end then."""
        node = 1
        while node < self._leaf_count:
            node *= 2
            node += self._rooms[node] < end_ns
        return node - self._leaf_count

    def change(self, lane: int, room: float) -> None:
        """Set the room of a lane; the last leaf is always an empty lane."""
        if lane == self._leaf_count - 1:
            self._double()
        node = lane + self._leaf_count
        self._rooms[node] = room
        while node > 1:
            node //= 2
            largest = max(self._rooms[2 * node], self._rooms[2 * node + 1])
            if self._rooms[node] == largest:
                break
            self._rooms[node] = largest

    def _double(self) -> None:
        leaves = self._rooms[self._leaf_count :]
        self._leaf_count *= 2
        self._rooms = [math.inf] * self._leaf_count + leaves + [math.inf] * len(leaves)
        for node in range(self._leaf_count - 1, 0, -1):
            self._rooms[node] = max(self._rooms[2 * node], self._rooms[2 * node + 1])
