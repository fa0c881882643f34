"""Occupancy: the share of each bin of time that intervals cover, for pixels longer than a sample."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray

FULL = 255
"""The byte of a bin that is covered from end to end."""
Plane = npt.NDArray[np.uint8]


def measure_covered_ns(starts: IntArray, ends: IntArray, edges: IntArray) -> IntArray:
    """Return how many nanoseconds of [start, end) intervals lie between each pair of neighbouring ``edges``.

    Time that several intervals share counts for each of them. The result is exact for any number of bins.
    """
    # An interval covers max(0, edge - start) - max(0, edge - end) of the time before an edge. Summed over all
    # intervals, starts and ends separate, so each is sorted on its own and no interval is cut into bins.
    starts, ends = np.sort(starts), np.sort(ends)
    return np.diff(
        sum_distances_before(starts, running_sums(starts), edges)
        - sum_distances_before(ends, running_sums(ends), edges)
    )


def running_sums(times: IntArray) -> IntArray:
    """Return the sum of the first 0, 1, … of ``times``.

    A sum may overflow 64 bits. That is harmless: integers wrap around exactly, and the differences that are
    taken of them in the end fit.
    """
    return np.concatenate([[0], np.cumsum(times, dtype=np.int64)])


def sum_distances_before(times: IntArray, sums: IntArray, edges: IntArray) -> IntArray:
    """Return for each edge the sum of its distances to all sorted ``times`` before it.

    ``sums`` are their running sums, which may begin with the sum of earlier times.
    """
    # The sum of (edge − time) over the times before an edge is count × edge − their sum:
    #   times   2 5 9      sums  0 2 7 16      edge 6: two before it, 2 × 6 − 7 = 5 = (6 − 2) + (6 − 5)
    count = np.searchsorted(times, edges, side="left")
    distance: IntArray = count * edges - (sums[count] - sums[:1])
    return distance


def scale_to_bytes(share: npt.NDArray[np.float64]) -> Plane:
    """Return covered shares of bins as a plane, rounded up: only an uncovered bin is 0."""
    return np.ceil(np.clip(share, 0, 1) * FULL).astype(np.uint8)


def measure_occupancy(starts: IntArray, ends: IntArray, bins: int, duration_ns: int) -> Plane:
    """Return the covered share of each of ``bins`` equal bins over [0, duration), 255 for all of it.

    A bin that is covered at all is at least 1, so that no work disappears.
    """
    # Times are counted in 1/bins of a nanosecond, the unit in which every bin edge is a whole number.
    length = max(duration_ns, 1)
    edges = np.arange(bins + 1, dtype=np.int64) * length
    return scale_to_bytes(measure_covered_ns(starts * bins, ends * bins, edges) / length)


class Covered:
    """The occupancy of several planes of ``bins`` bins each, whose intervals come in blocks of any order."""

    def __init__(self, planes: int, bins: int, duration_ns: int) -> None:
        self._bins, self._length = bins, max(duration_ns, 1)
        # Times are counted in 1/bins of a nanosecond, as in ``measure_occupancy``. A start covers the rest of
        # its bin and all of every later one; an end takes the same away. A last bin is behind the run.
        #   bins      |   b   |       |       |      open      number of starts less ends in each bin
        #   covered   |    ───|───────|───────|      missing   parts of the bin before starts less before ends
        self._open = np.zeros(planes * (bins + 1), np.int64)
        self._missing = np.zeros(planes * (bins + 1), np.int64)

    def add(self, plane: IntArray, starts: IntArray, ends: IntArray) -> None:
        """Add intervals, each to its plane."""
        offset = plane * (self._bins + 1)
        for times, sign in ((starts, 1), (ends, -1)):
            position, part = np.divmod(np.clip(times, 0, self._length) * self._bins, self._length)
            position += offset
            np.add.at(self._open, position, sign)
            np.add.at(self._missing, position, sign * part)

    def planes(self) -> Plane:
        """Return a row of occupancy per plane."""
        is_open = np.cumsum(self._open.reshape(-1, self._bins + 1), axis=1)
        covered = is_open * self._length - self._missing.reshape(-1, self._bins + 1)
        return scale_to_bytes(covered[:, :-1] / self._length)
