"""Threads of the Neural Engine's own windows: the calls on stacks that its rows lie in.

The table names neither processes nor threads. A row is of the call in whose time it lies, as far as stacks do
not show that the call's thread worked elsewhere, or that another process uses the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_positions, is_among, is_engine
from tracekit.analysis.windows.matching import BurstSpans, find_covering_threads
from tracekit.analysis.windows.stack_windows import Inferred
from tracekit.analysis.windows.window import Window, get_edges, mark_overlapping, sampling_period_ns
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase

_BEGIN_PERIODS = 2
"""In sampling periods: a request is handed over so shortly before the engine begins, a choice."""
_MIN_OTHER_SAMPLES = 3
"""Heuristic: minimum samples of other engines, with none of the Neural Engine, that rules out chance."""


def find_engine_threads(
    trace: Trace, labels: SampleLabels, windows: Sequence[Window], runs: Inferred
) -> tuple[IntArray, BoolArray]:
    """Return the thread whose call each window of the Neural Engine's own time is of, -1 where none is known.

    It is the only thread that hands over work as the window begins, or the one whose runs cover it. The mask
    has the windows that may be of any process: of several labels or threads, none is known to be theirs; no
    run touches them, as runs touch most of their label; or stacks show other engines alone in them, or the
    Neural Engine in windows of other labels only.
    """
    starts, ends = get_edges(windows)
    calls = runs.select(runs.thread_id >= 0)
    if not len(calls) or not len(windows):
        return np.full(len(windows), -1, np.int64), np.zeros(len(windows), bool)
    pids = np.array([window.pid for window in windows], np.int64)
    period_ns = sampling_period_ns(trace)
    thread = find_covering_threads(calls, starts, ends, pids, period_ns)
    # The request is handed over shortly before the engine begins.
    times, caller = trace.samples["time_ns"].to_numpy(np.int64), _find_callers(trace, labels)
    on_ane = np.where(is_engine(labels.engine, Engine.ANE), caller, -1)
    begins = (starts - _BEGIN_PERIODS * period_ns, starts + period_ns)
    submitter = _find_only_thread(times, on_ane, *begins)
    is_known = (submitter >= 0) & (submitter < len(trace.threads))
    thread = np.where(is_known, submitter, thread)
    handed_over, ane_counts, elsewhere_counts = (
        _count_samples(times, callers, thread, *edges)
        for callers, edges in (
            (on_ane, begins),
            (on_ane, (begins[0], ends)),
            (np.where(is_engine(labels.engine, Engine.CPU, Engine.GPU), caller, -1), (starts, ends)),
        )
    )
    label, distinct = pd.factorize(np.array([window.label for window in windows], object))
    is_shown = (handed_over > 0) & _begin_apart(trace, starts, (_BEGIN_PERIODS + 1) * period_ns)
    supported = (np.bincount(label[is_shown], minlength=len(distinct)) > 0)[label]
    # One thread and one label leave no other call that the window may be of.
    is_only = len(distinct) == 1 and len(np.unique(calls.thread_id)) == 1
    is_refuted = (ane_counts == 0) & (elsewhere_counts >= _MIN_OTHER_SAMPLES) & ~(supported & is_only)
    # Of two labels, one that stacks support and one that none does, the second is of another process.
    is_refuted |= ~supported & supported.any()
    is_refuted |= _mark_overlapping(np.where(is_refuted, -1, thread), starts, ends) & (handed_over == 0)
    # Short calls leave no sample: a window that no run touches is suspicious only among many that runs do.
    is_touched = BurstSpans(calls, calls.starts_ns, calls.ends_ns).touch(pids, starts, ends)
    touched_counts, window_counts = (
        np.bincount(label[is_touched], minlength=len(distinct)),
        np.bincount(label),
    )
    is_odd = ~is_touched & (2 * touched_counts > window_counts)[label]
    thread = np.where(is_refuted, -1, thread)
    is_of_any = is_refuted | is_odd | ((thread < 0) & (not is_only))
    # Of a label that several processes use, a window is of the process whose stack hands it over.
    is_of_any |= ~is_shown & _has_users(trace, label, thread, is_of_any)
    return np.where(is_of_any, -1, thread), is_of_any


def _begin_apart(trace: Trace, starts: IntArray, least_ns: int) -> BoolArray:
    """Mark the windows that begin so long before and after other rows that a sample shows which it is of."""
    rows = trace.intervals
    is_work = is_among(rows["source"], *ANE_TABLES) & is_among(rows["phase"], Phase.EXECUTE)
    # A row may be in the table twice.
    distinct = rows.loc[is_work, ["start_ns", "end_ns", "label"]].drop_duplicates()
    begins = np.sort(distinct["start_ns"].to_numpy(np.int64))
    start, stop = (
        np.searchsorted(begins, starts - least_ns),
        np.searchsorted(begins, starts + least_ns, "right"),
    )
    apart: BoolArray = stop - start <= 1
    return apart


def _has_users(trace: Trace, label: IntArray, thread: IntArray, is_of_any: BoolArray) -> BoolArray:
    """Mark the windows whose label has windows of two processes, or of one that no stack shows."""
    pids = np.append(trace.threads["pid"].to_numpy(np.int64), -1)[thread]
    lowest_pid, highest_pid = np.full((2, int(label.max(initial=-1)) + 1), [[np.iinfo(np.int64).max], [-1]])
    is_bound = thread >= 0
    np.minimum.at(lowest_pid, label[is_bound], pids[is_bound])
    np.maximum.at(highest_pid, label[is_bound], pids[is_bound])
    has_users = lowest_pid < highest_pid
    has_users[label[is_of_any]] = True
    mask: BoolArray = has_users[label]
    return mask


def _mark_overlapping(thread: IntArray, starts: IntArray, ends: IntArray) -> BoolArray:
    """Mark the windows that overlap another one of their thread, which makes one call at a time."""
    mask = np.zeros(len(thread), bool)
    bound_rows = np.flatnonzero(thread >= 0)
    for members in group_positions(thread[bound_rows], int(thread.max(initial=-1)) + 1):
        rows = bound_rows[members]
        mask[rows] = mark_overlapping(starts[rows], ends[rows])
    return mask


def _find_callers(trace: Trace, labels: SampleLabels) -> IntArray:
    """Return the thread whose call each sample is work for, -1 where it is for none.

    A worker's is the only thread of its process that is ever inside a prediction; of several, an unknown
    one with a number beyond all threads'.
    """
    threads = trace.samples["thread_id"].to_numpy(np.int64)
    of_callers = np.unique(threads[labels.in_call & (threads >= 0)])
    pids = trace.threads["pid"].to_numpy(np.int64)
    distinct, first_row, count = np.unique(pids[of_callers], return_index=True, return_counts=True)
    callers = np.where(count == 1, of_callers[first_row], len(pids) + np.arange(len(distinct)))
    only = dict(zip(distinct.tolist(), callers.tolist(), strict=True))
    of_thread = np.array([*(only.get(pid, -1) for pid in pids.tolist()), -1], np.int64)
    return np.where(labels.in_call, threads, np.where(labels.is_worker, of_thread[threads], -1))


def _find_only_thread(times: IntArray, callers: IntArray, starts: IntArray, ends: IntArray) -> IntArray:
    """Return the only caller whose samples lie in each stretch of time, -1 for none or several."""
    times, callers = times[callers >= 0], callers[callers >= 0]
    start, stop = np.searchsorted(times, starts), np.searchsorted(times, ends)
    # A stretch is of one caller if the caller does not change between two of its samples.
    changes = np.append(0, np.cumsum(callers[1:] != callers[:-1]))
    padded, changes = np.append(callers, -1), np.append(changes, 0)
    is_one = (start < stop) & (changes[start] == changes[np.maximum(stop - 1, 0)])
    only: IntArray = np.where(is_one, padded[start], -1)
    return only


def _count_samples(
    times: IntArray, callers: IntArray, thread: IntArray, starts: IntArray, ends: IntArray
) -> IntArray:
    """Return how many samples of a caller lie in each stretch of time."""
    width = len(times) + 1
    positions = np.flatnonzero(callers >= 0)
    keys = np.sort(callers[positions] * width + positions)
    start, stop = (
        np.searchsorted(keys, thread * width + np.searchsorted(times, edges)) for edges in (starts, ends)
    )
    count: IntArray = np.where(thread >= 0, stop - start, 0)
    return count
