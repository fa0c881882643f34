"""The rule that finds changes as builds come: levels and spreads of many series, and the evidence of change.

Many series move on together, a build at a time; docs/statistics.md has the method and its error rates::

    values of a series     o o o o o o o o o o o o   o o o
                           └──── reference ───────┘   └───┘ the last LAG: not yet part of the level
    two-of-two             both of the last two values are far from the level, on the same side
    CUSUM                  the sum of clipped distances, less DRIFT each, has grown
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]

REFERENCE = 40
"""The most builds that make a level."""
LAG = 3
"""The newest builds, which are not yet part of the level that they are compared with."""
MIN_BUILDS = 10
"""The fewest builds that make a level and its spread; 5 where the spread of an earlier level is known."""
MIN_BUILDS_AFTER_CHANGE = 5
TWO_OF_TWO = 2.6
"""Both of two builds are so many spreads from the level, in normal scores."""
DRIFT, LIMIT, CLIP = 0.75, 6.5, 2.5
"""The tabular CUSUM: what is taken off each distance, the sum that is evidence, the most a build adds."""
MIN_SPREAD = 0.002
"""The least spread that is believed, as a fraction: few builds may agree by chance."""
_WINSORISED_AT = 3.0
_MAD_OF_NORMAL = 1.4826


@frozen
class ChangeEvidence:
    """The evidence at one build, a value per series: NaN where a series has no value or no level yet.

    ``score`` is how far beyond its limit the stronger of the two rules is, as a normal score of a single
    build; ``change`` is the new values' distance from the level, ``length`` their number.
    """

    score: Floats
    change: Floats
    length: Integers


class Levels:
    """The state of many series: reference values, newest values, and CUSUMs."""

    def __init__(self, count: int, least_spread: float = MIN_SPREAD) -> None:
        self._reference: Floats = np.full((count, REFERENCE), np.nan)
        self._recent: Floats = np.full((count, LAG), np.nan)
        self._sums: Floats = np.zeros((count, 2))
        self._growing: Integers = np.zeros((count, 2), np.int64)
        self._growth: Floats = np.zeros((count, 2))
        self._earlier_spread: Floats = np.full(count, np.nan)
        self._earlier_count: Integers = np.zeros(count, np.int64)
        self._least = least_spread
        self.level: Floats = np.full(count, np.nan)
        self.spread: Floats = np.full(count, np.nan)
        self.count: Integers = np.zeros(count, np.int64)

    def update(self) -> None:
        """Compute levels and spreads of the reference values; NaN where there are too few."""
        filled = np.isfinite(self._reference)
        self.count = filled.sum(axis=1)
        has_spread = self.count >= MIN_BUILDS
        has_level = has_spread | (np.isfinite(self._earlier_spread) & (self.count >= MIN_BUILDS_AFTER_CHANGE))
        self.level[:] = np.nan
        self.spread[:] = np.nan
        rows = np.flatnonzero(has_level)
        if len(rows):
            level, spread = estimate_robust_level(self._reference[rows])
            self.level[rows] = level
            self.spread[rows] = np.where(has_spread[rows], spread, self._earlier_spread[rows])
            np.maximum(self.spread, self._least, out=self.spread)

    def weigh(self, values: Floats) -> ChangeEvidence:
        """Add a value per series (NaN for none) to the sums, and return the evidence of change.

        ``update`` comes before, ``add_values`` after it.
        """
        present = np.isfinite(values) & np.isfinite(self.level)
        freedom = np.maximum(np.where(self.count >= MIN_BUILDS, self.count, self._earlier_count) - 1, 2)
        widened = self.spread * np.sqrt(1 + 1 / np.maximum(self.count, 1))
        scores = compute_normal_score((values - self.level) / widened, freedom)
        previous = compute_normal_score((self._recent[:, -1] - self.level) / widened, freedom)
        pair, change = _combine_two_scores(previous, scores, (self._recent[:, -1] + values) / 2 - self.level)
        self._add_scores(np.where(present, scores, np.nan), values - self.level)
        side = np.argmax(self._sums, axis=1)
        rows = np.arange(len(values))
        total = self._sums[rows, side]
        length = self._growing[rows, side]
        slow = TWO_OF_TWO * total / LIMIT
        use_sum = slow > pair
        score = np.where(present, np.where(use_sum, slow, pair), np.nan)
        mean = self._growth[rows, side] / np.maximum(length, 1)
        return ChangeEvidence(score, np.where(use_sum, mean, change), np.where(use_sum, length, 2))

    def _add_scores(self, scores: Floats, distances: Floats) -> None:
        """Add clipped normal scores to the sums upward and downward."""
        present = np.isfinite(scores)
        clipped_scores = np.clip(np.nan_to_num(scores), -CLIP, CLIP)
        for side, sign in ((0, 1.0), (1, -1.0)):
            grown = np.maximum(0, self._sums[:, side] + sign * clipped_scores - DRIFT)
            self._sums[:, side] = np.where(present, grown, self._sums[:, side])
            begins = present & (grown == 0)
            self._growing[:, side] = np.where(begins, 0, self._growing[:, side] + present)
            growth = self._growth[:, side] + np.where(present, np.nan_to_num(distances), 0)
            self._growth[:, side] = np.where(begins, 0, growth)

    def add_values(self, values: Floats, changed: Integers) -> None:
        """Add the values; a series that changed goes on with as many of its newest as ``changed`` has."""
        present = np.isfinite(values)
        restarted = changed > 0
        reference = np.concatenate([self._reference, self._recent, values[:, None]], axis=1)
        ordered = push_right(reference)
        kept = np.where(restarted, changed, REFERENCE + LAG + 1)
        ages = np.arange(ordered.shape[1] - 1, -1, -1)
        ordered[ages[None, :] >= kept[:, None]] = np.nan
        has_earlier = restarted & (self.count >= MIN_BUILDS)
        self._earlier_spread = np.where(has_earlier, self.spread, self._earlier_spread)
        self._earlier_count = np.where(has_earlier, self.count, self._earlier_count)
        self._sums[restarted] = self._growth[restarted] = self._growing[restarted] = 0
        moved = present | restarted
        self._recent[moved] = ordered[moved, -LAG:]
        self._reference[moved] = ordered[moved, -LAG - REFERENCE : -LAG]


def _combine_two_scores(previous: Floats, newest: Floats, change: Floats) -> tuple[Floats, Floats]:
    """Return the lesser of two scores on the same side of the level, else 0, and the change."""
    is_same_side = np.sign(previous) * np.sign(newest) > 0
    lesser = np.minimum(np.abs(previous), np.abs(newest))
    return np.where(is_same_side, lesser, 0.0), change


def push_right(values: Floats) -> Floats:
    """Return the rows with their numbers, in order, at the right end, and NaN before them."""
    order = np.argsort(np.isfinite(values), axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1)


def estimate_robust_level(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each row, winsorised at 3 median deviations from the median.

    NaN is no value. Where more than half of a row is one value, nothing is winsorised.
    """
    middle = compute_row_medians(values)
    deviation = _MAD_OF_NORMAL * compute_row_medians(np.abs(values - middle[:, None]))
    reach = np.where(deviation > 0, _WINSORISED_AT * deviation, np.inf)[:, None]
    winsorised = np.clip(values, middle[:, None] - reach, middle[:, None] + reach)
    mean = np.nanmean(winsorised, axis=1)
    count = np.maximum(np.isfinite(values).sum(axis=1), 2)
    spread = np.sqrt(np.nansum((winsorised - mean[:, None]) ** 2, axis=1) / (count - 1))
    return mean, spread


def compute_row_medians(values: Floats) -> Floats:
    """Return the median of the numbers of each row, NaN for none; ``np.nanmedian`` is far slower."""
    ordered = np.sort(values, axis=1)  # NaN last
    count = np.isfinite(ordered).sum(axis=1)
    rows = np.arange(len(ordered))
    low, high = (ordered[rows, np.maximum(place, 0)] for place in ((count - 1) // 2, count // 2))
    return np.where(count > 0, (low + np.where(count % 2 == 0, high, low)) / 2, np.nan)


def compute_normal_score(t: Floats, freedom: Integers) -> Floats:
    """Return the normal score that is as improbable as Student's t (Wallace 1959, within 0.02 there)."""
    scale = (8 * freedom + 1) / (8 * freedom + 3)
    return np.asarray(np.sign(t) * scale * np.sqrt(freedom * np.log1p(t * t / freedom)), np.float64)
