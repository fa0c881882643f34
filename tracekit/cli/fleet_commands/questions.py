"""``tracekit fleet questions``: the questions that a dataset allows, and the result of one."""

from __future__ import annotations

import click

from tracekit.cli.fleet_commands.answers import FORMATS, check_binary, parse_settings, write_answer
from tracekit.cli.output import (
    HELP,
    add_output_options,
    add_raw_option,
    check_output,
    check_raw,
    guess_format,
    write_output,
)
from tracekit.cli.terminal import measure_text_width
from tracekit.errors import UsageError


@click.command("questions", context_settings=HELP, short_help="List the questions of a dataset, or ask one.")
@click.argument("results", metavar="RESULTS")
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the question, such as model=Encoder. Repeatable.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "csv", "json", "parquet", "html"]),
    help="Default: by the extension of the output file, else text.",
)
@add_raw_option
@add_output_options
def questions_command(
    results: str,
    name: str | None,
    settings: tuple[str, ...],
    format_: str | None,
    raw: bool,
    output: str,
    force: bool,
) -> None:
    """List the questions that the dataset RESULTS allows, or write the result of the one of this NAME.

    The list has the parameters of each, and what the dataset lacks for the others. What a recording could
    not show is counted beside the numbers, and is in none of them.

    \b
    Examples:
      tracekit fleet questions results/
      tracekit fleet questions results/ engine-share --set model=Encoder
      tracekit fleet questions results/ left-engine -o left.html
    """
    check_output(output, force)
    values = parse_settings(settings)
    output_format = guess_format(format_, output, FORMATS)
    if raw:
        check_raw(output_format, output)
    check_binary(output_format, output)

    from tracekit.fleet.library_dataset import open_results

    dataset = open_results(results)
    if name is not None:
        from tracekit.fleet.questions.registry import ask

        write_answer(ask(dataset, name, values), output_format, output, force, raw)
        return
    if values or output_format not in ("text", "json"):
        raise UsageError("The list of questions is text or JSON, and has no parameters. Name a question.")

    from tracekit.fleet.questions.registry import list_offers
    from tracekit.report.fleet.offers import offers_json, offers_text

    question_offers = list_offers(dataset)
    if output_format == "json":
        write_output(offers_json(question_offers), output, force, is_document=True)
    else:
        write_output(offers_text(question_offers, measure_text_width(output)), output, force)
