"""``tracekit lint``: what is known to leave the Neural Engine, or to give wrong numbers there, in a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tracekit.cli.output import HELP, add_output_options, check_output, guess_format, write_output
from tracekit.cli.standard_error import write_message
from tracekit.cli.terminal import measure_text_width
from tracekit.text import plural

if TYPE_CHECKING:
    from tracekit.mlmodels.rules.lint import LintResult
    from tracekit.report.document.blocks import Section

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json", ".sarif": "sarif"}
_FAILING = {
    "wrong-numbers": {"wrong-numbers"},
    "fails": {"fails"},
    "leaves": {"leaves", "graph-leaves"},
    "slower": {"slower"},
    "any": {"wrong-numbers", "fails", "leaves", "graph-leaves", "slower", "information"},
}
"""The effects that each choice of ``--fail-on`` stands for."""


@click.command("lint", context_settings=HELP, short_help="Hold a model file against known limits.")
@click.argument("path", metavar="MODEL", type=click.Path())
@click.option(
    "--chip",
    default="",
    metavar="CHIP",
    help="Only rules that sources state for this chip: M4, h16g, A17, ….",
)
@click.option(
    "--os",
    "system",
    default="",
    metavar="SYSTEM",
    help="Only rules that sources state for this system: macOS27, iOS 18, ….",
)
@click.option(
    "--units",
    type=click.Choice(["all", "cpuAndNeuralEngine", "cpuAndGPU", "cpuOnly"]),
    default=None,
    help="The app's compute units: adds rules about them, and leaves out those about an unused engine.",
)
@click.option(
    "--select", multiple=True, metavar="ID", help="Only these rules, by id or its begin. Repeatable."
)
@click.option("--ignore", multiple=True, metavar="ID", help="Not these rules. Repeatable.")
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(list(_FAILING)),
    help="Exit with 1 if a rule of this effect matches. Repeatable.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["text", "markdown", "json", "sarif"]),
    help="Format (default: by the extension of --output, else text).",
)
@add_output_options
def lint_command(
    path: str,
    chip: str,
    system: str,
    units: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: tuple[str, ...],
    file_format: str | None,
    output: str,
    force: bool,
) -> None:
    """List what in a model is known to leave the Neural Engine, to give wrong numbers there, or to cost time.

    MODEL is a .mlmodel, .mlpackage, .mlmodelc or .aimodel. Each rule has its evidence: who measured it, on
    which chip and system. Rules are hints, so the exit code is 0 unless --fail-on names an effect.

    \b
    Examples:
      tracekit lint Segmenter.mlpackage --chip M4 --os macOS27
      tracekit lint Segmenter.mlpackage --fail-on wrong-numbers -o lint.sarif
      tracekit rules CV03
    """
    check_output(output, force)
    chosen = guess_format(file_format, output, _FORMATS)
    from tracekit.mlmodels import read_model
    from tracekit.mlmodels.rules.lint import lint_model
    from tracekit.mlmodels.rules.rule_target import make_target

    target = make_target(chip, system, units or "")
    result = lint_model(read_model(path), target, select, ignore)
    _write(result, chosen, output, force)
    effects = set().union(*(_FAILING[name] for name in fail_on))
    failing = [
        finding.rule.id for finding in result.findings if effects & {claim.effect for claim in finding.claims}
    ]
    if failing:
        write_message(
            f"--fail-on {', '.join(fail_on)}: {plural(len(failing), 'rule')} ({', '.join(failing)})."
        )
        click.get_current_context().exit(1)


def _write(result: LintResult, file_format: str, output: str, force: bool) -> None:
    if file_format == "json":
        from tracekit.report.models.lint_json import to_json

        write_output(to_json(result), output, force, is_document=True)
    elif file_format == "sarif":
        from tracekit.report.models.sarif import to_sarif

        write_output(to_sarif(result), output, force, is_document=True)
    else:
        from tracekit.report.models.lint_document import build_lint

        write_output(_print_sections(build_lint(result), file_format, output), output, force)


def _print_sections(sections: Sequence[Section], file_format: str, output: str) -> str:
    if file_format == "markdown":
        from tracekit.report.document.markdown_printer import print_markdown

        return print_markdown(sections)
    from tracekit.report.document.text_printer import Page, print_text

    return print_text(sections, Page(measure_text_width(output)))
