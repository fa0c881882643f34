"""``tracekit compare``: differences between recordings, and what they are tested against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from tracekit.cli.analysing import add_companions, add_side_options, analyse, with_companions_option
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.ci_outputs import add_report_option, append_step_summary, check_outputs
from tracekit.cli.durations import parse_deadlines
from tracekit.cli.intervals import (
    PERCENT,
    check_noise_options,
    noise_from_option,
    open_option,
    run_noise_option,
    session_noise_option,
)
from tracekit.cli.noise import collect_noise_runs
from tracekit.cli.output import HELP, add_output_options, guess_format, write_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.checks.results import ChangeResult, OpenCounts
    from tracekit.comparison.result import Comparison
    from tracekit.mlmodels.plans.differences import PlanDifferences

_FORMATS = {".html": "html", ".json": "json", ".txt": "text", ".md": "markdown"}
_DOCUMENTS = ("json", "html", "github")
"""The formats for programs; the others are lines, none of which may be a command to a CI."""


@click.command(
    "compare",
    context_settings=HELP,
    short_help="Compare recordings: latency, engines, functions, with intervals.",
)
@click.argument("base", type=click.Path())
@click.argument("new", nargs=-1, required=True, type=click.Path(), metavar="NEW...")
@click.option(
    "--base", "more_base", multiple=True, metavar="INPUT", help="A further run of BASE. Repeatable."
)
@click.option("--base-run", type=click.IntRange(1), metavar="N", help="Like --run, for BASE only.")
@click.option("--new-run", type=click.IntRange(1), metavar="N", help="Like --run, for NEW only.")
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="CHANGE",
    help="Exit with 1 if a difference is shown to exceed this, such as 'p90 > +10%'; with 5 if the interval"
    " leaves it open. Repeatable.",
)
@click.option("--strict", is_flag=True, help="With --fail-on: ignore the intervals of the differences.")
@open_option("--fail-on")
@run_noise_option
@session_noise_option
@noise_from_option
@click.option(
    "--min-change",
    type=PERCENT,
    default="1%",
    metavar="PERCENT",
    show_default=True,
    help="The first sentence reports no change of a length below this.",
)
@click.option(
    "--deadline",
    "deadlines",
    multiple=True,
    callback=parse_deadlines,
    metavar="TIME",
    help="Compare the share of the calls that take longer, such as 16.7ms. Repeatable.",
)
@with_companions_option
@click.option(
    "--plans",
    "plan_files",  # "plans" are those of the options of an analysis
    nargs=2,
    type=click.Path(),
    metavar="BASE NEW",
    help="Plans of the model in BASE and in NEW, as tracekit plan reads them: which operations moved.",
)
@add_side_options
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json", "html", "github"]),
    help="Default: by extension, or text. github: annotations, and Markdown for the summary of the step.",
)
@add_report_option
@add_output_options
def compare_command(
    base: str,
    new: tuple[str, ...],
    more_base: tuple[str, ...],
    base_run: int | None,
    new_run: int | None,
    fail_on: tuple[str, ...],
    strict: bool,
    open_counts: OpenCounts | None,
    run_noise: tuple[tuple[str, float], ...],
    session_noise: float | None,
    noise_from: tuple[str, ...],
    min_change: float,
    deadlines: tuple[float, ...],
    with_companions: bool,
    plan_files: tuple[str, str] | None,
    options: AnalysisOptions,
    format_: str | None,
    report: str | None,
    output: str,
    force: bool,
) -> None:
    """Compare recordings: latency, engines, hand-offs, loading and functions, with intervals.

    BASE and NEW are recordings as tracekit analyze reads them, one argument each (a .trace, a pack, an
    export, a folder of exports). Further NEW arguments are repetitions of NEW; --base adds repetitions of
    BASE. Differences are tested between runs: with five runs per side they are reliable, with one per side
    the result is about these recordings only.

    \b
    Examples:
      tracekit compare yesterday.trace today.trace
      tracekit compare base1.trace new1.trace new2.trace new3.trace --base base2.trace --base base3.trace
      tracekit compare yesterday.trace today.trace --run-noise 2%
      tracekit compare yesterday.trace today.trace --noise-from ~/tracekit-library
      tracekit compare both.trace both.trace --base-run 1 --new-run 2
      tracekit compare base.trace new.trace --run-noise p90=4% --fail-on 'p90 > +10%' --open pass
      tracekit compare base.trace new.trace --plans old/analytics.mil new/analytics.mil
      tracekit compare base.trace new.trace -o comparison.md
      tracekit compare base.trace new.trace --fail-on 'p90 > +10%' --format github --report comparison.html

    Exit codes: 1 if a difference is shown to be too large, 5 if these recordings leave a --fail-on open or
    cannot measure it.
    """
    if strict and not fail_on:
        raise UsageError("--strict needs --fail-on: it changes how differences are compared with thresholds.")
    if open_counts and not fail_on:
        raise UsageError("--open needs --fail-on: it decides what counts as failed.")
    check_noise_options(run_noise, noise_from)
    check_outputs(force, output, report=report)
    output_format = guess_format(format_, output, _FORMATS)
    base_inputs = (base, *more_base)
    if [*base_inputs, *new, *noise_from].count("-") > 1:
        raise UsageError("Standard input can be one of the recordings, not several.")

    from tracekit.checks.changes import check_changes
    from tracekit.checks.parser import parse_change
    from tracekit.checks.results import choose_exit_code
    from tracekit.comparison import compare
    from tracekit.comparison.cautions import REPEATED
    from tracekit.report.comparison import github, json, markdown, text
    from tracekit.report.comparison.cautions import caution_text

    changes = [parse_change(text) for text in fail_on]
    differences = _compare_plans(plan_files)
    base_runs, new_runs = (
        [analyse((path,), _choose_options(options, run, path, with_companions)) for path in inputs]
        for inputs, run in ((base_inputs, base_run), (new, new_run))
    )
    spread = collect_noise_runs(noise_from, options, (*base_runs, *new_runs))
    required = [change.deadline_ns for change in changes if change.deadline_ns is not None]
    comparison = compare(
        base_runs,
        new_runs,
        run_noise=dict(run_noise),
        noise_from=spread,
        session_noise=session_noise,
        min_change=min_change,
        deadlines_ns=(*deadlines, *required),
    )
    results = check_changes(comparison, changes, strict)
    write: dict[str, Callable[..., str]] = {
        "text": text.to_text,
        "markdown": markdown.to_markdown,
        "json": json.to_json,
        "github": github.to_github,
        "html": partial(_write_page, base_runs[0], new_runs[0]),
    }
    if report is not None:
        page = write["html"](comparison, results, differences)
        write_output(page, report, force, is_document=True)
    if output_format == "github":
        append_step_summary(markdown.to_markdown(comparison, results, differences))
    result = write[output_format](comparison, results, differences)
    write_output(result, output, force, is_document=output_format in _DOCUMENTS)
    if results and output != "-":
        for caution in comparison.cautions:
            if caution.code == REPEATED:
                write_message(f"caution: {caution_text(caution)}")
    for check in results:
        if output != "-" and check.outcome != "passed":
            write_message(f"{check.outcome}: {check.change.text}")
    _exit_with(choose_exit_code((check.outcome for check in results), open_counts))


def _compare_plans(paths: tuple[str, str] | None) -> PlanDifferences | None:
    if paths is None:
        return None
    from tracekit.mlmodels.plans import read_plan
    from tracekit.mlmodels.plans.differences import compare_plans

    return compare_plans(*map(read_plan, paths))


def _write_page(
    base: Analysis,
    new: Analysis,
    comparison: Comparison,
    results: Sequence[ChangeResult],
    differences: PlanDifferences | None,
) -> str:
    from tracekit.report.html.compare_page import to_html

    return to_html(comparison, base, new, results, differences)


def _choose_options(
    options: AnalysisOptions, run: int | None, path: str, with_companions: bool
) -> AnalysisOptions:
    """Return the options for one recording: its run, and the texts beside it."""
    if run is not None:
        options = replace(options, run=run)
    return add_companions(options, path) if with_companions else options


def _exit_with(code: int) -> None:
    if code:
        click.get_current_context().exit(code)
