"""The entries of a log → its lines and intervals, one at a time: how every log with signposts is read.

A saved log and one that is being written pass through the same functions, so both hold the same intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tracekit.parsers.text.log_lines import LogEntry
from tracekit.parsers.text.log_order import LogOrder, PlacedEntry
from tracekit.parsers.text.signpost_pairing import PlacedSignpost, SignpostInterval, SignpostPairing

_MAX_MESSAGE_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The log's clock was set: what comes next lies at an unknown distance."""


@dataclass(frozen=True, slots=True)
class DroppedBegins:
    """Begins that count as without an End; ``is_ambiguous`` where an End came that may be of several."""

    begins: tuple[PlacedSignpost, ...]
    time_ns: int
    is_ambiguous: bool = False


StreamItem: TypeAlias = PlacedEntry | PlacedSignpost | SignpostInterval | DroppedBegins | ClockStep
"""A line; a Begin or an event; an interval, as its End comes; and what ends the wait for an End."""


class LogStream:
    """Reads the entries of a log; its state has a bound, whatever comes."""

    def __init__(self) -> None:
        self.order = LogOrder()
        self.pairing = SignpostPairing()

    def add(self, entry: LogEntry) -> Iterator[StreamItem]:
        """Yield what this entry makes known, in order of time; consume it before the next entry."""
        return self._pair(self.order.add(entry))

    def finish(self) -> Iterator[StreamItem]:
        """Yield what still waits; Begins stay open."""
        return self._pair(self.order.finish())

    def _pair(self, entries: Iterable[PlacedEntry]) -> Iterator[StreamItem]:
        for placed_entry in entries:
            if placed_entry.is_after_step:
                yield DroppedBegins(tuple(self.pairing.drop_all()), placed_entry.time_ns)
                yield ClockStep()
            mark = _get_signpost(placed_entry)
            if mark is None:
                yield placed_entry
                continue
            overdue = self.pairing.drop_overdue(placed_entry.time_ns)
            if overdue:
                yield DroppedBegins(tuple(overdue), placed_entry.time_ns)
            interval = self.pairing.add(mark)
            if interval is not None:
                yield interval
            elif mark.signpost.kind != "end":
                yield mark
            if self.pairing.given_up:
                given_up = self.pairing.take_given_up()
                yield DroppedBegins(tuple(given_up), placed_entry.time_ns, is_ambiguous=True)


def _get_signpost(placed_entry: PlacedEntry) -> PlacedSignpost | None:
    entry = placed_entry.entry
    if entry.signpost is None:
        return None
    return PlacedSignpost(
        placed_entry.time_ns,
        entry.signpost,
        entry.subsystem[:_MAX_MESSAGE_CHARACTERS],
        entry.category[:_MAX_MESSAGE_CHARACTERS],
        entry.pid,
        entry.tid,
        entry.process[:_MAX_MESSAGE_CHARACTERS],
        entry.message[:_MAX_MESSAGE_CHARACTERS],
    )
