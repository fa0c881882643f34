"""``tracekit dashboard``: recordings in the browser."""

from __future__ import annotations

import io
import logging
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli.analysing import add_analysis_choices
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError
from tracekit.installation import require_packages
from tracekit.text import escape_lines, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracekit_dashboard.library.analyses import GivenFile
    from tracekit_dashboard.live_session import LiveSession


PACKAGES = ("cachetools", "dash", "plotly", "sqlalchemy", "waitress")
"""Those of the extra ``dashboard``."""


@click.command(
    "dashboard",
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Open recordings, or the library of earlier ones, in the browser.",
)
@click.argument("inputs", nargs=-1, type=click.Path(), metavar="[INPUT]...")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="The port to listen on [default: 8127 or the next free one].",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="NAME",
    help="The host to listen on; any but this machine's loopback requires the printed token.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Another name by which browsers call it, such as a proxy's; requires the token. Repeatable.",
)
@click.option(
    "--allow-recording",
    is_flag=True,
    help="Allow recording from the page even if other machines can reach it.",
)
@click.option(
    "--library",
    "library_folder",
    metavar="DIR",
    help="The folder for recordings [default: tracekit in the user's data folder].",
)
@click.option(
    "--fleet",
    "fleet_folder",
    metavar="RESULTS",
    help="Show the history of a dataset of many recordings, made by tracekit fleet run, or of a library.",
)
@click.option(
    "--watch",
    "stream",
    metavar="FILE",
    help="Show calls as they end, from a stream of the log: a file that grows, or -. See tracekit watch.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@add_analysis_choices
def dashboard_command(
    inputs: tuple[str, ...],
    port: int | None,
    host: str,
    allowed_hosts: tuple[str, ...],
    allow_recording: bool,
    library_folder: str | None,
    fleet_folder: str | None,
    stream: str | None,
    no_browser: bool,
    options: AnalysisOptions,
) -> None:
    """Open recordings in the browser, or the library of earlier ones.

    INPUT is any recording that tracekit analyze reads; it stays in its place and is not copied. The page can
    upload further recordings and, on a Mac with Xcode, make new ones. Nothing leaves this machine. Ctrl-C
    ends the dashboard.

    --run and the other options of tracekit analyze choose the analysis that is shown first; the page can
    make others, and keeps them.

    \b
    Examples:
      tracekit dashboard MyApp.trace
      tracekit dashboard MyApp.trace --run 2 --window-signpost 'com.example.app/Inference/*'
      tracekit dashboard --fleet results/
      log stream --style ndjson --signpost | tracekit dashboard --watch - --window-signpost encode
      tracekit dashboard
    """
    require_packages("The dashboard", PACKAGES, "dashboard")
    paths = [_resolve_existing(name) for name in inputs]
    options.check()
    if options.values() and not inputs and not stream:
        raise UsageError(
            "The options of an analysis need its recording: tracekit dashboard MyApp.trace --run 2."
        )
    fleet = _resolve_dataset(fleet_folder) if fleet_folder else None
    from tracekit_dashboard.library.library import Library
    from tracekit_dashboard.recording.state import list_being_saved
    from tracekit_dashboard.server import build_address, list_other_addresses, open_listener, serve
    from tracekit_dashboard.settings import Settings, find_default_folder

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrintableFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler])
    folder = Path(library_folder).expanduser().resolve() if library_folder else find_default_folder()
    library = Library(folder)
    try:
        files = _read_option_files(options)
        live = _open_stream(stream, options.signposts) if stream else None
        values = {name: value for name, value in options.values().items() if name not in files}
        added = [library.add_file(path) for path in paths]
        variants = [library.analyses.request(recording.id, values, files) for recording in added]
        requested = Settings(
            folder,
            host,
            port or 0,
            allowed_hosts=allowed_hosts,
            remote_recording=allow_recording,
            fleet=fleet,
            live=live,
        )
        listener, settings = open_listener(requested)
        variant = f"?variant={variants[0].id}" if variants and variants[0] else ""
        start = f"/recordings/{added[0].id}{variant}" if len(added) == 1 else "/"
        start = "/history" if fleet and not added else start
        start = "/live" if live and not added else start
        start_address = build_address(settings, start)

        def ready() -> None:
            if live:
                live.start()
            write_message(f"The dashboard is at {start_address}")
            for other_address in list_other_addresses(settings, start):
                write_message(f"                 and at {other_address}")
            for name in settings.allowed_hosts:
                write_message(f"By {name}, open {start}?token={settings.token} there once.")
            write_message(f"Its library is {folder}. Ctrl-C ends it.")
            for notice in library.notices:
                write_message(f"note: {notice}")
            if not no_browser:
                webbrowser.open(start_address)

        serve(listener, settings, library, ready)
    except KeyboardInterrupt:
        pass
    finally:
        library.close()
    for target in list_being_saved(library.recorded):
        message = f"The recording of {target} is being saved. The next start of the dashboard adds it."
        write_message(message)
    write_message("The dashboard has ended.")


def _open_stream(name: str, patterns: Sequence[str]) -> LiveSession:
    """Return the stream to watch, which is not read yet."""
    from tracekit.live.stream_inputs import FileStream, PipeStream
    from tracekit_dashboard.live_session import LiveSession

    if name != "-":
        return LiveSession(FileStream(Path(name), follows=True, note=write_message), patterns)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("--watch - needs a pipe or a file on standard input.")
    return LiveSession(PipeStream(sys.stdin.buffer), patterns)


def _resolve_dataset(name: str) -> Path:
    """Return the folder of a dataset or a library. Raises ``UsageError`` or ``InputError`` for any other."""
    from tracekit.fleet.library_dataset import open_results

    folder = Path(name).expanduser().absolute()
    open_results(folder)
    return folder


def _resolve_existing(name: str) -> Path:
    path = Path(name)
    if not path.exists():
        raise UsageError(f"{name} does not exist.")
    return path.resolve()


def _read_option_files(options: AnalysisOptions) -> dict[str, GivenFile]:
    """Return the files of the options; the library keeps copies of them."""
    from tracekit_dashboard.library.analyses import GivenFile

    files = {}
    option_paths = {
        "windows-csv": options.windows_csv,
        "markers": options.markers,
        "request-spans": options.request_spans,
    }
    for name, path in option_paths.items():
        if path:
            try:
                files[name] = GivenFile(Path(path).name, io.BytesIO(Path(path).read_bytes()))
            except OSError as error:
                raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    if options.symbols:
        from tracekit_dashboard.library.packed_files import zip_symbols

        file_names = ", ".join(Path(path).name for path in options.symbols)
        files["symbols"] = GivenFile(file_names, io.BytesIO(zip_symbols(options.symbols)))
    if options.overlays:
        from tracekit_dashboard.library.packed_files import zip_texts

        file_names = ", ".join(Path(path).name for path in options.overlays)
        files["with"] = GivenFile(file_names, io.BytesIO(zip_texts(options.overlays)))
    for name, paths in (("model", options.models), ("plan", options.plans)):
        if paths:
            files[name] = _read_model_file(name, paths)
    return files


def _read_model_file(name: str, paths: tuple[str, ...]) -> GivenFile:
    from tracekit.analysis.model_join.given_files import split_name
    from tracekit_dashboard.library.analyses import GivenFile
    from tracekit_dashboard.library.packed_files import zip_model_file

    if len(paths) > 1 or split_name(paths[0])[0]:
        raise UsageError(f"The dashboard takes one --{name}, a file that has the name of its model.")
    return GivenFile(Path(paths[0]).name, io.BytesIO(zip_model_file(paths[0])))


class PrintableFormatter(logging.Formatter):
    """Formats log records for a terminal: requests and paths in them are other people's text."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """Return the message as one line. See ``logging.Formatter``."""
        record.message = printable(record.message)
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        """See ``logging.Formatter``."""
        return escape_lines(super().format(record))
