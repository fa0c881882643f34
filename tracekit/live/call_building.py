"""Intervals and lines of a stream → calls, each with the requests that are its own.

The rule is that of ``analysis/engines/requests.py``, decided while the stream runs: a request belongs to the
call of its process in which its line was written, or to the one that ended at most a millisecond before; of
several calls at once it is the one on the line's thread. A call that is open may never end, and is then
none: what depends on it is contested.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, TypeVar

from tracekit.live.live_call import LiveCall
from tracekit.model.vocabulary import LOGGED_WITHIN_NS, MODEL_IN_MESSAGE, LogKind, Phase
from tracekit.parsers.tables.engine_log import REPEATS_NS
from tracekit.parsers.tables.log_messages import NO_STATUS, MessageForm
from tracekit.parsers.text.signpost_pairing import PlacedSignpost, SignpostInterval

_MAX_KEPT = 4_096
"""Limit on the calls and on the requests of a process that wait for the end of a call."""
_MAX_OPEN = 64
"""A process with more open calls has each request contested: they could not be compared in time."""
_MAX_PROCESSES = 256
_MODEL = re.compile(MODEL_IN_MESSAGE)
_TIME, _BEGIN, _END = map(attrgetter, ("time_ns", "begin_ns", "end_ns"))
_CONTESTED: Final = "contested"
_Item = TypeVar("_Item")


@dataclass(slots=True)
class _LoggedRequest:
    time_ns: int
    tid: int
    status: int
    is_failed: bool
    is_error: bool
    """True for the error of a request that a layer above reports; False for the request's own line."""


@dataclass(slots=True)
class _ClientInterval:
    """An interval of the Neural Engine's client: around a request, or while a program is made ready."""

    begin_ns: int
    end_ns: int
    tid: int


@dataclass(slots=True)
class _ProcessCalls:
    """The calls and requests of one process that are not yet settled, in order of time."""

    name: str = ""
    open_calls: list[PlacedSignpost] = field(default_factory=list)
    closed: list[SignpostInterval] = field(default_factory=list)
    """By their ends; those that are done are kept while a request of another call may lie in them."""
    waiting: list[SignpostInterval] = field(default_factory=list)
    """Those of ``closed`` that are not done."""
    requests: list[_LoggedRequest] = field(default_factory=list)
    evaluations: list[_ClientInterval] = field(default_factory=list)
    preparations: list[_ClientInterval] = field(default_factory=list)
    has_lines: bool = False
    line_count: int = 0
    evaluation_count: int = 0
    failed_ns: int = -(2**62)
    gap_ns: int = -(2**62)
    """The latest moment of anything that was given up: calls that began before are uncertain."""


class CallBuilder:
    """Builds calls. ``is_call`` decides for a Begin; ``dropped`` counts what was given up."""

    def __init__(self, is_call: Callable[[PlacedSignpost], bool]) -> None:
        self.dropped = 0
        self._is_call = is_call
        self._processes: dict[int, _ProcessCalls] = {}
        self._deadlines: list[tuple[int, int, _ProcessCalls, SignpostInterval]] = []
        self._sequence = 0
        self._settled_ns = self._forgotten_requests = 0

    @property
    def requests(self) -> int:
        """The number of requests so far; one that has a line and an interval is one."""
        return self._forgotten_requests + sum(map(_count_requests, self._processes.values()))

    def open_call(self, begin: PlacedSignpost) -> None:
        """Take a Begin."""
        if self._is_call(begin):
            self._get(begin.pid, begin.process).open_calls.append(begin)

    def drop(self, begins: tuple[PlacedSignpost, ...], now_ns: int) -> None:
        """Give up Begins that have no End; a call may have run up to now, and requests been its own."""
        for begin in begins:
            process = self._processes.get(begin.pid)
            if process is not None and self._is_call(begin):
                _remove(process.open_calls, begin)
                process.gap_ns = max(process.gap_ns, now_ns)

    def close_call(self, interval: SignpostInterval) -> None:
        """Take an interval; one that is no call or has no length is ignored."""
        begin = interval.begin
        if not self._is_call(begin):
            return
        process = self._get(begin.pid, begin.process)
        _remove(process.open_calls, begin)
        if interval.end_ns > interval.start_ns:
            insort(process.closed, interval, key=_END)
            process.waiting.append(interval)
            # The error of an evaluation may come behind its end, a request's own line right after it.
            hold_ns = LOGGED_WITHIN_NS + (REPEATS_NS if process.evaluations else 0)
            self._sequence += 1
            heapq.heappush(self._deadlines, (interval.end_ns + hold_ns, self._sequence, process, interval))

    def add_client_interval(self, interval: SignpostInterval, phase: Phase) -> None:
        """Take an interval of the client: waiting in it is around a request."""
        begin = interval.begin
        process = self._get(begin.pid, begin.process)
        intervals = process.evaluations if phase is Phase.WAIT else process.preparations
        process.evaluation_count += phase is Phase.WAIT
        client_interval = _ClientInterval(begin.time_ns, interval.end_ns, begin.tid)
        if intervals and client_interval.end_ns < intervals[-1].end_ns:
            insort(intervals, client_interval, key=_END)
        else:
            intervals.append(client_interval)
        self._trim_if_long(process)

    def add_line(self, time_ns: int, pid: int, tid: int, process_name: str, form: MessageForm) -> None:
        """Take a line of a form; it counts if it is of a request, or the only error of one."""
        if form.kind not in (LogKind.REQUEST, LogKind.FAILURE):
            return
        process = self._get(pid, process_name)
        is_error = form.kind == LogKind.FAILURE
        is_failed = is_error or form.status > 0
        if is_failed:
            # Layers above report the error of a request again.
            is_repeat = time_ns - process.failed_ns <= REPEATS_NS
            process.failed_ns = time_ns
            if is_error and is_repeat:
                return
            latest = process.requests[-1] if process.requests else None
            if is_repeat and not is_error and latest and latest.is_error and latest.time_ns == time_ns:
                process.requests.pop()
                process.line_count -= 1
        process.has_lines |= not is_error
        process.line_count += 1
        request = _LoggedRequest(time_ns, tid, form.status, is_failed, is_error)
        insort(process.requests, request, key=_TIME)
        self._trim_if_long(process)

    def take_ready(self, settled_ns: int) -> list[LiveCall]:
        """Return the calls whose requests are all known once every entry up to ``settled_ns`` has come."""
        self._settled_ns = settled_ns
        calls: list[LiveCall] = []
        while self._deadlines and self._deadlines[0][0] <= settled_ns:
            _, _, process, interval = heapq.heappop(self._deadlines)
            calls.append(_build_call(process, interval))
            _remove(process.waiting, interval)
            self.dropped += _trim(process, settled_ns)
        return calls

    def _trim_if_long(self, process: _ProcessCalls) -> None:
        if max(len(process.requests), len(process.evaluations), len(process.preparations)) > _MAX_KEPT:
            self.dropped += _trim(process, self._settled_ns)

    def _get(self, pid: int, name: str) -> _ProcessCalls:
        process = self._processes.get(pid)
        if process is None:
            if len(self._processes) >= _MAX_PROCESSES:
                self._forget_process()
            process = self._processes[pid] = _ProcessCalls(name)
        process.name = process.name or name
        return process

    def _forget_process(self) -> None:
        """Drop the first process without an open call, else the first of all."""
        idle = (pid for pid, process in self._processes.items() if not process.open_calls)
        forgotten = self._processes.pop(next(idle, next(iter(self._processes))))
        self.dropped += len(forgotten.waiting) + len(forgotten.requests)
        self._forgotten_requests += _count_requests(forgotten)


def _count_requests(process: _ProcessCalls) -> int:
    """Return the requests of a process, by its lines or, where it logs none but errors, its evaluations."""
    return process.line_count if process.has_lines else max(process.line_count, process.evaluation_count)


def _remove(items: list[_Item], item: _Item) -> None:
    """Remove an item by identity; equal ones are others."""
    for position, candidate in enumerate(items):
        if candidate is item:
            del items[position]
            return


def _build_call(process: _ProcessCalls, interval: SignpostInterval) -> LiveCall:
    served = failed = contested = 0
    statuses: set[int] = set()
    for request in _list_requests(process, interval):
        owner = _find_owner(process, request.time_ns, request.tid)
        if owner is _CONTESTED or (owner is interval and process.gap_ns >= interval.start_ns):
            contested += 1
        elif owner is not interval:
            continue
        elif request.is_failed:
            failed += 1
            statuses.add(request.status)
        else:
            served += 1
    begin = interval.begin
    model = _MODEL.search(begin.message)
    return LiveCall(
        0,
        begin.signpost.name,
        model[1] if model else "",
        process.name,
        begin.pid,
        begin.tid,
        interval.start_ns,
        interval.end_ns,
        served,
        failed,
        tuple(sorted(statuses)),
        contested,
        *_measure_client(process, interval),
    )


def _list_requests(process: _ProcessCalls, interval: SignpostInterval) -> list[_LoggedRequest]:
    """Return the requests that may be the call's; evaluations count in a process that logs no requests."""
    end_ns = interval.end_ns + LOGGED_WITHIN_NS
    start, stop = (
        bisect_left(process.requests, edge_ns, key=_TIME) for edge_ns in (interval.start_ns, end_ns)
    )
    requests = process.requests[start:stop]
    if process.has_lines or not process.evaluations:
        return requests
    failed = {
        id(evaluation)
        for error in process.requests
        if error.is_error and (evaluation := _find_evaluation(process, error.time_ns)) is not None
    }
    return requests + [
        _LoggedRequest(evaluation.end_ns, evaluation.tid, NO_STATUS, is_failed=False, is_error=False)
        for evaluation in process.evaluations
        if interval.start_ns <= evaluation.end_ns < end_ns and id(evaluation) not in failed
    ]


def _find_evaluation(process: _ProcessCalls, error_ns: int) -> _ClientInterval | None:
    """Return the evaluation whose error this is: the last that had begun, unless it ended long before."""
    earlier = [evaluation for evaluation in process.evaluations if evaluation.begin_ns <= error_ns]
    latest = max(earlier, key=lambda evaluation: (evaluation.begin_ns, evaluation.end_ns), default=None)
    return latest if latest is not None and error_ns - latest.end_ns <= REPEATS_NS else None


def _find_owner(process: _ProcessCalls, time_ns: int, tid: int) -> SignpostInterval | str | None:
    """Return the call of a request, ``_CONTESTED`` where that depends on a call that is open."""
    around, previous = [], None
    for call in reversed(process.closed):
        if call.end_ns <= time_ns:
            previous = call
            break
        if call.start_ns <= time_ns:
            around.append(call)
    if len(process.open_calls) > _MAX_OPEN:
        return _CONTESTED
    open_calls = [begin for begin in process.open_calls if begin.time_ns <= time_ns]
    if not open_calls:
        if len(around) == 1:
            return around[0]
        if not around:
            is_near = previous is not None and time_ns < previous.end_ns + LOGGED_WITHIN_NS
            return _find_last(process, previous) if previous is not None and is_near else None
    if around and tid >= 0:
        on_thread = [call for call in around if call.begin.tid == tid]
        if len(on_thread) == 1 and all(begin.tid != tid for begin in open_calls):
            return on_thread[0]
    return _CONTESTED if open_calls else None


def _find_last(process: _ProcessCalls, call: SignpostInterval) -> SignpostInterval:
    """Return the last, in the analysis' order, of the calls that end at the same time as this one."""
    ties = [tie for tie in process.closed if tie.end_ns == call.end_ns]
    return max(ties, key=lambda tie: (tie.start_ns, tie.begin.tid))


def _measure_client(process: _ProcessCalls, interval: SignpostInterval) -> tuple[int, int]:
    """Return the time of the call in its own evaluations, and in those that make a program ready.

    Where both are, a program is made ready, as in the budget of an analysis.
    """
    if not process.preparations:
        return _measure(process, interval, process.evaluations), 0
    loading_ns = _measure(process, interval, process.preparations)
    both_ns = _measure(process, interval, [*process.evaluations, *process.preparations])
    return both_ns - loading_ns, loading_ns


def _measure(process: _ProcessCalls, interval: SignpostInterval, entries: list[_ClientInterval]) -> int:
    total_ns, reach_ns = 0, interval.start_ns
    for entry in sorted(entries, key=_BEGIN):
        if entry.end_ns <= interval.start_ns or entry.begin_ns >= interval.end_ns:
            continue
        # The call in which it began: its line in the log may come when another has begun.
        if _find_owner(process, entry.begin_ns, entry.tid) is interval:
            begin_ns = max(entry.begin_ns, reach_ns)
            reach_ns = max(reach_ns, min(entry.end_ns, interval.end_ns))
            total_ns += max(reach_ns - begin_ns, 0)
    return total_ns


def _trim(process: _ProcessCalls, settled_ns: int) -> int:
    """Forget what no call can need any more; return the number of requests and calls given up."""
    starts = [begin.time_ns for begin in process.open_calls] + [call.start_ns for call in process.waiting]
    floor_ns = min(starts, default=settled_ns)
    closed, requests = process.closed, process.requests
    margin_ns = floor_ns - LOGGED_WITHIN_NS - REPEATS_NS
    del closed[: bisect_left(closed, margin_ns, key=_END)]
    del requests[: bisect_left(requests, margin_ns, key=_TIME)]
    for intervals in (process.evaluations, process.preparations):
        del intervals[: bisect_left(intervals, margin_ns, key=_END)]
    dropped = 0
    # Half of a list that is too long goes at once, so that the next entries find room.
    if len(closed) > _MAX_KEPT:
        dropped += _halve(process, closed, closed[_MAX_KEPT // 2].end_ns)
    if len(requests) > _MAX_KEPT:
        dropped += _halve(process, requests, requests[_MAX_KEPT // 2].time_ns)
    for intervals in (process.evaluations, process.preparations):
        if len(intervals) > _MAX_KEPT:
            dropped += _halve(process, intervals, intervals[_MAX_KEPT // 2].end_ns)
    return dropped


def _halve(process: _ProcessCalls, kept: list[_Item], gap_ns: int) -> int:
    process.gap_ns = max(process.gap_ns, gap_ns)
    del kept[: _MAX_KEPT // 2]
    return _MAX_KEPT // 2
