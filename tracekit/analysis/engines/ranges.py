"""Ranges of positions ``[first, last)`` that may overlap: sums, highest ranks and covered time, n log n."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.analysis.engines.codes import sum_before, sum_by_code
from tracekit.analysis.engines.interval_sets import find_reach_by_group, merge_by_group
from tracekit.model.columns import IntArray

BLOCK = 1 << 20
"""As many rows are listed together: about 60 MB while they are sorted."""


def list_positions(start: IntArray, stop: IntArray) -> IntArray:
    """Return the positions of each range, one range after another."""
    # Without a loop over the ranges (start 4 9, stop 6 12 → positions 4 5 9 10 11):
    #   repeat(start − counts before)    4 4 7 7 7
    #   + arange                         0 1 2 3 4
    counts = stop - start
    positions = np.repeat(start - np.cumsum(counts) + counts, counts)
    positions += np.arange(len(positions))
    return positions


def sum_per_range(amounts: npt.NDArray[Any], start: IntArray, stop: IntArray) -> IntArray:
    """Return the sum of the amounts in each range."""
    sums_before = sum_before(amounts)
    totals: IntArray = sums_before[stop] - sums_before[start]
    return totals


def find_highest(start: IntArray, stop: IntArray, rank: IntArray, count: int) -> IntArray:
    """Return the highest rank of the ranges around each of ``count`` positions, -1 where there is none."""
    # Cells between the edges of all ranges have one answer each; a range is then a range of cells. It is the
    # union of two that may overlap, both of the largest power of two that fits:
    #   a range of 6 cells, level 2     ▪▪▪▪··
    #                                   ··▪▪▪▪
    # From the top level down, each stretch hands its rank to its two halves.
    edges = np.unique(np.concatenate([[0, count], start, stop]))
    begin, end = np.searchsorted(edges, start), np.searchsorted(edges, stop)
    filled = np.flatnonzero(end > begin)
    begin, end, rank = begin[filled], end[filled], rank[filled]
    level = np.frexp(end - begin)[1] - 1
    best = np.full(len(edges), -1, np.int64)
    for height in range(int(level.max(initial=0)), -1, -1):
        rows = np.flatnonzero(level == height)
        np.maximum.at(best, begin[rows], rank[rows])
        np.maximum.at(best, end[rows] - (1 << height), rank[rows])
        if height:
            half = 1 << (height - 1)
            best[half:] = np.maximum(best[half:], best[:-half])
    return np.repeat(best[:-1], np.diff(edges))


def iter_blocks(sizes: IntArray) -> Iterator[tuple[int, int]]:
    """Yield neighbours (start, stop) that hold at most ``BLOCK`` rows, or a single one with more."""
    reach = np.cumsum(sizes)
    start, held = 0, 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(reach, held + BLOCK, "right")))
        yield start, stop
        start, held = stop, int(reach[stop - 1])


def measure_covered_per_range(
    group: IntArray, starts: IntArray, ends: IntArray, start: IntArray, stop: IntArray, until: IntArray
) -> IntArray:
    """Return how much time before ``until`` the union of each range's intervals covers.

    Intervals are sorted by group and start. A range lies in one group; all of it begins before ``until``.
    """
    covered = np.zeros(len(start), np.int64)
    filled = np.flatnonzero(stop > start)
    if not len(filled):
        return covered
    # Each interval adds what lies beyond the reach of all before it, and running sums of this give every
    # range's cover beyond the reach of what comes before the range:
    #   before the range   ────────────┊
    #   in the range            ──  ───┊──  ───┊──
    #                        the head  ┊       until
    ends = np.maximum(starts, ends)
    reach = find_reach_by_group(group, ends)
    reach_before = np.append(starts[:1], np.where(group[1:] == group[:-1], reach[:-1], starts[1:]))
    gain = np.maximum(ends - np.maximum(starts, reach_before), 0)
    head, tail, limit = start[filled], stop[filled] - 1, until[filled]
    head_reach = np.maximum(reach_before[head], starts[head])
    beyond = sum_per_range(gain, head, tail + 1) - np.maximum(reach[tail] - np.maximum(limit, head_reach), 0)
    # Below that reach, the first interval of the range usually covers everything; where it ends earlier, the
    # intervals of the head are listed.
    head_end = np.minimum(head_reach, limit)
    covered[filled] = beyond + head_end - starts[head]
    rows = np.flatnonzero(ends[head] < head_end)
    if len(rows):
        distinct, rank = np.unique(starts, return_inverse=True)
        sought = group[head[rows]] * len(distinct) + np.searchsorted(distinct, head_end[rows])
        head_stop = np.searchsorted(group * len(distinct) + rank, sought)
        for block_start, block_stop in iter_blocks(head_stop - head[rows]):
            part = rows[block_start:block_stop]
            positions = list_positions(head[part], head_stop[block_start:block_stop])
            row = np.repeat(np.arange(len(part)), head_stop[block_start:block_stop] - head[part])
            row, since, till = merge_by_group(
                row, starts[positions], np.minimum(ends[positions], head_end[part][row])
            )
            missing = head_end[part] - starts[head[part]] - sum_by_code(row, till - since, len(part))
            covered[filled[part]] -= missing
    return covered
