"""``tracekit dashboard``: recordings in the browser."""

from __future__ import annotations

import logging
import sys
import webbrowser
from pathlib import Path

import click

from tracekit.errors import UsageError
from tracekit.text import printable


@click.command(
    "dashboard",
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Open recordings in the browser, or look at earlier ones.",
)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Listen there [default: 8127 or the next free one]."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="NAME",
    help="Listen there; any but this machine's own needs the token that is printed.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Another name by which browsers call it, such as a proxy's; it needs the token, too. Repeatable.",
)
@click.option(
    "--allow-recording",
    is_flag=True,
    help="Let recordings be started from the page also where others than this machine can reach it.",
)
@click.option(
    "--library", metavar="DIR", help="Where recordings are kept [default: the user's data folder, tracekit]."
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def dashboard_command(
    inputs: tuple[str, ...],
    port: int | None,
    host: str,
    allowed_hosts: tuple[str, ...],
    allow_recording: bool,
    library: str | None,
    no_browser: bool,
) -> None:
    """Open recordings in the browser, or the library of those that were opened before.

    INPUT is what tracekit analyze takes; it is read where it lies, without a copy. Others can be uploaded in
    the page, and recorded there on a Mac with Xcode. Nothing leaves this machine; Ctrl-C ends the dashboard.

    \b
    Examples:
      tracekit dashboard MyApp.trace
      tracekit dashboard
    """
    paths = [_existing(one) for one in inputs]
    from dashboard.library.library import Library
    from dashboard.recording.state import being_saved
    from dashboard.server import address, listening, other_addresses, serve
    from dashboard.settings import Settings, default_folder

    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    folder = Path(library).expanduser().resolve() if library else default_folder()
    kept = Library(folder)
    try:
        added = [kept.add_file(path) for path in paths]
        wanted = Settings(
            folder, host, port or 0, allowed_hosts=allowed_hosts, remote_recording=allow_recording
        )
        listener, settings = listening(wanted)
        start = f"/recordings/{added[0].id}" if len(added) == 1 else "/"
        shown = address(settings, start)

        def ready() -> None:
            click.echo(f"The dashboard is at {shown}", err=True)
            for one in other_addresses(settings, start):
                click.echo(f"                 and at {one}", err=True)
            for name in settings.allowed_hosts:
                click.echo(f"By {printable(name)}, open {start}?token={settings.token} there once.", err=True)
            click.echo(f"Its library is {printable(str(folder))}. Ctrl-C ends it.", err=True)
            if not no_browser:
                webbrowser.open(shown)

        serve(listener, settings, kept, ready)
    except KeyboardInterrupt:
        pass
    finally:
        kept.close()
    for one in being_saved(kept.recorded):
        click.echo(f"{printable(one)} is being saved; the next start of the dashboard has it.", err=True)
    click.echo("The dashboard has ended.", err=True)


def _existing(name: str) -> Path:
    path = Path(name)
    if not path.exists():
        raise UsageError(f"{name} does not exist.")
    return path.resolve()
