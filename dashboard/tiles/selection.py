"""What a page has selected: a range of time, lanes, and the rows that a filter wants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dashboard.tiles.columns import Array, Bools, Group, Samples

_PIECE_ROWS = 1 << 20


@dataclass(frozen=True)
class Selection:
    """Samples of [start, end), of some lanes and of those in ``mask``; for both, None is all."""

    start_ns: int
    end_ns: int
    lanes: frozenset[int] | None = None
    mask: Bools | None = None

    def ranges(self, samples: Samples) -> Iterator[tuple[Group, int, int]]:
        """Yield the groups with their first row and end; those of which nothing is selected are left out."""
        for group in samples.groups:
            if self.lanes is None or group.lane in self.lanes:
                first, end = samples.rows(group, self.start_ns, self.end_ns)
                if first < end:
                    yield group, first, end

    def count(self, samples: Samples) -> int:
        """Return how many samples are selected."""
        ranges = ((first, end) for _, first, end in self.ranges(samples))
        if self.mask is None:
            return sum(end - first for first, end in ranges)
        return sum(int(np.count_nonzero(self.mask[first:end])) for first, end in ranges)

    def pieces(self, samples: Samples, *columns: Array) -> Iterator[tuple[Array, ...]]:
        """Yield the selected rows of columns, about a million at a time: other requests come in between."""
        held: list[slice] = []
        size = 0
        for _, first, end in self.ranges(samples):
            for at in range(first, end, _PIECE_ROWS):
                held.append(slice(at, min(end, at + _PIECE_ROWS)))
                size += held[-1].stop - at
                if size >= _PIECE_ROWS:
                    yield self._piece(held, columns)
                    held, size = [], 0
        if held:
            yield self._piece(held, columns)

    def _piece(self, held: list[slice], columns: tuple[Array, ...]) -> tuple[Array, ...]:
        if self.mask is None:
            return tuple(np.concatenate([column[rows] for rows in held]) for column in columns)
        mask = np.concatenate([self.mask[rows] for rows in held])
        return tuple(np.concatenate([column[rows] for rows in held])[mask] for column in columns)
