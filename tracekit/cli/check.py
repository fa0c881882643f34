"""``tracekit check``: requirements on a recording, for CI."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.check_config import NAME, Config, find_nearest_config, read_config
from tracekit.cli.ci_outputs import add_report_option, append_step_summary, check_outputs
from tracekit.cli.intervals import (
    check_noise_options,
    confidence_option,
    noise_from_option,
    open_option,
    run_noise_option,
)
from tracekit.cli.noise import collect_noise_runs
from tracekit.cli.output import HELP, add_output_options, guess_format, write_output
from tracekit.errors import UsageError
from tracekit.text import plural

if TYPE_CHECKING:
    from tracekit.checks.requirements import Requirement
    from tracekit.checks.results import OpenCounts

_FORMATS = {".json": "json", ".md": "markdown", ".txt": "text", ".xml": "junit"}
_LINES = ("text", "markdown")
"""The formats that are lines for people, which a CI prints; the others are documents."""


@click.command("check", context_settings=HELP, short_help="Check a recording against requirements, for CI.")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--require",
    "require",
    multiple=True,
    metavar="REQUIREMENT",
    help="A condition that must hold, such as 'p90 <= 8ms' or 'ANE share >= 80% in MyModel'. Repeatable.",
)
@click.option(
    "--forbid",
    "forbid",
    multiple=True,
    metavar="WHAT",
    help="A condition or engine that must not occur, such as 'CPU execute in MyModel' or 'GPU'. Repeatable.",
)
@click.option(
    "--config",
    metavar="FILE",
    help=f"Read requirements from FILE (default: the nearest {NAME} in this folder or above).",
)
@click.option("--no-config", is_flag=True, help=f"Ignore {NAME}: use only the options given here.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json", "junit", "github"]),
    help="Default: by extension, or text. github: annotations, and Markdown for the summary of the step.",
)
@click.option("--junit", metavar="FILE", help="Write JUnit XML to FILE as well.")
@add_report_option
@click.option("--also", multiple=True, metavar="INPUT", help="A further run of the same program. Repeatable.")
@run_noise_option
@noise_from_option
@confidence_option
@open_option("requirement")
@add_analysis_options
@add_output_options
def check_command(
    inputs: tuple[str, ...],
    require: tuple[str, ...],
    forbid: tuple[str, ...],
    config: str | None,
    no_config: bool,
    format_: str | None,
    junit: str | None,
    report: str | None,
    also: tuple[str, ...],
    run_noise: tuple[tuple[str, float], ...],
    noise_from: tuple[str, ...],
    confidence: float,
    open_counts: OpenCounts | None,
    options: AnalysisOptions,
    output: str,
    force: bool,
) -> None:
    """Check a recording against requirements: exit code 1 if one fails, 5 if one is open or not measurable.

    INPUT is anything that tracekit analyze reads. Numbers are judged by their intervals: a requirement is
    open where further calls of the program may or may not meet it. docs/check.md describes the language.

    \b
    Examples:
      tracekit check MyApp.trace --require 'ANE share >= 0.8' --require 'p90 <= 8ms'
      tracekit check MyApp.trace --forbid 'CPU execute in MyModel' --junit check.xml
      tracekit check MyApp.trace --require 'no finding fell-back in MyModel'
      tracekit check MyApp.trace --require 'warm p99 in MyModel <= 12ms' --format github
      tracekit check run1.trace --also run2.trace --also run3.trace --require 'p90 <= 8ms' --open pass
      tracekit check MyApp.trace --require 'p90 <= 8ms' --run-noise p90=4%
      tracekit check MyApp.trace --config ci/tracekit.toml --report report.html
    """
    check_noise_options(run_noise, noise_from)
    if confidence == 0 and (run_noise or noise_from):
        raise UsageError(
            "--confidence 0 judges the recorded numbers alone: leave out --run-noise and --noise-from."
        )
    check_outputs(force, output, junit=junit, report=report)
    output_format = guess_format(format_, output, _FORMATS)
    requirements = list(_iter_requirements(require, forbid, _choose_config(config, no_config)))
    if not requirements:
        raise UsageError(
            f"There are no requirements: give --require or --forbid, or write a {NAME} with a table [check]."
        )

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
    analyses = [analyse(inputs, options), *(analyse((path,), options) for path in also)]
    analysis = analyses[0]
    spread = collect_noise_runs(noise_from, options, analyses)
    results = check(analyses, requirements, confidence, run_noise=dict(run_noise), noise_from=spread)
    name = f"{analysis.trace.info.name}, run {analysis.trace.info.run}"
    if also:
        name = f"{name} and {plural(len(also), 'more run')}"
    issues = [issue for run_analysis in analyses for issue in wording.issues(run_analysis.diagnostics)]
    write: dict[str, Callable[..., str]] = {
        "text": to_text,
        "markdown": to_markdown,
        "json": partial(to_json, open_counts=open_counts),
        "junit": to_junit,
        "github": partial(to_github, recordings=analyses),
    }
    if junit is not None:
        write_output(to_junit(results, name, issues), junit, force, is_document=True)
    if report is not None:
        from tracekit.report.html.page import to_html

        write_output(to_html(analysis), report, force, is_document=True)
    if output_format == "github":
        append_step_summary(to_markdown(results, name, issues))
    content = write[output_format](results, name, issues)
    write_output(content, output, force, is_document=output_format not in _LINES)
    if code := choose_exit_code((result.outcome for result in results), open_counts):
        click.get_current_context().exit(code)


def _choose_config(config: str | None, no_config: bool) -> Config:
    if no_config:
        if config is not None:
            raise UsageError("Give --config or --no-config, not both.")
        return Config()
    path = Path(config) if config is not None else find_nearest_config(Path.cwd())
    return Config() if path is None else read_config(path)


def _iter_requirements(
    require: tuple[str, ...], forbid: tuple[str, ...], config: Config
) -> Iterator[Requirement]:
    """Yield the requirements of the file, then those of the command line."""
    from tracekit.checks.parser import parse_requirement

    for forbids, texts, key in ((False, config.require, "require"), (True, config.forbid, "forbid")):
        for index, text in enumerate(texts):
            yield parse_requirement(text, forbids, f"{config.path}: {key}[{index}]")
    for text in require:
        yield parse_requirement(text)
    for text in forbid:
        yield parse_requirement(text, forbids=True)
