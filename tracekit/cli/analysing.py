"""Options of the commands that analyze a recording, and the analysis that they choose."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracekit.cli.output import Progress, limits_option, via_option
from tracekit.errors import UsageError
from tracekit.model.vocabulary import COMPUTE_UNITS

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.analysis.windows.choose import WindowSource
    from tracekit.detect import Via
    from tracekit.model.trace import Trace
    from tracekit.parsers.limits import Limits


@dataclass(frozen=True)
class AnalysisOptions:
    """The values of the command-line options that ``analysis_options`` adds."""

    run: int | None
    process: str | None
    thread: str | None
    manual: tuple[str, ...]
    windows_csv: str | None
    signposts: tuple[str, ...]
    windows: WindowSource
    samples: str | None
    markers: str | None
    compute_units: str | None
    via: Via
    limits: Limits


_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option("--run", type=click.IntRange(1), metavar="N", help="The run to use (default: the first)."),
    click.option("--process", metavar="NAME|PID", help="Only this process."),
    click.option("--thread", metavar="NAME|TID", help="Only this thread, and the workers of its calls."),
    click.option(
        "--window",
        "manual",
        multiple=True,
        metavar="START-END",
        help="A window from the run's start, such as 12.5ms-18ms. Repeatable.",
    ),
    click.option(
        "--windows-csv",
        type=click.Path(),
        metavar="FILE",
        help="Windows from a CSV: start_ns,end_ns,label.",
    ),
    click.option(
        "--window-signpost",
        "signposts",
        multiple=True,
        metavar="PATTERN",
        help="Windows are the signpost intervals subsystem/category/name, with * for anything. Repeatable.",
    ),
    click.option(
        "--windows",
        type=click.Choice(["auto", "coreml", "coreai", "foundation-models", "ane", "stacks", "run"]),
        default="auto",
        show_default=True,
        help="Where windows come from: Core ML's predictions, Core AI's inferences, Foundation Models'"
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
        "--compute-units",
        type=click.Choice(COMPUTE_UNITS, case_sensitive=False),
        help="The compute units that the app requests from Core ML: calls on another engine become a finding."
        " Default: those of the journal that tracekit record wrote beside the recording.",
    ),
    via_option,
    limits_option,
)


def analysis_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets their values as ``options``, an ``AnalysisOptions``."""

    @functools.wraps(command)
    def with_options(*args: Any, **values: Any) -> Any:
        option_values = {field.name: values.pop(field.name) for field in fields(AnalysisOptions)}
        return command(*args, options=AnalysisOptions(**option_values), **values)

    result: Callable[..., Any] = with_options
    for option in reversed(_OPTIONS):
        result = option(result)
    return result


def analyse(inputs: tuple[str, ...], options: AnalysisOptions, *, redact: bool = False) -> Analysis:
    """Read and analyze the inputs as the options choose; raises the errors of reading and analyzing.

    With ``redact``, private content is removed before the analysis.
    """
    given = bool(options.manual or options.windows_csv)
    if given + bool(options.signposts) + (options.windows != "auto") > 1:
        raise UsageError("Give windows in one way: --windows, --window-signpost, or windows of your own.")

    from tracekit.analysis import Window, analyze, parse_window, windows_from_csv
    from tracekit.load import open_trace

    given_windows: list[Window] = [parse_window(text) for text in options.manual]
    if options.windows_csv:
        given_windows += windows_from_csv(Path(options.windows_csv))
    with Progress("Reading") as progress:
        if redact:
            trace = _redacted_trace(inputs, options, progress)
        else:
            trace = open_trace(inputs, options.run, options.samples, progress, options.via, options.limits)
    process = options.process
    if redact and process is not None and not process.isdecimal():
        process = trace.info.process  # redaction may have changed the name
    return analyze(
        trace,
        compute_units=options.compute_units or _recorded_compute_units(inputs),
        windows=given_windows if given else options.windows,
        signposts=options.signposts,
        process=process,
        thread=options.thread,
        markers=Path(options.markers) if options.markers else None,
    )


def _recorded_compute_units(inputs: tuple[str, ...]) -> str:
    path = Path(inputs[0])
    # Most recordings have no journal: they need none of the imports of recording.
    if len(inputs) != 1 or path.suffix != ".trace":
        return ""
    if not os.path.isfile(path.with_suffix(".recording.json")):  # noqa: PTH113 - pathlib raises for long names
        return ""
    from tracekit.record.journal import recorded_compute_units

    return recorded_compute_units(path)


def _redacted_trace(inputs: tuple[str, ...], options: AnalysisOptions, progress: Progress) -> Trace:
    from tracekit.detect import open_source
    from tracekit.load import trace_of
    from tracekit.model.schemas import READ_TABLES
    from tracekit.parsers.in_memory import read_into_memory
    from tracekit.redact.source import redacted

    source = read_into_memory(open_source(inputs, progress, options.via, READ_TABLES, options.limits))
    return trace_of(redacted(source, options.process), options.run, options.samples)
