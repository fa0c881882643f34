"""Options of the commands that analyze a recording, and the analysis that they choose."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracekit.cli.analysis_options import SOURCES, AnalysisOptions
from tracekit.cli.output import Progress, add_limits_option, add_symbols_option, add_via_option
from tracekit.cli.standard_error import write_message
from tracekit.errors import TracekitError
from tracekit.model.vocabulary import COMPUTE_UNITS

if TYPE_CHECKING:
    from tracekit.analysis import Window
    from tracekit.analysis.model_join.given_files import GivenFiles
    from tracekit.analysis.result import Analysis
    from tracekit.model.trace import Trace


_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option("--run", type=click.IntRange(1), metavar="N", help="The run to use (default: the first)."),
    click.option("--process", metavar="NAME|PID", help="Only this process."),
    click.option("--thread", metavar="NAME|TID", help="Only this thread, and the workers of its calls."),
    click.option(
        "--window",
        "manual",
        multiple=True,
        metavar="START-END",
        help="A range of your own instead of calls, from the run's start, such as 12.5ms-18ms. Repeatable.",
    ),
    click.option(
        "--windows-csv",
        type=click.Path(),
        metavar="FILE",
        help="Ranges of your own from a CSV: start_ns,end_ns,label.",
    ),
    click.option(
        "--window-signpost",
        "signposts",
        multiple=True,
        metavar="PATTERN",
        help="Calls are the signpost intervals subsystem/category/name, with * for anything. Repeatable.",
    ),
    click.option(
        "--windows",
        type=click.Choice(SOURCES),
        default="auto",
        show_default=True,
        help="Where calls come from: Core ML's predictions, Core AI's inferences, Foundation Models'"
        " requests, the Neural Engine's intervals, prediction calls on stacks, or the whole run; auto takes"
        " the first of these, and Core ML's and Core AI's together.",
    ),
    click.option(
        "--samples", metavar="SCHEMA", help="The table to take samples from (default: the best available)."
    ),
    click.option(
        "--markers", type=click.Path(), metavar="FILE", help="Your own rules, tried before the built-in ones."
    ),
    click.option(
        "--request-spans",
        type=click.Path(),
        metavar="FILE",
        help="The app's signposts around the steps of a language model: prefill, tokens, sampling."
        " Those of Apple's package are known.",
    ),
    click.option(
        "--compute-units",
        type=click.Choice(COMPUTE_UNITS, case_sensitive=False),
        help="The compute units that the app requests from Core ML: calls on another engine become a finding."
        " Default: those of the journal that tracekit record wrote beside the recording.",
    ),
    add_symbols_option,
)
_OVERLAYS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option(
        "--with",
        "overlays",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="A text of the same time, joined with the recording by wall clock: the output of log show,"
        " powermetrics, spindump and the like, or a zip of such. Repeatable.",
    ),
    click.option(
        "--offset",
        metavar="TIME",
        help="Move the texts of --with, where a clock was wrong: 1.5s, -200ms, 2h.",
    ),
)
_MODEL_FILES: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="[NAME=]FILE",
        help="The file of a model in the recording (.mlpackage, .mlmodelc, .mlmodel, .aimodel): its"
        " operations are held against the calls. NAME is the recording's name of it, if the file has another."
        " Default: those that tracekit record --model noted beside the recording. Repeatable.",
    ),
    click.option(
        "--plan",
        "plans",
        multiple=True,
        metavar="[NAME=]FILE",
        help="A plan of a model: where a runtime anticipates each operation, and why not elsewhere."
        " Repeatable.",
    ),
)
_READING = (add_via_option, add_limits_option)


def add_analysis_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets their values as ``options``, an ``AnalysisOptions``."""
    return _add_options(command, (*_OPTIONS, *_OVERLAYS, *_MODEL_FILES, *_READING))


def add_side_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that apply to several recordings at once: a text belongs to one of them only."""
    return _add_options(command, (*_OPTIONS, *_READING))


def add_analysis_choices(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is analyzed, without those that say how a file is read."""
    return _add_options(command, (*_OPTIONS, *_OVERLAYS, *_MODEL_FILES))


def _add_options(
    command: Callable[..., Any], options: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...]
) -> Callable[..., Any]:
    @functools.wraps(command)
    def run_with_options(*args: Any, **values: Any) -> Any:
        names = [field.name for field in fields(AnalysisOptions) if field.name in values]
        options = AnalysisOptions(**{name: values.pop(name) for name in names})
        return command(*args, options=options, **values)

    result: Callable[..., Any] = run_with_options
    for option in reversed(options):
        result = option(result)
    return result


def analyse(inputs: tuple[str, ...], options: AnalysisOptions, *, redact: bool = False) -> Analysis:
    """Read and analyze the inputs as the options choose; raises the errors of reading and analyzing.

    With ``redact``, private content is removed before the analysis, and from the windows' labels.
    """
    options.check()
    _report_abandoned_files(inputs)

    from tracekit.load import open_trace

    # Before the long reading, so that a mistake in them shows at once.
    windows = parse_given_windows(options)
    files = read_model_files(options)
    rewrite: Callable[[str], str] | None = None
    with Progress("Reading") as progress:
        if redact:
            trace, options, windows, rewrite = _read_redacted(inputs, options, windows, progress)
        else:
            trace = open_trace(
                inputs,
                options.run,
                options.samples,
                progress,
                options.via,
                options.limits,
                options.symbols,
                options.overlays,
                options.offset_ns,
            )
    analysis = analyse_trace(trace, options, find_recorded_units(inputs), windows)
    return add_models(analysis, inputs, files, rewrite)


def read_model_files(options: AnalysisOptions) -> GivenFiles | None:
    """Return the models and plans of the options, read; None where none is given, which needs no import."""
    if not options.models and not options.plans:
        return None
    return _read_model_files(options.models, options.plans)


def _read_model_files(models: tuple[str, ...], plans: tuple[str, ...]) -> GivenFiles:
    from tracekit.analysis.model_join.given_files import read_given_models, read_given_plans
    from tracekit.cli.packed_model_files import read_packed
    from tracekit.mlmodels import read_model
    from tracekit.mlmodels.plans import read_plan

    return read_given_models(read_packed(models, read_model)), read_given_plans(read_packed(plans, read_plan))


def add_models(
    analysis: Analysis,
    inputs: tuple[str, ...],
    files: GivenFiles | None,
    rewrite: Callable[[str], str] | None = None,
) -> Analysis:
    """Join the models and plans of ``read_model_files``; without any, those noted beside the recording."""
    return (
        _add_recorded_models(analysis, inputs, rewrite) if files is None else _join(analysis, files, rewrite)
    )


def _add_recorded_models(
    analysis: Analysis, inputs: tuple[str, ...], rewrite: Callable[[str], str] | None
) -> Analysis:
    """Join the models and plans that the recorder noted beside a recording.

    An analysis does not fail for files that have changed since: a message gives the reason.
    """
    if not _has_journal(inputs):
        return analysis
    from tracekit.record.journal import read_recorded_files

    models, plans = read_recorded_files(Path(inputs[0]))
    if not models and not plans:
        return analysis
    try:
        return _join(analysis, _read_model_files(models, plans), rewrite)
    except TracekitError as error:
        write_message(f"note: The model that was noted with the recording is not joined: {error}")
        return analysis


def _join(analysis: Analysis, files: GivenFiles, rewrite: Callable[[str], str] | None) -> Analysis:
    from tracekit.analysis.model_join.join import join_models

    joined = join_models(analysis, *files)
    if rewrite is not None:
        from tracekit.analysis.model_join.private_texts import rewrite_texts

        joined = tuple(rewrite_texts(model, rewrite) for model in joined)
    return replace(analysis, joined_models=joined)


def _report_abandoned_files(inputs: tuple[str, ...]) -> None:
    """Name the files that a killed tracekit left beside a recording."""
    for bundle in (Path(path) for path in inputs if path.rstrip("/").endswith(".trace")):
        from tracekit.record.companions import describe_abandoned_files

        for lines in describe_abandoned_files(bundle.parent, bundle):
            write_message(*lines)


def parse_given_windows(options: AnalysisOptions) -> list[Window]:
    """Return the windows of the user's own; raise ``UsageError`` and ``InputError`` for malformed ones."""
    from tracekit.analysis import parse_window, windows_from_csv

    windows: list[Window] = [parse_window(text) for text in options.manual]
    return windows + windows_from_csv(Path(options.windows_csv)) if options.windows_csv else windows


def analyse_trace(
    trace: Trace, options: AnalysisOptions, recorded_units: str, windows: list[Window]
) -> Analysis:
    """Analyze a trace as the options choose; ``windows`` are those of ``parse_given_windows``.

    ``recorded_units`` are the compute units of the recording's journal, "" for none.
    """
    from tracekit.analysis import analyze

    return analyze(
        trace,
        compute_units=options.compute_units or recorded_units,
        windows=windows if options.manual or options.windows_csv else options.windows,
        signposts=options.signposts,
        process=options.process,
        thread=options.thread,
        markers=Path(options.markers) if options.markers else None,
        request_spans=options.request_spans,
    )


def find_recorded_units(inputs: tuple[str, ...]) -> str:
    """Return the compute units of the journal that was written beside a recording, "" for none."""
    if not _has_journal(inputs):
        return ""
    from tracekit.record.journal import read_recorded_compute_units

    return read_recorded_compute_units(Path(inputs[0]))


def _has_journal(inputs: tuple[str, ...]) -> bool:
    """Return whether a journal is beside a recording: most have none, and need no imports of recording."""
    path = Path(inputs[0])
    if len(inputs) != 1 or path.suffix != ".trace":
        return False
    return os.path.isfile(path.with_suffix(".recording.json"))  # noqa: PTH113 - pathlib raises for long names


def _read_redacted(
    inputs: tuple[str, ...], options: AnalysisOptions, windows: list[Window], progress: Progress
) -> tuple[Trace, AnalysisOptions, list[Window], Callable[[str], str]]:
    """Return the trace redacted, what is found or shown in it under its present names, and the rewriter."""
    from tracekit.detect import open_source
    from tracekit.load import trace_of
    from tracekit.model.schemas import READ_TABLES
    from tracekit.parsers.in_memory import read_into_memory
    from tracekit.redact.redacted_source import apply_redaction, plan_source_redaction

    source = read_into_memory(
        open_source(
            inputs,
            progress,
            options.via,
            READ_TABLES,
            options.limits,
            options.symbols,
            options.overlays,
            options.offset_ns,
        )
    )
    plan = plan_source_redaction(source, options.process, [window.label for window in windows])
    trace = trace_of(apply_redaction(source, plan), options.run, options.samples)
    rewrite = plan.rewriter.rewrite_text
    process = options.process
    if process is not None and not process.isdecimal():
        process = trace.info.process
    options = replace(
        options,
        # Only the chosen process is left. An analysis chooses by samples, of which a log has none.
        process=process if len(trace.samples) else None,
        thread=options.thread and rewrite(options.thread),
        signposts=tuple("/".join(map(rewrite, pattern.split("/"))) for pattern in options.signposts),
    )
    return trace, options, [window._replace(label=rewrite(window.label)) for window in windows], rewrite


with_companions_option = click.option(
    "--with-companions",
    is_flag=True,
    help="Join with each recording the texts that tracekit record --with wrote beside it (X.power.txt beside"
    " X.trace), which show the energy of a call.",
)


def add_companions(options: AnalysisOptions, path: str) -> AnalysisOptions:
    """Return the options for one recording with the texts beside it."""
    from tracekit.record.companions import find_companion_files

    return replace(options, overlays=(*options.overlays, *map(str, find_companion_files(Path(path)))))
