"""``tracekit fleet notebook``: a notebook of a question."""

from __future__ import annotations

import click

from tracekit.cli.fleet_commands.answers import parse_settings
from tracekit.cli.output import HELP, add_output_options, check_output, write_output


@click.command("notebook", context_settings=HELP, short_help="Write a notebook that asks a question.")
@click.argument("question", metavar="QUESTION")
@click.argument("results", metavar="RESULTS")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the question, such as model=Encoder. Repeatable.",
)
@add_output_options
def notebook_command(
    question: str, results: str, settings: tuple[str, ...], output: str, force: bool
) -> None:
    """Write a Jupyter notebook with QUESTION about the dataset RESULTS, and a drawing of the result.

    tracekit fleet questions RESULTS lists the questions. The notebook holds the path of the dataset and no
    results yet: running it reads the dataset as it is then.

    \b
    Examples:
      tracekit fleet notebook engine-share results/ -o share.ipynb
      tracekit fleet notebook latency results/ --set model=Encoder -o latency.ipynb
    """
    check_output(output, force)
    values = parse_settings(settings)

    from tracekit.fleet.library_dataset import open_results
    from tracekit.fleet.questions.registry import ask, find_question
    from tracekit.report.fleet.notebook import to_notebook

    dataset = open_results(results)
    ask(dataset, question, values)  # so that a notebook that cannot run is not written
    document = to_notebook(find_question(question), dataset.path, values)
    write_output(document, output, force, is_document=True)
