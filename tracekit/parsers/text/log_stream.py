"""The entries of a log → its lines and intervals, one at a time: how every log with signposts is read.

A saved log and one that is being written pass through the same functions, so both hold the same intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tracekit.parsers.text.log_lines import LogEntry
from tracekit.parsers.text.log_order import LogOrder, PlacedEntry
from tracekit.parsers.text.signpost_pairing import (
    PlacedSignpost,
    Signpost,
    SignpostInterval,
    SignpostPairing,
)

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

    def add(self, entry: LogEntry) -> list[StreamItem]:
        """Return what this entry makes known, in order of time."""
        return self._pair(self.order.add(entry))

    def finish(self) -> list[StreamItem]:
        """Return what still waits; Begins stay open."""
        return self._pair(self.order.finish())

    def _pair(self, entries: Iterable[PlacedEntry]) -> list[StreamItem]:
        items: list[StreamItem] = []
        pairing = self.pairing
        for placed_entry in entries:
            time_ns, _, entry, is_after_step = placed_entry
            if is_after_step:
                items += DroppedBegins(tuple(pairing.drop_all()), time_ns), ClockStep()
            signpost = entry.signpost
            if signpost is None:
                items.append(placed_entry)
                continue
            overdue = pairing.drop_overdue(time_ns)
            if overdue:
                items.append(DroppedBegins(tuple(overdue), time_ns))
            mark = _place_signpost(time_ns, signpost, entry)
            interval = pairing.add(mark)
            if interval is not None:
                items.append(interval)
            elif signpost.kind != "end":
                items.append(mark)
            if pairing.given_up:
                items.append(DroppedBegins(tuple(pairing.take_given_up()), time_ns, is_ambiguous=True))
        return items


def _place_signpost(time_ns: int, signpost: Signpost, entry: LogEntry) -> PlacedSignpost:
    return PlacedSignpost(
        time_ns,
        signpost,
        entry.subsystem[:_MAX_MESSAGE_CHARACTERS],
        entry.category[:_MAX_MESSAGE_CHARACTERS],
        entry.pid,
        entry.tid,
        entry.process[:_MAX_MESSAGE_CHARACTERS],
        entry.message[:_MAX_MESSAGE_CHARACTERS],
    )
