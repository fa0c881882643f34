"""``tracekit show``: the detail of what an identifier names."""

from __future__ import annotations

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.candidates import complete_identifier
from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_document_options, explain_inputs

_FORMATS = {".txt": "text", ".md": "markdown"}


@click.command("show", context_settings=HELP, short_help="Show one call, finding, limit, model or table.")
@click.argument("identifier", metavar="ID", shell_complete=complete_identifier)
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@add_analysis_options
@add_document_options(_FORMATS)
@explain_inputs
def show_command(
    identifier: str,
    inputs: tuple[str, ...],
    options: AnalysisOptions,
    file_format: str,
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
    analysis = analyse(inputs, options)
    from tracekit.report.identified_document import build_identified
    from tracekit.report.identifiers import find_identified

    identified = find_identified(analysis, identifier)
    recording = inputs[0] if len(inputs) == 1 and inputs[0] != "-" else ""
    write_document(build_identified(analysis, identified, recording), file_format, output, force)
