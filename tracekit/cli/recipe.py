"""``tracekit recipe``: the answer to one question about a recording."""

from __future__ import annotations

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_output_options, check_output, explain_inputs, guess_format

_FORMATS = {".txt": "text", ".md": "markdown"}


@click.command("recipe", context_settings=HELP, short_help="Answer one question about a recording.")
@click.argument("name", metavar="NAME")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--call", "call_name", metavar="MODEL/N", help="The call that the question is about: Tagger/7.")
@click.option("--base", type=click.Path(), metavar="FILE", help="The earlier recording to compare with.")
@add_analysis_options
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["text", "markdown"]),
    help="Format (default: by the extension of --output, else text).",
)
@add_output_options
@explain_inputs
def recipe_command(
    name: str,
    inputs: tuple[str, ...],
    call_name: str | None,
    base: str | None,
    options: AnalysisOptions,
    file_format: str | None,
    output: str,
    force: bool,
) -> None:
    """Answer one of the questions of "tracekit recipes" with what the answer rests on.

    INPUT is {INPUTS}.

    \b
    Examples:
      tracekit recipe engines MyApp.trace
      tracekit recipe slow-call MyApp.trace --call Tagger/7
      tracekit recipe slower MyApp.trace --base yesterday.trace

    Exit codes: 0; 5 if this recording does not answer the question: the message has the reason and the step
    that would.
    """
    check_output(output, force)
    chosen = guess_format(file_format, output, _FORMATS)
    from tracekit.report.recipes.answers import answer_recipe
    from tracekit.report.recipes.document import build_reply
    from tracekit.report.recipes.query import Query
    from tracekit.report.recipes.registry import check_parameters, find_recipe

    recipe = find_recipe(name)
    check_parameters(recipe, call_name, base)
    analysis = analyse(inputs, options)
    row = None
    if call_name is not None:
        from tracekit.report.identifiers import find_call

        row = find_call(analysis, call_name)
    base_analysis = analyse((base,), options) if base is not None else None
    reply = answer_recipe(recipe, Query(analysis, row, base_analysis))
    write_document(build_reply(recipe, reply), chosen, output, force)
