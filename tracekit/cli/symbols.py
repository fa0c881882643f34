"""``tracekit symbols``: the classification rules that can match on a system, by its libraries' symbols."""

from __future__ import annotations

import json
from pathlib import Path

import click

import tracekit
from tracekit.cli.output import (
    HELP,
    add_limits_option,
    add_output_options,
    check_output,
    guess_format,
    write_output,
)
from tracekit.errors import UsageError
from tracekit.parsers.limits import Limits
from tracekit.text import escape_json

_FORMATS = {".json": "json", ".txt": "text"}


@click.command("symbols", context_settings=HELP, short_help="Show which rules a system's symbols can match.")
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE…")
@click.option(
    "--old",
    multiple=True,
    metavar="FILE",
    help="A listing of an earlier system: show what is gone and what is new. Repeatable.",
)
@click.option(
    "--library", default="", metavar="NAME", help="The library of listings that name none, such as Espresso."
)
@click.option(
    "--markers", type=click.Path(), metavar="FILE", help="Your own rules, tried before the built-in ones."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    help="Default: by the output's extension, or text.",
)
@click.option("-v", "--verbose", is_flag=True, help="List every change, and the rules of other libraries.")
@add_limits_option
@add_output_options
def symbols_command(
    files: tuple[str, ...],
    old: tuple[str, ...],
    library: str,
    markers: str | None,
    format_: str | None,
    verbose: bool,
    limits: Limits,
    output: str,
    force: bool,
) -> None:
    """Show which classification rules can match on a system, and which cannot.

    Each FILE lists the symbols of libraries of one system: what lldb's 'image dump symtab' or nm prints,
    plain names, a difference between two systems (+ and - lines), or a Mach-O file; - is standard input.
    Rules are called absent only where their library is listed.

    \b
    Examples:
      tracekit symbols espresso.txt appleneuralengine.txt
      tracekit symbols new/Espresso.txt --old old/Espresso.txt
      nm Espresso | tracekit symbols - --library Espresso
    """
    check_output(output, force)
    output_format = guess_format(format_, output, _FORMATS)
    from tracekit.analysis.classification.rule_set import load_rules
    from tracekit.markers.listings import read_listing
    from tracekit.markers.presence import find_rule_presence
    from tracekit.markers.presence_text import to_json, to_text

    rules = load_rules(Path(markers) if markers is not None else None)
    listings = [read_listing(path, library, limits) for path in files]
    earlier = [read_listing(path, library, limits) for path in old]
    differences = [listing.name for listing in (*listings, *earlier) if listing.is_difference]
    if differences and len(differences) < len(files) + len(old):
        raise UsageError(f"{differences[0]} lists changes; name it without listings of whole libraries.")
    if differences and earlier:
        raise UsageError(f"{differences[0]} lists changes already: --old needs whole listings on both sides.")
    result = find_rule_presence(rules, listings, earlier if old else None)
    if output_format == "json":
        text = (
            escape_json(json.dumps(to_json(result, tracekit.__version__), indent=2, ensure_ascii=False))
            + "\n"
        )
    else:
        text = to_text(result, verbose)
    write_output(text, output, force, is_document=output_format == "json")
