"""``tracekit analyze``: which engine served each inference, as text or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli.output import (
    HELP,
    Progress,
    check_output,
    guess_format,
    output_options,
    via_option,
    write_output,
)
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.analysis.windows.choose import WindowSource
    from tracekit.sources import Via

_FORMATS = {".json": "json", ".txt": "text"}


@click.command(
    "analyze", context_settings=HELP, short_help="Which engine served each inference, and how that is known."
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--run", type=click.IntRange(1), metavar="N", help="The run to analyse (default: the first).")
@click.option("--process", metavar="NAME|PID", help="Only this process.")
@click.option("--thread", metavar="NAME|TID", help="Only this thread, and the workers of its calls.")
@click.option(
    "--window",
    "manual",
    multiple=True,
    metavar="START-END",
    help="A window from the run's start, such as 12.5ms-18ms. Repeatable.",
)
@click.option(
    "--windows-csv", type=click.Path(), metavar="FILE", help="Windows from a CSV file: start_ns,end_ns,label."
)
@click.option(
    "--window-signpost",
    "signposts",
    multiple=True,
    metavar="PATTERN",
    help="Windows are the signpost intervals subsystem/category/name, with * for anything. Repeatable.",
)
@click.option(
    "--windows",
    type=click.Choice(["auto", "coreml", "foundation-models", "ane", "stacks", "run"]),
    default="auto",
    show_default=True,
    help="Where windows come from: Core ML's predictions, Foundation Models' requests, the Neural Engine's"
    " intervals, prediction calls on stacks, or the whole run; auto takes the first that there is.",
)
@click.option(
    "--samples", metavar="SCHEMA", help="The table to take samples from (default: the best there is)."
)
@click.option(
    "--markers", type=click.Path(), metavar="FILE", help="Your own rules, before the built-in ones."
)
@click.option(
    "--max-windows",
    metavar="N",
    type=click.IntRange(0),
    default=40,
    show_default=True,
    help="How many windows to list as text.",
)
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), help="Default: by extension, or text."
)
@via_option
@output_options
def analyze_command(
    inputs: tuple[str, ...],
    run: int | None,
    process: str | None,
    thread: str | None,
    manual: tuple[str, ...],
    windows_csv: str | None,
    signposts: tuple[str, ...],
    windows: WindowSource,
    samples: str | None,
    markers: str | None,
    max_windows: int,
    format_: str | None,
    via: Via,
    output: str,
    force: bool,
) -> None:
    """Say which engine served each inference of a recording, and how that is known.

    INPUT is a .trace (a folder, or a zip or tar of one), a pack (.tracekit.zip), an export (.xml,
    .xml.gz), a folder of exports of one recording, several such files, or - for standard input.

    \b
    Examples:
      tracekit analyze MyApp.trace
      tracekit analyze MyApp.trace.zip --run 2
      tracekit analyze exports/ --format json -o analysis.json
      tracekit analyze exports/ --window 12.5ms-18ms --process SampleApp
      tracekit analyze MyApp.trace --window-signpost 'com.example.app/Inference/*'
      xcrun xctrace export --input X.trace --xpath '/trace-toc/run/data/table[@schema="time-profile"]' \\
        | tracekit analyze -
    """
    check_output(output, force)
    chosen = guess_format(format_, output, _FORMATS)
    if bool(manual or windows_csv) + bool(signposts) + (windows != "auto") > 1:
        raise UsageError("Give windows in one way: --windows, --window-signpost, or windows of your own.")

    from tracekit.analysis import Window, analyze, parse_window, windows_from_csv
    from tracekit.load import open_trace
    from tracekit.report.json import to_json
    from tracekit.report.text import to_text

    own: list[Window] = [parse_window(text) for text in manual]
    if windows_csv:
        own += windows_from_csv(Path(windows_csv))
    with Progress("Reading") as progress:
        trace = open_trace(inputs, run, samples, progress, via)
    analysis = analyze(
        trace,
        windows=own if manual or windows_csv else windows,
        signposts=signposts,
        process=process,
        thread=thread,
        markers=Path(markers) if markers else None,
    )
    result = to_json(analysis) if chosen == "json" else to_text(analysis, max_windows)
    write_output(result, output, force)
