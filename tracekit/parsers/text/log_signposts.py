"""The signposts of a saved log → tables as Instruments has them, and its lines at the stream's times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import pandas as pd

from tracekit.model.columns import PROCESSES, THREADS, make_categorical
from tracekit.model.schemas import SIGNPOST_EVENTS, SIGNPOST_INTERVALS
from tracekit.model.tables import Column, StackTable, Table
from tracekit.model.trace import IssueCounter
from tracekit.parsers.text.log_lines import LogEntry
from tracekit.parsers.text.log_order import PlacedEntry
from tracekit.parsers.text.log_stream import LogStream, StreamItem
from tracekit.parsers.text.signpost_pairing import PlacedSignpost, SignpostInterval

_NAMED = (
    Column("name", "Name", "signpost-name", "text"),
    Column("subsystem", "Subsystem", "subsystem", "text"),
    Column("category", "Category", "category", "text"),
    Column("identifier", "Identifier", "os-signpost-identifier", "int"),
    Column("process", "Process", "process", "process"),
)
_INTERVAL_COLUMNS = (
    Column("start", "Start", "start-time", "int"),
    Column("duration", "Duration", "duration", "int"),
    *_NAMED,
    Column("start-thread", "Start Thread", "thread", "thread"),
    Column("start-message", "Start Message", "os-log-metadata", "text"),
)
_EVENT_COLUMNS = (
    Column("time", "Timestamp", "event-time", "int"),
    Column("event-type", "Event Type", "event-type", "text"),
    *_NAMED,
    Column("thread", "Thread", "thread", "thread"),
    Column("message", "Message", "os-log-metadata", "text"),
)


@dataclass
class ArrangedLog:
    """A log with signposts, at times on a clock that never goes back."""

    lines: list[LogEntry] = field(default_factory=list)
    intervals: list[SignpostInterval] = field(default_factory=list)
    events: list[PlacedSignpost] = field(default_factory=list)
    issues: IssueCounter = field(default_factory=IssueCounter)
    has_steps: bool = False

    def times(self) -> Iterator[int]:
        """Yield the first and last moments of what it holds."""
        for interval in self.intervals:
            yield interval.start_ns
            yield interval.end_ns
        yield from (event.time_ns for event in self.events)
        yield from (line.time_ns for line in self.lines if line.time_ns is not None)


def arrange_signposts(entries: Sequence[LogEntry]) -> ArrangedLog | None:
    """Return the lines and the paired signposts of entries; None where none of them is a signpost."""
    if all(entry.signpost is None for entry in entries):
        return None
    log, stream = ArrangedLog(), LogStream()
    for item in chain.from_iterable(_iter_items(entries, stream)):
        if isinstance(item, PlacedEntry):
            log.lines.append(item.entry._replace(time_ns=item.time_ns))
        elif isinstance(item, SignpostInterval):
            log.intervals.append(item)
        elif isinstance(item, PlacedSignpost) and item.signpost.kind == "event":
            log.events.append(item)
    counts, pairing = stream.order.counts, stream.pairing
    log.has_steps = counts.steps > 0
    text = "entries of the log that repeat an earlier one and count once: {n}"
    log.issues.add("info", "log-entries-repeated", text, counts.repeated)
    text = "places where the clock of the log jumps; no signpost interval spans one: {n}"
    log.issues.add("warning", "log-clock-jumps", text, counts.steps)
    text = "entries of a log with signposts that have no time and were left out: {n}"
    log.issues.add("warning", "log-lines-without-time", text, counts.without_time)
    text = (
        "signpost intervals that overlap another of their name, which no identifier tells apart: {n}. None"
        " counts as a call, and a request in their time may be theirs"
    )
    log.issues.add("warning", "signposts-overlapping", text, pairing.overlapping)
    unpaired = pairing.without_begin + pairing.without_end + len(pairing)
    text = (
        "signposts of the log without a partner: {n}. The partner is before or after the log, or was not"
        " logged"
    )
    is_much = unpaired > 2 * len(log.intervals)
    log.issues.add("warning" if is_much else "info", "signposts-unpaired", text, unpaired)
    return log


def _iter_items(entries: Sequence[LogEntry], stream: LogStream) -> Iterator[Iterable[StreamItem]]:
    yield from map(stream.add, entries)
    yield stream.finish()


def build_signpost_tables(log: ArrangedLog, origin_ns: int) -> list[Table]:
    """Return the tables of the intervals and of the events; times count from ``origin_ns``."""
    begins = [interval.begin for interval in log.intervals]
    lengths = [interval.end_ns - interval.start_ns for interval in log.intervals]
    spans = {
        "start": pd.array([begin.time_ns - origin_ns for begin in begins], "Int64"),
        "duration": pd.array(lengths, "Int64"),
    }
    moments = {
        "time": pd.array([event.time_ns - origin_ns for event in log.events], "Int64"),
        "event-type": make_text_column(["Event"] * len(log.events)),
    }
    return [
        _build_table(SIGNPOST_INTERVALS, _INTERVAL_COLUMNS, begins, spans),
        *([_build_table(SIGNPOST_EVENTS, _EVENT_COLUMNS, log.events, moments)] if log.events else []),
    ]


def _build_table(
    schema: str, columns: tuple[Column, ...], marks: Sequence[PlacedSignpost], times: Mapping[str, object]
) -> Table:
    entities = LogEntities()
    thread, process = entities.number_rows([(mark.pid, mark.tid, mark.process) for mark in marks])
    *_, thread_column, message_column = (column.mnemonic for column in columns)
    rows = pd.DataFrame(
        {
            **times,
            "name": make_text_column([mark.signpost.name for mark in marks]),
            "subsystem": make_text_column([mark.subsystem for mark in marks]),
            "category": make_text_column([mark.category for mark in marks]),
            "identifier": pd.array([max(mark.signpost.identifier, 0) for mark in marks], "UInt64"),
            "process": process,
            thread_column: thread,
            message_column: make_text_column([mark.message for mark in marks]),
        }
    )
    return Table(schema, columns, rows, entities.threads(), entities.processes(), StackTable.empty())


class LogEntities:
    """The threads and processes of a table of a log."""

    def __init__(self) -> None:
        self._threads: dict[tuple[int, str, int, str], int] = {}
        self._processes: dict[tuple[int, str], int] = {}

    def number_rows(
        self, owners: Sequence[tuple[int, int, str]]
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], np.ndarray[tuple[int], np.dtype[np.int32]]]:
        """Return the rows of threads and of processes of (pid, tid, process name); -1 for unknown."""
        thread, process = np.full(len(owners), -1, np.int32), np.full(len(owners), -1, np.int32)
        for row, (pid, tid, name) in enumerate(owners):
            if pid >= 0 or name:
                process[row] = self._processes.setdefault((pid, name), len(self._processes))
            if tid >= 0:
                thread[row] = self._threads.setdefault((tid, "", pid, name), len(self._threads))
        return thread, process

    def threads(self) -> pd.DataFrame:
        """Return the threads, in the order of their numbers."""
        frame = pd.DataFrame(list(self._threads), columns=list(THREADS.required))
        return frame.astype(dict(THREADS.required))

    def processes(self) -> pd.DataFrame:
        """Return the processes, in the order of their numbers."""
        frame = pd.DataFrame(list(self._processes), columns=list(PROCESSES.required))
        return frame.astype(dict(PROCESSES.required))


def make_text_column(values: Sequence[str]) -> pd.Categorical:
    """Return texts as a category."""
    names = {name: code for code, name in enumerate(dict.fromkeys(values))}
    return make_categorical(np.array([names[value] for value in values], np.int32), list(names))
