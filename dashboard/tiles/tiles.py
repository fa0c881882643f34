"""Tiles: the share of each bin of time that the engines of some lanes cover, at a level of zoom."""

from __future__ import annotations

import numpy as np

from dashboard.tiles.sample_columns import Bools, Ints, SampleColumns, SampleGroup
from tracekit.report.viewmodel.occupancy import TILE_LANES, Plane, as_bytes, covered_ns, tile_edges


def lanes_tile(samples: SampleColumns, level: int, index: int, block: int, mask: Bools | None) -> bytes:
    """Return a plane per engine of each lane of a block, of the samples in ``mask``, None for all."""
    edges = tile_edges(samples.duration_ns, level, index)
    lanes = samples.groups_of_lanes[TILE_LANES * block : TILE_LANES * (block + 1)]
    planes = [
        _whole(samples, group, edges) if mask is None else _masked(samples, group, edges, mask)
        for groups in lanes
        for group in groups
    ]
    return b"".join(_shares(plane, edges).tobytes() for plane in planes)


def spans_tile(samples: SampleColumns, level: int, index: int) -> bytes:
    """Return the planes of measured intervals, for each lane with too many for the page."""
    edges = tile_edges(samples.duration_ns, level, index)
    names = [name for lane in samples.spans for name in lane]
    return b"".join(_shares(_covered(samples[name], edges), edges).tobytes() for name in names)


def _shares(covered: Ints, edges: Ints) -> Plane:
    return as_bytes(covered / np.maximum(np.diff(edges), 1))


def _whole(samples: SampleColumns, group: SampleGroup, edges: Ints) -> Ints:
    """Return the covered time per bin by sums up to each edge, however many samples lie between."""
    return np.diff(samples.covered_before(group, edges))


def _masked(samples: SampleColumns, group: SampleGroup, edges: Ints, mask: Bools) -> Ints:
    # A sample that began before the tile reaches into it only if it is long enough: none is longer than the
    # longest.
    first, end = samples.rows(group, int(edges[0]) - group.longest_ns, int(edges[-1]))
    selected = mask[first:end]
    start = samples.time[first:end][selected]
    return covered_ns(start, start + samples.lengths(slice(first, end))[selected], edges)


def _covered(spans: Ints, edges: Ints) -> Ints:
    """Return the covered time per bin; the spans are disjoint, so starts and ends are both sorted."""
    first = np.searchsorted(spans[1], edges[0], "right")
    starts, ends = spans[:, first : np.searchsorted(spans[0], edges[-1])]
    return covered_ns(starts, ends, edges)
