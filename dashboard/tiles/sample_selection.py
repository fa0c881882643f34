"""The selection of a page: a range of time, lanes, and the rows of a filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dashboard.tiles.sample_columns import Array, Bools, Coded, SampleColumns, SampleGroup

_PIECE_ROWS = 1 << 20


@dataclass(frozen=True)
class SampleSelection:
    """The samples in [start, end), in ``lanes`` and in ``mask``; None means all."""

    start_ns: int
    end_ns: int
    lanes: frozenset[int] | None = None
    mask: Bools | None = None

    def ranges(self, samples: SampleColumns) -> Iterator[tuple[SampleGroup, int, int]]:
        """Yield the groups that have rows in the range, with their first row and end."""
        for group in samples.groups:
            if self.lanes is None or group.lane in self.lanes:
                first, end = samples.rows(group, self.start_ns, self.end_ns)
                if first < end:
                    yield group, first, end

    def count(self, samples: SampleColumns) -> int:
        """Return how many samples are selected."""
        ranges = ((first, end) for _, first, end in self.ranges(samples))
        if self.mask is None:
            return sum(end - first for first, end in ranges)
        return sum(int(np.count_nonzero(self.mask[first:end])) for first, end in ranges)

    def pieces(self, samples: SampleColumns, *columns: Array | Coded) -> Iterator[tuple[Array, ...]]:
        """Yield the selected rows of columns, about a million at a time: other requests run in between."""
        # Small ranges are collected and large ones cut, so that each piece is about equally large: memory
        # stays bounded, and other requests are served in between.
        slices: list[slice] = []
        size = 0
        for _, first, end in self.ranges(samples):
            for position in range(first, end, _PIECE_ROWS):
                slices.append(slice(position, min(end, position + _PIECE_ROWS)))
                size += slices[-1].stop - position
                if size >= _PIECE_ROWS:
                    yield self._piece(slices, columns)
                    slices, size = [], 0
        if slices:
            yield self._piece(slices, columns)

    def _piece(self, slices: list[slice], columns: tuple[Array | Coded, ...]) -> tuple[Array, ...]:
        if self.mask is None:
            return tuple(np.concatenate([column[rows] for rows in slices]) for column in columns)
        mask = np.concatenate([self.mask[rows] for rows in slices])
        return tuple(np.concatenate([column[rows] for rows in slices])[mask] for column in columns)
