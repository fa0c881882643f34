"""Time lost inside calls: gaps in which nothing works, and calls that block the main thread of an app."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from tracekit.analysis.engines.busy import is_work
from tracekit.analysis.engines.interval_sets import IntervalSet, merge_sets
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.host import list_interface_threads
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.lengths import hold_length
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.vocabulary import ENGINE_CODE, SERVING, Basis, Engine


class GapNumbers(TypedDict):
    """The time inside the ``counted`` calls in which nothing works."""

    is_named: bool
    calls: int
    counted: int
    gap_ns: int
    length_ns: int
    engines: tuple[Engine, ...]


class BlockedNumbers(TypedDict):
    """The calls that block a main thread."""

    is_named: bool
    calls: int
    blocked: int
    longest_ns: int
    median_ns: int
    longest_start_ns: int


GAPS_IN_CALLS = Kind[GapNumbers]("gaps-in-calls", Need.IDLE)
MAIN_THREAD_BLOCKED = Kind[BlockedNumbers]("main-thread-blocked", Need.SAMPLES)

_SHARE = 0.2
"""A gap is worth a look from this share of the median call on: a choice."""
_FEWEST = 3
FRAME_NS = 16_666_667
"""A display of 60 Hz shows a picture in this time; those of 120 Hz in half of it."""


def find_gaps_in_calls(calls: Calls) -> Iterator[Finding[GapNumbers]]:
    """Yield a finding per model in whose calls no engine and no thread of the app works for a while."""
    idle = calls.analysis.times["idle_ns"]
    if not calls.is_timed or not len(idle) or idle.isna().all():
        return
    idle_ns = idle.fillna(0).to_numpy(np.int64)
    is_candidate = _is_idle_known(calls) & ~idle.isna().to_numpy(bool)
    is_long = is_candidate & (idle_ns >= _SHARE * calls.lengths) & (idle_ns > 0)
    computing: dict[int, IntervalSet] = {}
    for model in calls.iter_models(is_long, _FEWEST):
        rows = model.rows[is_candidate[model.rows]]
        if model.pid not in computing:
            computing[model.pid] = _collect_computing(calls, model.pid)
        waited_ns = _measure_waiting(calls, model, rows, computing[model.pid])
        typical, length = calls.median(waited_ns), calls.median(calls.lengths[rows])
        if typical and typical >= _SHARE * length:
            yield _make_gap(calls, model, rows, waited_ns, typical, length)


def _is_idle_known(calls: Calls) -> BoolArray:
    """Mark warm calls that no other call overlaps, and in which every engine that served is measured.

    An engine without a table may have worked unseen. Windows from an engine's own table have no host part.
    """
    windows = calls.analysis.window_rows
    marked: BoolArray = windows["alone"].to_numpy(bool) & ~calls.first
    marked &= (calls.served > 0) & ~windows["source"].isin(ANE_TABLES).to_numpy(bool)
    for engine in SERVING:
        if engine is not Engine.CPU and not calls.is_measured(engine):
            marked &= ~calls.serves(engine)
    return marked & (calls.analysis.members.counts > 0)


def _collect_computing(calls: Calls, pid: int) -> IntervalSet:
    """Return when any thread of a process was sampled: one may compute for a call without showing it."""
    trace = calls.trace
    is_own = calls.analysis.labels.pid == pid if pid >= 0 else np.ones(len(trace.samples), bool)
    starts = trace.samples["time_ns"].to_numpy(np.int64)[is_own]
    return IntervalSet.of(starts, starts + trace.weights[is_own])


def _measure_waiting(calls: Calls, model: ModelCalls, rows: IntArray, computing: IntervalSet) -> IntArray:
    """Return the time in each call in which certainly nothing worked.

    A sample stands for a period from its moment on, so before and after each interval of an engine up to a
    period may be missing. While the engine worked for another process, the call waited for it: that is
    contention.
    """
    measured = calls.analysis.measured
    scope = measured.scope(model.pid, model.model)
    working = merge_sets([measured.spans(scope, key) for key in measured.keys if is_work(key)])
    starts, ends = calls.starts[rows], calls.ends[rows]
    busy = merge_sets([working, computing, measured.other_process, measured.contested]).within(starts, ends)
    unresolved = (working.count(starts, ends) + 1) * sampling_period_ns(calls.trace)
    waited: IntArray = np.maximum(ends - starts - busy - unresolved, 0)
    return waited


def _make_gap(
    calls: Calls, model: ModelCalls, rows: IntArray, waited_ns: IntArray, typical_ns: int, length_ns: int
) -> Finding[GapNumbers]:
    with_gap = rows[waited_ns > 0]
    numbers: GapNumbers = {
        "is_named": model.is_named,
        "calls": len(model.rows),
        "counted": len(rows),
        "gap_ns": typical_ns,
        "length_ns": length_ns,
        "engines": tuple(engine for engine in SERVING if calls.serves(engine)[rows].any()),
    }
    tables = ", ".join(sorted(set(calls.analysis.measured.sources.values())))
    return Finding(
        kind=GAPS_IN_CALLS,
        severity="warning",
        confidence="likely",
        basis=Basis.INFERRED,
        **calls.locate(with_gap, model),
        lost_ns=int(waited_ns.sum()),
        numbers=numbers,
        support=(
            Support("table", tables, "no interval in the gaps"),
            Support("table", calls.trace.samples_source, "no sample in the gaps"),
        ),
        actions=(Action("thread-states"), Action("timeline")),
    )


def find_main_thread_blocked(calls: Calls) -> Iterator[Finding[BlockedNumbers]]:
    """Yield a finding per model whose calls keep a user interface's main thread longer than a frame.

    A command-line tool may wait on its main thread: only threads that show a user interface count.
    """
    if not calls.is_timed or (calls.lengths <= FRAME_NS).all():
        return
    sources = calls.analysis.window_rows["source"]
    is_long = (calls.lengths > FRAME_NS) & ~sources.isin(ANE_TABLES).to_numpy(bool)
    threads = list_interface_threads(calls)
    is_long &= np.isin(calls.thread_ids, threads)
    if not is_long.any():
        return
    is_blocked = is_long & _mark_staying(calls, is_long)
    for model in calls.iter_models(is_blocked):
        rows = model.rows[is_blocked[model.rows]]
        longest = int(rows[np.argmax(calls.lengths[rows])])
        numbers: BlockedNumbers = {
            "is_named": model.is_named,
            "calls": len(model.rows),
            "blocked": len(rows),
            "longest_ns": int(calls.lengths[longest]),
            "median_ns": calls.median(calls.lengths[rows]),
            "longest_start_ns": int(calls.starts[longest]),
        }
        yield Finding(
            kind=MAIN_THREAD_BLOCKED,
            severity="warning",
            confidence="certain",
            basis=Basis(str(calls.analysis.window_rows["basis"].iloc[longest])),
            **calls.locate(rows, model),
            numbers=numbers,
            support=(Support("table", calls.trace.samples_source, "the main thread inside the calls"),),
            actions=(Action("off-main-thread"), hold_length(model, "max", FRAME_NS)),
        )


def _mark_staying(calls: Calls, chosen: BoolArray) -> BoolArray:
    """Mark the chosen calls whose thread is seen in both halves of the call, and nowhere else meanwhile.

    An asynchronous call leaves the thread after a moment: it may be idle, or do something else.
    """
    labels, samples = calls.analysis.labels, calls.trace.samples
    threads = samples["thread_id"].to_numpy(np.int64)
    times = samples["time_ns"].to_numpy(np.int64)
    marked = np.zeros(len(calls.starts), bool)
    for thread in np.unique(calls.thread_ids[chosen]).tolist():
        rows = np.flatnonzero(chosen & (calls.thread_ids == thread))
        of_thread = np.flatnonzero(threads == thread)
        is_inside = labels.in_call[of_thread]
        is_outside = ~is_inside & (labels.engine[of_thread] != ENGINE_CODE[Engine.UNKNOWN])
        inside, outside = times[of_thread[is_inside]], times[of_thread[is_outside]]
        starts, ends = calls.starts[rows], calls.ends[rows]
        middle = starts + (ends - starts) // 2
        first, half, last = (np.searchsorted(inside, edge) for edge in (starts, middle, ends))
        leaves = np.searchsorted(outside, ends) > np.searchsorted(outside, starts)
        marked[rows] = (half > first) & (last > half) & ~leaves
    return marked
