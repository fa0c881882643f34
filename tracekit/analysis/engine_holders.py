"""Processes that held memory on the Neural Engine, and the calls meanwhile.

Held memory is of programs that are loaded: it shows neither that they ran nor which call they served.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.run import AnalyzedRun
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.engine_memory import HELD_TRACK
from tracekit.model.schemas import PROCESS_USAGE


@frozen
class EngineHolder:
    """A process: when it was first and last seen holding memory, the most of it, and the calls meanwhile."""

    process: str
    start_ns: int
    end_ns: int
    most_mb: float
    calls: int


@frozen
class EngineHolders:
    """The processes that held memory, those with most first; ``unreadable`` processes are of other users."""

    holders: tuple[EngineHolder, ...]
    calls: int
    unreadable: int


def find_engine_holders(run: AnalyzedRun) -> EngineHolders:
    """Return the holders by the tracks of a run, in which something sampled what processes hold."""
    trace = run.trace
    tables = [table for table in trace.tables if table.schema == PROCESS_USAGE]
    windows = run.window_rows
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    is_held = trace.tracks["name"].astype(str).str.startswith(HELD_TRACK)
    tracks = trace.tracks[is_held.to_numpy(bool)]
    found = (
        _describe_holder(str(name).removeprefix(HELD_TRACK), track, starts, ends)
        for name, track in tracks.groupby(tracks["name"].astype(str), sort=False)
    )
    holders = sorted(
        (holder for holder in found if holder), key=lambda holder: (-holder.most_mb, holder.process)
    )
    unreadable = max(
        int(count) for table in tables if (count := table.attributes.get("unreadable", "0")).isdecimal()
    )
    return EngineHolders(tuple(holders), len(starts), unreadable)


def _describe_holder(
    process: str, track: pd.DataFrame, starts: IntArray, ends: IntArray
) -> EngineHolder | None:
    """Return when a process held memory; None if it never did. A value holds until the track's next row."""
    times = track["time_ns"].to_numpy(np.int64)
    values = track["value"].to_numpy(np.float64)
    is_holding = values > 0
    if not is_holding.any():
        return None
    until = np.append(times[1:], times[-1])
    # A call is at such a time if one of the track's rows that reach into it holds memory: those that began
    # before its end are more than those that were over at its start.
    begun = np.searchsorted(times[is_holding], ends, side="left")
    over = np.searchsorted(until[is_holding], starts, side="right")
    return EngineHolder(
        process,
        int(times[is_holding][0]),
        int(until[is_holding][-1]),
        float(values[is_holding].max()),
        int((begun > over).sum()),
    )
