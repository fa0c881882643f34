"""``tracekit rules``: the rules about models and about stacks, with their evidence."""

from __future__ import annotations

import click

from tracekit.cli.candidates import complete_rule
from tracekit.cli.output import HELP, add_document_options, write_output
from tracekit.cli.terminal import measure_text_width

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json"}


@click.command("rules", context_settings=HELP, short_help="List and explain the rules.")
@click.argument("name", metavar="[ID]", required=False, default="", shell_complete=complete_rule)
@add_document_options(_FORMATS)
def rules_command(name: str, file_format: str, output: str, force: bool) -> None:
    """List the rules that tracekit lint holds models against, and those by which analyze reads stacks.

    With an ID, explain one: what it is checked on, its evidence with the sources, what speaks against it.

    \b
    Examples:
      tracekit rules
      tracekit rules CV03
      tracekit rules --format json -o rules.json
    """
    from tracekit.report.models.rules_document import build_rules, to_json

    if file_format == "json":
        write_output(to_json(name), output, force, is_document=True)
    elif file_format == "markdown":
        from tracekit.report.document.markdown_printer import print_markdown

        write_output(print_markdown(build_rules(name)), output, force)
    else:
        from tracekit.report.document.text_printer import Page, print_text

        write_output(print_text(build_rules(name), Page(measure_text_width(output))), output, force)
