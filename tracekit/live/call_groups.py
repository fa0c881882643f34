"""The calls of one process, name and model: their number, their rate, whether they left the Neural Engine."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

from tracekit.live.live_call import LiveCall

GroupKey: TypeAlias = tuple[int, str, str]
MIN_CALLS_BEFORE = 3
"""Chosen: so many calls in a row with requests make one without any worth a bell."""
RATE_SECONDS = 10
"""Calls per second are counted over the last ten seconds of the stream."""
_MAX_LENGTHS = 512
_SECOND_NS = 10**9


@dataclass(slots=True)
class LiveCallGroup:
    """What is kept of a group, the same amount after a minute and after a day.

    ``calls_before`` counts the calls in a row that had requests, up to the last call; ``breaks`` is the
    number of interruptions of the stream that it had seen then.
    """

    process: str
    calls: int = 0
    with_requests: int = 0
    without_requests: int = 0
    failed: int = 0
    calls_before: int = 0
    breaks: int = 0
    latest: LiveCall | None = None
    lengths_ns: deque[int] = field(default_factory=lambda: deque(maxlen=_MAX_LENGTHS))
    seconds: deque[list[int]] = field(default_factory=lambda: deque(maxlen=RATE_SECONDS + 1))
    """Pairs of a second and the calls that ended in it."""

    def add(self, call: LiveCall, breaks: int) -> int:
        """Count a call; return how many calls before it had requests if it has none, else 0.

        A call is compared with those before it only if the stream was whole since the last of them: what is
        missing may be the line of a request. Contested requests decide nothing.
        """
        second = call.end_ns // _SECOND_NS
        if self.seconds and self.seconds[-1][0] == second:
            self.seconds[-1][1] += 1
        else:
            self.seconds.append([second, 1])
        self.calls += 1
        self.failed += call.failed > 0
        self.lengths_ns.append(call.length_ns)
        if breaks != self.breaks:
            self.breaks, self.calls_before = breaks, 0
        if call.served:
            self.with_requests += 1
            self.calls_before += 1
            return 0
        if call.contested:
            return 0
        self.without_requests += 1
        calls_before, self.calls_before = self.calls_before, 0
        return calls_before if calls_before >= MIN_CALLS_BEFORE else 0

    def count_recent(self, now_ns: int) -> int:
        """Return the number of calls in the last ``RATE_SECONDS`` whole seconds before ``now_ns``."""
        second = now_ns // _SECOND_NS
        return sum(count for number, count in self.seconds if second - RATE_SECONDS <= number < second)
