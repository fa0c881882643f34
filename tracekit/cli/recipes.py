"""``tracekit recipes``: the questions to a recording, with the replies."""

from __future__ import annotations

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_document_options, explain_inputs, write_output

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json"}


@click.command("recipes", context_settings=HELP, short_help="List the questions that a recording answers.")
@click.argument("inputs", nargs=-1, type=click.Path(), metavar="[INPUT...]")
@add_analysis_options
@add_document_options(_FORMATS)
@explain_inputs
def recipes_command(
    inputs: tuple[str, ...], options: AnalysisOptions, file_format: str, output: str, force: bool
) -> None:
    """List the questions that a recording answers, with the answers, and those that it does not.

    Of each question without an answer, the reason and the step that would answer it are stated. Without an
    INPUT, all questions are listed. INPUT is {INPUTS}.

    \b
    Examples:
      tracekit recipes MyApp.trace
      tracekit recipes
    """
    from tracekit.report.recipes.answers import list_recipes
    from tracekit.report.recipes.document import build_list, build_questions
    from tracekit.report.recipes.query import Query

    entries = list_recipes(Query(analyse(inputs, options))) if inputs else []
    if file_format == "json":
        from tracekit.report.recipes.json import to_json

        write_output(to_json(entries), output, force, is_document=True)
        return
    write_document(build_list(entries) if inputs else build_questions(), file_format, output, force)
