"""What else changed at a moment: heat, a model that was loaded, a first call, a request that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracekit.analysis.findings.calls import Calls
from tracekit.model.vocabulary import LogKind, Phase

_MOST = 4
_THERMAL = "Thermal state"


@dataclass(frozen=True)
class Change:
    """Something else that changed in the recording: a coincidence in time, which proves no cause.

    ``detail`` is the model, the operator's reason, or the new level of heat.
    """

    kind: Literal["thermal", "load", "compile", "first-call", "failed-request", "refusal"]
    time_ns: int
    detail: str


def changes_between(calls: Calls, start_ns: int, end_ns: int) -> tuple[Change, ...]:
    """Return what changed in ``[start_ns, end_ns)``, in order of time; the first few."""
    changes = [
        *_heat(calls, start_ns, end_ns),
        *_prepared(calls, start_ns, end_ns),
        *_first_calls(calls, start_ns, end_ns),
        *_log_lines(calls, start_ns, end_ns),
    ]
    return tuple(sorted(changes, key=lambda change: (change.time_ns, change.kind, change.detail))[:_MOST])


def _heat(calls: Calls, start_ns: int, end_ns: int) -> list[Change]:
    rows = calls.trace.tracks
    rows = rows[(rows["name"] == _THERMAL).to_numpy(bool) & rows["value"].notna().to_numpy(bool)]
    times, levels = rows["time_ns"].to_numpy(np.int64), rows["value"].to_numpy(np.float64)
    changed = np.flatnonzero(np.diff(levels, prepend=levels[:1]) != 0)
    return [
        Change("thermal", int(times[row]), str(int(levels[row])))
        for row in changed.tolist()
        if start_ns <= times[row] < end_ns
    ]


def _prepared(calls: Calls, start_ns: int, end_ns: int) -> list[Change]:
    """Return loads and compiles that began."""
    rows = calls.trace.intervals
    starts = rows["start_ns"].to_numpy(np.int64)
    near = rows[(starts >= start_ns) & (starts < end_ns)]
    near = near[near["phase"].isin([Phase.LOAD, Phase.COMPILE]).to_numpy(bool)]
    return [
        Change(
            "load" if row["phase"] == Phase.LOAD else "compile",
            int(row["start_ns"]),
            str(row["model"] or row["label"]),
        )
        for row in near.head(_MOST).to_dict("records")
    ]


def _first_calls(calls: Calls, start_ns: int, end_ns: int) -> list[Change]:
    """Return the first calls of models."""
    is_near = calls.first & (calls.starts > start_ns) & (calls.starts < end_ns)
    near = calls.analysis.window_rows.iloc[np.flatnonzero(is_near)[:_MOST]]
    return [
        Change("first-call", int(row["start_ns"]), str(row["model"] or row["label"]))
        for row in near.to_dict("records")
    ]


def _log_lines(calls: Calls, start_ns: int, end_ns: int) -> list[Change]:
    rows = calls.trace.engine_log
    times = rows["time_ns"].to_numpy(np.int64)
    near = rows[(times >= start_ns) & (times < end_ns)]
    is_failed = (near["kind"] == LogKind.FAILURE) | (near["status"] > 0)
    is_refused = near["kind"].isin([LogKind.UNSUPPORTED, LogKind.NOT_LOADED])
    changes = [Change("failed-request", int(time), "") for time in near["time_ns"][is_failed].head(1)]
    refused = near[is_refused.to_numpy(bool)].head(_MOST).to_dict("records")
    changes += [
        Change("refusal", int(row["time_ns"]), str(row["operator"] or row["reason"])) for row in refused
    ]
    return changes
