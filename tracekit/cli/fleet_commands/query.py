"""``tracekit fleet query``: one statement that reads the tables of a dataset."""

from __future__ import annotations

import click

from tracekit.cli.fleet_commands.answers import FORMATS, check_binary, write_answer
from tracekit.cli.output import (
    HELP,
    add_output_options,
    add_raw_option,
    check_output,
    check_raw,
    guess_format,
)

_FORMATS = {extension: name for extension, name in FORMATS.items() if name != "html"}


@click.command("query", context_settings=HELP, short_help="Run SQL over a dataset.")
@click.argument("sql", metavar="SQL")
@click.argument("results", metavar="RESULTS")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "csv", "json", "parquet"]),
    help="Default: by the extension of the output file, else text.",
)
@add_raw_option
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(0.1, 3600),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="End the query after so many seconds.",
)
@add_output_options
def query_command(
    sql: str,
    results: str,
    format_: str | None,
    raw: bool,
    timeout_seconds: float,
    output: str,
    force: bool,
) -> None:
    """Run one SELECT, in DuckDB's SQL, over the tables of the dataset RESULTS.

    DESCRIBE, SHOW TABLES and SUMMARIZE read as well, and nothing else is run. The tables are recordings,
    models, engines, calls, segments, requests, findings, issues, energy and field; DESCRIBE calls lists the
    columns of one, tracekit explain COLUMN what it means. A query opens no file and no address, and loads no
    extension.

    \b
    Examples:
      tracekit fleet query 'DESCRIBE calls' results/
      tracekit fleet query 'SELECT build, count(*) FROM recordings GROUP BY build' results/
      tracekit fleet query "SELECT * FROM models WHERE labels['branch'] = 'main'" results/ -o main.csv
    """
    check_output(output, force)
    output_format = guess_format(format_, output, _FORMATS)
    if raw:
        check_raw(output_format, output)
    check_binary(output_format, output)

    from tracekit.fleet.dataset_answer import describe_query_result
    from tracekit.fleet.dataset_query import QueryLimits, run_query
    from tracekit.fleet.library_dataset import open_results

    rows = run_query(open_results(results), sql, QueryLimits(seconds=timeout_seconds))
    write_answer(describe_query_result(sql, rows), output_format, output, force, raw)
