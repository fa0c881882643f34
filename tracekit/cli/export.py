"""``tracekit export``: a recording with its engines and calls in the format of another tool."""

from __future__ import annotations

import gzip
import importlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.output import HELP, add_output_options, add_raw_option, check_output, check_raw, open_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.installation import format_install_command


@frozen
class _Format:
    """Writer of a format: its function, the options that it takes, the extensions of its files."""

    writer: str
    options: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    is_text: bool = False


_FORMATS = {
    "folded": _Format("folded.write_folded", ("root",), (".folded", ".collapsed"), True),
    "speedscope": _Format("speedscope.write_speedscope", ("root",), (".speedscope.json",), True),
    "pprof": _Format("pprof.write_pprof", (), (".pb.gz", ".pprof")),
    "perfetto": _Format("perfetto.write_perfetto", (), (".pftrace", ".perfetto-trace")),
    "firefox": _Format("firefox.write_firefox", (), (".profile.json",), True),
    "csv": _Format("flat_tables.write_csv", ("table", "raw"), (".csv",), True),
    "parquet": _Format("flat_tables.write_parquet", ("table",), (".parquet",)),
}
_EXTRAS = ("pprof", "perfetto")
"""Formats whose library is an extra of that name."""
_TABLES = ("samples", "windows", "attribution", "intervals", "segments", "requests", "tokens")


@click.command(
    "export", context_settings=HELP, short_help="Write a recording for flame graphs, Perfetto, notebooks, …."
)
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@click.option(
    "--to",
    "format_",
    type=click.Choice(list(_FORMATS)),
    help="The format (default: by the extension of the output file).",
)
@click.option(
    "--root",
    metavar="A,B,…",
    help="folded, speedscope: frames below a stack's outermost frame: process, thread, window (the call),"
    " engine, phase, or none (default: process,thread,engine,phase; speedscope: window,engine,phase).",
)
@click.option(
    "--table", type=click.Choice(_TABLES), help="csv, parquet: the table to write (default: samples)."
)
@add_raw_option
@add_analysis_options
@add_output_options
def export_command(
    inputs: tuple[str, ...],
    format_: str | None,
    root: str | None,
    table: str | None,
    raw: bool,
    options: AnalysisOptions,
    output: str,
    force: bool,
) -> None:
    """Write a recording in another tool's format, with the engine and the call of every sample.

    \b
      folded      flamegraph.pl, inferno            .folded
      speedscope  speedscope.app                    .speedscope.json
      pprof       go tool pprof, Pyroscope, …       .pb.gz, .pprof
      perfetto    ui.perfetto.dev                   .pftrace
      firefox     profiler.firefox.com              .profile.json
      csv         one table, for spreadsheets       .csv
      parquet     one table, for notebooks          .parquet

    A text format whose file ends in .gz is compressed. INPUT is what tracekit analyze takes.

    \b
    Examples:
      tracekit export MyApp.trace -o MyApp.pftrace
      tracekit export MyApp.trace --to folded --root engine,window | flamegraph.pl > engines.svg
      tracekit export MyApp.trace -o MyApp.pb.gz && go tool pprof -tagfocus engine=ANE -top MyApp.pb.gz
      tracekit export exports/ --table windows -o windows.csv
    """
    check_output(output, force)
    name = format_ or _guess_format_name(output)
    file_format = _FORMATS[name]
    _check_terminal(name, output)
    if raw:
        check_raw(name, output)
    format_options = _select_writer_options(name, {"root": root, "table": table, "raw": raw or None})
    write = _import_writer(name)
    analysis = analyse(inputs, options)
    with (
        open_output(output) as file,
        _compress_if(file, file_format.is_text and output.lower().endswith(".gz")) as out,
    ):
        write(analysis, out, **format_options)
    if not len(analysis.trace.samples) and table in (None, "samples"):
        write_message("Warning: the recording has no samples, so there are none in the file.")


def _guess_format_name(output: str) -> str:
    lower = output.lower()
    for name, format_ in _FORMATS.items():
        endings = format_.extensions + tuple(
            f"{ending}.gz" for ending in format_.extensions if format_.is_text
        )
        if lower.endswith(endings):
            return name
    extensions = ", ".join(ending for format_ in _FORMATS.values() for ending in format_.extensions)
    if output == "-":
        raise UsageError(f"Choose a format with --to: {', '.join(_FORMATS)}.")
    raise UsageError(f"{output}: the extension names no format ({extensions} do). Choose one with --to.")


def _check_terminal(name: str, output: str) -> None:
    if output == "-" and not _FORMATS[name].is_text and sys.stdout is not None and sys.stdout.isatty():
        ending = _FORMATS[name].extensions[0]
        raise UsageError(f"{name} is a binary format: write it to a file with -o FILE{ending}.")


def _select_writer_options(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the writer's own options. Raises ``UsageError`` for one that the format does not take."""
    for option, value in given.items():
        if value is not None and option not in _FORMATS[name].options:
            takers = " and ".join(taker for taker, known in _FORMATS.items() if option in known.options)
            raise UsageError(f"--{option} is for {takers}, not for {name}.")
    writer_options = {option: value for option, value in given.items() if value is not None}
    if "root" not in writer_options:
        return dict(writer_options)

    from tracekit.export.export_view import parse_roots

    return {"root": parse_roots(writer_options["root"])}


def _import_writer(name: str) -> Callable[..., None]:
    """Return the function that writes a format. Raises ``UsageError`` where its library is not installed."""
    module, function = _FORMATS[name].writer.split(".")
    try:
        writer: Callable[..., None] = getattr(importlib.import_module(f"tracekit.export.{module}"), function)
    except ModuleNotFoundError as error:
        if name not in _EXTRAS:
            raise
        missing = str(error.name).split(".", maxsplit=1)[0].replace("google", "protobuf")
        raise UsageError(
            f"--to {name} needs the package {missing}, which is not installed."
            f" Install it with: {format_install_command(name)}"
        ) from error
    return writer


def _compress_if(file: IO[bytes], compress: bool) -> AbstractContextManager[IO[bytes]]:
    if compress:
        packed: Any = gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0)
        return packed  # type: ignore[no-any-return]
    return nullcontext(file)
