"""The interval of a share of a model's calls: what the calls of one recording show of the program's."""

from __future__ import annotations

import numpy as np

from tracekit.model.columns import IntArray
from tracekit.statistics.shares import estimate_share_interval


def estimate_share_of_calls(rows: IntArray, chosen: IntArray) -> tuple[float, float]:
    """Return the ends, at 95 %, of the share that the chosen rows are of these, in their order of time."""
    return estimate_share_interval(np.isin(rows, chosen).astype(np.float64))
