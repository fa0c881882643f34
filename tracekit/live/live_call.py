"""A call of a stream, and the findings beside calls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tracekit.model.vocabulary import Engine


@dataclass(frozen=True, slots=True)
class LiveCall:
    """One call: an interval of a signpost, and the requests to the Neural Engine that the log has in it.

    ``number`` counts the calls of the same process, name and model from 1. ``contested`` requests may be of
    another call as well, one that has not ended. ``request_ns`` is the time in the client's own intervals
    around its requests, ``loading_ns`` in those in which it makes a program ready; 0 where it has none.
    """

    number: int
    name: str
    model: str
    process: str
    pid: int
    tid: int
    start_ns: int
    end_ns: int
    served: int = 0
    failed: int = 0
    statuses: tuple[int, ...] = ()
    contested: int = 0
    request_ns: int = 0
    loading_ns: int = 0

    @property
    def length_ns(self) -> int:
        """The length of the call."""
        return self.end_ns - self.start_ns

    @property
    def engine(self) -> Engine:
        """The engine that served it: the log of requests can show the Neural Engine and no other."""
        return Engine.ANE if self.served else Engine.UNKNOWN


class WatchKind(StrEnum):
    """The kinds of findings that ``--until`` can wait for."""

    FELL_BACK = "fell-back"
    """Calls that had requests to the Neural Engine are followed by one that has none."""
    REQUESTS_FAILED = "requests-failed"
    OPERATORS_REFUSED = "operators-refused"
    PROGRAM_NOT_LOADED = "program-not-loaded"


@dataclass(frozen=True, slots=True)
class WatchFinding:
    """Something that a user waits for, at the moment at which the stream shows it.

    ``call`` is the call that shows it, None for a line in the log. ``calls_before`` is the number of calls
    before it that had requests. ``operator`` and ``reason`` are those of a refusal.
    """

    kind: WatchKind
    time_ns: int
    process: str
    pid: int
    call: LiveCall | None = None
    calls_before: int = 0
    operator: str = ""
    reason: str = ""


@dataclass(slots=True)
class StreamCounts:
    """Numbers of the lines of a stream, and of those that could not be used."""

    bytes: int = 0
    lines: int = 0
    signposts: int = 0
    others_signposts: int = 0
    """Signposts that were left out: another process wrote them."""
    calls: int = 0
    requests: int = 0
    other_lines: int = 0
    """Lines that are no JSON: what the program prints besides."""
    damaged: int = 0
    too_long: int = 0
    lost: int = 0
    """Entries in which the log itself reports that it dropped others."""
    repeated: int = 0
    late: int = 0
    without_time: int = 0
    clock_jumps: int = 0
    without_end: int = 0
    without_begin: int = 0
    nameless: int = 0
    """Signposts whose name the stream does not have."""
    overlapping: int = 0
    """Intervals that overlap another of their name, in a stream without identifiers."""
    requests_dropped: int = 0
    """Requests and calls that were given up because a call stays open for too long."""
