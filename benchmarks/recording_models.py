"""Models of the calls of recordings, as arrays of recordings × calls in ns; each has a level per recording.

    quiet         runs differ by 1 %; neighbours are alike (AR 0.3, 2 %), 0.2 % outliers of 5 times the length
    sched         3 %; AR 0.7 of 4 %; spells of 8 calls on slow cores, +25 %; 0.5 % outliers of 10 times
    frames        work of 14 ms (2 %, AR 0.5 of 8 %) that ends at the next frame of 16.7 ms
    frames edge   the same with work of 16.7 ms: about half of the calls miss a frame
    throttle      1 %; AR 0.5 of 5 %; from a random time on heat adds up to 25 %
    states        1 %; a quarter of the runs is 12 % slower; AR 0.5 of 5 %; a warm-up of ten calls
    bursts        1 %; bursts of ten calls, each with a level of its own (8 %), the first 1.5 times as long

``work`` is the factor of a program's work: the lengths of frames do not grow in proportion to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Model = Callable[[np.random.Generator, int, int, float], FloatArray]
LENGTH_NS = 20e6
FRAME_NS = 1e9 / 60


def correlated(rng: np.random.Generator, count: int, calls: int, rho: float, spread: float) -> FloatArray:
    """Return normal values whose neighbours are alike: AR(1)."""
    shocks = rng.standard_normal((calls, count))
    for call in range(1, calls):
        shocks[call] = rho * shocks[call - 1] + np.sqrt(1 - rho**2) * shocks[call]
    return spread * shocks.T


def levels(rng: np.random.Generator, count: int, spread: float) -> FloatArray:
    """Return the logarithm of the level of each recording."""
    return rng.normal(0, spread, (count, 1))


def outliers(rng: np.random.Generator, shape: tuple[int, int], share: float, factor: float) -> FloatArray:
    """Return ``factor`` for a share of the calls, else 1."""
    return np.where(rng.random(shape) < share, factor, 1.0)


def mark_spells(rng: np.random.Generator, count: int, calls: int, begin: float, end: float) -> FloatArray:
    """Return 1 in spells, which begin and end with these probabilities at each call, else 0."""
    state = rng.random(count) < begin / (begin + end)
    draws, marks = rng.random((calls, count)), np.empty((calls, count))
    for call in range(calls):
        state = np.where(state, draws[call] >= end, draws[call] < begin)
        marks[call] = state
    return marks.T


def quiet(rng: np.random.Generator, count: int, calls: int, work: float) -> FloatArray:
    lengths = np.exp(levels(rng, count, 0.01) + correlated(rng, count, calls, 0.3, 0.02))
    return LENGTH_NS * work * lengths * outliers(rng, lengths.shape, 0.002, 5)


def sched(rng: np.random.Generator, count: int, calls: int, work: float) -> FloatArray:
    lengths = np.exp(levels(rng, count, 0.03) + correlated(rng, count, calls, 0.7, 0.04))
    lengths *= 1 + 0.25 * mark_spells(rng, count, calls, 1 / 72, 1 / 8)
    return LENGTH_NS * work * lengths * outliers(rng, lengths.shape, 0.005, 10)


def frames(rng: np.random.Generator, count: int, calls: int, work: float) -> FloatArray:
    lengths = 14e6 * work * np.exp(levels(rng, count, 0.02) + correlated(rng, count, calls, 0.5, 0.08))
    lengths *= outliers(rng, lengths.shape, 0.01, 3)
    return np.ceil(lengths / FRAME_NS) * FRAME_NS + rng.normal(0, 5e4, lengths.shape)


def frames_edge(rng: np.random.Generator, count: int, calls: int, work: float) -> FloatArray:
    return frames(rng, count, calls, 1.19 * work)


def throttle(rng: np.random.Generator, count: int, calls: int, work: float) -> FloatArray:
    begin, time = rng.uniform(0.3, 1.6, (count, 1)), np.linspace(0, 1, calls)
    lengths = np.exp(levels(rng, count, 0.01) + correlated(rng, count, calls, 0.5, 0.05))
    lengths *= 1 + 0.25 * np.clip((time - begin) / 0.5, 0, 1)
    return LENGTH_NS * work * lengths * outliers(rng, lengths.shape, 0.01, 5)


def states(rng: np.random.Generator, count: int, calls: int, work: float) -> FloatArray:
    state = np.where(rng.random((count, 1)) < 0.25, 1.12, 1.0)
    lengths = state * np.exp(levels(rng, count, 0.01) + correlated(rng, count, calls, 0.5, 0.05))
    lengths *= 1 + 0.3 * np.exp(-np.arange(calls) / 10)
    lengths[:, 0] *= 3
    return LENGTH_NS * work * lengths * outliers(rng, lengths.shape, 0.01, 10)


def bursts(rng: np.random.Generator, count: int, calls: int, work: float) -> FloatArray:
    of_burst = np.repeat(rng.normal(0, 0.08, (count, -(-calls // 10))), 10, axis=1)[:, :calls]
    lengths = np.exp(levels(rng, count, 0.01) + of_burst + rng.normal(0, 0.03, (count, calls)))
    lengths[:, ::10] *= 1.5
    return LENGTH_NS * work * lengths


MODELS: dict[str, Model] = {
    "quiet": quiet,
    "sched": sched,
    "frames": frames,
    "frames edge": frames_edge,
    "throttle": throttle,
    "states": states,
    "bursts": bursts,
}
