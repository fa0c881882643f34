"""Messages on standard error: the one place that writes there, so that none drives a terminal or a CI.

Paths, arguments and names of a recording are other people's text: escape sequences in them would move the
cursor, change the window's title or hide the rest of a line; a CI would run commands in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

import click

from tracekit.text import escape_lines, printable, without_commands

_QUOTING = (
    click.UsageError,
    click.BadParameter,
    click.NoSuchOption,
    click.BadOptionUsage,
    click.BadArgumentUsage,
)
"""Click's errors that quote arguments. The others list choices, or print the help, on several lines."""


def write_message(*lines: str) -> None:
    """Write the lines of a message. A closed terminal or pipe is no reason to lose the work.

    A line break inside a line is escaped, too: a file's name must not begin a line of its own, which a CI
    could take for a command.
    """
    with suppress(OSError):
        click.echo(without_commands("\n".join(map(printable, lines))), err=True)


def write_progress(text: str) -> None:
    """Write a line of progress in the place of the last one."""
    with suppress(OSError):
        click.echo(f"\r\x1b[K{without_commands(printable(text))}", nl=False, err=True)


def clear_progress() -> None:
    """Remove the line of progress."""
    with suppress(OSError):
        click.echo("\r\x1b[K", nl=False, err=True)


def write_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write a traceback; its last line can quote a recording. Replaces ``sys.excepthook``."""
    import traceback

    write_message(*"".join(traceback.format_exception(kind, error, trace)).splitlines())


@contextmanager
def escape_usage_errors() -> Iterator[None]:
    """Escape the arguments that click quotes in its messages: a shell's wildcard makes file names of them."""
    try:
        yield
    except click.UsageError as error:
        escape = printable if type(error) in _QUOTING else escape_lines
        message = without_commands(escape(error.format_message()))
        if message == error.format_message():
            raise
        raise click.UsageError(message, error.ctx) from error
