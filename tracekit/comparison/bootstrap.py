"""How far a difference can be chance: both sides drawn again, runs first and then windows of each run.

Windows of one run are not independent of each other (one temperature, one neighbour on the machine), so with
several runs the runs are drawn, then windows within each run drawn (a cluster bootstrap). Percentile
intervals. Everything is seeded by a constant: the same input gives the same interval.
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
"""Windows (or runs) on each side below which nothing is said."""
_SEED = 20250611
_WORK = 20_000_000
_FEWEST_DRAWS = 100
_CELLS = 2_000_000


@dataclass(frozen=True)
class Panel:
    """The windows of one side: how many each run has, one after another, and columns over all of them.

    A column is NaN where a window does not count for it.
    """

    sizes: tuple[int, ...]
    columns: tuple[FloatArray, ...]

    def in_order(self) -> Panel:
        """Return the same runs in an order that depends on what they hold, not on how they were given."""
        edges = np.cumsum([0, *self.sizes])
        runs = [np.arange(start, end) for start, end in pairwise(edges)]
        runs.sort(key=lambda rows: (len(rows), *(column[rows].tobytes() for column in self.columns)))
        rows = np.concatenate(runs) if runs else np.zeros(0, np.int64)
        return Panel(tuple(len(run) for run in runs), tuple(column[rows] for column in self.columns))


@dataclass(frozen=True)
class Wanted:
    """A statistic of one of a panel's columns."""

    column: int
    statistic: Statistic


def estimate(values: FloatArray, statistic: Statistic) -> float:
    """Return a statistic of what is known of a column; NaN of nothing."""
    known = values[~np.isnan(values)]
    if not len(known):
        return float("nan")
    if statistic == "mean":
        return float(known.mean())
    return float(np.sort(known)[rank(len(known), float(statistic)) - 1])


def rank(count: int, fraction: float) -> int:
    """Return the nearest rank of a percentile, from 1, as numpy's "inverted_cdf" has it."""
    return max(1, int(np.ceil(np.float64(fraction) * count - 1e-9)))


def needed(statistic: Statistic) -> int:
    """Return how many values a statistic wants: of fewer than 100, the p99 is only the largest."""
    if statistic == "mean":
        return FEWEST
    return max(FEWEST, int(np.ceil(1 / (1 - float(statistic)) - 1e-9)))


def intervals(base: Panel, new: Panel, wanted: Sequence[Wanted]) -> list[tuple[float, float] | None]:
    """Return the interval of new minus base for each statistic; None where too many draws are empty.

    Each side is drawn by two streams of chance, and their differences are taken crosswise: so swapping the
    sides turns the interval round, exactly.
    """
    base, new = base.in_order(), new.in_order()
    draws = min(_draws(base), _draws(new))
    streams = range(2)
    of_base = [resampled(base, wanted, draws, stream) for stream in streams]
    of_new = [resampled(new, wanted, draws, stream) for stream in streams]
    differences = np.concatenate([of_new[one] - of_base[1 - one] for one in streams])
    tails = [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2]
    found: list[tuple[float, float] | None] = []
    for column in differences.T:
        known = column[~np.isnan(column)]
        if 2 * len(known) < len(column):
            found.append(None)
            continue
        low, high = np.percentile(known, tails)
        found.append((float(low), float(high)))
    return found


def _draws(panel: Panel) -> int:
    return int(np.clip(_WORK // max(1, sum(panel.sizes)), _FEWEST_DRAWS, DRAWS))


def resampled(panel: Panel, wanted: Sequence[Wanted], draws: int, stream: int) -> FloatArray:
    """Return draws × statistics."""
    if not sum(panel.sizes):
        return np.full((draws, len(wanted)), np.nan)
    rng = np.random.default_rng((_SEED, stream))
    return np.concatenate([_statistics(counts, panel, wanted) for counts in _counts(panel.sizes, draws, rng)])


def _counts(sizes: Sequence[int], draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield how often each window is drawn, some draws at a time: draws × windows."""
    total = sum(sizes)
    batch = max(1, _CELLS // total)
    for done in range(0, draws, batch):
        rows = min(batch, draws - done)
        counts = np.zeros((rows, total))
        chosen = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=rows)
        start = 0
        for run, size in enumerate(sizes):
            counts[:, start : start + size] = _windows_drawn(chosen[:, run], size, rng)
            start += size
        yield counts


def _windows_drawn(times: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Return how often each window of a run is drawn where the run itself was drawn so many times."""
    rows = np.repeat(np.arange(len(times)), times * size)
    drawn = rng.integers(size, size=len(rows)) if size else np.zeros(0, np.int64)
    counts = np.bincount(rows * size + drawn, minlength=len(times) * size)
    return counts.reshape(len(times), size).astype(np.float64)


def _statistics(counts: FloatArray, panel: Panel, wanted: Sequence[Wanted]) -> FloatArray:
    result = np.full((len(counts), len(wanted)), np.nan)
    sums: dict[int, tuple[FloatArray, FloatArray]] = {}
    for at, one in enumerate(wanted):
        values = panel.columns[one.column]
        known = np.flatnonzero(~np.isnan(values))
        if not len(known):
            continue
        if one.statistic == "mean":
            weight = counts[:, known]
            drawn = weight.sum(axis=1)
            result[:, at] = np.where(drawn > 0, weight @ values[known] / np.maximum(drawn, 1), np.nan)
            continue
        if one.column not in sums:
            order = known[np.argsort(values[known], kind="stable")]
            sums[one.column] = (values[order], np.cumsum(counts[:, order], axis=1))
        ordered, reached = sums[one.column]
        drawn = reached[:, -1]
        place = np.maximum(1, np.ceil(float(one.statistic) * drawn - 1e-9))
        found = ordered[np.argmax(reached >= place[:, None], axis=1)]
        result[:, at] = np.where(drawn > 0, found, np.nan)
    return result
