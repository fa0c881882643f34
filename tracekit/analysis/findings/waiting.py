"""Time lost inside calls: gaps in which nothing works, and calls that block the main thread of an app."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from tracekit.analysis.budget.parts import BudgetPart
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
    """The idle time of the typical call; ``counted`` calls have any."""

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
    blocked_share: tuple[float, float]
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
    """Yield a finding per model in whose calls no engine and no thread of the app works for a while.

    The typical call is one that no other overlaps; the cost is the idle time of all calls, by their budgets.
    """
    idle_ns = calls.analysis.times["idle_ns"].fillna(0).to_numpy(np.int64)
    windows = calls.analysis.window_rows
    is_candidate = windows["alone"].to_numpy(bool) & ~calls.first & (calls.served > 0)
    is_long = is_candidate & (idle_ns >= _SHARE * calls.lengths) & (idle_ns > 0)
    if not calls.is_timed or not is_long.any():
        return
    period_ns = sampling_period_ns(calls.trace)
    waited_ns = calls.analysis.budget.sums.sum_part(BudgetPart.IDLE)
    for model in calls.iter_models(is_long, _FEWEST):
        rows = model.rows[is_candidate[model.rows]]
        typical, length = calls.median(waited_ns[rows]), calls.median(calls.lengths[rows])
        # Samples resolve no edge of a gap closer than a period.
        if typical - 2 * period_ns >= _SHARE * length:
            yield _make_gap(calls, model, model.rows[waited_ns[model.rows] > 0], typical, length)


def _make_gap(
    calls: Calls, model: ModelCalls, with_gap: IntArray, typical_ns: int, length_ns: int
) -> Finding[GapNumbers]:
    numbers: GapNumbers = {
        "is_named": model.is_named,
        "calls": len(model.rows),
        "counted": len(with_gap),
        "gap_ns": typical_ns,
        "length_ns": length_ns,
        "engines": tuple(engine for engine in SERVING if calls.serves(engine)[with_gap].any()),
    }
    tables = ", ".join(sorted(set(calls.analysis.measured.sources.values())))
    return Finding(
        kind=GAPS_IN_CALLS,
        severity="warning",
        confidence="likely",
        basis=Basis.INFERRED,
        **calls.locate(with_gap, model),
        lost_ns=calls.sum_part(BudgetPart.IDLE, with_gap),
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
    from tracekit.statistics.share_intervals import estimate_share_of_rows

    is_blocked = is_long & _mark_staying(calls, is_long)
    for model in calls.iter_models(is_blocked):
        rows = model.rows[is_blocked[model.rows]]
        longest = int(rows[np.argmax(calls.lengths[rows])])
        numbers: BlockedNumbers = {
            "is_named": model.is_named,
            "calls": len(model.rows),
            "blocked": len(rows),
            "blocked_share": estimate_share_of_rows(model.rows, rows),
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
            lost_ns=sum((calls.lengths[rows] - FRAME_NS).tolist()),
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
