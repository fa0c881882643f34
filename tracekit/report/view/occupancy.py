"""How much of each bin of time intervals cover: what a lane shows when a pixel is longer than a sample."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.model import IntArray

FULL = 255
"""The byte of a bin that is covered from end to end."""
Plane = npt.NDArray[np.uint8]


def covered_ns(starts: IntArray, ends: IntArray, edges: IntArray) -> IntArray:
    """Return how many nanoseconds of [start, end) intervals lie between each two of ``edges``.

    Time that several intervals share counts for each of them. Exact whatever the number of bins: what lies
    before an edge is a sum over starts minus a sum over ends.
    """
    return np.diff(_before(np.sort(starts), edges) - _before(np.sort(ends), edges))


def _before(times: IntArray, edges: IntArray) -> IntArray:
    """Return, for each edge, the sum over times before it of their distance to it.

    A sum may leave 64 bits; what comes of it in the end does not, and whole numbers wrap around exactly.
    """
    sums = np.concatenate([[0], np.cumsum(times, dtype=np.int64)])
    count = np.searchsorted(times, edges, side="left")
    before: IntArray = count * edges - sums[count]
    return before


def occupancy(starts: IntArray, ends: IntArray, bins: int, duration_ns: int) -> Plane:
    """Return the covered share of each of ``bins`` equal bins over [0, duration), 255 for all of it.

    A bin of which anything is covered is at least 1, so that no work disappears.
    """
    # In parts of a nanosecond that make every edge a whole number.
    length = max(duration_ns, 1)
    edges = np.arange(bins + 1, dtype=np.int64) * length
    share = covered_ns(starts * bins, ends * bins, edges) / length
    return np.ceil(np.clip(share, 0, 1) * FULL).astype(np.uint8)
