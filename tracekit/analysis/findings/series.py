"""Series of lengths: outliers, a trend, and two groups, on logarithms, where a difference is a factor.

The thresholds are those at which no more than one in a hundred simulated series without an effect has any:
log-normal lengths, independent or of neighbours alike up to 0.9 (``tests/findings/test_series.py``).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import BoolArray

FloatArray: TypeAlias = npt.NDArray[np.float64]

FEWEST = 20
"""Series of fewer lengths have neither outliers nor a trend nor groups."""
_SPREAD_FLOOR = 0.03
"""Lengths that vary less are not compared any closer: tables round, and clocks have ticks."""

_SPREADS_OUT, _FACTOR_OUT = 6, np.log(1.5)
_MOST_OUTLYING = 0.1

_BLOCKS = 10
_TREND, _TREND_SPREADS = np.log(1.1), 1.5
_DISCORDANT, _DISCORDANT_OF_FEW, _MANY = 3, 1, 60
"""Pairs of 45 in the wrong order: few lengths resemble their neighbours more, so that fewer pairs may be."""

_SPREADS_APART, _FACTOR_APART = 6, np.log(1.3)
_SMALLEST_GROUP, _SMALLEST_SHARE = 5, 0.15
_CLIPPED = 95


def mark_outliers(logs: FloatArray) -> BoolArray:
    """Mark lengths far above the rest; none where they are too many to be single ones."""
    distance = logs - np.median(logs)
    marked: BoolArray = distance > max(_SPREADS_OUT * _spread(logs), _FACTOR_OUT)
    return marked if marked.sum() <= _MOST_OUTLYING * len(marked) else np.zeros(len(marked), bool)


def measure_trend(logs: FloatArray) -> float:
    """Return the change from the first length to the last if they grow or shrink steadily, else 0.

    Ten blocks' medians are in order, but for a few of their pairs (Kendall), and the change by the median of
    the pairs' slopes (Theil, Sen) is larger than the spread around it.
    """
    edges = np.linspace(0, len(logs), _BLOCKS + 1).astype(int).tolist()
    levels = np.array([np.median(logs[first:after]) for first, after in pairwise(edges)])
    first, second = np.triu_indices(_BLOCKS, 1)
    rises = levels[second] - levels[first]
    change = float(np.median(rises / (second - first))) * (_BLOCKS - 1)
    discordant = int((np.sign(rises) != np.sign(change)).sum())
    if discordant > (_DISCORDANT if len(logs) >= _MANY else _DISCORDANT_OF_FEW):
        return 0
    around = logs - change * np.linspace(0, 1, len(logs))
    return change if abs(change) >= max(_TREND, _TREND_SPREADS * _spread(around)) else 0


def mark_longer_group(logs: FloatArray) -> BoolArray | None:
    """Mark the longer ones where lengths form two groups clearly apart; None where they do not.

    The groups are those of least spread. Their means have to differ by six standard deviations within them:
    halves of one normal distribution differ by 2.7, those of an even one by 3.5.
    """
    order = np.argsort(logs, kind="stable")
    # A few far outliers would widen the spread of the longer group.
    ordered = np.minimum(logs[order], np.percentile(logs, _CLIPPED))
    ordered = ordered - ordered.mean()
    count = len(ordered)
    fewest = max(_SMALLEST_GROUP, int(np.ceil(_SMALLEST_SHARE * count)))
    cuts = np.arange(fewest, count - fewest + 1)
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    lower, upper = sums[cuts - 1], sums[-1] - sums[cuts - 1]
    within = squares[-1] - lower**2 / cuts - upper**2 / (count - cuts)
    best = int(within.argmin())
    cut = int(cuts[best])
    difference = upper[best] / (count - cut) - lower[best] / cut
    spread = max(float(np.sqrt(max(within[best], 0) / count)), _SPREAD_FLOOR)
    if difference < max(_SPREADS_APART * spread, _FACTOR_APART):
        return None
    is_longer = np.zeros(count, bool)
    is_longer[order[cut:]] = True
    return is_longer


def _spread(values: FloatArray) -> float:
    """Return the standard deviation that the median of the distances from the median suggests."""
    return max(1.4826 * float(np.median(np.abs(values - np.median(values)))), _SPREAD_FLOOR)
