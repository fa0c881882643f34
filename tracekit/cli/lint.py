"""``tracekit lint``: what is known to leave the Neural Engine, or to give wrong numbers there, in a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli.documents import print_document
from tracekit.cli.output import HELP, add_document_options, write_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError
from tracekit.text import plural, printable

if TYPE_CHECKING:
    from tracekit.mlmodels.rules.lint import LintResult

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
@click.argument("paths", nargs=-1, required=True, metavar="MODEL...", type=click.Path())
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
@add_document_options(_FORMATS)
def lint_command(
    paths: tuple[str, ...],
    chip: str,
    system: str,
    units: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: tuple[str, ...],
    file_format: str,
    output: str,
    force: bool,
) -> None:
    """List what in a model is known to leave the Neural Engine, to give wrong numbers there, or to cost time.

    MODEL is a .mlmodel, .mlpackage, .mlmodelc or .aimodel; a file inside of one stands for it. Each rule has
    its evidence: who measured it, on which chip and system. Rules are hints, so the exit code is 0 unless
    --fail-on names an effect.

    \b
    Examples:
      tracekit lint Segmenter.mlpackage --chip M4 --os macOS27
      tracekit lint Segmenter.mlpackage Tagger.mlpackage --fail-on wrong-numbers -o lint.sarif
      tracekit rules CV03
    """
    from tracekit.mlmodels import find_enclosing_model, read_model
    from tracekit.mlmodels.rules.lint import lint_model
    from tracekit.mlmodels.rules.rule_target import make_target

    models = list(dict.fromkeys(find_enclosing_model(Path(path)) for path in paths))
    if len(models) > 1 and file_format == "json":
        raise UsageError("JSON holds one model: name one, or choose SARIF.")
    target = make_target(chip, system, units or "")
    results = [lint_model(read_model(path), target, select, ignore) for path in models]
    _write(results, file_format, output, force)
    effects = set().union(*(_FAILING[name] for name in fail_on))
    failing = {result.model.path: list(_iter_rules(result, effects)) for result in results}
    for path, rules in failing.items():
        if rules:
            listed = f"{plural(len(rules), 'rule')} ({', '.join(rules)})"
            write_message(f"--fail-on {', '.join(fail_on)}: {listed} in {printable(path.name)}.")
    if any(failing.values()):
        click.get_current_context().exit(1)


def _iter_rules(result: LintResult, effects: set[str]) -> Iterator[str]:
    """Yield the ids of the rules that the model matches with one of these effects."""
    for finding in result.findings:
        if effects & {claim.effect for claim in finding.claims}:
            yield finding.rule.id


def _write(results: Sequence[LintResult], file_format: str, output: str, force: bool) -> None:
    if file_format == "json":
        from tracekit.report.models.lint_json import to_json

        write_output(to_json(results[0]), output, force, is_document=True)
    elif file_format == "sarif":
        from tracekit.report.models.sarif import to_sarif

        write_output(to_sarif(*results), output, force, is_document=True)
    else:
        from tracekit.report.models.lint_document import build_lint

        pieces = (print_document(build_lint(result), file_format, output) for result in results)
        write_output("\n".join(pieces), output, force)
