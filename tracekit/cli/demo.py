"""``tracekit demo``: the recordings that come with the package, in the dashboard or as text."""

from __future__ import annotations

import click

from tracekit.cli.analysing import analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.output import HELP, write_output
from tracekit.cli.standard_error import write_message
from tracekit.cli.terminal import measure_text_width, write_text
from tracekit.errors import UsageError


@click.command("demo", context_settings=HELP, short_help="Try it on two recordings that come with it.")
@click.option(
    "--no-browser", is_flag=True, help="Print the analyses instead of opening them in the dashboard."
)
@click.pass_context
def demo_command(context: click.Context, no_browser: bool) -> None:
    """Open two sample recordings in the dashboard, with what to look at.

    They come with the package and are made up: no device recorded them, and what happened in them is known.
    They are added to the dashboard's library like any recording, and can be removed there. Without the
    packages of the dashboard, the analyses are printed.

    \b
    Examples:
      tracekit demo
      tracekit demo --no-browser
    """
    from tracekit.report.document.text_printer import Page, print_text
    from tracekit.report.samples_document import build_introduction
    from tracekit.samples import SAMPLE_RECORDINGS

    write_output(print_text(build_introduction(SAMPLE_RECORDINGS), Page(measure_text_width("-"))), "-", False)
    if not no_browser:
        try:
            _open_dashboard(context, [str(sample.path) for sample in SAMPLE_RECORDINGS])
        except UsageError as error:
            write_message(f"note: {error}")
        else:
            return
    for sample in SAMPLE_RECORDINGS:
        write_output(f"\n{'=' * 8} {sample.path.name}\n\n", "-", False)
        _print_analysis(str(sample.path))


def _open_dashboard(context: click.Context, paths: list[str]) -> None:
    """Run the dashboard's command, of another package. Raises ``UsageError`` where it cannot start."""
    group = context.find_root().command
    assert isinstance(group, click.Group)
    command = group.get_command(context, "dashboard")
    if command is None:
        raise UsageError("The dashboard is not installed.")
    context.invoke(command, inputs=tuple(paths))


def _print_analysis(path: str) -> None:
    from tracekit.report.analysis.text import TextLayout, to_text

    layout = TextLayout(measure_text_width("-"), recording=path)
    write_text(to_text(analyse((path,), AnalysisOptions()), layout), "-", False)
