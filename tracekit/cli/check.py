"""``tracekit check``: requirements on a recording, for CI."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tracekit.cli.analysing import (
    add_analysis_options,
    add_companions,
    analyse,
    with_companions_option,
)
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.check_plan import check_plan_command
from tracekit.cli.checking import CheckOptions, add_check_options
from tracekit.cli.ci_outputs import add_report_option
from tracekit.cli.intervals import (
    check_noise_options,
    confidence_option,
    noise_from_option,
    open_option,
    run_noise_option,
)
from tracekit.cli.noise import collect_noise_runs
from tracekit.cli.output import HELP, write_output
from tracekit.errors import UsageError
from tracekit.text import plural

if TYPE_CHECKING:
    from tracekit.checks.results import OpenCounts


class _CheckCommand(click.Command):
    """A command whose first word may be ``plan``, which is another command."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of this command, or that of ``plan``."""
        if args[:1] == [check_plan_command.name]:
            return check_plan_command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    "check",
    cls=_CheckCommand,
    context_settings=HELP,
    short_help="Check a recording or a plan against requirements, for CI.",
)
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@click.option("--also", multiple=True, metavar="INPUT", help="A further run of the same program. Repeatable.")
@with_companions_option
@run_noise_option
@noise_from_option
@confidence_option
@open_option("requirement")
@add_analysis_options
@add_report_option
@add_check_options("'p90 <= 8ms' or 'ANE share >= 80% in MyModel'", "'CPU execute in MyModel' or 'GPU'")
def check_command(
    inputs: tuple[str, ...],
    also: tuple[str, ...],
    with_companions: bool,
    run_noise: tuple[tuple[str, float], ...],
    noise_from: tuple[str, ...],
    confidence: float,
    open_counts: OpenCounts | None,
    report: str | None,
    options: AnalysisOptions,
    checks: CheckOptions,
) -> None:
    """Check a recording against requirements: exit code 1 if one fails, 5 if one is open or not measurable.

    INPUT is anything that tracekit analyze reads; tracekit check plan checks a plan instead. Numbers are
    judged by their intervals: a requirement is open where further calls of the program may or may not meet
    it. tracekit explain requirements prints the language.

    \b
    Examples:
      tracekit check MyApp.trace --require 'ANE share >= 0.8' --require 'p90 <= 8ms'
      tracekit check MyApp.trace --forbid 'CPU execute in MyModel' --junit check.xml
      tracekit check MyApp.trace --require 'no finding fell-back in MyModel'
      tracekit check MyApp.trace --require 'warm p99 in MyModel <= 12ms' --format github
      tracekit check run1.trace --also run2.trace --also run3.trace --require 'p90 <= 8ms' --open pass
      tracekit check MyApp.trace --require 'p90 <= 8ms' --run-noise p90=4%
      tracekit check MyApp.trace --with-companions --require 'ANE energy <= 12mJ in MyModel'
      tracekit check MyApp.trace --config ci/tracekit.toml --report report.html
    """
    check_noise_options(run_noise, noise_from)
    if confidence == 0 and (run_noise or noise_from):
        raise UsageError(
            "--confidence 0 judges the recorded numbers alone: leave out --run-noise and --noise-from."
        )
    checks.check_outputs(report=report)

    from tracekit.checks.parser import parse_requirement

    requirements = checks.parse_requirements(parse_requirement, "check")

    from tracekit.checks.check import check
    from tracekit.checks.results import choose_exit_code
    from tracekit.report import wording
    from tracekit.report.checks.github import to_github
    from tracekit.report.checks.json import to_json
    from tracekit.report.checks.junit import to_junit
    from tracekit.report.checks.markdown import to_markdown
    from tracekit.report.checks.text import to_text

    if (*inputs, *also, *noise_from).count("-") > 1:
        raise UsageError("Standard input can be one of the recordings, not several.")
    analyses = [
        analyse(given, add_companions(options, given[0]) if with_companions else options)
        for given in (inputs, *((path,) for path in also))
    ]
    analysis = analyses[0]
    spread = collect_noise_runs(noise_from, options, analyses)
    results = check(analyses, requirements, confidence, run_noise=dict(run_noise), noise_from=spread)
    name = f"{analysis.trace.info.name}, run {analysis.trace.info.run}"
    if also:
        name = f"{name} and {plural(len(also), 'more run')}"
    issues = [issue for run_analysis in analyses for issue in wording.issues(run_analysis.diagnostics)]
    writers: dict[str, Callable[..., str]] = {
        "text": to_text,
        "markdown": to_markdown,
        "json": partial(to_json, open_counts=open_counts),
        "junit": to_junit,
        "github": partial(to_github, recordings=analyses),
    }
    if report is not None:
        from tracekit.report.html.page import to_html

        write_output(to_html(analysis), report, checks.force, is_document=True)
    checks.write(results, name, issues, writers)
    if code := choose_exit_code((result.outcome for result in results), open_counts):
        click.get_current_context().exit(code)
