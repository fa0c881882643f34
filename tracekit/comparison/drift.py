"""The drift of a machine over a series of runs in turn, which is no difference between the sides.

A machine that grows hot, or a cache that fills, changes both sides alike from run to run. Turns keep it out
of the difference, but it stays in the spread of each side, which then hides a difference. A straight line
over the places of the runs is therefore fitted to both sides together and taken out (analysis of covariance,
Fisher 1932); it costs one degree of freedom. Pairs of neighbouring runs cost half of all degrees, and in the
order base, new, base, new a steady drift is a difference within each pair (docs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.model.columns import IntArray
from tracekit.statistics.blocks import FloatArray

FEWEST_RUNS = 4
"""Runs per side from which on the drift is taken out: of three, one of four degrees of freedom costs more."""


@dataclass(frozen=True)
class RunOrder:
    """The places of the runs of each side in the series of all, from 0."""

    base: IntArray
    new: IntArray


@dataclass(frozen=True)
class Drift:
    """Both sides without their drift, as in the middle of the series.

    ``change`` is the drift from the first run to the last. ``widening`` is the factor of the variances of
    both means for the fitted line: for its degree of freedom, and for places that differ between the sides.
    """

    sides: list[FloatArray]
    change: float
    widening: float


def count_lost_degrees(runs_per_side: int) -> int:
    """Return the degrees of freedom that the drift costs a comparison of runs in turn."""
    return int(runs_per_side >= FEWEST_RUNS)


def fit_drift(sides: Sequence[FloatArray], order: RunOrder) -> Drift | None:
    """Return the sides without their common drift; None of too few runs, or where some have no value."""
    places = [np.asarray(places, np.float64) for places in (order.base, order.new)]
    counts = [len(side) for side in sides]
    if min(counts) < FEWEST_RUNS or counts != [len(of_side) for of_side in places]:
        return None
    last = max(of_side.max() for of_side in places)
    from_middle = [of_side - last / 2 for of_side in places]
    around_mean = [of_side - of_side.mean() for of_side in from_middle]
    squares = float(sum((of_side**2).sum() for of_side in around_mean))
    if not squares:
        return None
    slope = sum(float(of_side @ side) for of_side, side in zip(around_mean, sides, strict=True)) / squares
    apart = float(from_middle[1].mean() - from_middle[0].mean())
    runs = sum(counts)
    return Drift(
        [side - slope * of_side for side, of_side in zip(sides, from_middle, strict=True)],
        slope * float(last),
        (runs - 2) / (runs - 3) * (1 + apart**2 / squares / sum(1 / count for count in counts)),
    )
