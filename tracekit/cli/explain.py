"""``tracekit explain``: what a finding, an issue or a rule means."""

from __future__ import annotations

import click

from tracekit.cli.output import HELP, write_output
from tracekit.cli.terminal import measure_text_width


@click.command("explain", context_settings=HELP, short_help="Explain a finding, an issue or a rule.")
@click.argument("name", metavar="NAME")
def explain_command(name: str) -> None:
    """Print what a finding, an issue or a rule means, what it rests on, what it does not prove, what to do.

    NAME is the kind of a finding, the code of an issue or the id of a rule, as the other commands print it.

    \b
    Examples:
      tracekit explain fell-back
      tracekit explain null-stacks
    """
    from tracekit.report.document.text_printer import Page, print_text
    from tracekit.report.explanation import explain

    write_output(print_text([explain(name)], Page(measure_text_width("-"))), "-", False)
