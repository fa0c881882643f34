"""``tracekit watch``: calls as they end, from a stream of signposts and lines of the log."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli.durations import parse_seconds
from tracekit.cli.output import HELP, check_output, write_pieces
from tracekit.cli.standard_error import write_message
from tracekit.errors import InputError, UsageError
from tracekit.installation import format_install_command

if TYPE_CHECKING:
    from tracekit.cli.watch_views import WatchView
    from tracekit.live.stream_inputs import StreamInput
    from tracekit.live.stream_watch import Happening, StreamWatch

_SEEN, _NOTHING_TO_SEE = 1, 5
_UNTIL = ("fell-back", "requests-failed", "operators-refused", "program-not-loaded")
_KEEP_BYTES = 24 << 20


@click.command("watch", context_settings=HELP, short_help="Show calls as they end, from a stream of the log.")
@click.argument("source", metavar="[FILE]", required=False, type=click.Path())
@click.option(
    "--command",
    default="",
    metavar="COMMAND",
    help="A program that writes the stream, in place of FILE; no shell reads it.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on as FILE grows.")
@click.option(
    "--window-signpost",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Intervals of these signposts are the calls: subsystem/category/name, with globs. Repeatable.",
)
@click.option("--process", default="", metavar="NAME", help="Only this process, by name or number.")
@click.option(
    "--until",
    multiple=True,
    type=click.Choice(_UNTIL),
    help="Stop with a bell when this is seen. Repeatable.",
)
@click.option(
    "--time-limit", "seconds", metavar="TIME", callback=parse_seconds, help="Stop after a time, e.g. 30s."
)
@click.option(
    "--keep",
    default="",
    metavar="FILE",
    help="At the end, write the stream's last five minutes into FILE, which analyze reads.",
)
@click.option("--force", is_flag=True, help="Overwrite the file of --keep.")
@click.option("--plain", is_flag=True, help="A line per call on a terminal, too.")
def watch_command(
    source: str | None,
    command: str,
    follow: bool,
    patterns: tuple[str, ...],
    process: str,
    until: tuple[str, ...],
    seconds: float | None,
    keep: str,
    force: bool,
    plain: bool,
) -> None:
    """Show each call when it ends, and the engine that the log shows for it.

    FILE has the lines of log stream --style ndjson --signpost, or of log show; - is standard input. Without
    FILE, on a Mac, log stream is started. The log shows requests to the Neural Engine and no other engine.
    Ctrl-C stops.

    Exit codes: 0, the stream ended; 1, something that --until names was seen; 3, the stream cannot be read;
    5, it ended and had nothing in which --until could be seen.

    \b
    Examples:
      tracekit watch --process MyApp --window-signpost encode --until fell-back
      tracekit watch saved.ndjson --window-signpost encode
      ssh mac log stream --style ndjson --signpost | tracekit watch -
    """
    if keep:
        check_output(keep, force)
    from tracekit.live.stream_watch import StreamWatch

    stream_input, is_live = _open_input(source, command, process, follow)
    watch = StreamWatch(patterns, process, _KEEP_BYTES if keep else 0)
    view = _make_view(watch, is_plain=plain, may_drop=is_live)
    deadline = None if seconds is None else time.monotonic() + seconds
    name = "standard input" if source == "-" else source or command or "log stream"
    try:
        with view, _closing(stream_input):
            is_seen = _watch(watch, name, stream_input, view, frozenset(until), deadline)
    finally:
        if keep:
            write_pieces(watch.recent_lines.iter_bytes(), keep, force)
    if is_seen:
        click.get_current_context().exit(_SEEN)
    if until and not any(watch.could_see(kind) for kind in until):
        write_message(f"Nothing in this stream could have shown {' or '.join(until)}.")
        click.get_current_context().exit(_NOTHING_TO_SEE)


def _watch(
    watch: StreamWatch,
    name: str,
    blocks: StreamInput,
    view: WatchView,
    until: frozenset[str],
    deadline: float | None,
) -> bool:
    """Show what the stream brings until it ends; return whether it brought something of ``until``.

    A stream that was stopped may have been silent; one that ended, or had lines, must have had one to read.
    """
    is_stopped = True
    try:
        for block in blocks:
            if _show(watch.feed(block) if block else watch.settle(), view, until):
                return True
            view.tick()
            if deadline is not None and time.monotonic() > deadline:
                break
        else:
            is_stopped = False
    except KeyboardInterrupt:
        pass
    except InputError:
        # The calls that were waiting for the next line have ended before whatever failed.
        _show(watch.finish(), view, frozenset())
        raise
    is_seen = _show(watch.finish(), view, until)
    if watch.counts.lines or not is_stopped:
        watch.require_entries(name)
    return is_seen


def _show(happenings: Iterable[Happening], view: WatchView, until: frozenset[str]) -> bool:
    """Show calls and findings up to the first of ``until``, which rings; return whether there is one."""
    from tracekit.live.live_call import WatchFinding

    for happening in happenings:
        is_awaited = isinstance(happening, WatchFinding) and happening.kind in until
        view.show(happening, rings=is_awaited)
        if is_awaited:
            return True
    return False


def _make_view(watch: StreamWatch, *, is_plain: bool, may_drop: bool) -> WatchView:
    """Return the view: lines where standard output is no terminal, or with ``is_plain``."""
    from tracekit.cli.watch_views import LineView

    if is_plain or sys.stdout is None or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return LineView(watch, may_drop=may_drop)
    try:
        from tracekit.cli.watch_table import TableView
    except ImportError:
        write_message(f"For a table instead of lines: {format_install_command('live')}")
        return LineView(watch, may_drop=may_drop)
    return TableView(watch)


def _open_input(source: str | None, command: str, process: str, follow: bool) -> tuple[StreamInput, bool]:
    """Return the stream, and whether it comes while it is written."""
    from tracekit.live.stream_inputs import FileStream, PipeStream, ProgramStream

    if command and source:
        raise UsageError("--command stands in the place of FILE: leave one of them out.")
    if command:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--command: {error}.") from error
        return ProgramStream(words or [command]), True
    if source == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("- needs a pipe or a file on standard input.")
        return PipeStream(sys.stdin.buffer), True
    if source:
        return FileStream(Path(source), follows=follow, note=write_message), follow
    if platform.system() != "Darwin":
        raise UsageError(
            "Only a Mac has a log to stream. Name a file, - for a pipe, or --command with a program that"
            " writes the stream of another device."
        )
    from tracekit.record.companions import build_watch_command

    return ProgramStream(build_watch_command(process)), True


@contextmanager
def _closing(stream_input: StreamInput) -> Iterator[None]:
    try:
        yield
    finally:
        stream_input.close()
