"""Finding what overlaps a range of time without looking at everything that was played."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Key = TypeVar("Key")
Entry = TypeVar("Entry")


class SpanIndex(Generic[Entry]):
    """Entries with the time that each covers, in the order in which they were given."""

    def __init__(self, entries: Iterable[Entry], time_of: Callable[[Entry], tuple[int, int]]) -> None:
        self._entries = list(entries)
        times = [time_of(entry) for entry in self._entries]
        self._places = sorted(range(len(times)), key=lambda place: times[place][0])
        self._starts = [times[place][0] for place in self._places]
        self._ends = [times[place][1] for place in self._places]
        self._latest_ends = list(accumulate(self._ends, max))

    def overlapping(self, start_ns: int, end_ns: int) -> list[Entry]:
        """Return the entries that cover any of the range, in their order."""
        first = bisect_right(self._latest_ends, start_ns)
        stop = bisect_left(self._starts, end_ns)
        rows = (row for row in range(first, stop) if self._ends[row] > start_ns)
        return [self._entries[place] for place in sorted(self._places[row] for row in rows)]


def index_by(
    pairs: Iterable[tuple[Key, Entry]], time_of: Callable[[Entry], tuple[int, int]]
) -> dict[Key, SpanIndex[Entry]]:
    """Return an index of the entries of each key."""
    groups: defaultdict[Key, list[Entry]] = defaultdict(list)
    for key, entry in pairs:
        groups[key].append(entry)
    return {key: SpanIndex(entries, time_of) for key, entries in groups.items()}
