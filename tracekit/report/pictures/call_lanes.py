"""The lanes of calls in a picture: one per model, with lines for calls that overlap, as the page has them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.report.wording import CallNames

SHOWN_LINES = 4
_MOST_MODELS = 12
"""Models beyond these share a last lane: ``call_lanes.js`` has the same number."""


@frozen
class CallLane:
    """The calls of a model: their rows of the windows, and the line of each, -1 where none is free."""

    name: str
    rows: IntArray
    line: IntArray

    @property
    def lines(self) -> int:
        """The number of lines."""
        return int(self.line.max(initial=0)) + 1

    @property
    def folded(self) -> int:
        """The number of calls without a line."""
        return int((self.line < 0).sum())


def call_lanes(windows: pd.DataFrame, names: CallNames) -> list[CallLane]:
    """Return a lane per model in order of its first call; models with the fewest calls share the last one."""
    if not len(windows):
        return []
    codes, groups = pd.factorize(names.group)
    models = [names.names[group] for group in groups.tolist()]
    counts = np.bincount(codes)
    busiest = np.argsort(-counts, kind="stable")
    separate_codes = busiest[: _MOST_MODELS if len(models) <= _MOST_MODELS else _MOST_MODELS - 1]
    # Windows are in order of time, and so are the codes of their models.
    lanes = [_build_lane(windows, codes == code, models[code]) for code in sorted(separate_codes.tolist())]
    other_count = len(models) - len(separate_codes)
    if other_count:
        lanes.append(_build_lane(windows, ~np.isin(codes, separate_codes), f"{other_count:,} other models"))
    return lanes


def _build_lane(windows: pd.DataFrame, mask: BoolArray, name: str) -> CallLane:
    rows = np.flatnonzero(mask)
    starts, ends = (windows[column].to_numpy(np.int64)[rows] for column in ("start_ns", "end_ns"))
    free_at = [-1] * SHOWN_LINES
    line = np.full(len(rows), -1, np.int64)
    for place, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        for number in range(SHOWN_LINES):
            if free_at[number] <= start:
                free_at[number], line[place] = end, number
                break
    return CallLane(name, rows, line)
