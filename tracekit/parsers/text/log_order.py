"""The entries of a log in order of time, on a clock that never goes back, one at a time.

Threads write their lines slightly out of order, so each entry waits until the log is a millisecond further::

    arrives   10.0  10.4  10.1  11.5 ...
    leaves                           10.0  10.1  10.4

The log's times are those of a wall clock, which can be set. Where it jumps, time goes on from where it was,
and no interval spans the jump.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from tracekit.model.vocabulary import LOGGED_WITHIN_NS
from tracekit.parsers.text.log_lines import LogEntry

SETTLE_NS = LOGGED_WITHIN_NS
MAX_BACKWARD_NS = 10**9
"""Heuristic: threads write their lines slightly out of order; more than a second is another clock."""
_MAX_FORWARD_NS = 10**9
_MAX_SILENCE_NS = 86_400 * 10**9
"""Chosen limit: a day without an entry, on a device that states no other clock, counts as a jump."""
_LONGEST_TICK_NS = 125 / 3
"""The tick of Apple's own chips; an Intel Mac counts nanoseconds."""
_REMEMBERED = 1 << 15
"""The entries among which a repeated one is recognised."""
_MAX_WAITING = 2_000
"""Chosen limit on the entries of one millisecond: each may have some kilobytes of text."""


class PlacedEntry(NamedTuple):
    """An entry at its time in the stream, in nanoseconds since 1970 on the stream's first clock.

    ``number`` counts the entries as they came: those of the same time leave in its order. ``is_after_step``
    marks the first entry after the clock was set.
    """

    time_ns: int
    number: int
    entry: LogEntry
    is_after_step: bool


@dataclass(slots=True)
class OrderCounts:
    """The entries that were not as they should be."""

    repeated: int = 0
    late: int = 0
    without_time: int = 0
    steps: int = 0


class LogOrder:
    """Puts the entries of a log in order; its state has a bound."""

    def __init__(self) -> None:
        self.counts = OrderCounts()
        self._waiting: list[PlacedEntry] = []
        self._number = 0
        self._offset_ns = 0
        self._newest_ns = self._left_ns = 0
        self._ticks = -1
        self._is_after_step = False
        self._recent: deque[int] = deque()
        self._recent_keys: set[int] = set()

    @property
    def settled_ns(self) -> int:
        """The time up to which all entries have left."""
        return self._newest_ns - SETTLE_NS

    def add(self, entry: LogEntry) -> list[PlacedEntry]:
        """Return the entries that leave because of this one, in order of time."""
        if entry.time_ns is None:
            self.counts.without_time += 1
            return []
        if self._is_repeated(entry):
            self.counts.repeated += 1
            return []
        forward_ns = entry.time_ns + self._offset_ns - self._newest_ns
        is_near = -MAX_BACKWARD_NS <= forward_ns <= _MAX_FORWARD_NS
        leaving = [] if is_near else self._follow_clock(entry, forward_ns)
        time_ns = entry.time_ns + self._offset_ns
        self._number += 1
        placed_entry = PlacedEntry(time_ns, self._number, entry, self._is_after_step)
        self._is_after_step = False
        if time_ns < self._left_ns:
            self.counts.late += 1
            return [*leaving, placed_entry]
        heapq.heappush(self._waiting, placed_entry)
        if time_ns >= self._newest_ns:
            self._newest_ns, self._ticks = time_ns, entry.ticks
        leaving += self._take(self._newest_ns - SETTLE_NS)
        return leaving

    def finish(self) -> list[PlacedEntry]:
        """Return the entries that still wait, in order of time."""
        return self._take(self._newest_ns)

    def _take(self, until_ns: int) -> list[PlacedEntry]:
        leaving = []
        waiting = self._waiting
        while waiting and (waiting[0].time_ns <= until_ns or len(waiting) > _MAX_WAITING):
            leaving.append(heapq.heappop(waiting))
        if leaving:
            self._left_ns = leaving[-1].time_ns
        return leaving

    def _follow_clock(self, entry: LogEntry, forward_ns: int) -> list[PlacedEntry]:
        """Return the entries that leave because the clock was set between them and this entry."""
        if not self._newest_ns:
            return []
        if forward_ns > 0 and not self._is_set_forward(entry, forward_ns):
            return []
        self._offset_ns -= forward_ns
        self.counts.steps += 1
        self._is_after_step = True
        return self.finish()

    def _is_set_forward(self, entry: LogEntry, forward_ns: int) -> bool:
        """Return whether the clock went on by more than the time that can have passed."""
        if entry.ticks < 0 or self._ticks < 0:
            return forward_ns > _MAX_SILENCE_NS
        return forward_ns > (entry.ticks - self._ticks) * _LONGEST_TICK_NS + _MAX_FORWARD_NS

    def _is_repeated(self, entry: LogEntry) -> bool:
        time_ns, ticks, pid, tid = entry.time_ns, entry.ticks, entry.pid, entry.tid
        key = hash((time_ns, ticks, pid, tid, entry.subsystem, entry.message, entry.signpost))
        keys, recent = self._recent_keys, self._recent
        if key in keys:
            return True
        keys.add(key)
        recent.append(key)
        if len(recent) > _REMEMBERED:
            keys.discard(recent.popleft())
        return False
