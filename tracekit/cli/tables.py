"""``tracekit tables``: the list of a recording's tables, and the rows of any one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tracekit.cli.candidates import complete_schema
from tracekit.cli.output import (
    HELP,
    Progress,
    add_limits_option,
    add_output_options,
    add_raw_option,
    add_via_option,
    check_output,
    check_raw,
    explain_inputs,
    guess_format,
    open_output,
    write_output,
    write_pieces,
)
from tracekit.cli.standard_error import write_message
from tracekit.errors import InputError, TracekitError, UsageError
from tracekit.text import list_first

if TYPE_CHECKING:
    from tracekit.detect import Via
    from tracekit.model.tables import Column, Table
    from tracekit.parsers.limits import Limits
    from tracekit.parsers.source import Source

_MAX_TEXT_ROWS = 200
_FORMATS = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".txt": "text"}


@click.command("tables", context_settings=HELP, short_help="List a recording's tables, or print one of them.")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@click.option(
    "--schema", metavar="NAME", shell_complete=complete_schema, help="Print the rows of this table."
)
@click.option("--columns", metavar="A,B,…", help="Only these columns, in this order.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="At most N rows.")
@click.option(
    "--run", type=click.IntRange(1), metavar="N", help="Only this run (default with --schema: the first)."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "csv", "json", "parquet"]),
    help="Default: by the extension of the output file, else text.",
)
@add_raw_option
@click.option(
    "--private", is_flag=True, help="Show prompts, answers and instructions. They are hidden by default."
)
@add_via_option
@add_limits_option
@add_output_options
@explain_inputs
def tables_command(
    inputs: tuple[str, ...],
    schema: str | None,
    columns: str | None,
    limit: int | None,
    run: int | None,
    format_: str | None,
    raw: bool,
    private: bool,
    via: Via,
    limits: Limits,
    output: str,
    force: bool,
) -> None:
    """List the tables of a recording, or print one of them.

    JSON and Parquet hold every value exactly. CSV is safe to open in a spreadsheet: control characters are
    escaped, and text that begins like a formula gets a leading '. --raw leaves text as it was recorded.

    INPUT is {INPUTS}; several exports of one recording; or - for standard input.
    Tables of any schema are read. Prompts and answers of a language model (Foundation Models tables) are
    hidden without --private.

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
        raise UsageError("--columns, --limit and --private need --schema.")
    output_format = guess_format(format_, output, _FORMATS)
    if raw:
        check_raw(output_format, output)
    if output_format == "parquet" and output == "-" and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError("Parquet is a binary format: write it to a file with -o FILE.parquet.")

    from tracekit.detect import open_source
    from tracekit.report.tables.formats import write_parquet
    from tracekit.report.tables.listing import list_json, list_text

    with Progress("Reading") as progress:
        source = open_source(inputs, progress, via, [schema] if schema else [], limits)
        if schema is None:
            if output_format not in ("text", "json"):
                raise UsageError(
                    f"The list of tables can be text or JSON, not {output_format}."
                    " Name a table with --schema."
                )
            runs = [run_info for run_info in source.toc() if run in (None, run_info.info.run)]
            _require_run(source, run)
            write_list = list_json if output_format == "json" else list_text
            pieces: Iterable[str] = [write_list(source.name, runs, source.issues())]
        else:
            table = _read_table(source, schema, run)
            if limit is not None:
                table = replace(table, rows=table.rows.head(limit))
            names = [name.strip() for name in columns.split(",")] if columns else []
            table, chosen_columns = _select_columns(table, names, private)
            # The rows go to standard output alone, so that they stay a valid CSV or JSON file.
            for issue in source.issues(table.run):
                if issue.severity != "info":
                    write_message(f"{issue.severity}: {issue.message}")
            if output_format == "parquet":
                check_output(output, force)
                with open_output(output) as file:
                    write_parquet(table, chosen_columns, file)
                return
            pieces = _format_pieces(table, chosen_columns, output_format, raw)
    if output_format == "text":
        write_output("".join(pieces), output, force)
    else:
        write_pieces(pieces, output, force)


def _require_run(source: Source, run: int | None) -> None:
    numbers = [run_info.info.run for run_info in source.toc()]
    if run is not None and run not in numbers:
        raise UsageError(
            f"{source.name} has no run {run}; its runs are {', '.join(map(str, numbers)) or 'none'}."
        )


def _read_table(source: Source, schema: str, run: int | None) -> Table:
    from tracekit.parsers.combine import join_tables
    from tracekit.parsers.source import iter_readable, make_left_out_issue

    _require_run(source, run)
    runs = source.toc()
    number = run if run is not None else next((run_info.info.run for run_info in runs), 1)
    damage: list[TracekitError] = []
    if tables := list(iter_readable(source.tables(schema, number), damage.append)):
        for error in damage:
            write_message(f"warning: {make_left_out_issue(schema, error).message}")
        return join_tables(tables)
    if damage:
        raise damage[0]
    infos = [table for run_info in runs if run_info.info.run == number for table in run_info.tables]
    damaged = [issue.message for issue in source.issues(number) if f"'{schema}'" in issue.message]
    if damaged:
        raise InputError(source.name, f"{damaged[0]}.")
    if any(table.schema == schema for table in infos):
        raise InputError(
            source.name,
            f"lists a table '{schema}' but does not hold its rows.",
            "Export it with --xpath"
            f""" '/trace-toc/run[@number="{number}"]/data/table[@schema="{schema}"]'.""",
        )
    schemas = sorted({table.schema for table in infos if table.row_count is not None})
    contents = (
        f"it holds {list_first(schemas, _MAX_TEXT_ROWS)}" if schemas else "it holds no rows of any table"
    )
    raise UsageError(f"{source.name} has no table '{schema}' in run {number}; {contents}.")


def _select_columns(table: Table, names: list[str], private: bool) -> tuple[Table, tuple[Column, ...]]:
    """Return the table without private text, and the named columns; report those that had such text."""
    from tracekit.redact.private_cells import hide_private
    from tracekit.report.tables.formats import choose_columns

    hidden: tuple[str, ...] = ()
    if not private:
        table, hidden = hide_private(table)
    columns = choose_columns(table, names)
    if hidden_names := [column.mnemonic for column in columns if column.mnemonic in hidden]:
        write_message(
            f"note: private columns are hidden: {', '.join(hidden_names)}. Show them with --private."
        )
    return table, columns


def _format_pieces(table: Table, columns: Sequence[Column], output_format: str, raw: bool) -> Iterable[str]:
    from tracekit.report.tables.formats import csv_pieces, json_pieces, to_text

    if output_format == "json":
        return json_pieces(table, columns)
    return csv_pieces(table, columns, raw) if output_format == "csv" else [to_text(table, columns)]
