"""``tracekit explain``: what a name in an output means."""

from __future__ import annotations

import click

from tracekit.cli.candidates import complete_explained
from tracekit.cli.output import HELP, write_output
from tracekit.cli.terminal import measure_text_width


@click.command("explain", context_settings=HELP, short_help="Explain a name that an output prints.")
@click.argument("name", metavar="NAME", shell_complete=complete_explained)
def explain_command(name: str) -> None:
    """Print what a name means, what it rests on, what it does not prove, and what to do.

    NAME is a finding, an issue, a rule, a column, a part of a call's budget, an engine, a basis of numbers or
    an exit code, as outputs print it, or the language of requirements or changes.

    \b
    Examples:
      tracekit explain fell-back           a finding
      tracekit explain null-stacks         an issue
      tracekit explain ane.submit          a rule about stacks, or one about models: DT01
      tracekit explain ANE_busy_ns         a column
      tracekit explain hand_over           a part of a call's budget
      tracekit explain sampled             a basis
      tracekit explain 5                   an exit code
      tracekit explain requirements        a language; also plan-requirements, changes
    """
    from tracekit.report.document.text_printer import Page, print_text
    from tracekit.report.explanation.explain import explain

    write_output(print_text(explain(name), Page(measure_text_width("-"))), "-", False)
