"""``tracekit pack``: the tables that an analysis needs, in one small file for any machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

import tracekit
from tracekit.cli.output import (
    HELP,
    Progress,
    add_limits_option,
    add_symbols_option,
    add_via_option,
    check_output,
    write_output,
)
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError
from tracekit.text import format_percent, format_size

if TYPE_CHECKING:
    from tracekit.detect import Via
    from tracekit.parsers.limits import Limits

EXTENSION = ".tracekit.zip"
_ENDINGS = (EXTENSION, ".gz", ".tgz", ".zip", ".tar", ".tar.bz2", ".tar.xz", ".trace", ".xml")


@click.command("pack", context_settings=HELP, short_help="Pack what an analysis needs into one small file.")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help=f"Where the pack goes (default: NAME{EXTENSION} in this folder); - is standard output.",
)
@click.option("-f", "--force", is_flag=True, help="Overwrite the output file.")
@click.option(
    "--redact",
    is_flag=True,
    help="Leave out other processes, home folders, users, volumes and the device's name.",
)
@click.option(
    "--process", metavar="NAME|PID", help="With --redact: the process to keep (default: the target)."
)
@click.option(
    "--private", is_flag=True, help="Keep prompts, answers and instructions. They are hidden by default."
)
@add_symbols_option
@add_via_option
@add_limits_option
def pack_command(
    inputs: tuple[str, ...],
    output: str | None,
    force: bool,
    redact: bool,
    process: str | None,
    private: bool,
    symbols: tuple[str, ...],
    via: Via,
    limits: Limits,
) -> None:
    """Pack the tables that an analysis needs, from every run of a recording.

    INPUT is a .trace (a folder, or a zip or tar of one), exports of one recording, or a pack. A pack is
    usually a few percent of the bundle, and every command reads it on any machine with the same result.

    \b
    Examples:
      tracekit pack MyApp.trace
      tracekit pack MyApp.trace --redact -o MyApp.tracekit.zip
      tracekit analyze MyApp.tracekit.zip
    """
    target = output or _choose_default_output(inputs)
    check_output(target, force)
    if process is not None and not redact:
        raise UsageError("--process needs --redact.")
    if target == "-" and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError(f"A pack is a binary file: write it to a file with -o FILE{EXTENSION}.")

    from tracekit.detect import open_source
    from tracekit.model.schemas import READ_TABLES
    from tracekit.parsers.in_memory import read_into_memory
    from tracekit.parsers.pack.pack_writer import write_pack
    from tracekit.redact.redacted_source import hide_private_cells, redact_source

    with Progress("Reading") as progress:
        source = read_into_memory(open_source(inputs, progress, via, READ_TABLES, limits, symbols))
    if not private:
        source, hidden = hide_private_cells(source)
        if hidden:
            write_message(f"note: private columns are hidden: {', '.join(hidden)}. Keep them with --private.")
    if redact:
        source = redact_source(source, process)
    data = write_pack(source, tracekit.__version__)
    write_output(data, target, force)
    write_message(f"The pack is {format_size(len(data))}{_describe_share(len(data), inputs)}.")


def _choose_default_output(inputs: tuple[str, ...]) -> str:
    if len(inputs) > 1 or inputs[0] == "-":
        return f"recording{EXTENSION}"
    name = Path(inputs[0]).resolve().name
    # A.trace.tar.gz becomes A; a file called ".trace" keeps its name.
    while ending := next((end for end in _ENDINGS if name.lower().endswith(end) and name.lower() != end), ""):
        name = name[: -len(ending)]
    return f"{name}{EXTENSION}"


def _describe_share(size_bytes: int, inputs: tuple[str, ...]) -> str:
    if "-" in inputs:
        return ""
    total = sum(_measure_size_bytes(Path(path)) for path in inputs)
    what = "bundle" if Path(inputs[0]).suffix == ".trace" else "input"
    return f", {format_percent(size_bytes / total, 1)} of the {what}" if total else ""


def _measure_size_bytes(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    files = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
    return sum(file.lstat().st_size for file in files)
