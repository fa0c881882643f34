"""The spread between sessions: what runs that were recorded together share, and what no number of them shows.

Runs of an hour have one temperature, one load of the device, one state of its caches. Sides that were not
recorded in turn differ by that, too: by the spread between sessions, which the spread between their runs does
not contain. It is given, or taken from recordings of builds that were each recorded in several sessions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracekit.comparison.drift import RunOrder
from tracekit.errors import UsageError
from tracekit.statistics.blocks import FloatArray
from tracekit.statistics.call_statistics import Statistic

_STATISTIC = re.compile(r"mean|p\d{1,2}(\.\d+)?")
FEWEST_DEGREES = 4
"""The degrees of freedom from which on recordings show a spread between sessions."""


@dataclass(frozen=True)
class SessionSpread:
    """The variance of the mean of a session that has ``runs`` runs, on a scale, with degrees of freedom.

    ``runs`` is infinite for the spread between sessions alone.
    """

    variance: float
    runs: float
    df: float

    def add_runs(self, run_variance: float, runs: float) -> float:
        """Return what runs of a side add: ``run_variance`` is that of their mean by the spread between runs.

        The variance of this spread has a part of the runs already, which is too large for a side that has
        more of them. The sum is then too large, never too small.
        """
        return run_variance * max(0.0, 1 - runs / self.runs)


@dataclass(frozen=True)
class SessionNoise:
    """A given spread between sessions, as a fraction of a number, or the build of each session of recordings.

    ``builds`` has a number for each group of the recordings for the noise, which are those of one session.
    """

    fraction: float | None = None
    builds: Sequence[int] = ()

    def estimate(self, noise: Sequence[FloatArray], centre: float) -> SessionSpread | None:
        """Return the spread for a number around ``centre`` (1 for logarithms); None where too few have it.

        ``noise`` has the values of each group of recordings, on the scale of the comparison.
        """
        if self.fraction is not None:
            return SessionSpread((self.fraction * abs(centre)) ** 2, np.inf, np.inf)
        return estimate_session_spread(noise, self.builds)


@dataclass(frozen=True)
class GivenSpread:
    """The spread between runs of one program, as far as it is known beside the numbers of the runs.

    ``run_noise`` has the standard deviation between runs by percentile (``p50``) or of the ``mean``, as a
    fraction of the number; it is empty where recordings show it. ``sessions`` is the spread between sessions,
    where each side is one of its own; None where the sides share their sessions, or nothing is given.
    ``order`` has the places of runs that were recorded in turn; None for any others.
    """

    run_noise: Mapping[str, float] = field(default_factory=dict)
    sessions: SessionNoise | None = None
    order: RunOrder | None = None

    def find_run_noise(self, statistic: Statistic, on_grid: bool = False) -> float | None:
        """Return the given spread of a number between runs; None where it is not given.

        Slow calls come in spells, which one run has and the next has not: a p90 may spread twice as much as
        the p50 of the same runs. So that of the p50 is used for means and shares, not for other percentiles.
        Of lengths on a grid (``on_grid``), the p50 stays at a tick or jumps, while the mean moves.
        """
        if statistic == "mean":
            return self.run_noise.get("mean", None if on_grid else self.run_noise.get("p50"))
        return self.run_noise.get(f"p{100 * statistic:g}")

    @property
    def session_noise(self) -> float | None:
        """The standard deviation between sessions, as a fraction of a number; None where none is given."""
        return self.sessions.fraction if self.sessions else None


def read_run_noise(run_noise: float | Mapping[str, float] | None) -> dict[str, float]:
    """Return a given spread between runs by percentile or for the mean; a single number is that of the p50.

    Raises ``UsageError`` for other names, and for what is no spread.
    """
    if run_noise is None:
        return {}
    by_name = {"p50": run_noise} if isinstance(run_noise, (int, float)) else dict(run_noise)
    for name, fraction in by_name.items():
        if not _STATISTIC.fullmatch(name):
            raise UsageError(
                f"A spread between runs is of p50, p90, another percentile or mean, not of {name!r}."
            )
        if not 0 <= fraction < math.inf:
            raise UsageError(f"A spread between runs is a fraction such as 0.02 (2 %), not {fraction:g}.")
    return by_name


NOTHING_GIVEN = GivenSpread()


def estimate_session_spread(sessions: Sequence[FloatArray], builds: Sequence[int]) -> SessionSpread | None:
    """Return the spread of the means of sessions around those of their builds; None of too few sessions.

    The sum of squares between the sessions of a build, each with its number of runs, over its degrees of
    freedom estimates the variance between runs plus ``runs`` times that between sessions (nested analysis of
    variance with unequal numbers; Searle, Casella and McCulloch 1992, 3.6).
    """
    squares = runs = 0.0
    df = 0
    for build in sorted(set(builds)):
        values = [
            of_session
            for number, of_session in zip(builds, sessions, strict=True)
            if number == build and len(of_session)
        ]
        if not values:
            continue
        counts = np.array([len(of_session) for of_session in values], float)
        means = np.array([of_session.mean() for of_session in values])
        total = counts.sum()
        squares += float((counts * (means - (counts * means).sum() / total) ** 2).sum())
        runs += float(total - (counts**2).sum() / total)
        df += len(values) - 1
    if df < FEWEST_DEGREES:
        return None
    return SessionSpread(squares / runs, runs / df, df)
