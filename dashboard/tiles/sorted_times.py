"""Sorted times in four bytes a row, whose sums up to any moment need no sum per row.

Rows are in *runs*, in each of which times ascend; a run is cut into blocks, which end after ``BLOCK_ROWS``
rows and before 2^32 nanoseconds (4.3 s) have passed::

    time     5 12 13 14 │ 90 94 ║ 3 …      ║ ends a run, │ a block
    offset   0  7  8  9 │  0  4 ║ 0 …      since the first time of the block
    first    0            4       6 …      the block's first row; the last entry is the number of rows
    start    5           90       3 …      its first time
    sums     0           44     228 …      the sum of all times before it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
BLOCK_ROWS = 64
_SPAN_BITS = 32
_MAX_OFFSET = (1 << _SPAN_BITS) - 1
PARTS = ("offset", "first", "start", "sums")


@dataclass(frozen=True)
class SortedTimes:
    """The times of rows; each array is mapped into memory, and its parts are read when they are needed."""

    offset: Array
    first: Ints
    start: Ints
    sums: Ints

    def __len__(self) -> int:
        return len(self.offset)

    def __getitem__(self, rows: slice) -> Ints:
        begin, end, _ = rows.indices(len(self))
        blocks = slice(self._block(begin), np.searchsorted(self.first[:-1], end))
        borders = np.clip(self.first[blocks.start : blocks.stop + 1], begin, max(begin, end))
        return np.repeat(self.start[blocks], np.diff(borders)) + self.offset[begin:end]

    def at(self, rows: Ints) -> Ints:
        """Return the times of rows, in any order."""
        times: Ints = self.start[self._block(rows)] + self.offset[rows]
        return times

    def _block(self, rows: Any) -> Any:
        return np.searchsorted(self.first[:-1], rows, side="right") - 1

    def count_before(self, first: int, end: int, edges: Ints) -> Ints:
        """Return the number of rows of the run [first, end) that are before each of the edges."""
        return self._before(first, end, edges)[0]

    def rows_before(self, first: int, end: int, edge: int) -> int:
        """Return the number of rows of the run [first, end) that are before one edge."""
        if first >= end:
            return 0
        run, stop = int(self._block(first)), int(np.searchsorted(self.first, end))
        block = run + int(np.searchsorted(self.start[run:stop], edge)) - 1
        if block < run:
            return 0
        begin = int(self.first[block])
        times = self.offset[begin : int(self.first[block + 1])]
        return begin - first + int(np.searchsorted(times, edge - int(self.start[block])))

    def distance_before(self, first: int, end: int, edges: Ints) -> Ints:
        """Return, for each edge, the sum of its distances to all times of the run [first, end) before it.

        Sums wrap around exactly; differences of what is returned fit (see ``occupancy.running_sums``).
        """
        count, sums = self._before(first, end, edges)
        distance: Ints = count * edges - sums
        return distance

    def _before(self, first: int, end: int, edges: Ints) -> tuple[Ints, Ints]:
        """Return the number and the sum of the times of a run before each edge."""
        if first >= end or not len(edges):
            return np.zeros_like(edges), np.zeros_like(edges)
        # The last block that begins before an edge has the last time before it; all blocks before count
        # as wholes.
        run, stop = int(self._block(first)), int(np.searchsorted(self.first, end))
        blocks = np.maximum(run + np.searchsorted(self.start[run:stop], edges) - 1, run)
        low, high = int(blocks.min()), int(blocks.max()) + 1
        begin = int(self.first[low])
        if int(self.first[high]) - begin <= len(edges) * BLOCK_ROWS:
            times = self[begin : int(self.first[high])]
            count = np.searchsorted(times, edges)
            sums = np.concatenate([[0], np.cumsum(times)])[count] + self.sums[low]
        else:
            count, sums = self._partly(blocks, edges)
            count += self.first[blocks] - begin
        return begin - first + count, sums - self.sums[run]

    def _partly(self, blocks: Ints, edges: Ints) -> tuple[Ints, Ints]:
        """Return the number of times before each edge in its block, and the sum of all times until there."""
        # A line per edge of ``BLOCK_ROWS`` rows, which begins with the block unless the rows end before.
        rows = np.minimum(self.first[blocks], len(self) - BLOCK_ROWS)
        lines = np.lib.stride_tricks.sliding_window_view(self.offset, BLOCK_ROWS)[rows]
        start = self.start[blocks]
        is_before = lines < np.clip(edges - start, 0, _MAX_OFFSET + 1)[:, None]
        place = np.arange(BLOCK_ROWS, dtype=np.uint8)
        is_before &= place >= (self.first[blocks] - rows).astype(np.uint8)[:, None]
        is_before &= place < (self.first[blocks + 1] - rows).astype(np.uint8)[:, None]
        count = np.count_nonzero(is_before, axis=1)
        offsets = np.where(is_before, lines, np.uint32(0)).sum(axis=1, dtype=np.int64)
        return count, self.sums[blocks] + count * start + offsets


def compacted(times: Ints, runs: Ints) -> dict[str, Array]:
    """Return the arrays of ``SortedTimes`` by their names; ``runs`` are the first rows of the runs."""
    total = len(times)
    # A block begins with a run, where the time enters another stretch of 2^32 ns, and after BLOCK_ROWS rows:
    # the first two cut the rows into stretches, which are then cut evenly.
    begins = np.zeros(total, np.bool_)
    begins[runs[runs < total]] = True
    begins[1:] |= np.diff(times >> _SPAN_BITS) != 0
    stretches = np.flatnonzero(begins)
    in_stretch = np.arange(total) - np.repeat(stretches, np.diff(stretches, append=total))
    begins[in_stretch % BLOCK_ROWS == 0] = True
    first = np.flatnonzero(begins)
    start = times[first]
    sums = np.concatenate([[0], np.cumsum(times, dtype=np.int64)])[first]
    offset = times - np.repeat(start, np.diff(first, append=total))
    arrays = (offset.astype(np.uint32), np.append(first, total), start, sums)
    return dict(zip(PARTS, arrays, strict=True))
