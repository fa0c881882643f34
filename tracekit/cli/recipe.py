"""``tracekit recipe``: the reply to one question about a recording."""

from __future__ import annotations

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.candidates import complete_call, complete_recipe
from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_document_options, explain_inputs
from tracekit.cli.questions_help import QuestionsCommand

_FORMATS = {".txt": "text", ".md": "markdown"}


@click.command(
    "recipe",
    QuestionsCommand,
    context_settings=HELP,
    short_help="Answer one question about a recording.",
)
@click.argument("name", metavar="NAME", shell_complete=complete_recipe)
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@click.option(
    "--call",
    metavar="MODEL/N",
    shell_complete=complete_call,
    help="The call that the question is about: Tagger/7.",
)
@click.option("--base", type=click.Path(), metavar="FILE", help="The earlier recording to compare with.")
@add_analysis_options
@add_document_options(_FORMATS)
@explain_inputs
def recipe_command(
    name: str,
    inputs: tuple[str, ...],
    call: str | None,
    base: str | None,
    options: AnalysisOptions,
    file_format: str,
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
    from tracekit.report.recipes.registry import check_parameters, find_recipe

    recipe = find_recipe(name)
    check_parameters(recipe, call, base)
    from tracekit.report.recipes.document import build_answer

    analysis = analyse(inputs, options)
    base_analysis = analyse((base,), options) if base is not None else None
    write_document(build_answer(recipe, analysis, call or "", base_analysis), file_format, output, force)
