"""Pools: calls sorted for the search of those that share time with an interval.

Calls are sorted into pools, and an interval has candidates in one pool at a time: the calls of its model, the
calls without a model, or all calls. The calls of a pool that overlap each other lie in layers, so that those
of one layer follow one another, and two searches find an interval's candidates::

    layer 0   ──a──  ──────c──────  ─e─      interval  ▪▪▪▪▪▪▪▪
    layer 1      ───b───     ──d──           layer 0: c      layer 1: b, d

What would need more than ``_LAYERS`` layers, or more than ``_MOST_IN_LAYER`` candidates of a layer, is not
listed: an interval of so many calls is contested anyway, and the number of pairs stays linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from tracekit.analysis.engines.interval_sets import IntervalSet, reach_by_group
from tracekit.analysis.engines.ranges import positions_of
from tracekit.model.columns import IntArray

_LAYERS = 8
_MOST_IN_LAYER = 4


@dataclass(frozen=True)
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
        pool, call = pool[order], call[order]
        self._edges = np.sort(np.concatenate([starts, ends]))
        # Pool and rank of a time as one number: a search within a pool is a search among all of them.
        self._width = len(self._edges) + 2
        layer = _layers(pool, starts[call], ends[call])
        self._layers = []
        for number in range(int(layer.max(initial=-1)) + 1):
            members = np.flatnonzero(layer == number)
            keys = (
                pool[members] * self._width + np.searchsorted(self._edges, edges[call[members]])
                for edges in (starts, ends)
            )
            self._layers.append((call[members], *keys))
        beyond = np.flatnonzero(layer < 0)
        self._beyond = {
            number: IntervalSet.of(starts[call[members]], ends[call[members]])
            for number in np.unique(pool[beyond]).tolist()
            if len(members := beyond[pool[beyond] == number])
        }

    def pairs(self, pool: IntArray, starts: IntArray, ends: IntArray) -> Listed:
        """Return the candidates of intervals in one pool each; pool -1 has none."""
        chosen = np.flatnonzero(pool >= 0)
        pool, starts, ends = pool[chosen], starts[chosen], ends[chosen]
        base = pool * self._width
        after_start = base + np.searchsorted(self._edges, starts, "right")
        before_end = base + np.searchsorted(self._edges, ends, "left")
        crowded = np.zeros(len(pool), bool)
        rows, calls = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for call, start_keys, end_keys in self._layers:
            first = np.searchsorted(end_keys, after_start)  # ends after the interval's start
            last = np.maximum(np.searchsorted(start_keys, before_end), first)
            is_crowded = last - first > _MOST_IN_LAYER
            crowded |= is_crowded
            last = np.where(is_crowded, first, last)
            rows.append(np.repeat(np.arange(len(pool)), last - first))
            calls.append(call[positions_of(first, last)])
        for number, spans in self._beyond.items():
            of_pool = np.flatnonzero(pool == number)
            crowded[of_pool] |= spans.touches(starts[of_pool], ends[of_pool])
        row, candidate = np.concatenate(rows), np.concatenate(calls)
        listed = np.flatnonzero(~crowded[row])
        row, candidate = row[listed], candidate[listed]
        if len(self._layers) > 1:
            order = np.lexsort((candidate, row))
            row, candidate = row[order], candidate[order]
        return Listed(chosen[row], candidate, chosen[crowded])


def _layers(pool: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
    """Return the layer of each call, of calls in order of pool and start; -1 beyond ``_LAYERS``."""
    layer = np.zeros(len(pool), np.int64)
    if not len(pool):
        return layer
    changes = np.append(True, pool[1:] != pool[:-1])
    group = np.cumsum(changes) - 1
    reach = reach_by_group(group, ends)
    overlaps = np.append(False, ~changes[1:] & (starts[1:] < reach[:-1]))
    crowded = np.flatnonzero(np.bincount(group[overlaps], minlength=int(group[-1]) + 1))
    firsts = np.append(np.flatnonzero(changes), len(pool))
    for number in crowded.tolist():
        first, after = int(firsts[number]), int(firsts[number + 1])
        layer[first:after] = _first_fit(starts[first:after].tolist(), ends[first:after].tolist())
    return layer


def _first_fit(starts: list[int], ends: list[int]) -> list[int]:
    """Return a layer for each call so that the calls of a layer do not overlap; a call takes the one free
    longest, and a new one where none is free."""
    layers = []
    busy: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        if busy and busy[0][0] <= start:
            layer = heappop(busy)[1]
        elif len(busy) < _LAYERS:
            layer = len(busy)
        else:
            layers.append(-1)
            continue
        heappush(busy, (end, layer))
        layers.append(layer)
    return layers
