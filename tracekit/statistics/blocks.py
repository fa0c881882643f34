"""The number of neighbouring calls in a block, whose means show how much calls resemble each other.

Blocks have to be longer than calls resemble each other, or their means vary too little: those of blocks as
long as bursts of calls have two thirds of the variance. 1.3 times the root of the calls is long enough for
most series, with Student's t for the few blocks that are left (Lazarus, Lewis, Stock and Watson 2018); spells
of slow calls (a busy core, a hot device) can last longer, which only their autocorrelation shows.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]

_QUIET_LAGS = 5
"""Autocorrelations in a row that must be within chance, at least, before the rest is taken for chance."""
_WITHIN_CHANCE = 2.0
"""Multiples of sqrt(log10(n) / n) below which an autocorrelation is within chance."""


def compute_block_length(count: int) -> int:
    """Return the length of blocks of calls that resemble a few neighbours at most."""
    return max(1, min(find_longest_block(count), math.ceil(1.3 * math.sqrt(count))))


def choose_block_length(values: FloatArray) -> int:
    """Return the length of blocks for the mean of calls in their order, by how long they resemble each other.

    The length with the least mean squared error of the variance of the mean, for circular blocks (Politis and
    White 2004, as corrected by Patton, Politis and White 2009), from the autocovariances up to the lag at
    which they are within chance. Not less than ``compute_block_length``, not more than a third of the calls.
    """
    count = len(values)
    shortest = compute_block_length(count)
    if count < 2 * _QUIET_LAGS or float(values.std()) <= 1e-12 * abs(float(values.mean())):
        return shortest
    covariances = _compute_autocovariances(values)
    reach = min(len(covariances) - 1, 2 * _find_last_lag(covariances, count))
    lags = np.arange(-reach, reach + 1)
    # A flat top with sloping sides: 1 up to half of the reach, then down to 0.
    weights = np.clip(2 * (1 - np.abs(lags) / max(1, reach)), 0, 1)
    weighted = weights * covariances[np.abs(lags)]
    slope, variance = float((np.abs(lags) * weighted).sum()), float(weighted.sum())
    if variance <= 0:
        return shortest
    best = math.ceil(math.cbrt(1.5 * (slope / variance) ** 2 * count))
    return min(max(shortest, best), find_longest_block(count))


def find_longest_block(count: int) -> int:
    """Return the longest block of which a run of this many calls has three."""
    return math.ceil(count / 3)


def _compute_autocovariances(values: FloatArray) -> FloatArray:
    """Return the autocovariances from lag 0 to the longest that is looked at."""
    count = len(values)
    deviations = values - values.mean()
    longest = min(count - 1, math.ceil(math.sqrt(count)) + _count_quiet_lags(count))
    padded = 1 << (count + longest).bit_length()
    spectrum = np.fft.rfft(deviations, padded)
    covariances: FloatArray = np.fft.irfft(spectrum * spectrum.conj(), padded)[: longest + 1] / count
    return covariances


def _find_last_lag(covariances: FloatArray, count: int) -> int:
    """Return the smallest lag after which the autocorrelations are within chance."""
    quiet = _count_quiet_lags(count)
    is_large = (
        np.abs(covariances[1:]) > _WITHIN_CHANCE * math.sqrt(math.log10(count) / count) * covariances[0]
    )
    large = np.flatnonzero(is_large) + 1
    previous = 0
    for lag in large.tolist():
        if lag - previous > quiet:
            break
        previous = lag
    return max(1, previous)


def _count_quiet_lags(count: int) -> int:
    return max(_QUIET_LAGS, math.ceil(math.sqrt(math.log10(count))))
