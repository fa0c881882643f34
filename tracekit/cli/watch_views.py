"""Views of ``tracekit watch``: their interface, and a line per call."""

from __future__ import annotations

import queue
import sys
import threading
from typing import Final, Protocol, Self

import click

from tracekit.cli.standard_error import write_message
from tracekit.live.live_call import LiveCall, WatchFinding
from tracekit.live.stream_watch import Happening, StreamWatch
from tracekit.live.watch_summary import summarize_watch
from tracekit.report.wording.live import (
    describe_choice,
    describe_evidence,
    describe_finding,
    describe_group,
    format_clock,
    list_problems,
    name_engine,
    name_group,
    name_process,
)
from tracekit.text import format_rounded, plural, printable, without_commands

BELL = "\a"
_MAX_WAITING_LINES = 2_000
_END: Final = None


class WatchView(Protocol):
    """Something that shows calls and findings; use as a context."""

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(self, *_: object) -> None:
        """Show how the watch ended."""
        ...

    def show(self, happening: Happening, *, rings: bool) -> None:
        """Show a call or a finding; with ``rings``, with a bell."""
        ...

    def tick(self) -> None:
        """Take the time to draw: called several times a second, more often while much comes."""
        ...


class LineView:
    """A line per call and finding on standard output.

    With ``may_drop``, a reader that is slower than the stream misses calls, which are counted: a thread
    writes the lines, and the stream never waits for it. Findings are not dropped.
    """

    def __init__(self, watch: StreamWatch, *, may_drop: bool) -> None:
        self._watch = watch
        self._lines: queue.Queue[str | None] = queue.Queue(_MAX_WAITING_LINES)
        self._dropped = 0
        self._writer = threading.Thread(target=self._write_lines, daemon=True) if may_drop else None

    def __enter__(self) -> Self:
        if self._writer:
            self._writer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer:
            self._lines.put(_END)
            self._writer.join()
        for line in summarize_lines(self._watch):
            write_message(line)
        if self._dropped:
            write_message(f"{plural(self._dropped, 'call')} not printed: the output was read too slowly.")

    def show(self, happening: Happening, *, rings: bool) -> None:
        """See ``WatchView``."""
        line = format_happening(happening, self._watch.utc_offset_s)
        if rings and sys.stdout is not None and sys.stdout.isatty():
            line += BELL
        if self._writer is None:
            _write(line)
        elif isinstance(happening, WatchFinding):
            self._lines.put(line)
        else:
            try:
                self._lines.put_nowait(line)
            except queue.Full:
                self._dropped += 1

    def tick(self) -> None:
        """Lines are written as they come."""

    def _write_lines(self) -> None:
        is_read = True
        while (line := self._lines.get()) is not _END:
            try:
                if is_read:
                    _write(line)
            except OSError:  # nobody reads any more; the stream goes on, and must find room in the queue
                is_read = False


def _write(line: str) -> None:
    is_bell = line.endswith(BELL)
    click.echo(without_commands(printable(line.removesuffix(BELL))) + (BELL if is_bell else ""))


def format_happening(happening: Happening, utc_offset_s: int | None) -> str:
    """Return a call or a finding as a line."""
    if isinstance(happening, LiveCall):
        name = f"{name_group(happening.name, happening.model)} {happening.number}"
        columns = (
            format_clock(happening.end_ns, utc_offset_s),
            name_process(happening.process, happening.pid),
            name,
            format_rounded(happening.length_ns),
            f"{name_engine(happening):3}",
            describe_evidence(happening),
        )
        return "  ".join(columns)
    return f"{format_clock(happening.time_ns, utc_offset_s)}  ! {describe_finding(happening)}"


def summarize_lines(watch: StreamWatch) -> list[str]:
    """Return how a watch ended: its calls by group, and what of the stream could not be used."""
    summary = summarize_watch(watch)
    lines = [
        f"{name_group(group.name, group.model)} of {name_process(group.process, group.pid)}:"
        f" {plural(group.calls, 'call')}, median {format_rounded(group.median_ns)}; {describe_group(group)}."
        for group in summary.groups
    ]
    choice = describe_choice(summary)
    lines += [choice] if choice else []
    if not summary.counts.calls and summary.counts.requests:
        lines.append(f"{plural(summary.counts.requests, 'request')} to the Neural Engine in the log.")
    problems = list_problems(summary.counts)
    if problems:
        lines.append(f"Of {plural(summary.counts.lines, 'line')}: {'; '.join(problems)}.")
    lines += [f"The stream has: {text}" for text in summary.other_lines]
    return lines
