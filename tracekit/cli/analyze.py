"""``tracekit analyze``: which engine served each inference, as text, JSON, or JSON lines."""

from __future__ import annotations

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.output import (
    HELP,
    add_output_options,
    check_output,
    explain_inputs,
    guess_format,
    write_json,
    write_pieces,
)
from tracekit.cli.terminal import measure_text_width, write_text

_FORMATS = {".json": "json", ".jsonl": "jsonl", ".txt": "text"}


@click.command(
    "analyze", context_settings=HELP, short_help="Show the engine of each inference, with the evidence."
)
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@add_analysis_options
@click.option(
    "--max-windows",
    metavar="N",
    type=click.IntRange(0),
    help="Number of calls to list as text (default: 12; with -v 40).",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Every table as text, with all columns: submissions, counters, log, what each table shows.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "jsonl", "brief"]),
    help="jsonl: the calls alone, one per line. brief: the whole answer within --budget. Default: by the"
    " extension of the output file, else text.",
)
@click.option(
    "--budget",
    type=click.IntRange(512),
    default=4096,
    show_default=True,
    metavar="BYTES",
    help="The most bytes of --format brief: what matters least is left out.",
)
@add_output_options
@explain_inputs
def analyze_command(
    inputs: tuple[str, ...],
    options: AnalysisOptions,
    max_windows: int | None,
    verbose: bool,
    format_: str | None,
    budget: int,
    output: str,
    force: bool,
) -> None:
    """Show the engine that served each inference of a recording, with the evidence.

    Text fits the terminal (COLUMNS sets another width; piped, it is 80), and is in colour there unless
    NO_COLOR is set. [1] at a number refers to a note below the table.

    INPUT is {INPUTS}; several exports of one recording; or - for standard input.

    \b
    Examples:
      tracekit analyze MyApp.trace
      tracekit analyze MyApp.trace.zip --run 2
      tracekit analyze exports/ --format json -o analysis.json
      tracekit analyze MyApp.trace --format jsonl | jq -r 'select(.verdict == "CPU") | .why'
      tracekit analyze exports/ --window 12.5ms-18ms --process SampleApp
      tracekit analyze MyApp.trace --window-signpost 'com.example.app/Inference/*'
      xcrun xctrace export --input X.trace --xpath '/trace-toc/run/data/table[@schema="time-profile"]' \\
        | tracekit analyze -
    """
    check_output(output, force)
    output_format = guess_format(format_, output, _FORMATS)

    analysis = analyse(inputs, options)
    if output_format == "text":
        from tracekit.report.analysis.text import TextLayout, to_text

        recording = inputs[0] if len(inputs) == 1 and inputs[0] != "-" else ""
        files = (*options.models, *options.plans)
        layout = TextLayout(measure_text_width(output), verbose, max_windows, recording, files)
        write_text(to_text(analysis, layout), output, force)
        return
    if output_format == "brief":
        from tracekit.report.brief import to_brief

        write_text(to_brief(analysis, budget), output, force)
        return

    from tracekit.report.analysis.json import json_pieces, line_pieces

    if output_format == "jsonl":
        write_pieces(line_pieces(analysis), output, force)
    else:
        write_json(json_pieces(analysis), len(analysis.window_rows), output, force)
