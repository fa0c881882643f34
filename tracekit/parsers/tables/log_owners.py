"""The process of Neural Engine intervals, from the requests that the log holds.

The engine's table names no process. A request's line is written by its client when the request is done, so
right after the interval's end::

    interval      |------|      |------|
    line                 ·A            ·A       both intervals are of process A
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.model.columns import IntArray
from tracekit.model.schemas import ANE_TABLES, OS_LOG, SIGNPOST_EVENTS
from tracekit.model.trace import Issue, IssueCounter
from tracekit.model.vocabulary import LOGGED_WITHIN_NS, LogKind, Phase

_EARLY_NS = 20_000
"""The clocks of the two tables differ by less than this."""
_MIN_SHARE_OF_MATCHES = 0.5


def with_logged_process(intervals: pd.DataFrame, log: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the intervals with the process of each Neural Engine row that matches a request's line.

    Each line matches at most one interval: the requests are done in the order of their lines. A row gets no
    process where lines and intervals match in several ways, because another process left no line, or where
    fewer than half of the lines match an interval: then the tables describe different requests. Issue:
    ``ane-process-logged``.
    """
    if not len(intervals) or not len(log):
        return intervals, ()
    # Lines of a text that was laid over the recording have another clock: they are too inexact for a match.
    is_recorded = log["source"].isin([OS_LOG, SIGNPOST_EVENTS]).to_numpy(bool)
    is_request = (log["kind"] == LogKind.REQUEST).to_numpy(bool) & (log["pid"] >= 0).to_numpy(bool)
    is_request &= is_recorded
    # A request that failed may not have reached the engine.
    requests = log[is_request & (log["status"] <= 0).to_numpy(bool)]
    is_ane = intervals["source"].isin(ANE_TABLES) & (intervals["phase"] == Phase.EXECUTE)
    rows = np.flatnonzero(is_ane.to_numpy(bool) & (intervals["depth"] <= 0).to_numpy(bool))
    if not len(requests) or not len(rows):
        return intervals, ()
    # The table may repeat a row: equal ends count once.
    ends, end_of_row = np.unique(intervals["end_ns"].to_numpy(np.int64)[rows], return_inverse=True)
    times = requests["time_ns"].to_numpy(np.int64)
    # The log may lack the lines of a process: a match is certain only where the first and the last possible
    # line are the same.
    line = _find_first_lines(ends, times)
    line[line != _find_last_lines(ends, times)] = -1
    is_in_range = (times >= ends[0] - _EARLY_NS) & (times <= ends[-1] + LOGGED_WITHIN_NS)
    if (line >= 0).sum() < _MIN_SHARE_OF_MATCHES * max(int(is_in_range.sum()), 1):
        return intervals, ()
    pid_of_end = np.append(requests["pid"].to_numpy(np.int64), -1)[line]
    pid = intervals["pid"].to_numpy(np.int64).copy()
    new = (pid[rows] < 0) & (pid_of_end[end_of_row] >= 0)
    pid[rows[new]] = pid_of_end[end_of_row][new]
    findings = IssueCounter()
    text = "{n} rows of the Neural Engine have the process of the request that the log has at their end"
    findings.add("info", "ane-process-logged", text, int(new.sum()))
    return intervals.assign(pid=pid), findings.issues()


def _find_last_lines(ends: IntArray, times: IntArray) -> IntArray:
    """Return for each end the position of the last time after it that no later end has; -1 for none."""
    # With time reversed and shifted by the delay, "the last after an end" is "the first after it".
    shift = LOGGED_WITHIN_NS - _EARLY_NS
    line = _find_first_lines(-ends[::-1] - shift, -times[::-1])[::-1]
    last_lines: IntArray = np.where(line >= 0, len(times) - 1 - line, -1)
    return last_lines


def _find_first_lines(ends: IntArray, times: IntArray) -> IntArray:
    """Return for each end the position of the first time after it that no earlier end has; -1 for none.

    Both are ascending. Ends that are further apart than a line may be late do not compete for a line.
    """
    # Within a group, each end takes a later line than the end before it:
    #   first line after it      0 1 1 1      less its number      0 0 -1 -2      highest so far      0 0 0 0
    #   line                     0 1 2 3
    group = np.cumsum(np.append(False, np.diff(ends) > LOGGED_WITHIN_NS))
    first_lines = np.searchsorted(times, ends - _EARLY_NS)
    number = np.arange(len(ends))
    lift = group * (len(times) + len(ends) + 1)  # one running maximum serves all groups
    line: IntArray = np.maximum.accumulate(first_lines - number + lift) - lift + number
    is_near = line < len(times)
    is_near[is_near] = times[line[is_near]] - ends[is_near] <= LOGGED_WITHIN_NS
    return np.where(is_near, line, -1)
