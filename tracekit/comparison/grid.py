"""Lengths on a grid: nearly all calls take one of few values, or end at a frame of the display.

A percentile of such lengths is a tick, and jumps to the next one: runs that agree on a tick would have an
interval of almost nothing. What varies between runs is how many calls are above a tick.

    calls   ▁█▁      ▁▅▁       ▁
            16.7     33.3      50 ms
                 │ limit: 17.0 ms
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.statistics.blocks import FloatArray

_FRAMES_NS = (1e9 / 60, 1e9 / 120)
_FRAME_TOLERANCE = 0.02
"""Of a frame: how far from its end a call can end."""
_MOST_OFF_FRAMES = 0.1
"""The part of the calls that may end elsewhere, of those away from the usual frame of their run."""
_FEWEST_ELSEWHERE = 3
"""Calls on other frames than the usual one of their run: lengths around a single frame are chance."""
_SPACING = 0.01
"""Of a length: values closer than this are the same, which spans at most twice as much."""
_MOST_VALUES = 4
_MOST_OFF_VALUES = 0.05
_FEWEST_ON_OTHERS = 0.05
"""The part of the calls on other values than the usual one of their run: sides may differ, and be quiet."""
_FEWEST_CALLS_ON_FRAMES, _FEWEST_CALLS_ON_VALUES = 20, 50
"""Fewer calls can take few values by chance; the frames of a display are given."""


@dataclass(frozen=True)
class Grid:
    """Where lengths are: at multiples of ``period_ns``, or, if that is 0, at few values.

    ``limit_ns`` lies above the tick that divides the calls of both sides most evenly.
    """

    period_ns: float
    limit_ns: float


def recognize_grid(runs_ns: Sequence[FloatArray]) -> Grid | None:
    """Return the grid of the lengths of runs; None where they are on none, or too few show it.

    The runs of both sides are taken together, so that no side's chance decides how they are compared.
    """
    runs = [lengths[lengths > 0] for lengths in runs_ns]
    count = sum(map(len, runs))
    if count < _FEWEST_CALLS_ON_FRAMES:
        return None
    of_frames = (grid for period_ns in _FRAMES_NS if (grid := _find_frames(runs, period_ns)))
    of_values = _find_values(runs) if count >= _FEWEST_CALLS_ON_VALUES else None
    return next(of_frames, of_values)


def _find_frames(runs: Sequence[FloatArray], period_ns: float) -> Grid | None:
    lengths = np.concatenate(runs) / period_ns
    is_on = (np.abs(lengths - np.rint(lengths)) <= _FRAME_TOLERANCE) & (lengths > 0.5)
    ticks, counts = np.unique(np.rint(lengths[is_on]), return_counts=True)
    elsewhere = sum(_count_unusual(np.rint(run / period_ns)) for run in runs)
    off = len(lengths) - int(is_on.sum())
    if len(ticks) < 2 or elsewhere < off + _FEWEST_ELSEWHERE or off > _MOST_OFF_FRAMES * elsewhere:
        return None
    return Grid(period_ns, _round_limit((ticks[_choose_tick(counts)] + _FRAME_TOLERANCE) * period_ns))


def _find_values(runs: Sequence[FloatArray]) -> Grid | None:
    """Return the grid of few values, each of calls in a range that no other call is close to."""
    ordered = np.sort(np.concatenate(runs))
    begins = np.append(0, np.flatnonzero(np.diff(ordered) > _SPACING * ordered[:-1]) + 1)
    counts = np.diff(begins, append=len(ordered))
    lowest, highest = ordered[begins], ordered[begins + counts - 1]
    largest = np.argsort(-counts, kind="stable")[:_MOST_VALUES]
    is_narrow = bool((highest[largest] <= (1 + 2 * _SPACING) * lowest[largest]).all())
    elsewhere = sum(_count_unusual(np.searchsorted(lowest, run, "right")) for run in runs)
    are_few = counts[largest].sum() >= (1 - _MOST_OFF_VALUES) * len(ordered)
    if not (is_narrow and are_few and elsewhere >= _FEWEST_ON_OTHERS * len(ordered)):
        return None
    tick = _choose_tick(counts)
    low, high = float(highest[tick]), float(lowest[tick + 1])
    limit = _round_limit((low + high) / 2)
    return Grid(0.0, limit if low < limit < high else (low + high) / 2)


def _count_unusual(ticks: npt.NDArray[Any]) -> int:
    """Return the number of calls of a run on other ticks than its most frequent one."""
    return len(ticks) - int(np.unique(ticks, return_counts=True)[1].max(initial=0))


def _choose_tick(counts: npt.NDArray[Any]) -> int:
    """Return the tick above which the share of calls is closest to a half; never the last one."""
    above = 1 - np.cumsum(counts[:-1]) / counts.sum()
    return int(np.argmin(np.abs(above - 0.5)))


def _round_limit(limit_ns: float) -> float:
    """Return a limit with three digits, as it is printed."""
    return float(f"{limit_ns:.3g}")
