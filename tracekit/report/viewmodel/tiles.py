"""Tiles: a large recording's time cut into pieces, so that a page fetches only what it shows.

Level L splits the run into 2^L tiles of ``TILE_BINS`` bins each, so each level has bins half as long.
"""

from __future__ import annotations

import numpy as np

from tracekit.model.columns import IntArray

TILE_BINS = 1_024
TILE_LANES = 32
"""The bins of a tile, and the lanes of a block: a tile is fetched for one block of lanes."""


def level_count(duration_ns: int) -> int:
    """Return the number of levels: beyond the first, no level has bins shorter than a nanosecond."""
    return max(1, (duration_ns // TILE_BINS).bit_length())


def tile_edges(duration_ns: int, level: int, index: int) -> IntArray:
    """Return the edges of a tile's bins: the level's bins split [0, duration) evenly, in whole nanoseconds.

    Edge k of n is floor(duration × k / n).
    """
    # The part of k before this tile goes through Python's integers; the rest fits 64 bits below 10^15 ns.
    bins = TILE_BINS << level
    quotient, remainder = divmod(duration_ns * TILE_BINS * index, bins)
    edges: IntArray = quotient + (remainder + duration_ns * np.arange(TILE_BINS + 1, dtype=np.int64)) // bins
    return edges
