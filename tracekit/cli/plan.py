"""``tracekit plan``: where operations are anticipated to run, and why not elsewhere."""

from __future__ import annotations

import click

from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_output_options, check_output, guess_format, write_output
from tracekit.errors import UsageError

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json"}


@click.command(
    "plan", context_settings=HELP, short_help="Show which operations leave the Neural Engine, and why."
)
@click.argument("path", metavar="PLAN", type=click.Path(), required=False)
@click.option(
    "--against",
    metavar="BASE",
    type=click.Path(),
    help="Compare with the plan BASE of another chip, system or build: which operations moved.",
)
@click.option(
    "--write-program",
    "language",
    type=click.Choice(["swift", "python", "coreai"]),
    help="Write a program that makes a plan on a Mac: for Core ML in Swift or Python, or for Core AI.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["text", "markdown", "json"]),
    help="Format (default: by the extension of --output, else text).",
)
@add_output_options
def plan_command(
    path: str | None,
    against: str | None,
    language: str | None,
    file_format: str | None,
    output: str,
    force: bool,
) -> None:
    """Show where a model's operations are anticipated to run, and why not on the Neural Engine.

    PLAN is a file or folder of the runtime or of a tool: Core ML's analytics.mil, a compute plan as JSON, the
    standard error of a Core AI specialization, a .aimodelc, or a folder of either cache. It is read on any
    system. A plan is anticipated, not observed: what ran is in a recording.

    \b
    Examples:
      tracekit plan ~/Library/Caches/MyApp/com.apple.e5rt.e5bundlecache
      tracekit plan specialization.stderr
      tracekit plan new/analytics.mil --against old/analytics.mil
      tracekit plan --write-program swift -o plan.swift
    """
    if (path is None) == (language is None):
        raise UsageError("Name a plan, or a program with --write-program: one of the two.")
    check_output(output, force)
    if path is None:
        if file_format or against is not None:
            raise UsageError("--format and --against are for a plan, not for --write-program.")
        assert language is not None
        from tracekit.mlmodels.plans.programs import read_program

        write_output(read_program(language), output, force, is_document=True)
        return
    chosen = guess_format(file_format, output, _FORMATS)
    from tracekit.mlmodels.plans import read_plan

    plan = read_plan(path)
    if against is not None:
        from tracekit.mlmodels.plans.differences import compare_plans
        from tracekit.report.plans.differences_document import build_differences
        from tracekit.report.plans.differences_json import to_json as write_differences

        differences = compare_plans(read_plan(against), plan)
        if chosen == "json":
            write_output(write_differences(differences), output, force, is_document=True)
            return
        sections = build_differences(differences)
    else:
        from tracekit.report.plans.document import build_plan
        from tracekit.report.plans.json import to_json

        if chosen == "json":
            write_output(to_json(plan), output, force, is_document=True)
            return
        sections = build_plan(plan)
    write_document(sections, chosen, output, force)
