"""Changes of shares that are bands: an engine's share of calls, from the certain to the possible ones.

A build is evidence where its band is apart from the bands of the builds before it. Engines change from one
build to the next, so that one build is enough if it is far away; two are enough where they are nearer.
"""

from __future__ import annotations

import numpy as np

from tracekit.fleet.history.levels import (
    REFERENCE,
    TWO_OF_TWO,
    ChangeEvidence,
    Floats,
    Integers,
    compute_normal_score,
    estimate_robust_level,
    push_right,
)

MIN_BUILDS = 5
"""The fewest builds that make a level; one, after a change, where no or all calls were served."""
MIN_SPREAD = 0.01
"""The least spread of a share that is believed."""
SPREADS_OF_ONE_BUILD = 4.0
"""A build alone is so many spreads apart, as a normal score."""


class Bands:
    """The state of many series of bands."""

    def __init__(self, count: int) -> None:
        self._reference: Floats = np.full((count, 2, REFERENCE), np.nan)
        self._earlier_spread: Floats = np.full((count, 2), np.nan)
        self._earlier_count: Integers = np.zeros(count, np.int64)
        self._previous: Floats = np.zeros(count)
        self.level: Floats = np.full((count, 2), np.nan)
        self.spread: Floats = np.full((count, 2), np.nan)
        self.count: Integers = np.zeros(count, np.int64)

    def update(self) -> None:
        """Compute the levels and spreads of the low and of the high ends."""
        self.count = np.isfinite(self._reference[:, 0]).sum(axis=1)
        has_earlier = np.isfinite(self._earlier_spread[:, 0])
        lowest = np.min(np.where(np.isfinite(self._reference), self._reference, np.inf), axis=(1, 2))
        highest = np.max(np.where(np.isfinite(self._reference), self._reference, -np.inf), axis=(1, 2))
        whole = (highest <= MIN_SPREAD) | (lowest >= 1 - MIN_SPREAD)
        rows = np.flatnonzero((self.count >= MIN_BUILDS) | (has_earlier & (self.count > 0) & whole))
        self.level[:] = np.nan
        self.spread[:] = np.nan
        for end in (0, 1):
            if len(rows):
                level, spread = estimate_robust_level(self._reference[rows, end])
                enough = self.count[rows] >= MIN_BUILDS
                self.level[rows, end] = level
                self.spread[rows, end] = np.where(enough, spread, self._earlier_spread[rows, end])
        np.maximum(self.spread, MIN_SPREAD, out=self.spread)

    def weigh(self, low: Floats, high: Floats) -> ChangeEvidence:
        """Return the evidence of change of a band per series; NaN is no value."""
        excess_above, excess_below = low - self.level[:, 1], self.level[:, 0] - high
        gap = np.where(excess_above > 0, excess_above, np.where(excess_below > 0, -excess_below, 0.0))
        spread = np.where(excess_above > 0, self.spread[:, 1], self.spread[:, 0])
        freedom = np.maximum(np.where(self.count >= MIN_BUILDS, self.count, self._earlier_count) - 1, 2)
        score = compute_normal_score(gap / (spread * np.sqrt(1 + 1 / np.maximum(self.count, 1))), freedom)
        single_build_score = TWO_OF_TWO * np.abs(score) / SPREADS_OF_ONE_BUILD
        is_same_side = np.sign(score) * np.sign(self._previous) > 0
        pair = np.where(is_same_side, np.minimum(np.abs(score), np.abs(self._previous)), 0.0)
        present = np.isfinite(low) & np.isfinite(self.level[:, 0])
        self._previous = np.where(present, score, self._previous)
        return ChangeEvidence(
            np.where(present, np.maximum(single_build_score, pair), np.nan),
            gap,
            np.where(pair > single_build_score, 2, 1),
        )

    def add_values(self, low: Floats, high: Floats, changed: Integers) -> None:
        """Add the bands; a series that changed goes on with as many of its newest as ``changed`` has."""
        restarted = changed > 0
        has_earlier = restarted & (self.count >= MIN_BUILDS)
        self._earlier_spread = np.where(has_earlier[:, None], self.spread, self._earlier_spread)
        self._earlier_count = np.where(has_earlier, self.count, self._earlier_count)
        self._previous[restarted] = 0
        kept = np.where(restarted, changed, REFERENCE)
        ages = np.arange(REFERENCE - 1, -1, -1)
        for end, values in ((0, low), (1, high)):
            ordered = push_right(np.concatenate([self._reference[:, end], values[:, None]], axis=1))
            ordered = ordered[:, 1:]
            ordered[ages[None, :] >= kept[:, None]] = np.nan
            self._reference[:, end] = ordered
