"""Analyses of literal calls and samples of power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from evidence_support import ane, prediction, with_evidence
from trace_support import CALL, MS, trace_of

from tracekit import Analysis, analyze
from tracekit.model.columns import TRACKS
from tracekit.model.power_rails import TRACK_OF_RAIL
from tracekit.model.tables import TableInfo

BACK_TO_BACK = [(20.0 * number, 20.0 * number + 19) for number in range(50)]
"""50 calls of 19 ms, a millisecond apart. The first is cold: the run of the others is from 20 to 999 ms."""
FACTS = {"tool": "powermetrics", "model": "MacBookPro18,4", "build": "23B81"}


def priced(
    calls: list[tuple[float, float]],
    ane_mw: list[float],
    *,
    step: float = 100,
    begin: float = 0,
    other_calls: tuple[tuple[float, float], ...] = (),
    tables: int = 1,
    rail: str = "ANE",
    **facts: str,
) -> Analysis:
    """Return calls (begin and end in ms) with samples of one rail, end to end from ``begin``."""
    rows = [prediction(*call) for call in calls] + [prediction(*call, model="Other") for call in other_calls]
    rows += [ane(start, end) for start, end in calls]
    trace = with_evidence(trace_of([(0.0, "a", CALL)]), rows)
    times = [round((begin + step * number) * MS) for number in range(len(ane_mw) + 1)]
    tracks = pd.DataFrame(
        {"time_ns": times, "name": TRACK_OF_RAIL[rail], "unit": "mW", "value": [*ane_mw, np.nan]}
    ).astype(dict(TRACKS.required))
    info = TableInfo("power-rails", attributes={**FACTS, **facts}, row_count=len(ane_mw))
    return analyze(replace(trace, tracks=tracks, tables=(*trace.tables, *[info] * tables)))
