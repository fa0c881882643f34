"""``tracekit report``: an analysis as one file for a ticket."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.output import HELP, check_output, guess_format, write_json, write_output
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.report.viewmodel.view import Extras

FORMATS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".json": "json",
    ".png": "png",
    ".svg": "svg",
    ".txt": "text",
}
LINES = ("text", "markdown")
"""The formats that are lines for people, which a CI prints; the others are documents."""


@click.command(
    "report", context_settings=HELP, short_help="Write one file for a ticket: HTML, Markdown, PNG."
)
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@click.option(
    "-o", "--output", metavar="FILE", help="Write to FILE (default: NAME.html); - is standard output."
)
@click.option("-f", "--force", is_flag=True, help="Overwrite the output file.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["html", "markdown", "json", "png", "svg", "text"]),
    help="Default: by the extension of the output file, else html.",
)
@click.option("--title", default="", metavar="TEXT", help="The report's heading.")
@click.option("--note", default="", metavar="TEXT", help="A paragraph below the heading: what to look at.")
@click.option(
    "--note-at",
    "notes",
    nargs=2,
    multiple=True,
    metavar="TIME TEXT",
    help="A note at a time since the run's start, such as 12.5ms; a flag in the timeline. Repeatable.",
)
@click.option("--link", default="", metavar="URL", help="Address of a ticket or a commit.")
@click.option(
    "--redact",
    is_flag=True,
    help="Leave out other processes, home folders, users, volumes, the device's name and commands.",
)
@click.option("--full", is_flag=True, help="HTML: keep every sample, however large the file gets.")
@add_analysis_options
def report_command(
    inputs: tuple[str, ...],
    output: str | None,
    force: bool,
    format_: str | None,
    title: str,
    note: str,
    notes: tuple[tuple[str, str], ...],
    link: str,
    redact: bool,
    full: bool,
    options: AnalysisOptions,
) -> None:
    """Write the analysis of a recording as one file to attach to a ticket.

    HTML is one file that loads nothing from the network: verdict, timeline, calls, flame graph, stacks and
    evidence, readable without JavaScript and printable. Markdown is for a ticket's text, PNG and SVG are the
    timeline alone. INPUT is as for tracekit analyze.

    \b
    Examples:
      tracekit report MyApp.trace
      tracekit report MyApp.trace -o slow.html --title "Slow since 4.2" --link https://example.com/1234
      tracekit report MyApp.trace --redact -o public.html
      tracekit report MyApp.trace --note-at 264.8ms "since here on the CPU"
      tracekit report MyApp.trace -o timeline.png
      tracekit report MyApp.trace --format markdown -o - | pbcopy
    """
    target = f"{_choose_stem(inputs)}.html" if output is None else output
    has_suffix = target != "-" and Path(target).suffix
    report_format = format_ or (guess_format(None, target, FORMATS) if has_suffix else "html")
    check_output(target, force)
    if full and report_format != "html":
        raise UsageError("--full is for HTML: no other format has samples.")
    if (title or note or link) and report_format not in ("html", "markdown"):
        raise UsageError("--title, --note and --link are for HTML and Markdown.")
    if notes and report_format not in ("html", "markdown", "png", "svg"):
        raise UsageError("--note-at is for HTML, Markdown, PNG and SVG.")
    if report_format == "png" and target == "-" and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError("PNG is a binary format: write it to a file with -o FILE.png.")

    from tracekit.record.journal import read_recorded_commands
    from tracekit.report.viewmodel.notes import check_notes, parse_notes
    from tracekit.report.viewmodel.view import Extras, measure_duration

    pinned = parse_notes(notes)
    if link and not Extras(link=link).web_link:
        raise UsageError(f"--link {link}: not a web address. Give one that begins with https:// or http://.")
    commands = () if redact or len(inputs) != 1 else read_recorded_commands(Path(inputs[0]))
    analysis = analyse(inputs, options, redact=redact)
    check_notes(pinned, measure_duration(analysis))
    if report_format == "json":
        from tracekit.report.analysis.json import json_pieces

        write_json(json_pieces(analysis), len(analysis.window_rows), target, force)
    else:
        extras = Extras(title, note, link, commands, pinned)
        write_output(
            render_report(report_format, analysis, extras, full),
            target,
            force,
            is_document=report_format not in LINES,
        )


def render_report(report_format: str, analysis: Analysis, extras: Extras, full: bool) -> str | bytes:
    """Return the report in the format ``report_format``."""
    if report_format == "html":
        from tracekit.report.html.page import to_html

        return to_html(analysis, extras, full)
    if report_format == "markdown":
        from tracekit.report.analysis.markdown import to_markdown

        return to_markdown(analysis, extras)
    if report_format == "json":
        from tracekit.report.analysis.json import to_json

        return to_json(analysis)
    if report_format == "text":
        from tracekit.report.analysis.text import TextLayout, to_text
        from tracekit.text import PARAGRAPH_WIDTH

        return to_text(analysis, TextLayout(PARAGRAPH_WIDTH, is_verbose=True))
    from tracekit.report.pictures.png import to_png
    from tracekit.report.pictures.svg import to_svg
    from tracekit.report.pictures.timeline import timeline_picture

    picture = timeline_picture(analysis, extras.notes)
    return to_png(picture) if report_format == "png" else f"{to_svg(picture)}\n"


def _choose_stem(inputs: tuple[str, ...]) -> str:
    if len(inputs) > 1 or inputs[0] == "-":
        return "report"
    name = Path(inputs[0]).resolve().name
    for ending in (".tracekit.zip", ".zip", ".tar.gz", ".tgz", ".tar", ".gz", ".xml", ".trace"):
        name = name.removesuffix(ending) or name
    return name or "report"
