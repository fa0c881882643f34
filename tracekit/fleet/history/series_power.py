"""The changes that a series can show: the builds that a change takes, and the runs that would help."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tracekit.fleet.history.levels import CLIP, DRIFT, LIMIT, MIN_SPREAD, TWO_OF_TWO
from tracekit.frozen import frozen

STEP = 0.05
"""The change that every series is described by."""
MAX_BUILDS_TO_FIND = 2
MIN_SHARE_FOUND = 0.8
"""A change counts as seen where this share of such changes is found."""
MAX_BUILDS = 30
_MAX_RUNS = 30
_PATHS = 2000
_GRID = 8


@frozen
class SeriesPower:
    """How a step of ``STEP`` shows in a series.

    ``builds`` is the number of builds until it shows, None for more than ``MAX_BUILDS``. ``more_runs`` is the
    number of further runs per build with which it would show within ``MAX_BUILDS_TO_FIND`` builds: 0 if it
    does already, None if no number up to 30 suffices, or if builds have one run each, which shows no spread
    between runs. ``smallest`` is the step that shows within ``MAX_BUILDS_TO_FIND`` builds.
    """

    builds: int | None
    more_runs: int | None
    smallest: float


def estimate_power(spread: float, run_spread: float, runs: float, count: int) -> SeriesPower:
    """Return the power of a series by the spread of its builds, of a build's runs, and their number.

    ``count`` is the number of builds of its level, whose mean is not exact either. ``run_spread`` is NaN
    where builds have one run.
    """
    size = math.log1p(STEP)
    widened = math.sqrt(1 + 1 / max(count, 1))
    builds = count_builds_needed(size / (spread * widened))
    smallest = math.expm1(_find_step_within(MAX_BUILDS_TO_FIND) * spread * widened)
    return SeriesPower(builds, _estimate_more_runs(spread, run_spread, runs, size / widened), smallest)


def _estimate_more_runs(spread: float, run_spread: float, runs: float, size: float) -> int | None:
    """Return the further runs a build with which ``size`` shows within ``MAX_BUILDS_TO_FIND`` builds."""
    needed = size / _find_step_within(MAX_BUILDS_TO_FIND)
    if spread <= needed:
        return 0
    if not math.isfinite(run_spread):
        return None
    of_builds = max(spread**2 - run_spread**2 / runs, 0.0)
    remaining = needed**2 - of_builds
    if remaining <= 0 or needed < MIN_SPREAD:
        return None
    more = math.ceil(run_spread**2 / remaining - runs)
    return max(more, 1) if more <= _MAX_RUNS else None


@lru_cache(512)
def _simulate_builds(step: int) -> int | None:
    """Return the builds after which ``MIN_SHARE_FOUND`` of the steps of ``step / _GRID`` spreads are found.

    Simulated: normal values around a known level, judged by the two rules of ``levels``.
    """
    rng = np.random.default_rng(1)
    values = rng.normal(step / _GRID, 1, (_PATHS, MAX_BUILDS))
    is_above = values > TWO_OF_TWO
    is_found = np.zeros(values.shape, bool)
    is_found[:, 1:] = is_above[:, 1:] & is_above[:, :-1]
    total = np.zeros(_PATHS)
    for build in range(MAX_BUILDS):
        total = np.maximum(0, total + np.clip(values[:, build], -CLIP, CLIP) - DRIFT)
        is_found[:, build] |= total > LIMIT
    shares = np.maximum.accumulate(is_found, axis=1).mean(axis=0)
    enough = np.flatnonzero(shares >= MIN_SHARE_FOUND)
    return int(enough[0]) + 1 if len(enough) else None


def count_builds_needed(step: float) -> int | None:
    """Return the builds that a step of so many spreads takes; None for more than ``MAX_BUILDS``."""
    return _simulate_builds(min(int(step * _GRID), 10 * _GRID))


@lru_cache(8)
def _find_step_within(builds: int) -> float:
    """Return the least step, in spreads, that is found within so many builds."""
    for step in range(1, 10 * _GRID + 1):
        needed = _simulate_builds(step)
        if needed is not None and needed <= builds:
            return step / _GRID
    return float("inf")
