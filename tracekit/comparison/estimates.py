"""Differences between two sides with their uncertainty, from one value per run where there are several runs.

A difference is tested against the variation that is known:

====================  ======================================================================================
several runs a side   one value per run, Student's or Welch's t: the spread between runs of each side
one run on one side   the same spread on both sides, estimated from the side that has several runs (pooled t)
recordings for noise  the spread of their values around the mean of their group, pooled with that of each
                      side's runs; a group has the recordings of one build
a given spread        the variation within each run, plus the given spread between runs
one run per side      the variation within the two runs, by blocks; between runs it is not known
sides not in turn     that between runs, plus that between sessions where it is known (``sessions``)
====================  ======================================================================================

Times are compared by their logarithms, so a difference is a factor; Welch 1947, Satterthwaite 1946. Other
numbers are compared as they are, and a difference ends where it cannot go on (a share differs by at most 1).
Runs that were recorded in turn share a drift, which is taken out of factors (``drift``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tracekit.comparison.drift import Drift, RunOrder, count_lost_degrees, fit_drift
from tracekit.comparison.run_variation import RunVariation, Scale
from tracekit.comparison.sessions import SessionNoise, SessionSpread
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.distributions import t_quantile, t_shift, t_upper_tail
from tracekit.statistics.share_intervals import LEVEL

Tested: TypeAlias = Literal["between runs", "given noise", "within these recordings"]

USUAL_SPREAD, USUAL_SPREAD_OF_TAILS = 0.05, 0.07
"""The standard deviation between runs that few runs may not show, and that of other percentiles than the p50.

Choices, stated where they are used: those of the least steady of the simulated programs, about.
"""
POWER = 0.8
"""The part of repeated comparisons that would show the smallest change that is reported."""
_MOST_RUNS = 200
SPREADS_ALIKE = 6.0
"""The ratio of two spreads from which on a few runs show that they differ."""


@dataclass(frozen=True)
class Estimate:
    """A difference on its scale, with its standard error and degrees of freedom.

    ``base`` and ``new`` are the sides' values in the unit; on the scale "log", ``change`` is the logarithm of
    their ratio. Neither side can be above ``most``. ``runs`` is the harmonic mean of the runs per side,
    ``drift`` the change of both sides from the first run to the last, as a fraction, where it is taken out.
    """

    base: float
    new: float
    change: float
    error: float
    df: float
    scale: Scale
    tested: Tested
    runs: float = 1.0
    most: float = math.inf
    drift: float | None = None

    def ends(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the interval of ``change`` on its scale."""
        half = t_quantile((1 + level) / 2, self.df) * self.error if self.error else 0.0
        return self.change - half, self.change + half

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the interval of new minus base in the unit."""
        low, high = self.ends(level)
        if self.scale == "linear":
            return max(low, -self.most), min(high, self.most)
        return self._convert_to_unit(low), self._convert_to_unit(high)

    def compute_ratio_interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Return the interval of the difference as a fraction of the base; None where the base is 0."""
        if self.scale == "log":
            low, high = self.ends(level)
            return math.expm1(_limit_exponent(low)), math.expm1(_limit_exponent(high))
        low, high = self.interval(level)
        return (max(-1.0, low / self.base), max(-1.0, high / self.base)) if self.base > 0 else None

    @property
    def probability(self) -> float:
        """The probability of a difference at least this large, in either direction, without a real one."""
        if not self.error:
            return 0.0 if self.change else 1.0
        return 2 * t_upper_tail(abs(self.change) / self.error, self.df)

    def compute_smallest(self, level: float = LEVEL) -> float:
        """Return the change that four of five such comparisons would show: a fraction, or an amount."""
        difference = t_shift(level, POWER, self.df) * self.error if self.error else 0.0
        return math.expm1(_limit_exponent(difference)) if self.scale == "log" else difference

    def count_runs_needed(self, change: float) -> int | None:
        """Return the runs per side that would show a change in 4 of 5 comparisons; None beyond 200."""
        distance = abs(math.log1p(max(change, -0.99)) if self.scale == "log" else change)
        if self.tested == "within these recordings" or not distance:
            return None
        spread = self.error * math.sqrt(self.runs / 2)
        for runs in range(2, _MOST_RUNS + 1):
            df = 2.0 * (runs - 1) - (0 if self.drift is None else count_lost_degrees(runs))
            error = spread * math.sqrt(2 / runs)
            if t_shift(LEVEL, POWER, df) * error <= distance:
                return runs
        return None

    def _convert_to_unit(self, change: float) -> float:
        # Around the geometric mean of both sides, so that swapping the sides negates the difference exactly:
        #   new - base = sqrt(base new) (sqrt(new / base) - sqrt(base / new))
        return 2 * math.sqrt(self.base * self.new) * math.sinh(_limit_exponent(change) / 2)


def _limit_exponent(logarithm: float) -> float:
    return min(max(logarithm, -300.0), 300.0)


def find_usual_spread(statistic: str) -> float:
    """Return the spread between runs that is assumed of ``p50``, ``p90``, ``mean`` or another statistic."""
    is_tail = statistic.startswith("p") and statistic != "p50"
    return USUAL_SPREAD_OF_TAILS if is_tail else USUAL_SPREAD


def compute_centre(values: FloatArray, scale: Scale) -> float:
    """Return the value of a side from those of its runs: their geometric mean, or their mean."""
    if len(values) == 1:
        return float(values[0])
    return float(np.exp(np.log(values).mean())) if scale == "log" else float(values.mean())


def scale_of(is_amount: bool, *sides: FloatArray) -> Scale:
    """Return the scale of a comparison: logarithms of amounts such as times, where none is 0."""
    return "log" if is_amount and all((values > 0).all() for values in sides) else "linear"


def estimate_between_runs(
    base: FloatArray,
    new: FloatArray,
    noise: Sequence[FloatArray],
    scale: Scale,
    most: float = math.inf,
    sessions: SessionNoise | None = None,
    order: RunOrder | None = None,
) -> Estimate | None:
    """Return the difference of values of runs, by their spread; None where no spread is known.

    ``noise`` has the values of recordings, in groups that differ by nothing but chance within each; no value
    can be above ``most``. ``sessions`` is the spread between sessions, where each side is one of its own,
    ``order`` the places of runs that were recorded in turn.
    """
    sides = [np.log(values) if scale == "log" else values for values in (base, new)]
    counts = [len(side) for side in sides]
    noise = [np.log(group) if scale == "log" else group for group in noise]
    session_spread = None
    if sessions is not None:
        middle = float(np.mean([side.mean() for side in sides]))
        session_spread = sessions.estimate(noise, _get_unit_of_spread(middle, scale, most))
    drift = None
    if max(map(len, noise), default=0) < 2 and min(counts) >= 2:
        # Of sides that spread differently, the line would be that of the chance of one of them.
        drift = fit_drift(sides, order) if order and scale == "log" and _spread_alike(sides) else None
        if drift is not None:
            sides = drift.sides
        variances, df = _estimate_welch(sides, drift)
    else:
        pools = [*sides, *(group for group in noise if len(group))]
        df = float(sum(len(pool) - 1 for pool in pools))
        if not df and (session_spread is None or math.isinf(session_spread.runs)):
            return None
        variance = sum(float(((pool - pool.mean()) ** 2).sum()) for pool in pools) / max(1.0, df)
        variances = [variance / count for count in counts]
    if session_spread is not None:
        variances, df = _add_sessions(variances, df, session_spread, counts)
    harmonic = 2 / sum(1 / count for count in counts)
    centres = [float(side.mean()) for side in sides]
    change = centres[1] - centres[0]
    if scale == "log":
        centres = [math.exp(centre) for centre in centres]
    return Estimate(
        centres[0],
        centres[1],
        change,
        math.sqrt(sum(variances)),
        df,
        scale,
        "between runs",
        harmonic,
        most,
        None if drift is None else math.expm1(drift.change),
    )


def _get_unit_of_spread(centre: float, scale: Scale, most: float) -> float:
    """Return what a given spread is a fraction of: the number itself, and the whole for a share."""
    return 1.0 if scale == "log" or most == 1.0 else abs(centre)


def _estimate_welch(sides: Sequence[FloatArray], drift: Drift | None) -> tuple[list[float], float]:
    """Return the variances of both means, and the degrees of freedom of their difference.

    ``drift`` is what was taken out of the sides: it took one degree of freedom, half of each side.

    Of few runs, Satterthwaite's degrees of freedom are too few where both sides spread alike: 3.4 % false
    alarms with three runs each, and power lost. Equally many runs whose spreads differ by at most six
    times therefore count with all degrees of freedom (Student's t), which stays below 8.5 %
    with three runs per side, and below 10 % with two, whatever the true spreads are (docs/statistics.md).
    """
    widening, lost = (drift.widening, 1.0) if drift is not None else (1.0, 0.0)
    variances = [widening * float(side.var(ddof=1)) / len(side) for side in sides]
    _, df = _combine_variances(variances, [len(side) - 1 - lost / 2 for side in sides])
    if len(sides[0]) == len(sides[1]) and _spread_alike(sides):
        df = 2.0 * (len(sides[0]) - 1) - lost
    return variances, df


def _spread_alike(sides: Sequence[FloatArray]) -> bool:
    variances = [float(side.var(ddof=1)) for side in sides]
    return max(variances) <= SPREADS_ALIKE**2 * min(variances)


def _combine_variances(variances: Sequence[float], dfs: Sequence[float]) -> tuple[float, float]:
    """Return the root of the sum of variances, and its degrees of freedom after Satterthwaite."""
    total = sum(variances)
    if not total:
        return 0.0, max(1.0, float(sum(dfs)))
    # Relative to the total, so that no square overflows or vanishes.
    inverse = sum((variance / total) ** 2 / df for variance, df in zip(variances, dfs, strict=True))
    return math.sqrt(total), 1 / inverse if inverse else math.inf


def _add_sessions(
    variances: Sequence[float], df: float, sessions: SessionSpread, counts: Sequence[int]
) -> tuple[list[float], float]:
    """Return the variances of both sides, each recorded in a session of its own, and degrees of freedom."""
    of_runs = [sessions.add_runs(variance, count) for variance, count in zip(variances, counts, strict=True)]
    _, df = _combine_variances([2 * sessions.variance, sum(of_runs)], [sessions.df, max(1.0, df)])
    return [variance + sessions.variance for variance in of_runs], df


def estimate_within_runs(
    base: Sequence[RunVariation],
    new: Sequence[RunVariation],
    scale: Scale,
    run_noise: float | None,
    most: float = math.inf,
    session_noise: float | None = None,
) -> Estimate:
    """Return the difference by the variation within the runs, and given spreads between runs and sessions.

    ``run_noise`` is the standard deviation between runs as a fraction of the value; None where it is not
    known. ``session_noise`` is that between sessions, where each side is one of its own.
    """
    values = [np.array([run.value for run in side], float) for side in (base, new)]
    centres = [compute_centre(side, scale) for side in values]
    variances: list[list[float]] = []
    for side, middle in zip((base, new), centres, strict=True):
        squared_unit = _get_unit_of_spread(middle, scale, most) ** 2
        spread = (run_noise or 0.0) ** 2 / len(side) + (session_noise or 0.0) ** 2
        variances.append([*(run.variance / len(side) ** 2 for run in side), spread * squared_unit])
    dfs = [df for side in (base, new) for df in (*(run.df for run in side), math.inf)]
    error, df = _combine_variances([*variances[0], *variances[1]], dfs)
    change = math.log(centres[1] / centres[0]) if scale == "log" else centres[1] - centres[0]
    tested: Tested = "within these recordings" if run_noise is None else "given noise"
    harmonic = 2 / (1 / len(base) + 1 / len(new))
    return Estimate(centres[0], centres[1], change, error, df, scale, tested, harmonic, most)
