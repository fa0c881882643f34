"""The command line: one file per command; the only place that prints and exits."""

from __future__ import annotations

import os
import signal
import sys
import threading
from importlib.metadata import entry_points
from typing import Any

import click

import tracekit
from tracekit.cli.analyze import analyze_command
from tracekit.cli.check import check_command
from tracekit.cli.classify import classify_command
from tracekit.cli.compare import compare_command
from tracekit.cli.doctor import doctor_command
from tracekit.cli.export import export_command
from tracekit.cli.output import HELP
from tracekit.cli.pack import pack_command
from tracekit.cli.record import record_command
from tracekit.cli.report import report_command
from tracekit.cli.tables import tables_command
from tracekit.cli.verify_native import verify_native_command
from tracekit.errors import TracekitError
from tracekit.export.text import printable

_BROKEN_PIPE = 128 + 13
"""How a shell tells that a program ended by SIGPIPE: neither a failed requirement nor a mistake."""


_PLUGINS = "tracekit.commands"
"""The entry points of commands that live in packages which import this one, such as the dashboard's."""


class _Commands(click.Group):
    """The one place that turns a ``TracekitError`` into a sentence on stderr and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *entry_points(group=_PLUGINS).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None:
            for point in entry_points(group=_PLUGINS, name=cmd_name):
                command: click.Command = point.load()
                return command
        return found

    def invoke(self, ctx: click.Context) -> Any:
        # A kill is an exit like any other: what was begun beside an output is removed.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            return super().invoke(ctx)
        except TracekitError as error:
            click.echo(f"Error: {printable(str(error))}", err=True)
            for line in error.lines:
                click.echo(f"  {printable(line)}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(128 + signal.SIGINT)
        except BrokenPipeError:
            # Whoever read our output has what it wanted. What is held back must not fail once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(_BROKEN_PIPE)


@click.group(cls=_Commands, context_settings={**HELP, "max_content_width": 100})
@click.version_option(tracekit.__version__, "-V", "--version", message="tracekit %(version)s")
def main() -> None:
    """Which engine did a Core ML model run on, inference by inference, and how is that known?

    Reads what Instruments recorded (.trace bundles and xctrace exports), on any operating system.

    \b
    Start with:
      tracekit analyze MyApp.trace     the answer, as text
      tracekit tables MyApp.trace      what a recording holds

    Exit codes: 0 done, 1 a comparison or requirement failed, 2 wrong usage, 3 unreadable or damaged input,
    4 xctrace failed or is not there, 5 a requirement cannot be measured in this recording.
    """


main.add_command(analyze_command)
main.add_command(classify_command)
main.add_command(compare_command)
main.add_command(check_command)
main.add_command(pack_command)
main.add_command(doctor_command)
main.add_command(export_command)
main.add_command(record_command)
main.add_command(report_command)
main.add_command(tables_command)
main.add_command(verify_native_command)
