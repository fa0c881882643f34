"""How much the statistics of one run vary by chance: the block bootstrap.

Calls that follow each other are alike (caches, clocks, temperature), so single calls are not drawn, but
blocks of neighbours: the circular block bootstrap of Politis and Romano (1992). The seed is a constant: the
same input gives the same draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tracekit.statistics.blocks import (
    FloatArray,
    choose_block_length,
    compute_block_length,
    find_longest_block,
)

Statistic: TypeAlias = Literal["mean"] | float
"""The mean, or a nearest-rank percentile as a fraction."""

DRAWS = 1000
"""Of each side in each of two streams, so an interval rests on twice as many differences."""
FEWEST = 5
"""Calls that a run needs for an interval."""
_SEED = 20250611
_MOST_DRAWN_CALLS = 20_000_000
_FEWEST_DRAWS = 100
_BATCH_CELLS = 2_000_000


@dataclass(frozen=True)
class ColumnStatistic:
    """A statistic of one column of a run; a column has one value per window, NaN where it does not count."""

    column: int
    statistic: Statistic


def estimate(values: FloatArray, statistic: Statistic) -> float:
    """Return a statistic of the values that are not NaN; NaN where there is none."""
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan")
    if statistic == "mean":
        return float(values.mean())
    return float(np.sort(values)[rank(len(values), float(statistic)) - 1])


def rank(count: int, fraction: float) -> int:
    """Return the nearest rank of a percentile, from 1, as numpy's "inverted_cdf" defines it."""
    return max(1, int(np.ceil(np.float64(fraction) * count - 1e-9)))


def count_required_values(statistic: Statistic) -> int:
    """Return the number of values that a statistic needs: of fewer than 100, the p99 is only the largest."""
    if statistic == "mean":
        return FEWEST
    fraction = min(float(statistic), 1 - 1e-6)
    return max(FEWEST, int(np.ceil(1 / (1 - fraction) - 1e-9)))


def choose_block_lengths(columns: Sequence[FloatArray], statistics: Sequence[ColumnStatistic]) -> list[int]:
    """Return the lengths of blocks for a run's statistics: the usual one, and a longer one where needed.

    The longer one is as long as any of the statistics needs; a percentile varies as the share of calls above
    it does, a mean as the calls themselves. Blocks as long as a period of the calls vary too little, so the
    usual length stays beside it, and what varies more counts.
    """
    count = len(columns[0]) if columns else 0
    usual = longest = compute_block_length(count)
    for spec in statistics:
        values = columns[spec.column]
        values = values[~np.isnan(values)]
        if len(values) and spec.statistic != "mean":
            values = (values > estimate(values, spec.statistic)).astype(np.float64)
        # Windows without a value lie between those that resemble each other.
        windows = math.ceil(choose_block_length(values) * count / max(1, len(values)))
        longest = max(longest, min(windows, find_longest_block(count)))
    return sorted({usual, longest})


def choose_draw_count(windows: int) -> int:
    """Return the number of draws; fewer where there are very many windows."""
    return int(np.clip(_MOST_DRAWN_CALLS // max(1, windows), _FEWEST_DRAWS, DRAWS))


def resample_statistics(
    columns: Sequence[FloatArray],
    statistics: Sequence[ColumnStatistic],
    draws: int,
    length: int,
    seed: tuple[int, ...],
) -> FloatArray:
    """Return the statistics of each draw of a run's windows, in blocks of ``length`` windows.

    The array has draws × statistics.
    """
    count = len(columns[0]) if columns else 0
    if not count:
        return np.full((draws, len(statistics)), np.nan)
    rng = np.random.default_rng((_SEED, *seed))
    batches = _iter_counts(count, draws, length, rng)
    return np.concatenate([_compute_statistics(counts, columns, statistics) for counts in batches])


def _iter_counts(count: int, draws: int, length: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield how often each window is drawn, in batches of draws: arrays of draws × windows.

    Resampled columns are not built: the counts are how often each value occurs in them. Each row is a sum of
    blocks, which wrap around at the end; with six windows, a block of three from 1 and one from 4::

        +1 at the start, -1 after the end    [ 0  1  0  0  0  0 | 0 -1 … ]
        cumulative sum                       [ 0  1  1  1  1  1 | 1  0 … ]
        end wrapped to the start             [ 1  1  1  1  1  1 ]
    """
    blocks = math.ceil(count / length)
    lengths = np.full(blocks, length)
    lengths[-1] = count - (blocks - 1) * length
    batch = max(1, _BATCH_CELLS // (2 * count))
    for first_draw in range(0, draws, batch):
        rows = min(batch, draws - first_draw)
        starts = rng.integers(count, size=(rows, blocks)) + np.arange(rows)[:, None] * 2 * count
        size = rows * 2 * count + 1
        edges = np.bincount(starts.ravel(), minlength=size) - np.bincount(
            (starts + lengths).ravel(), minlength=size
        )
        doubled = np.cumsum(edges[:-1].reshape(rows, 2 * count), axis=1)
        yield (doubled[:, :count] + doubled[:, count:]).astype(np.float64)


def _compute_statistics(
    counts: FloatArray, columns: Sequence[FloatArray], statistics: Sequence[ColumnStatistic]
) -> FloatArray:
    """Return the statistics of the draws that ``counts`` describe, as an array of draws × statistics."""
    result = np.full((len(counts), len(statistics)), np.nan)
    sorted_columns: dict[int, tuple[FloatArray, FloatArray]] = {}
    for position, spec in enumerate(statistics):
        values = columns[spec.column]
        has_value = np.flatnonzero(~np.isnan(values))
        if not len(has_value):
            continue
        if spec.statistic == "mean":
            weight = counts[:, has_value]
            window_counts = weight.sum(axis=1)
            mean = weight @ values[has_value] / np.maximum(window_counts, 1)
            result[:, position] = np.where(window_counts > 0, mean, np.nan)
            continue
        # A percentile is the value at which the running count of drawn windows reaches the rank:
        #   sorted values   10 11 12 14
        #   drawn            2  0  1  1
        #   cumulative       2  2  3  4      rank 3 is reached at 12
        if spec.column not in sorted_columns:
            order = has_value[np.argsort(values[has_value], kind="stable")]
            sorted_columns[spec.column] = (values[order], np.cumsum(counts[:, order], axis=1))
        ordered, cumulative = sorted_columns[spec.column]
        window_counts = cumulative[:, -1]
        ranks = np.maximum(1, np.ceil(float(spec.statistic) * window_counts - 1e-9))
        percentile = ordered[np.argmax(cumulative >= ranks[:, None], axis=1)]
        result[:, position] = np.where(window_counts > 0, percentile, np.nan)
    return result
