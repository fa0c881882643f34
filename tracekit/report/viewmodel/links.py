"""The links of a call: the threads that worked for it."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import ENGINES


@frozen
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


def find_worker_links(analysis: Analysis, lane_of_thread: IntArray, max_links: int) -> WorkerLinks:
    """Return the links of the first calls, at most ``max_links``."""
    joined_stacks, trace = analysis.joined, analysis.trace
    calls, lanes = len(analysis.window_rows), int(lane_of_thread.max(initial=0)) + 1
    rows = np.flatnonzero(joined_stacks.stack >= len(trace.stacks))
    times = trace.samples["time_ns"].to_numpy(np.int64)[rows]
    lane_of_row = lane_of_thread[trace.samples["thread_id"].to_numpy()[rows]]
    # A link is a call and a lane as one number; the engine is its last digit while samples are counted.
    keys, number_of_row = np.unique(joined_stacks.call[rows] * lanes + lane_of_row, return_inverse=True)
    number = np.bincount(number_of_row, minlength=len(keys))
    first_ns, last_ns = np.full(len(keys), np.iinfo(np.int64).max), np.zeros(len(keys), np.int64)
    np.minimum.at(first_ns, number_of_row, times)
    np.maximum.at(last_ns, number_of_row, times)
    per_engine = np.bincount(
        number_of_row * len(ENGINES) + analysis.labels.engine[rows], minlength=len(keys) * len(ENGINES)
    )
    engine = per_engine.reshape(len(keys), len(ENGINES)).argmax(axis=1)
    call, lane = np.divmod(keys, lanes)
    order = np.lexsort((first_ns, call))
    until = calls
    if len(order) > max_links:
        until = int(call[order[max_links]])
        order = order[call[order] < until]
    return WorkerLinks(
        call[order], lane[order], first_ns[order], last_ns[order], number[order], engine[order], until
    )
