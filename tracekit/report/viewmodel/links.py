"""The links of a call: the threads that worked for it, and the engines' intervals that are its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import rows_by
from tracekit.analysis.engines.ownership import Ownership
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import ENGINES, SERVING, Basis, Phase

_NONE = -1
_MOST_GROUPS = 2_000
"""Intervals of more combinations of process and model are not linked: no recording of one app has them."""


@dataclass(frozen=True)
class WorkerLinks:
    """The lanes that have a call's samples of other threads: parallel arrays, sorted by call and time.

    ``engine`` is the engine of the most of these samples. ``until_call`` is the first call that has no links
    because they would be too many; the number of calls if there is none.
    """

    call: IntArray
    lane: IntArray
    first_ns: IntArray
    last_ns: IntArray
    number: IntArray
    engine: IntArray
    until_call: int


def worker_links(analysis: Analysis, lane_of_thread: IntArray, most: int) -> WorkerLinks:
    """Return the links of the first calls, at most so many."""
    joined, trace = analysis.joined, analysis.trace
    calls, lanes = len(analysis.window_rows), int(lane_of_thread.max(initial=0)) + 1
    rows = np.flatnonzero(joined.stack >= len(trace.stacks))
    times = trace.samples["time_ns"].to_numpy(np.int64)[rows]
    lane_of_row = lane_of_thread[trace.samples["thread_id"].to_numpy()[rows]]
    # A link is a call and a lane as one number; the engine is its last digit while samples are counted.
    keys, number_of_row = np.unique(joined.call[rows] * lanes + lane_of_row, return_inverse=True)
    number = np.bincount(number_of_row, minlength=len(keys))
    first, last = np.full(len(keys), np.iinfo(np.int64).max), np.zeros(len(keys), np.int64)
    np.minimum.at(first, number_of_row, times)
    np.maximum.at(last, number_of_row, times)
    per_engine = np.bincount(
        number_of_row * len(ENGINES) + analysis.labels.engine[rows], minlength=len(keys) * len(ENGINES)
    )
    engine = per_engine.reshape(len(keys), len(ENGINES)).argmax(axis=1)
    call, lane = np.divmod(keys, lanes)
    order = np.lexsort((first, call))
    until = calls
    if len(order) > most:
        until = int(call[order[most]])
        order = order[call[order] < until]
    return WorkerLinks(
        call[order], lane[order], first[order], last[order], number[order], engine[order], until
    )


def calls_of_intervals(analysis: Analysis, frame: pd.DataFrame) -> tuple[IntArray, BoolArray]:
    """Return the call that each interval of an engine's execution worked for, -1 for none; and a mask.

    It is the only call of its process and model in whose time the engine worked. The mask is True where the
    system reported the models of both, and the interval lies inside of the call.
    """
    windows = analysis.window_rows
    serving = [str(engine) for engine in SERVING]
    call, is_measured = np.full(len(frame), _NONE, np.int64), np.zeros(len(frame), bool)
    is_work = frame["engine"].isin(serving) & (frame["phase"] == Phase.EXECUTE) & (frame["is_target"])
    rows = np.flatnonzero(is_work.to_numpy(bool))
    is_call = ~windows["source"].isin(GIVEN_SOURCES).to_numpy(bool)
    if not len(rows) or not is_call.any():
        return call, is_measured
    chosen = frame.iloc[rows]
    # Of all rows: those of Core ML name the models with which the labels of the others are compared.
    owner = Ownership(frame, not analysis.measured.owner.unattributed).model[rows]
    owner = np.where(owner == "", chosen["model"].astype("str").to_numpy(object), owner)
    groups = chosen.assign(owner_model=owner)
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    models, pids = windows["model"].astype("str").to_numpy(object), windows["pid"].to_numpy(np.int64)
    row_starts, row_ends = (chosen[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    for number, ((model, pid), members) in enumerate(rows_by(groups, "owner_model", "pid")):
        if number == _MOST_GROUPS:
            break
        may_own = is_call & ((models == model) | (models == "") | (model == ""))
        may_own &= (pids == pid) | (pids < 0) | (pid < 0)
        call[rows[members]] = _only(
            np.flatnonzero(may_own), starts, ends, row_starts[members], row_ends[members]
        )
    linked = call[rows]
    is_inside = (linked >= 0) & (row_starts >= starts[linked]) & (row_ends <= ends[linked])
    is_measured[rows] = (
        is_inside
        & (owner != "")
        & (owner == models[linked])
        & (windows["basis"] == Basis.MEASURED).to_numpy(bool)[linked]
    )
    return call, is_measured


def _only(
    candidates: IntArray,
    starts: IntArray,
    ends: IntArray,
    from_ns: npt.NDArray[np.int64],
    to_ns: npt.NDArray[np.int64],
) -> IntArray:
    """Return the only candidate that shares time with each range, -1 for none or several."""
    by_start = candidates[np.argsort(starts[candidates], kind="stable")]
    by_end = candidates[np.argsort(ends[candidates], kind="stable")]
    begun = np.searchsorted(starts[by_start], to_ns, "left")
    ended = np.searchsorted(ends[by_end], from_ns, "right")
    # Of those that have begun, less those that have ended: where one is left, the difference of their sums.
    sums = [np.append(0, np.cumsum(order)) for order in (by_start, by_end)]
    only: IntArray = np.where(begun - ended == 1, sums[0][begun] - sums[1][ended], _NONE)
    return only
