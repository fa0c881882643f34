"""Lengths of calls: how much longer some are than others, where few calls already show it."""

from __future__ import annotations

from math import comb

import numpy as np

from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.finding import Action
from tracekit.model.columns import IntArray

_CLEAR = 0.9
"""Of all pairs of a call and another, the part in which the first must be longer for a claim of cost."""
_CHANCE = 20
CALLS_FOR_MEDIAN, CALLS_FOR_P90, CALLS_FOR_P99 = 6, 36, 368
"""So many calls have an interval of 95 % for the percentile: the largest of fewer may lie below it
(1 - q^n < 97.5 %; docs/statistics.md)."""
_MANY = 3
"""Three and three calls can be ordered in ``_CHANCE`` ways."""


def extra_length(calls: Calls, rows: IntArray, others: IntArray) -> int:
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
    return max(calls.median(lengths) - calls.median(shorter), 0) if clearly_longer(lengths, shorter) else 0


def clearly_longer(lengths: IntArray, others: IntArray) -> bool:
    """Return whether nearly every one of some lengths is longer than nearly every one of the others."""
    if not len(lengths) or not len(others):
        return False
    shorter = np.searchsorted(np.sort(others), lengths, "left")
    return float(shorter.sum()) >= _CLEAR * len(lengths) * len(others)


def typical_length(calls: Calls, rows: IntArray) -> int:
    """Return the median length of some calls, without first ones where there are others: the headline's."""
    warm = rows[~calls.first[rows]]
    return calls.median(calls.lengths[warm if len(warm) else rows])


def share_of(amount_ns: IntArray, lengths: IntArray) -> float:
    """Return the part that some times are of all calls' time."""
    return float(amount_ns.sum(dtype=np.float64)) / max(float(lengths.sum(dtype=np.float64)), 1.0)


def hold_length(model: ModelCalls, statistic: str, limit_ns: int) -> Action:
    """Return the next step that holds a length of a model's calls in CI.

    A percentile that the calls are too few for could not be decided: a lower one, or the longest call, is.
    """
    warm = len(model.rows) - 1
    if statistic == "p99" and warm < CALLS_FOR_P99:
        statistic = "max"
    if statistic == "p90" and warm < CALLS_FOR_P90:
        statistic = "p50"
    return Action("check-latency", {"model": model.model, "statistic": statistic, "limit_ns": limit_ns})
