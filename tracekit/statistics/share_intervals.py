"""The interval of a share of calls (Wilson); never 0 … 0, however alike the calls are.

Verdicts can come in spells (ten calls on the CPU after one failure), so the calls of a run count for fewer
than they are: for as many independent ones as give means of blocks the same variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracekit.statistics.blocks import (
    FloatArray,
    choose_block_length,
    compute_block_length,
    find_longest_block,
)
from tracekit.statistics.distributions import normal_quantile, t_quantile

LEVEL = 0.95
"""The confidence of intervals, where no other is asked for."""


def compute_wilson_interval(share: float, count: float, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a share of ``count`` independent calls (Wilson 1927)."""
    if not count:
        return 0.0, 1.0
    square = normal_quantile((1 + level) / 2) ** 2
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = math.sqrt(square * (share * (1 - share) / count + square / (4 * count**2))) / (1 + square / count)
    # At 0 and 1 an end is the share itself, up to rounding.
    low = 0.0 if share <= 0 else max(0.0, middle - half)
    return low, 1.0 if share >= 1 else min(1.0, middle + half)


def count_independent_calls(values: FloatArray, similar_runs: Sequence[FloatArray] = ()) -> float:
    """Return the number of independent calls that a run's calls, in their order, count for.

    ``similar_runs`` are the runs whose calls resemble their neighbours as much as these do: by default
    this one.
    """
    if not len(values):
        return 0.0
    return max(1.0, len(values) / compare_with_independent(similar_runs or [values]).calls)


@dataclass(frozen=True)
class Resemblance:
    """The variance of a mean as a multiple of that of independent calls, from few blocks of calls.

    ``df`` are the degrees of freedom of this estimate.
    """

    variance: float
    df: float

    @property
    def calls(self) -> float:
        """The number of calls that count for an independent one, with the normal distribution for t."""
        if self.variance <= 1:
            return 1.0
        tails = t_quantile((1 + LEVEL) / 2, self.df) / normal_quantile((1 + LEVEL) / 2)
        return self.variance * tails**2


def compare_with_independent(runs: Sequence[FloatArray]) -> Resemblance:
    """Return how much calls resemble their neighbours, by the variance of means of blocks; 1 at least.

    Means of blocks of independent calls have the variance of the calls / length. Where theirs is larger, it
    is an estimate from few blocks, with Student's t. The runs are pooled, because one without a spell of its
    verdicts does not show how long its spells are: the longest of their blocks is taken for all, beside the
    usual one. Blocks as long as a period of the calls do not vary at all, so what varies more counts.
    """
    longest = max((choose_block_length(values) for values in runs), default=1)
    usual = max((compute_block_length(len(values)) for values in runs), default=1)
    return max(
        (_compare_variances(runs, length) for length in sorted({usual, longest})),
        key=lambda resemblance: resemblance.calls,
    )


def _compare_variances(runs: Sequence[FloatArray], most: int) -> Resemblance:
    of_calls = of_blocks = blocks = 0.0
    for values in runs:
        count = len(values)
        length = min(most, find_longest_block(count))
        if count < 2:
            continue
        sums = np.cumsum(np.concatenate([[0.0], values, values[: length - 1]]))
        means = (sums[length:] - sums[:-length]) / length
        variance = float(((means - values.mean()) ** 2).mean()) * count / (count - length)
        of_calls += count * float(values.var())
        of_blocks += count * variance * length * (1 - 1 / count)
        blocks = max(blocks, count / length)
    inflation = of_blocks / of_calls if of_calls else 1.0
    return Resemblance(inflation if inflation > 1 + 1e-9 else 1.0, max(1.0, blocks - 1))


def estimate_share_interval(values: FloatArray, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a share of calls, 1 or 0 in their order."""
    return compute_wilson_interval(float(values.mean()), count_independent_calls(values), level)


def estimate_share_of_rows(rows: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return the interval of the share that the chosen calls are of these, by their rows in order of time."""
    return estimate_share_interval(np.isin(rows, chosen).astype(np.float64))
