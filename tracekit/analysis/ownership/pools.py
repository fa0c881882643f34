"""Pools: calls sorted for the search of those that share time with an interval.

Calls are sorted into pools, and an interval has candidates in one pool at a time: the calls of its model, the
calls without a model, or all calls. Two searches find a stretch of a pool's calls that has all candidates of
an interval. It is short unless a long call is around the interval; then the calls are searched in layers.
Those of one layer follow one another, so that two searches find the interval's candidates among them::

    layer 0   ──a──  ──────c──────  ─e─      interval  ▪▪▪▪▪▪▪▪
    layer 1      ───b───     ──d──           layer 0: c      layer 1: b, d

What would need more than ``_MAX_LAYERS`` layers, or more than ``_MAX_CALLS_IN_LAYER`` candidates of a layer,
is not listed: an interval of so many calls is contested anyway, and the number of pairs stays linear.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from tracekit.analysis.engines.codes import group_positions
from tracekit.analysis.engines.interval_sets import find_reach_by_group
from tracekit.analysis.engines.ranges import list_positions
from tracekit.analysis.engines.span_counts import SpanCounts
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray

_MAX_LAYERS = 8
_MAX_CALLS_IN_LAYER = 4


@frozen
class Listed:
    """Intervals and calls that share time: positions in the arrays of both, in order of interval and call.

    ``crowded`` has the intervals with more candidates than are listed.
    """

    row: IntArray
    call: IntArray
    crowded: IntArray


class CallPools:
    """Calls in pools; ``pool`` has the pool of each entry, ``call`` its position in ``starts`` and
    ``ends``."""

    def __init__(self, pool: IntArray, call: IntArray, starts: IntArray, ends: IntArray) -> None:
        order = np.lexsort((ends[call], starts[call], pool))
        pool, self._call = pool[order], call[order]
        self._edges = np.sort(np.concatenate([starts, ends]))
        # Pool and rank of a time as one number: a search within a pool is a search among all of them.
        self._width = len(self._edges) + 2
        self._starts, self._ends = (
            pool * self._width + np.searchsorted(self._edges, edges[self._call]) for edges in (starts, ends)
        )
        self._reach = np.maximum.accumulate(self._ends)
        layer = _assign_layers(pool, starts[self._call], ends[self._call])
        beyond, *self._members = group_positions(layer + 1, int(layer.max(initial=-1)) + 2)
        self._beyond = SpanCounts(pool[beyond], *(edges[self._call[beyond]] for edges in (starts, ends)))

    def pairs(self, pool: IntArray, starts: IntArray, ends: IntArray) -> Listed:
        """Return the candidates of intervals in one pool each; pool -1 has none."""
        in_pool = np.flatnonzero(pool >= 0)
        pool, starts, ends = pool[in_pool], starts[in_pool], ends[in_pool]
        base = pool * self._width
        after_start = base + np.searchsorted(self._edges, starts, "right")
        before_end = base + np.searchsorted(self._edges, ends, "left")
        # From the first call with which the pool reaches beyond the interval's start, to the last that begins
        # before its end: these are a few, unless a long call is around the interval.
        start = np.searchsorted(self._reach, after_start)
        stop = np.maximum(np.searchsorted(self._starts, before_end), start)
        is_few = stop - start <= _MAX_CALLS_IN_LAYER
        few_rows, many_rows = np.flatnonzero(is_few), np.flatnonzero(~is_few)
        entry, row = (
            list_positions(start[few_rows], stop[few_rows]),
            np.repeat(few_rows, (stop - start)[few_rows]),
        )
        shares = self._ends[entry] >= after_start[row]
        far_row, far_entry, is_crowded = self._list_candidates(after_start[many_rows], before_end[many_rows])
        row, entry = np.append(row[shares], many_rows[far_row]), np.append(entry[shares], far_entry)
        crowded = np.zeros(len(pool), bool)
        crowded[many_rows] = is_crowded
        if len(self._beyond):
            crowded |= self._beyond.count(pool, starts, ends) > 0
        kept = np.flatnonzero(~crowded[row])
        row, call = row[kept], self._call[entry[kept]]
        order = np.lexsort((call, row))
        return Listed(in_pool[row[order]], call[order], in_pool[crowded])

    def _list_candidates(
        self, after_start: IntArray, before_end: IntArray
    ) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the candidates of intervals in all layers, and mark the intervals with too many in one."""
        crowded = np.zeros(len(after_start), bool)
        rows, entries = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for members in self._members if len(after_start) else ():
            start = np.searchsorted(self._ends[members], after_start)
            stop = np.maximum(np.searchsorted(self._starts[members], before_end), start)
            is_crowded = stop - start > _MAX_CALLS_IN_LAYER
            crowded |= is_crowded
            stop = np.where(is_crowded, start, stop)
            rows.append(np.repeat(np.arange(len(start)), stop - start))
            entries.append(members[list_positions(start, stop)])
        return np.concatenate(rows), np.concatenate(entries), crowded


def _assign_layers(pool: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
    """Return the layer of each call, of calls in order of pool and start; -1 beyond ``_MAX_LAYERS``."""
    layer = np.zeros(len(pool), np.int64)
    if not len(pool):
        return layer
    changes = np.append(True, pool[1:] != pool[:-1])
    group = np.cumsum(changes) - 1
    reach = find_reach_by_group(group, ends)
    overlaps = np.append(False, ~changes[1:] & (starts[1:] < reach[:-1]))
    crowded = np.flatnonzero(np.bincount(group[overlaps], minlength=int(group[-1]) + 1))
    firsts = np.append(np.flatnonzero(changes), len(pool))
    for number in crowded.tolist():
        start, stop = int(firsts[number]), int(firsts[number + 1])
        layer[start:stop] = _fit_into_layers(starts[start:stop].tolist(), ends[start:stop].tolist())
    return layer


def _fit_into_layers(starts: list[int], ends: list[int]) -> list[int]:
    """Return a layer for each call so that the calls of a layer do not overlap; a call takes the one free
    longest, and a new one where none is free."""
    layers = []
    busy: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        if busy and busy[0][0] <= start:
            layer = heappop(busy)[1]
        elif len(busy) < _MAX_LAYERS:
            layer = len(busy)
        else:
            layers.append(-1)
            continue
        heappush(busy, (end, layer))
        layers.append(layer)
    return layers
