"""``tracekit model``: what a model file computes."""

from __future__ import annotations

import click

from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_document_options, write_output

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json"}


@click.command("model", context_settings=HELP, short_help="Show the operations of a model file.")
@click.argument("path", metavar="MODEL", type=click.Path())
@add_document_options(_FORMATS)
def model_command(path: str, file_format: str, output: str, force: bool) -> None:
    """Show what a model file computes: its operations by kind and data type, inputs, outputs and sizes.

    MODEL is a .mlmodel, .mlpackage, .mlmodelc, .aimodel, .aimodelx or .aimodelc. It is read on any system,
    without Apple's libraries; weights are not read.

    \b
    Examples:
      tracekit model Segmenter.mlpackage
      tracekit model Segmenter.mlmodelc -o operations.json
    """
    from tracekit.mlmodels import read_model

    model = read_model(path)
    if file_format == "json":
        from tracekit.report.models.json import to_json

        write_output(to_json(model), output, force, is_document=True)
        return
    from tracekit.report.models.document import build_model

    sections = build_model(model)
    write_document(sections, file_format, output, force)
