"""``tracekit model``: what a model file computes."""

from __future__ import annotations

import click

from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_output_options, check_output, guess_format, write_output

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json"}


@click.command("model", context_settings=HELP, short_help="Show the operations of a model file.")
@click.argument("path", metavar="MODEL", type=click.Path())
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["text", "markdown", "json"]),
    help="Format (default: by the extension of --output, else text).",
)
@add_output_options
def model_command(path: str, file_format: str | None, output: str, force: bool) -> None:
    """Show what a model file computes: its operations by kind and data type, inputs, outputs and sizes.

    MODEL is a .mlmodel, .mlpackage, .mlmodelc, .aimodel, .aimodelx or .aimodelc. It is read on any system,
    without Apple's libraries; weights are not read.

    \b
    Examples:
      tracekit model Segmenter.mlpackage
      tracekit model Segmenter.mlmodelc -o operations.json
    """
    check_output(output, force)
    chosen = guess_format(file_format, output, _FORMATS)
    from tracekit.mlmodels import read_model

    model = read_model(path)
    if chosen == "json":
        from tracekit.report.models.json import to_json

        write_output(to_json(model), output, force, is_document=True)
        return
    from tracekit.report.models.document import build_model

    sections = build_model(model)
    write_document(sections, chosen, output, force)
