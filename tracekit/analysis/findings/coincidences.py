"""What else changed at a moment: heat, the app's state, a load, a first call, a request that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.run import AnalyzedRun
from tracekit.analysis.selection import select_pids
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.schemas import LIFE_CYCLE
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import LogKind, Phase

ChangeKind: TypeAlias = Literal[
    "thermal", "app-state", "load", "compile", "first-call", "failed-request", "refusal"
]
_MOST = 4
_THERMAL = "Thermal state"
_NO_STATE = ("", "Unknown")
_LAUNCH = ("Initializing", "Launching")


@frozen
class Change:
    """Something else that changed in the recording: a coincidence in time, which proves no cause.

    ``detail`` is the model, the operator's reason, the new level of heat, or the app's new state.
    """

    kind: ChangeKind
    time_ns: int
    detail: str


def list_changes(kinds: Sequence[Events], start_ns: int, end_ns: int) -> tuple[Change, ...]:
    """Return what changed in ``[start_ns, end_ns)``, in order of time; the first few."""
    changes = []
    for events in kinds:
        first, last = np.searchsorted(events.times, (start_ns + events.is_open, end_ns)).tolist()
        rows = range(first, min(last, first + events.most))
        changes += [Change(events.kind, int(events.times[row]), str(events.details[row])) for row in rows]
    return tuple(sorted(changes, key=lambda change: (change.time_ns, change.kind, change.detail))[:_MOST])


@frozen
class Events:
    """Everything of one kind that changed in a recording, in order of time.

    ``most`` of a range count; ``is_open`` leaves out those at its begin.
    """

    kind: ChangeKind
    times: IntArray
    details: npt.NDArray[np.object_]
    most: int = _MOST
    is_open: bool = False


def collect_events(analysis: AnalyzedRun) -> tuple[Events, ...]:
    """Return the changes of each kind; ranges are looked up in them, of which there may be thousands."""
    log = analysis.trace.engine_log
    is_failed = (log["kind"] == LogKind.FAILURE) | (log["status"] > 0)
    is_refused = log["kind"].isin([LogKind.UNSUPPORTED, LogKind.NOT_LOADED])
    prepared = analysis.trace.intervals
    prepared = prepared[is_among(prepared["phase"], Phase.LOAD, Phase.COMPILE)]
    is_load = (prepared["phase"] == Phase.LOAD).to_numpy(bool)
    windows = analysis.window_rows
    first_calls = windows[windows["first"].to_numpy(bool)]
    return (
        _read_heat(analysis.trace),
        _read_app_states(analysis),
        _make_events("load", prepared[is_load], "start_ns", ("model", "label")),
        _make_events("compile", prepared[~is_load], "start_ns", ("model", "label")),
        _make_events("first-call", first_calls, "start_ns", ("model", "label"), is_open=True),
        _make_events("failed-request", log[is_failed.fillna(False).to_numpy(bool)], "time_ns", (), most=1),
        _make_events("refusal", log[is_refused.to_numpy(bool)], "time_ns", ("operator", "reason")),
    )


def _make_events(
    kind: ChangeKind,
    frame: pd.DataFrame,
    time: str,
    details: tuple[str, ...],
    most: int = _MOST,
    is_open: bool = False,
) -> Events:
    """Return the rows of a frame as events; the first of some columns that is not empty has their detail."""
    frame = frame.sort_values(time, kind="stable")
    texts = np.full(len(frame), "", object)
    for name in reversed(details):
        column = frame[name].astype(object).to_numpy(object)
        texts = np.where(column != "", column, texts)
    return Events(kind, frame[time].to_numpy(np.int64), texts, most, is_open)


def _read_heat(trace: Trace) -> Events:
    rows = trace.tracks
    rows = rows[(rows["name"] == _THERMAL).to_numpy(bool) & rows["value"].notna().to_numpy(bool)]
    rows = rows.sort_values("time_ns", kind="stable")
    times, levels = rows["time_ns"].to_numpy(np.int64), rows["value"].to_numpy(np.float64)
    changed = np.flatnonzero(np.diff(levels, prepend=levels[:1]) != 0)
    return Events("thermal", times[changed], levels[changed].astype(np.int64).astype(str).astype(object))


def _read_app_states(analysis: AnalyzedRun) -> Events:
    """Return the begins of another state of the target; the phases of its launch are none.

    Instruments writes "Unknown" until an app that it did not launch changes its state for the first time.
    """
    rows = analysis.trace.signposts
    pids = select_pids(analysis.trace, analysis.selection)
    rows = rows[(rows["source"] == LIFE_CYCLE).to_numpy(bool) & rows["pid"].isin(pids).to_numpy(bool)]
    rows = rows.sort_values(["pid", "start_ns"], kind="stable")
    names = rows["name"].astype(object)
    is_first = ~rows["pid"].duplicated()
    is_known = ~names.isin(_NO_STATE)
    last_known = names.where(is_known).groupby(rows["pid"]).ffill().groupby(rows["pid"]).shift()
    is_change = is_known & ~is_first & (names != last_known) & ~names.str.startswith(_LAUNCH)
    return _make_events("app-state", rows[is_change.to_numpy(bool)], "start_ns", ("name",))
