"""``tracekit record``: record an app with xctrace, and analyze the recording."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import tracekit
from tracekit.cli.analysing import add_models
from tracekit.cli.durations import parse_seconds, parse_size_bytes
from tracekit.cli.output import HELP, Progress, check_output, guess_format, write_output
from tracekit.cli.record_series import (
    SavedRecording,
    finish_series,
    format_series,
    print_commands,
    print_settings,
    print_stop,
)
from tracekit.cli.report import FORMATS, LINES, render_report
from tracekit.cli.standard_error import write_message
from tracekit.errors import InputError, TracekitError, UsageError, XctraceError
from tracekit.text import printable

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.detect import Via
    from tracekit.record.record_request import PlannedRecording, RecordRequest
    from tracekit.record.recording_series import RecordingSeries
    from tracekit.record.session import RecordingAttempt
    from tracekit.xctrace.tool import Xctrace


@click.command("record", context_settings=HELP, short_help="Record an app with xctrace, and analyze it.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS...]")
@click.option(
    "--app",
    metavar="APP",
    help="The target: a running process (name or pid), a bundle identifier, an app's name, or the path of a"
    " .app or a binary. A running target is attached to; otherwise it is started.",
)
@click.option(
    "--launch",
    is_flag=True,
    help="Start the target afresh, with the arguments after --. Without --app, the first argument is the"
    " program: --launch -- ./tool -x",
)
@click.option("--all-processes", is_flag=True, help="Record all running processes.")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="NAME|UDID",
    help="Record on this device or simulator (default: this Mac). tracekit doctor lists them. Repeatable: the"
    " devices take turns, each as often as --count.",
)
@click.option(
    "--time-limit",
    "time_limit_seconds",
    default=None,
    callback=parse_seconds,
    metavar="TIME",
    help="How long to record, such as 500ms, 5s or 2m. [default: 10s; 10m with --until-enter]",
)
@click.option("--until-enter", "until_stopped", is_flag=True, help="Record until you press Enter.")
@click.option(
    "--window",
    "window_seconds",
    callback=parse_seconds,
    metavar="TIME",
    help="Keep only the last TIME of the recording.",
)
@click.option(
    "--preset",
    type=click.Choice(["counters", "coreml", "coreai", "minimal"]),
    help="counters (default): CPU counters, Time Profiler, Core ML, Neural Engine, GPU, signposts and points"
    " of interest, and Core AI in Xcode 27, as far as this Xcode has them; coreml: the same without counters;"
    " coreai: with Core AI's template and the log; minimal: Time Profiler.",
)
@click.option("--template", metavar="NAME|FILE", help="Record with this template instead.")
@click.option(
    "--instrument", "instruments", multiple=True, metavar="NAME", help="Add this instrument. Repeatable."
)
@click.option(
    "--show-plan",
    is_flag=True,
    help="Print the template and instruments with reasons, and what the recording will show; record nothing.",
)
@click.option("--dry-run", is_flag=True, help="Print the exact commands, ready to paste; record nothing.")
@click.option(
    "--env",
    "environment",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set this variable for a launched program. Repeatable.",
)
@click.option("--stdin", "target_input", default="", metavar="FILE|-", help="Input of a launched program.")
@click.option("--stdout", "target_output", default="", metavar="FILE|-", help="Output of a launched program.")
@click.option("--append-run", "append", is_flag=True, help="Add a run to the recording that --output names.")
@click.option("--run-name", default="", metavar="NAME", help="Name the run (Xcode 26 or later).")
@click.option(
    "--count",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Record N times; with --interleave, each side N times. [default: 1; 5 with --interleave]",
)
@click.option(
    "--interleave",
    metavar="APP",
    help="Record this target, such as another build, in turn with --app (or with the program after --), and"
    " compare the two: --app is BASE, this is NEW. Both get the same options and arguments.",
)
@click.option(
    "--compute-units",
    metavar="LIST",
    help="Record once per setting, such as all,cpuAndGPU,cpuOnly, and compare the recordings. The app reads"
    " the setting from the variable TRACEKIT_COMPUTE_UNITS.",
)
@click.option(
    "--with",
    "companions",
    metavar="LIST",
    help="Also run, beside the recording: power (powermetrics, which needs root: run sudo -v first; tracekit"
    " asks for no password), log (log stream), usage (which processes hold memory on the Neural Engine) and"
    " presence (when bandwidth is kept ready for it)."
    " Their files lie beside the .trace, and are joined with it.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[NAME=]FILE",
    help="The file of a model that the target runs: noted beside the recording, where tracekit analyze finds"
    " it. NAME is the model's name in the recording, where the file has another. Repeatable.",
)
@click.option(
    "--plan", "plans", multiple=True, metavar="[NAME=]FILE", help="A plan of a model, likewise. Repeatable."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    help="Path of the .trace, or its folder. [default: NAME-DATE-TIME.trace in this folder]",
)
@click.option("-f", "--force", is_flag=True, help="Replace an earlier recording once the new one is good.")
@click.option(
    "--save-timeout",
    "save_timeout_seconds",
    default="10m",
    show_default=True,
    callback=parse_seconds,
    metavar="TIME",
    help="Kill xctrace after this time without activity while it saves.",
)
@click.option(
    "--min-free",
    "min_free_bytes",
    default="1GB",
    show_default=True,
    callback=parse_size_bytes,
    metavar="SIZE",
    help="Stop and save when less disk space than this is free.",
)
@click.option(
    "--report",
    metavar="FILE",
    help="Also write a report, as tracekit report does: .html, .md, .png. Several recordings get one each.",
)
@click.option(
    "--end-leftover",
    is_flag=True,
    help="End an xctrace that a killed tracekit left running, which saves first. A terminal is asked.",
)
@click.option("--no-analysis", is_flag=True, help="Record only.")
@click.option(
    "--xctrace", "xctrace_path", metavar="PATH", help="Use this xctrace instead of the selected Xcode's."
)
@click.option(
    "--via",
    type=click.Choice(["auto", "native", "xctrace", "pymobiledevice3"]),
    default="auto",
    help="Reader of the .trace: native and, if that fails, xctrace (default: auto), or only one of them."
    " pymobiledevice3: record an iPhone without a Mac, with that program, which is to be installed apart.",
)
def record_command(
    arguments: tuple[str, ...],
    show_plan: bool,
    dry_run: bool,
    report: str | None,
    end_leftover: bool,
    no_analysis: bool,
    xctrace_path: str | None,
    via: Via | Literal["pymobiledevice3"],
    **request_options: Any,
) -> None:
    """Record an app with xctrace on a Mac, keep the .trace, and print which engine ran each call.

    Ctrl-C (or the end of the terminal) stops the recording and saves it. Beside X.trace, X.recording.json
    holds the commands, versions and times.

    \b
    Examples:
      tracekit record --app MyApp
      tracekit record --app com.example.MyApp --time-limit 30s -o before.trace
      tracekit record --launch -- ./tool --model Encoder.mlmodelc
      tracekit record --app MyApp.app --compute-units all,cpuAndGPU,cpuOnly
      tracekit record --app old/MyApp.app --interleave new/MyApp.app --launch -o fix.trace
      tracekit record --app MyApp --device "My iPhone" --preset coreml
      tracekit record --app MyApp --dry-run
      tracekit record --via pymobiledevice3 --device UDID

    Exit code 4 if xctrace fails or its recording cannot be used; the message names what is left of it. 130
    if Ctrl-C ends a series (--count, --interleave, --compute-units) before its last recording is whole.
    """
    if via == "pymobiledevice3":
        from tracekit.cli.record_device import record_from_device

        record_from_device(click.get_current_context(), analyze=not no_analysis)
        return
    if report is not None:
        if no_analysis:
            raise UsageError("--report needs the analysis: leave out --no-analysis.")
        guess_format(None, report, FORMATS)
        check_output(report, request_options["force"])

    from tracekit.cli.record_terminal import format_plan, make_consent, write_message_if_slow
    from tracekit.record.companions import describe_abandoned_files
    from tracekit.record.expected_evidence import predict_evidence
    from tracekit.record.record_request import plan_recordings
    from tracekit.record.recording_series import RecordingSeries
    from tracekit.xctrace.mac_host import Mac
    from tracekit.xctrace.tool import require_xctrace
    from tracekit.xctrace.version import read_version

    request = _request(arguments, request_options)
    with write_message_if_slow("Looking for xctrace …"):
        tool = require_xctrace(xctrace_path)
        version = read_version(tool)
    with write_message_if_slow("Listing xctrace's templates and devices …"):
        planned = plan_recordings(request, tool, version, Mac())
    plan = planned[0].settings.plan
    if show_plan:
        device = planned[0].settings.device
        evidence = predict_evidence(plan, version, device is not None and device.kind == "device")
        write_output(format_plan(plan, evidence) + format_series(planned), "-", force=False)
    if dry_run:
        print_commands(tool, planned, via)
    if show_plan or dry_run:
        return
    for note in plan.notes:
        write_message(f"note: {note}")
    for folder in dict.fromkeys(recording.final.parent for recording in planned):
        for lines in describe_abandoned_files(folder):
            write_message(*lines)
    series = RecordingSeries(
        planned,
        tool,
        version,
        tracekit.__version__,
        Mac(),
        force=request.force,
        may_end=make_consent(end_leftover, may_ask=not request.until_stopped),
    )
    _RecordAndAnalyze(tool, request, series, analyze=not no_analysis, report=report, via=via).run(planned)


def _request(arguments: tuple[str, ...], options: dict[str, Any]) -> RecordRequest:
    """Return the request; the options are named like its fields."""
    from tracekit.record.companions import parse_companions
    from tracekit.record.record_request import RecordRequest, parse_compute_units, parse_environment

    units = options["compute_units"]
    parsed = {
        "environment": parse_environment(options["environment"]),
        "compute_units": () if units is None else parse_compute_units(units),
        "companions": parse_companions(options["companions"]) if options["companions"] else (),
    }
    return RecordRequest(arguments=arguments, **{**options, **parsed})


class _RecordAndAnalyze:
    """Records a series, and prints the analysis of each recording."""

    def __init__(
        self,
        tool: Xctrace,
        request: RecordRequest,
        series: RecordingSeries,
        *,
        analyze: bool,
        report: str | None,
        via: Via,
    ) -> None:
        self._tool, self._request, self._series = tool, request, series
        self._with_analysis, self._report, self._via = analyze, report, via
        self._made: list[SavedRecording] = []
        self._failures: list[TracekitError] = []
        self._overlays: list[Path] = []
        """The files of the tools that watched the last recording."""

    def run(self, planned: Sequence[PlannedRecording]) -> None:
        """Record all; a single recording gets a whole summary, several get a line each."""
        if self._request.until_stopped:
            from tracekit.record.signals import call_on_each_line

            call_on_each_line(self._series.request_stop)
        if len(planned) == 1:
            for recording in self._series:
                self._record_one(recording, is_only_one=True)
            return
        try:
            self._record_several(len(planned))
        except (KeyboardInterrupt, TracekitError) as error:
            if isinstance(error, KeyboardInterrupt):
                print_stop(planned, self._made, len(self._failures))
            self._finish(planned, analyzed=False)
            raise
        if self._series.signal:
            print_stop(planned, self._made, len(self._failures))
        self._finish(planned, analyzed=self._with_analysis)
        if failures := self._failures:
            kind = (
                XctraceError if any(isinstance(error, XctraceError) for error in failures) else TracekitError
            )
            raise kind(f"{len(failures)} of {len(planned)} recordings failed; see above.")
        if self._series.signal:  # Ctrl-C is the usual end of one recording, and an interruption of several
            sys.exit(128 + self._series.signal)

    def _finish(self, planned: Sequence[PlannedRecording], analyzed: bool) -> None:
        if planned[0].place:
            finish_series(planned, self._made, self._via, analyzed=analyzed)
        elif planned[0].compute_units and analyzed:
            print_settings(self._made)

    def _record_several(self, count: int) -> None:
        """Record one after the other; a failed one does not prevent the next."""
        for number, recording in enumerate(self._series, 1):
            variant = recording.compute_units or (recording.place and recording.place.name)
            write_message(f"Recording {number} of {count}{f': {variant}' if variant else ''}")
            try:
                self._record_one(recording, is_only_one=False)
            except (XctraceError, InputError) as error:
                self._failures.append(error)
                write_message(f"Error: {error}", *(f"  {line}" for line in error.lines))

    def _record_one(self, planned: PlannedRecording, is_only_one: bool) -> None:
        from tracekit.record.messages import build_recording_error, format_saved_message

        recording = self._record_attempt(planned)
        if not recording.result.is_analyzable:
            raise build_recording_error(recording, self._tool)
        write_message(*format_saved_message(recording).split("\n"))
        if self._overlays:
            overlay_options = " ".join(f"--with {path}" for path in self._overlays)
            write_message(f"To join its texts again: tracekit analyze {recording.bundle} {overlay_options}")
        stop_signal = self._series.signal
        # After a kill or the end of the terminal, the recording is saved; there is no time for more.
        if stop_signal in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            sys.exit(128 + stop_signal)
        ran_out_of_space = recording.runs[-1].stop_reason == "disk"
        made_recording = SavedRecording(
            planned, recording, is_cut_short=bool(stop_signal) or ran_out_of_space
        )
        self._made.append(made_recording)
        if not self._with_analysis:
            return
        # These need pandas: they are imported when the recording is saved, so that it begins at once.
        from tracekit.cli.terminal import measure_text_width, write_text
        from tracekit.report import wording
        from tracekit.report.analysis.text import TextLayout, to_text

        analysis = self._analyze_recording(recording)
        sentence = printable(wording.headline(analysis.answer))
        short = f"{printable(recording.bundle.name)}: {sentence}\n"
        write_text(
            to_text(analysis, TextLayout(measure_text_width("-"))) if is_only_one else short, "-", force=False
        )
        self._made[-1] = replace(made_recording, analysis=analysis)
        if self._report:
            self._write_report(self._report, analysis, recording, planned.suffix)

    def _record_attempt(self, planned: PlannedRecording) -> RecordingAttempt:
        from tracekit.cli.record_terminal import TerminalProgress, open_standard_input, write_target_output
        from tracekit.record.companions import Companions, EndWithRecording, is_root

        settings = planned.settings
        progress = TerminalProgress(settings, planned.final, self._request.until_stopped)
        seconds = settings.limits.time_limit_seconds
        with Companions(settings.companions, planned.final, seconds, is_root=is_root()) as companions:
            recording = self._series.record(
                planned,
                EndWithRecording(progress, companions) if settings.companions else progress,
                stdin=open_standard_input() if settings.target_input == "-" else None,
                forward_output=write_target_output if settings.target_output == "-" else None,
            )
            progress.clear()
            if recording.result.is_analyzable:
                self._overlays, problems = companions.keep(recording.bundle)
                for problem in problems:
                    write_message(f"note: {problem}")
        if recording.journal_problem:
            write_message(f"note: {recording.journal_problem}")
        return recording

    def _write_report(
        self, report: str, analysis: Analysis, recording: RecordingAttempt, suffix: str
    ) -> None:
        from tracekit.record.journal import read_recorded_commands
        from tracekit.report.viewmodel.view import Extras

        path = Path(report)
        target = str(path.with_name(f"{path.stem}-{suffix}{path.suffix}") if suffix else path)
        extras = Extras(commands=read_recorded_commands(recording.bundle))
        report_format = guess_format(None, target, FORMATS)
        content = render_report(report_format, analysis, extras, full=False)
        write_output(content, target, self._request.force, is_document=report_format not in LINES)

    def _analyze_recording(self, recording: RecordingAttempt) -> Analysis:
        from tracekit.analysis import analyze
        from tracekit.cli.record_terminal import select_process
        from tracekit.detect import open_source
        from tracekit.load import trace_of
        from tracekit.model.schemas import READ_TABLES
        from tracekit.overlays.overlaid_source import OverlaidSource
        from tracekit.overlays.overlay_texts import open_readable_texts
        from tracekit.record.journal import find_compute_units

        path = str(recording.bundle)
        run = None
        if recording.settings.append:
            run = max(recorded.info.run for recorded in open_source(path, via=self._via).toc())
        units = find_compute_units(recording.settings.environment)
        texts, problems = open_readable_texts(self._overlays)
        for problem in problems:
            write_message(f"note: {problem}")
        with Progress("Reading") as progress:
            source = open_source(path, progress, self._via, READ_TABLES)
            trace = trace_of(OverlaidSource(source, texts) if texts else source, run)
            analysis = analyze(trace, process=select_process(recording, trace), compute_units=units)
        return add_models(analysis, (path,), None)
