"""``tracekit tables``: what an export holds, and any table of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tracekit.cli.output import (
    HELP,
    Progress,
    check_output,
    guess_format,
    output_options,
    via_option,
    write_output,
)
from tracekit.errors import InputError, UsageError

if TYPE_CHECKING:
    from tracekit.detect import Via
    from tracekit.model.tables import Table
    from tracekit.parsers.source import Source

_FORMATS = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".txt": "text"}


@click.command("tables", context_settings=HELP, short_help="What a recording holds, and any table of it.")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--schema", metavar="NAME", help="Print the rows of this table.")
@click.option("--columns", metavar="A,B,…", help="Only these columns, in this order.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="At most N rows.")
@click.option("--run", type=click.IntRange(1), metavar="N", help="Only this run (rows: default the first).")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "csv", "json", "parquet"]),
    help="Default: by the output's extension, or text.",
)
@click.option(
    "--private", is_flag=True, help="Show prompts, answers and instructions, which are hidden otherwise."
)
@via_option
@output_options
def tables_command(
    inputs: tuple[str, ...],
    schema: str | None,
    columns: str | None,
    limit: int | None,
    run: int | None,
    format_: str | None,
    private: bool,
    via: Via,
    output: str,
    force: bool,
) -> None:
    """List the tables of a recording, or print one of them with every value exact.

    INPUT is a .trace (a folder, or a zip or tar of one), a pack (.tracekit.zip), an export (.xml,
    .xml.gz), a folder of exports of one recording, several such files, or - for standard input. Any schema is
    read, known or not. What people asked a language model and were answered is hidden (Foundation Models
    tables) without --private.

    \b
    Examples:
      tracekit tables MyApp.trace
      tracekit tables MyApp.trace --schema os-signpost -o signposts.csv
      tracekit tables exports/
      tracekit tables cpu-profile.xml --schema cpu-profile --limit 20
      tracekit tables exports/ --schema os-signpost --columns time,name,message
    """
    check_output(output, force)
    if schema is None and (columns is not None or limit is not None or private):
        raise UsageError("--columns, --limit and --private go with --schema.")
    chosen = guess_format(format_, output, _FORMATS)
    if chosen == "parquet" and output == "-" and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError("Parquet is no text: name a file with -o FILE.parquet.")

    from tracekit.detect import open_source
    from tracekit.export.listing import list_json, list_text
    from tracekit.text import printable

    with Progress("Reading") as progress:
        source = open_source(inputs, progress, via, [schema] if schema else [])
        if schema is None:
            if chosen not in ("text", "json"):
                raise UsageError(f"The list of tables comes as text or JSON, not as {chosen}.")
            runs = [one for one in source.toc() if run in (None, one.info.run)]
            _require_run(source, run)
            result: str | bytes = list_json(source, runs) if chosen == "json" else list_text(source, runs)
        else:
            names = [name.strip() for name in columns.split(",")] if columns else []
            found = _find(source, schema, run)
            result = _render(found, names, limit, chosen, private)
            for issue in source.issues(found.run):
                if issue.severity != "info":  # a list of rows has no place for it
                    click.echo(f"{issue.severity}: {printable(issue.message)}", err=True)
    write_output(result, output, force)


def _require_run(source: Source, run: int | None) -> None:
    numbers = [one.info.run for one in source.toc()]
    if run is not None and run not in numbers:
        raise UsageError(
            f"{source.name} has no run {run}; its runs are {', '.join(map(str, numbers)) or 'none'}."
        )


def _find(source: Source, schema: str, run: int | None) -> Table:
    from tracekit.parsers.combine import concat_tables

    _require_run(source, run)
    number = run if run is not None else next((one.info.run for one in source.toc()), 1)
    tables = list(source.tables(schema, number))
    if tables:
        return concat_tables(tables)
    listed = [table for one in source.toc() if one.info.run == number for table in one.tables]
    damaged = [i.message for i in source.issues(number) if f"'{schema}'" in i.message]
    if damaged:
        raise InputError(source.name, f"{damaged[0]}.")
    if any(table.schema == schema for table in listed):
        raise InputError(
            source.name,
            f"lists a table '{schema}' but does not hold its rows.",
            "Export it with --xpath"
            f""" '/trace-toc/run[@number="{number}"]/data/table[@schema="{schema}"]'.""",
        )
    held = sorted({table.schema for table in listed if table.row_count is not None})
    here = f"it holds {', '.join(held)}" if held else "it holds no rows of any table"
    raise UsageError(f"{source.name} has no table '{schema}' in run {number}; {here}.")


def _render(table: Table, names: list[str], limit: int | None, chosen: str, private: bool) -> str | bytes:
    from dataclasses import replace

    from tracekit.export.tables import choose_columns, to_csv, to_json, to_parquet, to_text
    from tracekit.redact.private import hide_private
    from tracekit.text import printable

    if limit is not None:
        table = replace(table, rows=table.rows.head(limit))
    hidden: tuple[str, ...] = ()
    if not private:
        table, hidden = hide_private(table)
    columns = choose_columns(table, names)
    if shown := [column.mnemonic for column in columns if column.mnemonic in hidden]:
        click.echo(
            f"note: private, and hidden: {printable(', '.join(shown))}; --private shows them", err=True
        )
    if chosen == "parquet":
        return to_parquet(table, columns)
    if chosen == "json":
        return to_json(table, columns)
    return to_csv(table, columns) if chosen == "csv" else to_text(table, columns)
