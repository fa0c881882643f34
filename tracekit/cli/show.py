"""``tracekit show``: the detail of what an identifier names."""

from __future__ import annotations

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_output_options, check_output, explain_inputs, guess_format

_FORMATS = {".txt": "text", ".md": "markdown"}


@click.command("show", context_settings=HELP, short_help="Show one call, finding, limit, model or table.")
@click.argument("identifier", metavar="ID")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@add_analysis_options
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["text", "markdown"]),
    help="Format (default: by the extension of --output, else text).",
)
@add_output_options
@explain_inputs
def show_command(
    identifier: str,
    inputs: tuple[str, ...],
    options: AnalysisOptions,
    file_format: str | None,
    output: str,
    force: bool,
) -> None:
    """Show the detail of one call, finding, limit, model or table of a recording.

    ID is what "tracekit analyze --format brief" prints in brackets: call:Tagger/2, finding:fell-back,
    limit:ane-work-of-others, model:Tagger, table:ane-hw-intervals. INPUT is {INPUTS}.

    \b
    Examples:
      tracekit show call:Tagger/2 MyApp.trace
      tracekit show finding:gaps-in-calls MyApp.trace
    """
    check_output(output, force)
    chosen = guess_format(file_format, output, _FORMATS)
    analysis = analyse(inputs, options)
    from tracekit.report.identified_document import build_identified
    from tracekit.report.identifiers import find_identified

    identified = find_identified(analysis, identifier)
    recording = inputs[0] if len(inputs) == 1 and inputs[0] != "-" else ""
    write_document(build_identified(analysis, identified, recording), chosen, output, force)
