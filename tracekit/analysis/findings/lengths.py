"""Lengths of calls: how much longer some are than others, where few calls already show it."""

from __future__ import annotations

from math import comb

import numpy as np

from tracekit.analysis.findings.action import Action, Statistic
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.model.columns import IntArray

_CLEAR = 0.9
"""Of all pairs of a call and another, the part in which the first must be longer for a claim of cost."""
_CHANCE = 20
CALLS_FOR_MEDIAN, CALLS_FOR_P90, CALLS_FOR_P99 = 6, 36, 368
"""So many calls have an interval of 95 % for the percentile: the largest of fewer may lie below it
(1 - q^n < 97.5 %; docs/statistics.md)."""
_FEWEST_OF_KIND, _APART = 2, 1.15
"""Choices: fewer calls of a length, or lengths less apart, are no two kinds."""
_MANY = 3
"""Three and three calls can be ordered in ``_CHANCE`` ways."""


def measure_extra_length(calls: Calls, rows: IntArray, others: IntArray) -> int:
    """Return how much longer the median of some calls is than that of others; 0 where that may be chance.

    First calls are left out. Of calls that differ by chance alone, nearly all of the first would be longer
    than the others once in 20 times or less.
    """
    if not calls.is_timed:
        return 0
    rows, others = rows[~calls.first[rows]], others[~calls.first[others]]
    fewest, sum_of_both = min(len(rows), len(others)), len(rows) + len(others)
    if not fewest or (fewest < _MANY and comb(sum_of_both, fewest) < _CHANCE):
        return 0
    lengths, shorter = calls.lengths[rows], calls.lengths[others]
    return max(calls.median(lengths) - calls.median(shorter), 0) if is_clearly_longer(lengths, shorter) else 0


def sum_extra_length(calls: Calls, rows: IntArray, others: IntArray) -> int:
    """Return how much longer some calls are than the median of others, in all; 0 where that may be chance."""
    if not measure_extra_length(calls, rows, others):
        return 0
    usual_ns = calls.median(calls.lengths[others[~calls.first[others]]])
    lengths: list[int] = calls.lengths[rows[~calls.first[rows]]].tolist()
    return max(sum(lengths) - len(lengths) * usual_ns, 0)


def is_clearly_longer(lengths: IntArray, others: IntArray) -> bool:
    """Return whether nearly every one of some lengths is longer than nearly every one of the others."""
    if not len(lengths) or not len(others):
        return False
    shorter = np.searchsorted(np.sort(others), lengths, "left")
    return float(shorter.sum()) >= _CLEAR * len(lengths) * len(others)


def compute_typical_length(calls: Calls, rows: IntArray) -> int:
    """Return the median length of some calls, without first ones where there are others: the headline's.

    Of an even number of calls, it is the mean of the two in the middle.
    """
    lengths = select_warm_lengths(calls, rows)
    return round(float(np.median(lengths))) if len(lengths) else 0


def select_warm_lengths(calls: Calls, rows: IntArray) -> IntArray:
    """Return the lengths of some calls, without first ones where there are others."""
    warm = rows[~calls.first[rows]]
    return calls.lengths[warm if len(warm) else rows]


def find_two_lengths(lengths: IntArray) -> tuple[int, int] | None:
    """Return the range of most lengths where they are of two kinds, so that a median is no typical one.

    A quarter of them or more lie on each side of a gap that is wider than either side.
    """
    ordered = np.sort(lengths)
    fewest = max(_FEWEST_OF_KIND, -(-len(ordered) // 4))
    cuts = np.arange(fewest, len(ordered) - fewest + 1)
    if not len(cuts):
        return None
    first, last = (int(edge) for edge in np.percentile(ordered, [10, 90], method="inverted_cdf"))
    # A few lengths far out are of no kind, and widen neither side.
    gaps = ordered[cuts] - ordered[cuts - 1]
    cut = int(cuts[gaps.argmax()])
    low, high = int(ordered[cut - 1]), int(ordered[cut])
    is_apart = high - low > max(low - first, last - high) and high >= _APART * low
    return (first, last) if is_apart else None


def compute_share(amount_ns: IntArray, lengths: IntArray) -> float:
    """Return the part that some times are of all calls' time."""
    return float(amount_ns.sum(dtype=np.float64)) / max(float(lengths.sum(dtype=np.float64)), 1.0)


def hold_length(model: ModelCalls, statistic: Statistic, limit_ns: int) -> Action:
    """Return the next step that holds a length of a model's calls in CI.

    A percentile that the calls are too few for could not be decided: a lower one, or the longest call, is.
    """
    warm = len(model.rows) - 1
    if statistic == "p99" and warm < CALLS_FOR_P99:
        statistic = "max"
    if statistic == "p90" and warm < CALLS_FOR_P90:
        statistic = "p50"
    return Action("check-latency", {"model": model.model, "statistic": statistic, "limit_ns": limit_ns})
