"""How the time of a large recording is cut into tiles, so that a page asks for what it shows and no more."""

from __future__ import annotations

import numpy as np

from tracekit.model.columns import IntArray

TILE_BINS = 1_024
TILE_LANES = 32
"""A tile holds so many bins, for so many lanes."""


def levels(duration_ns: int) -> int:
    """Return how many levels there are: of each, a bin is at least a nanosecond long, but for the first."""
    return max(1, (duration_ns // TILE_BINS).bit_length())


def tile_edges(duration_ns: int, level: int, index: int) -> IntArray:
    """Return the edges of a tile's bins: the level's bins split [0, duration) evenly, in whole nanoseconds.

    Edge k of n is floor(duration × k / n), reckoned so that nothing leaves 64 bits below 10^15 ns.
    """
    bins = TILE_BINS << level
    whole, part = divmod(duration_ns * TILE_BINS * index, bins)
    edges: IntArray = whole + (part + duration_ns * np.arange(TILE_BINS + 1, dtype=np.int64)) // bins
    return edges
