"""Confidence intervals of differences by a two-level bootstrap: runs are resampled, then windows of each run.

Windows of one run are not independent of each other (one temperature, the same other load on the machine), so
with several runs the runs are drawn, then windows within each drawn run (a cluster bootstrap). The intervals
are percentile intervals. The seed is a constant: the same input gives the same interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray

FloatArray: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Literal["mean"] | float
"""The mean, or a nearest-rank percentile as a fraction."""

LEVEL = 0.95
DRAWS = 1000
"""Of each side in each of two streams, so an interval rests on twice as many differences."""
FEWEST = 5
"""Windows (or runs) that each side needs for an interval."""
_SEED = 20250611
_MOST_DRAWN_WINDOWS = 20_000_000
_FEWEST_DRAWS = 100
_BATCH_CELLS = 2_000_000


@dataclass(frozen=True)
class Panel:
    """The windows of one side, run after run: the number of windows per run, and columns over all of them.

    A column is NaN where a window does not count for it::

        sizes    (3, 2)            two runs
        columns  [a a a | b b]     one value per window
    """

    sizes: tuple[int, ...]
    columns: tuple[FloatArray, ...]

    def in_order(self) -> Panel:
        """Return the same runs in an order that depends on their contents only."""
        edges = np.cumsum([0, *self.sizes])
        runs = [np.arange(start, end) for start, end in pairwise(edges)]
        runs.sort(key=lambda rows: (len(rows), *(column[rows].tobytes() for column in self.columns)))
        rows = np.concatenate(runs) if runs else np.zeros(0, np.int64)
        return Panel(tuple(len(run) for run in runs), tuple(column[rows] for column in self.columns))


@dataclass(frozen=True)
class ColumnStatistic:
    """A statistic of one of a panel's columns."""

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


def fewest_values(statistic: Statistic) -> int:
    """Return the number of values that a statistic needs: of fewer than 100, the p99 is only the largest."""
    if statistic == "mean":
        return FEWEST
    return max(FEWEST, int(np.ceil(1 / (1 - float(statistic)) - 1e-9)))


def intervals(
    base: Panel, new: Panel, statistics: Sequence[ColumnStatistic]
) -> list[tuple[float, float] | None]:
    """Return the interval of new minus base for each statistic; None where too many draws are empty.

    Each side is drawn by two random streams, and their differences are taken crosswise. Swapping the sides
    therefore negates the interval exactly.
    """
    base, new = base.in_order(), new.in_order()
    draws = min(_draws(base), _draws(new))
    # With one stream per side, BASE would always be drawn with the first stream, and swapping the sides would
    # change the interval. Crosswise, the differences of swapped sides are the negated ones:
    #   new[0] - base[1], new[1] - base[0]
    streams = range(2)
    of_base = [resampled(base, statistics, draws, stream) for stream in streams]
    of_new = [resampled(new, statistics, draws, stream) for stream in streams]
    differences = np.concatenate([of_new[stream] - of_base[1 - stream] for stream in streams])
    tails = [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2]
    result: list[tuple[float, float] | None] = []
    for column in differences.T:
        drawn = column[~np.isnan(column)]
        if 2 * len(drawn) < len(column):
            result.append(None)
            continue
        low, high = np.percentile(drawn, tails)
        result.append((float(low), float(high)))
    return result


def _draws(panel: Panel) -> int:
    return int(np.clip(_MOST_DRAWN_WINDOWS // max(1, sum(panel.sizes)), _FEWEST_DRAWS, DRAWS))


def resampled(panel: Panel, statistics: Sequence[ColumnStatistic], draws: int, stream: int) -> FloatArray:
    """Return the statistics of each draw, as an array of draws × statistics."""
    if not sum(panel.sizes):
        return np.full((draws, len(statistics)), np.nan)
    rng = np.random.default_rng((_SEED, stream))
    return np.concatenate(
        [_statistics(counts, panel, statistics) for counts in _counts(panel.sizes, draws, rng)]
    )


def _counts(sizes: Sequence[int], draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield how often each window is drawn, in batches of draws: arrays of draws × windows.

    Resampled columns are not built: the counts are how often each value occurs in them. With two runs of
    three and two windows, one draw may be (the first run drawn twice, so six windows of it)::

        [ 3 1 2 | 0 0 ]
    """
    total = sum(sizes)
    batch = max(1, _BATCH_CELLS // total)
    for start_draw in range(0, draws, batch):
        rows = min(batch, draws - start_draw)
        counts = np.zeros((rows, total))
        chosen = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=rows)
        start = 0
        for run, size in enumerate(sizes):
            counts[:, start : start + size] = _windows_drawn(chosen[:, run], size, rng)
            start += size
        yield counts


def _windows_drawn(times: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Return how often each window of a run is drawn, where ``times`` is how often the run was drawn."""
    rows = np.repeat(np.arange(len(times)), times * size)
    drawn = rng.integers(size, size=len(rows)) if size else np.zeros(0, np.int64)
    counts = np.bincount(rows * size + drawn, minlength=len(times) * size)
    return counts.reshape(len(times), size).astype(np.float64)


def _statistics(counts: FloatArray, panel: Panel, statistics: Sequence[ColumnStatistic]) -> FloatArray:
    """Return the statistics of the draws that ``counts`` describe, as an array of draws × statistics."""
    result = np.full((len(counts), len(statistics)), np.nan)
    sorted_columns: dict[int, tuple[FloatArray, FloatArray]] = {}
    for position, spec in enumerate(statistics):
        values = panel.columns[spec.column]
        has_value = np.flatnonzero(~np.isnan(values))
        if not len(has_value):
            continue
        if spec.statistic == "mean":
            weight = counts[:, has_value]
            drawn = weight.sum(axis=1)
            mean = weight @ values[has_value] / np.maximum(drawn, 1)
            result[:, position] = np.where(drawn > 0, mean, np.nan)
            continue
        # A percentile is the value at which the running count of drawn windows reaches the rank:
        #   sorted values   10 11 12 14
        #   drawn            2  0  1  1
        #   cumulative       2  2  3  4      rank 3 is reached at 12
        if spec.column not in sorted_columns:
            order = has_value[np.argsort(values[has_value], kind="stable")]
            sorted_columns[spec.column] = (values[order], np.cumsum(counts[:, order], axis=1))
        ordered, cumulative = sorted_columns[spec.column]
        drawn = cumulative[:, -1]
        ranks = np.maximum(1, np.ceil(float(spec.statistic) * drawn - 1e-9))
        percentile = ordered[np.argmax(cumulative >= ranks[:, None], axis=1)]
        result[:, position] = np.where(drawn > 0, percentile, np.nan)
    return result
