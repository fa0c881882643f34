"""The view of ``tracekit watch`` on a terminal: calls by group, the latest calls as a strip, and findings.

A thread draws what it finds in a slot, four times a second; a terminal that takes longer misses states of
the table, and the stream never waits for it.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tracekit.cli.standard_error import write_message
from tracekit.cli.watch_views import summarize_lines
from tracekit.live.live_call import LiveCall
from tracekit.live.stream_watch import Happening, StreamWatch
from tracekit.live.watch_summary import GroupSummary, WatchSummary, summarize_watch
from tracekit.report.wording.live import (
    describe_choice,
    describe_finding,
    describe_group,
    format_clock,
    list_problems,
    name_engine,
    name_group,
    name_process,
    number_group,
)
from tracekit.text import format_rounded, plural, printable

_PERIOD_SECONDS = 0.25
_MAX_FINDINGS = 5
_MAX_GROUPS = 12
_MAX_STRIPS = 5
_STRIP_NAME_WIDTH = 20
_ANE_STYLE, _NO_ENGINE_STYLE, _FINDING_STYLE = "green", "bright_black", "bold red"
_ANE_SIGN, _NO_ENGINE_SIGN, _FAILED_SIGN = "█", "·", "x"


class TableView:
    """Implements ``WatchView``."""

    def __init__(self, watch: StreamWatch) -> None:
        self._watch = watch
        self._console = Console(file=sys.stdout)
        self._drawn_at = 0.0
        self._slot: WatchSummary | None = None
        self._has_news, self._is_ended = threading.Event(), threading.Event()
        self._drawer = threading.Thread(target=self._draw, daemon=True)

    def __enter__(self) -> Self:
        self._fill_slot()
        self._drawer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._fill_slot()
        self._is_ended.set()
        self._drawer.join()
        for line in summarize_lines(self._watch):
            write_message(line)

    def show(self, happening: Happening, *, rings: bool) -> None:  # noqa: ARG002 - the summary has it
        """See ``WatchView``."""
        if rings:
            self._fill_slot()
            self._console.bell()

    def tick(self) -> None:
        """See ``WatchView``."""
        if time.monotonic() - self._drawn_at >= _PERIOD_SECONDS:
            self._fill_slot()

    def _fill_slot(self) -> None:
        self._drawn_at = time.monotonic()
        self._slot = summarize_watch(self._watch)
        self._has_news.set()

    def _draw(self) -> None:
        with Live(console=self._console, auto_refresh=False, vertical_overflow="ellipsis") as live:
            is_ended = False
            while not is_ended:
                self._has_news.wait(_PERIOD_SECONDS)
                is_ended = self._is_ended.is_set()
                self._has_news.clear()
                if self._slot is not None:
                    live.update(draw_summary(self._slot, self._console.width), refresh=True)


def draw_summary(summary: WatchSummary, width: int) -> Group:
    """Return the state of a watch as rich draws it, at most ``width`` wide."""
    counts = summary.counts
    clock = format_clock(summary.now_ns, summary.utc_offset_s) if summary.now_ns else "no entry yet"
    head = f"{clock}   {plural(counts.calls, 'call')}   {summary.calls_per_second:.1f} calls/s"
    head += f"   {plural(counts.requests, 'request')} to the Neural Engine"
    parts: list[Text | Table] = [Text(head, style="bold", no_wrap=True, overflow="ellipsis")]
    choice = describe_choice(summary)
    if choice:
        parts.append(Text(printable(choice)))
    else:
        parts += [_draw_groups(summary.groups), *_draw_strips(summary, width)]
    for finding in summary.findings[-_MAX_FINDINGS:]:
        text = f"{format_clock(finding.time_ns, summary.utc_offset_s)}  ! {describe_finding(finding)}"
        parts.append(Text(printable(text), style=_FINDING_STYLE))
    problems = "; ".join(list_problems(counts))
    if problems:
        parts.append(Text(f"Of {plural(counts.lines, 'line')}: {problems}.", style="yellow"))
    return Group(*parts)


def _draw_groups(groups: tuple[GroupSummary, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("calls of", no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column("process", no_wrap=True, overflow="ellipsis", ratio=2)
    for title in ("calls/s", "calls", "median", "longest", "latest"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("engine, by the log", overflow="fold", ratio=3)
    for group in groups[:_MAX_GROUPS]:
        style = _ANE_STYLE if group.latest.served else _NO_ENGINE_STYLE
        table.add_row(
            Text(printable(name_group(group.name, group.model))),
            Text(printable(name_process(group.process, group.pid))),
            f"{group.per_second:.1f}",
            f"{group.calls:,}",
            format_rounded(group.median_ns),
            format_rounded(group.longest_ns),
            Text(f"{format_rounded(group.latest.length_ns)} {name_engine(group.latest)}", style=style),
            Text(describe_group(group)),
        )
    return table


def _draw_strips(summary: WatchSummary, width: int) -> list[Text]:
    """Return a sign for each of the latest calls of the first groups, oldest first, below what they mean."""
    meaning = (
        f"latest calls: {_ANE_SIGN} requests in the log, {_FAILED_SIGN} a failed one, {_NO_ENGINE_SIGN} none"
    )
    strips = [Text(meaning, style="dim", no_wrap=True, overflow="ellipsis")]
    for group in summary.groups[:_MAX_STRIPS]:
        strip = Text(no_wrap=True, overflow="crop")
        number = number_group(group, summary.groups)
        name = Text(printable(name_group(group.name, group.model)))
        name.truncate(_STRIP_NAME_WIDTH - len(number), overflow="ellipsis", pad=not number)
        name.append(number)
        name.truncate(_STRIP_NAME_WIDTH, pad=True)
        strip.append(name).append("  ")
        key = (group.pid, group.name, group.model)
        calls = [call for call in summary.recent_calls if (call.pid, call.name, call.model) == key]
        for call in calls[-max(width - strip.cell_len, 1) :]:
            sign, style = _choose_sign(call)
            strip.append(sign, style=style)
        strips.append(strip)
    return strips


def _choose_sign(call: LiveCall) -> tuple[str, str]:
    if call.failed:
        return _FAILED_SIGN, _FINDING_STYLE
    return (_ANE_SIGN, _ANE_STYLE) if call.served else (_NO_ENGINE_SIGN, _NO_ENGINE_STYLE)
