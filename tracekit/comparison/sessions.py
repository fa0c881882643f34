"""The spread between sessions: what runs that were recorded together share, and what no number of them shows.

Runs of an hour have one temperature, one load of the device, one state of its caches. Sides that were not
recorded in turn differ by that, too: by the spread between sessions, which the spread between their runs does
not contain. It is given, or taken from recordings of builds that were each recorded in several sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.comparison.blocks import FloatArray

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
    """What is given of how runs of one program differ.

    ``run_noise`` is the standard deviation between runs, as a fraction of a number; None where recordings
    show it. ``sessions`` is the spread between sessions, where each side is one of its own; None where the
    sides share their sessions, or nothing is given.
    """

    run_noise: float | None = None
    sessions: SessionNoise | None = None

    @property
    def session_noise(self) -> float | None:
        """The standard deviation between sessions, as a fraction of a number; None where none is given."""
        return self.sessions.fraction if self.sessions else None


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
