"""How much of each bin of time intervals cover: what a lane shows when a pixel is longer than a sample."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray

FULL = 255
"""The byte of a bin that is covered from end to end."""
Plane = npt.NDArray[np.uint8]


def covered_ns(starts: IntArray, ends: IntArray, edges: IntArray) -> IntArray:
    """Return how many nanoseconds of [start, end) intervals lie between each two of ``edges``.

    Time that several intervals share counts for each of them. Exact whatever the number of bins: what lies
    before an edge is a sum over starts minus a sum over ends.
    """
    starts, ends = np.sort(starts), np.sort(ends)
    return np.diff(before(starts, running_sums(starts), edges) - before(ends, running_sums(ends), edges))


def running_sums(times: IntArray) -> IntArray:
    """Return the sum of the first 0, 1, … of ``times``.

    A sum may leave 64 bits; what comes of it in the end does not, and whole numbers wrap around exactly.
    """
    return np.concatenate([[0], np.cumsum(times, dtype=np.int64)])


def before(times: IntArray, sums: IntArray, edges: IntArray) -> IntArray:
    """Return, for each edge, the sum over sorted times before it of their distance to it.

    ``sums`` are their running sums, which may begin with that of times before the first.
    """
    count = np.searchsorted(times, edges, side="left")
    distance: IntArray = count * edges - (sums[count] - sums[:1])
    return distance


def as_bytes(share: npt.NDArray[np.float64]) -> Plane:
    """Return covered shares of bins as a plane: 0 stays for those of which nothing is covered."""
    return np.ceil(np.clip(share, 0, 1) * FULL).astype(np.uint8)


def occupancy(starts: IntArray, ends: IntArray, bins: int, duration_ns: int) -> Plane:
    """Return the covered share of each of ``bins`` equal bins over [0, duration), 255 for all of it.

    A bin of which anything is covered is at least 1, so that no work disappears.
    """
    # In parts of a nanosecond that make every edge a whole number.
    length = max(duration_ns, 1)
    edges = np.arange(bins + 1, dtype=np.int64) * length
    return as_bytes(covered_ns(starts * bins, ends * bins, edges) / length)
