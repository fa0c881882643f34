"""Requests to the Neural Engine that the log shows: of each window, of each process, and what was refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import group_rows, is_among
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.content import Content
from tracekit.model.schemas import OS_LOG, SIGNPOST_EVENTS
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import CLOCKS_WITHIN_NS, LOGGED_WITHIN_NS, LogKind

_NO_WINDOW, _NOT_CHOSEN = -2, -3
"""Numbers that no process has."""


@frozen
class ProcessRequests:
    """Requests of one process; ``statuses`` has the number of failures by status, -1 for none given."""

    pid: int
    process: str
    requests: int
    failed: int
    statuses: tuple[tuple[int, int], ...]
    is_target: bool


@frozen
class Refusal:
    """An operator that a planner kept off the Neural Engine, or a program that was not loaded there."""

    operator: str
    reason: str
    count: int


@frozen
class LoggedRequests(Content):
    """Content of the log about the Neural Engine.

    ``served`` and ``failed`` have one entry per window; a request without a status counts as served, because
    its signpost ended.
    ``loaded`` counts programs that the kernel made for the engine: loads, no inferences.
    ``window_statuses`` has the statuses of a window's failures. ``processes`` are all that sent requests, the
    analysis' own first. ``refused`` and ``not_loaded`` are the analysis' own processes'.
    """

    served: IntArray
    failed: IntArray
    window_statuses: dict[int, tuple[int, ...]]
    processes: tuple[ProcessRequests, ...]
    refused: tuple[Refusal, ...]
    not_loaded: tuple[Refusal, ...]
    loaded: int = 0

    @property
    def requests(self) -> int:
        """The number of requests of the analysis' own processes, failed ones included."""
        return sum(process.requests for process in self.processes if process.is_target)

    @property
    def failures(self) -> int:
        """The number of their failures."""
        return sum(process.failed for process in self.processes if process.is_target)

    @property
    def failed_windows(self) -> int:
        """The number of windows with a failed request."""
        return int((self.failed > 0).sum())


def find_logged_requests(trace: Trace, windows: pd.DataFrame, pids: frozenset[int]) -> LoggedRequests:
    """Return the requests of a trace's log; ``pids`` are the processes of the analysis, none is any."""
    log = trace.engine_log
    if log.empty:
        none = np.zeros(len(windows), np.int64)
        return LoggedRequests(none, none, {}, (), (), ())
    is_target = np.ones(len(log), bool) if not pids else log["pid"].isin([*pids, -1]).to_numpy(bool)
    kind = log["kind"]
    status = log["status"].to_numpy(np.int64)
    is_request = kind.isin([LogKind.REQUEST, LogKind.FAILURE]).to_numpy(bool)
    is_failed = is_request & ((status > 0) | (kind == LogKind.FAILURE).to_numpy(bool))
    window = _find_windows(trace, is_request & is_target, windows)
    has_window = window >= 0
    count = len(windows)
    served_counts = np.bincount(window[has_window & ~is_failed], minlength=count)
    failed = np.bincount(window[has_window & is_failed], minlength=count)
    rows = np.flatnonzero(has_window & is_failed)
    statuses: dict[int, set[int]] = {}
    for number, value in zip(window[rows].tolist(), status[rows].tolist(), strict=True):
        statuses.setdefault(number, set()).add(value)
    return LoggedRequests(
        served_counts,
        failed,
        {number: tuple(sorted(values)) for number, values in statuses.items()},
        _count_by_process(trace, log[is_request], is_failed[is_request], is_target[is_request]),
        _count_refusals(log[(kind == LogKind.UNSUPPORTED).to_numpy(bool) & is_target]),
        _count_refusals(log[(kind == LogKind.NOT_LOADED).to_numpy(bool) & is_target]),
        int((kind == LogKind.LOADED).sum()),
    )


def _find_windows(trace: Trace, is_selected: BoolArray, windows: pd.DataFrame) -> IntArray:
    """Return the window of each chosen line; -1 for none, or where several windows could be the line's.

    A line of a text that was laid over the recording may be off by ``CLOCKS_WITHIN_NS``: it has a window only
    where an earlier and a later line would have the same.
    """
    log = trace.engine_log
    window = _find_windows_at(trace, log["time_ns"].to_numpy(np.int64), is_selected, windows)
    is_laid = is_selected & ~is_among(log["source"], OS_LOG, SIGNPOST_EVENTS)
    if is_laid.any():
        for shift_ns in (-CLOCKS_WITHIN_NS, CLOCKS_WITHIN_NS):
            moved = _find_windows_at(trace, log["time_ns"].to_numpy(np.int64) + shift_ns, is_laid, windows)
            window[is_laid & (moved != window)] = -1
    return window


def _find_windows_at(
    trace: Trace, times: IntArray, is_selected: BoolArray, windows: pd.DataFrame
) -> IntArray:
    """Return the window of each chosen line if it was written at these times; -1 for none or several.

    It is the window of the line's process around the line, or the last one that ended not long before: the
    client writes the line when it learns that the request is done. Of several windows around the line, it is
    the one on the line's own thread.
    """
    log = trace.engine_log
    window = np.full(len(log), -1, np.int64)
    pid, tid = (log[name].to_numpy(np.int64) for name in ("pid", "tid"))
    window_pid, thread = (windows[name].to_numpy(np.int64) for name in ("pid", "thread_id"))
    # Windows have row numbers of threads; -1, the last entry here, is an unknown thread.
    window_tid = np.append(trace.threads["tid"].to_numpy(np.int64), -1)[thread]
    starts, ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    # Processes without a window of their own have those of an unknown process in common: a log may name a
    # million processes, and each turn looks at all windows.
    owner = np.where(np.isin(pid, window_pid) | (pid < 0), pid, _NO_WINDOW)
    for (number,), rows in group_rows(
        pd.DataFrame({"owner": np.where(is_selected, owner, _NOT_CHOSEN)}), "owner"
    ):
        if number == _NOT_CHOSEN:
            continue
        fits = np.flatnonzero((window_pid == number) | (window_pid < 0) | (number == -1))
        around, count = _sum_around(starts[fits], ends[fits], times[rows])
        window[rows[count == 1]] = fits[around[count == 1]]
        late_lines = rows[count == 0]
        by_end = fits[np.argsort(ends[fits], kind="stable")]
        latest = np.searchsorted(ends[by_end], times[late_lines], "right") - 1
        is_near = latest >= 0
        is_near[is_near] = times[late_lines[is_near]] < ends[by_end[latest[is_near]]] + LOGGED_WITHIN_NS
        window[late_lines[is_near]] = by_end[latest[is_near]]
        shared = rows[count > 1]
        for own in np.unique(tid[shared][tid[shared] >= 0]).tolist():
            of_thread, lines = fits[window_tid[fits] == own], shared[tid[shared] == own]
            around, count = _sum_around(starts[of_thread], ends[of_thread], times[lines])
            window[lines[count == 1]] = of_thread[around[count == 1]]
    return window


def _sum_around(starts: IntArray, ends: IntArray, times: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each time the spans around it: the sum of their positions, and their number.

    Where the number is 1, the sum is the span's position.
    """
    sums, count = np.zeros(len(times), np.int64), np.zeros(len(times), np.int64)
    for sign, edges in ((1, starts), (-1, ends)):
        order = np.argsort(edges, kind="stable")
        passed = np.searchsorted(edges[order], times, "right")
        sums += sign * np.append(0, np.cumsum(order))[passed]
        count += sign * passed
    return sums, count


def _count_by_process(
    trace: Trace, requests: pd.DataFrame, is_failed: BoolArray, is_target: BoolArray
) -> tuple[ProcessRequests, ...]:
    names = dict(zip(trace.threads["pid"].tolist(), trace.threads["process"].tolist(), strict=True))
    status = requests["status"].to_numpy(np.int64)
    processes = []
    for (pid,), rows in group_rows(requests.reset_index(drop=True), "pid"):
        number = int(pid)
        failures = Counter(status[rows[is_failed[rows]]].tolist())
        processes.append(
            ProcessRequests(
                number,
                str(names.get(number, "")) if number >= 0 else "",
                len(rows),
                sum(failures.values()),
                tuple(sorted(failures.items())),
                bool(is_target[rows].all()),
            )
        )
    return tuple(
        sorted(processes, key=lambda process: (not process.is_target, -process.requests, process.pid))
    )


def _count_refusals(rows: pd.DataFrame) -> tuple[Refusal, ...]:
    pairs = Counter(zip(rows["operator"].astype("str"), rows["reason"].astype("str"), strict=True))
    return tuple(Refusal(operator, reason, count) for (operator, reason), count in pairs.most_common())
