"""``tracekit record``: from a running app to the answer, through xctrace."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

import tracekit
from tracekit.cli.durations import seconds, size_bytes
from tracekit.cli.output import HELP, Progress, check_output, guess_format, via_option, write_output
from tracekit.cli.report import FORMATS, written
from tracekit.errors import UsageError, XctraceError
from tracekit.text import printable

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.detect import Via
    from tracekit.record.plan import Preset
    from tracekit.record.request import PlannedRecording, RecordRequest
    from tracekit.record.session import RecordingAttempt
    from tracekit.xctrace.tool import Xctrace
    from tracekit.xctrace.version import Version

_MOST_WINDOWS = 12


@click.command("record", context_settings=HELP, short_help="Record an app with xctrace, and analyse it.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS...]")
@click.option(
    "--app",
    metavar="APP",
    help="What to record: a running process's name or pid, a bundle identifier, an app's name, or the path of"
    " a .app or a binary. It is attached to if it runs, started if not.",
)
@click.option(
    "--launch",
    is_flag=True,
    help="Start it afresh, with the arguments after --: --launch -- ./tool -x. Without --app, the first of"
    " these is the program.",
)
@click.option("--all-processes", is_flag=True, help="Record everything that runs.")
@click.option(
    "--device",
    metavar="NAME|UDID",
    help="A device or simulator (default: this Mac); tracekit doctor lists them.",
)
@click.option(
    "--time-limit",
    default=None,
    callback=seconds,
    metavar="TIME",
    help="How long to record, such as 500ms, 5s or 2m. [default: 10s; 10m with --until-enter]",
)
@click.option("--until-enter", is_flag=True, help="Record until you press Enter.")
@click.option("--window", callback=seconds, metavar="TIME", help="Keep only the last TIME of the recording.")
@click.option(
    "--preset",
    type=click.Choice(["counters", "coreml", "minimal"]),
    help="counters (default): the CPU's counters, Time Profiler, Core ML, Neural Engine, GPU, signposts and"
    " points of interest, as far as this Xcode has them; coreml: the same without counters; minimal: Time"
    " Profiler.",
)
@click.option("--template", metavar="NAME|FILE", help="Record with this template instead.")
@click.option(
    "--instrument", "instruments", multiple=True, metavar="NAME", help="Add this instrument. Repeatable."
)
@click.option("--show-plan", is_flag=True, help="Say what would be recorded, and why; record nothing.")
@click.option("--dry-run", is_flag=True, help="Print the exact commands, ready to paste; record nothing.")
@click.option(
    "--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set this for a launched program."
)
@click.option("--stdin", "target_input", metavar="FILE|-", help="What a launched program reads.")
@click.option("--stdout", "target_output", metavar="FILE|-", help="Where a launched program's output goes.")
@click.option("--append-run", is_flag=True, help="Add a run to the recording that --output names.")
@click.option("--run-name", metavar="NAME", help="Name the run (Xcode 26 or later).")
@click.option("--count", type=click.IntRange(1, 1000), default=1, metavar="N", help="Record N times.")
@click.option(
    "--compute-units",
    metavar="LIST",
    help="Record once per setting, such as all,cpuAndGPU,cpuOnly, telling the app through the variable"
    " TRACEKIT_COMPUTE_UNITS, and compare them.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    help="Where the .trace goes. [default: NAME-DATE-TIME.trace in this folder]",
)
@click.option("-f", "--force", is_flag=True, help="Replace an earlier recording, once the new one is good.")
@click.option(
    "--save-timeout",
    default="10m",
    show_default=True,
    callback=seconds,
    metavar="TIME",
    help="How long xctrace may give no sign of life while it saves.",
)
@click.option(
    "--min-free",
    default="1GB",
    show_default=True,
    callback=size_bytes,
    metavar="SIZE",
    help="Stop and save when less disk than this is free.",
)
@click.option(
    "--report",
    metavar="FILE",
    help="Write a report as well, as tracekit report does: .html, .md, .png; of several recordings one each.",
)
@click.option("--no-analysis", is_flag=True, help="Only record.")
@click.option("--xctrace", "xctrace_path", metavar="PATH", help="Use this xctrace, not the selected Xcode's.")
@via_option
def record_command(
    arguments: tuple[str, ...],
    app: str | None,
    launch: bool,
    all_processes: bool,
    device: str | None,
    time_limit: float | None,
    until_enter: bool,
    window: float | None,
    preset: Preset | None,
    template: str | None,
    instruments: tuple[str, ...],
    show_plan: bool,
    dry_run: bool,
    variables: tuple[str, ...],
    target_input: str | None,
    target_output: str | None,
    append_run: bool,
    run_name: str | None,
    count: int,
    compute_units: str | None,
    output: str | None,
    force: bool,
    save_timeout: float,
    min_free: int,
    report: str | None,
    no_analysis: bool,
    xctrace_path: str | None,
    via: Via,
) -> None:
    """Record an app with xctrace on a Mac, keep the .trace, and say which engine served each inference.

    Ctrl-C (or the end of the terminal) stops the recording and saves it. Beside X.trace, X.recording.json
    holds the commands, versions and times.

    \b
    Examples:
      tracekit record --app MyApp
      tracekit record --app com.example.MyApp --time-limit 30s -o before.trace
      tracekit record --launch -- ./tool --model Encoder.mlmodelc
      tracekit record --app MyApp.app --compute-units all,cpuAndGPU,cpuOnly
      tracekit record --app MyApp --device "My iPhone" --preset coreml
      tracekit record --app MyApp --dry-run

    Exit code 4 when xctrace fails, or its recording cannot be used; the message says what is left of it.
    """
    if report is not None:
        if no_analysis:
            raise UsageError("--report needs the analysis: leave out --no-analysis.")
        guess_format(None, report, FORMATS)
        check_output(report, force)

    from tracekit.cli.record_terminal import message_if_slow, plan_text, say
    from tracekit.record.output_path import choose_output_path, copy_command
    from tracekit.record.request import RecordRequest, parse_compute_units, parse_environment, plan_recordings
    from tracekit.record.session import record_command as words_of
    from tracekit.xctrace.host import Mac
    from tracekit.xctrace.tool import require_xctrace
    from tracekit.xctrace.version import read_version

    request = RecordRequest(
        app=app,
        launch=launch,
        all_processes=all_processes,
        arguments=arguments,
        device=device,
        time_limit_seconds=time_limit,
        until_stopped=until_enter,
        window_seconds=window,
        preset=preset,
        template=template,
        instruments=instruments,
        environment=parse_environment(variables),
        target_input=target_input or "",
        target_output=target_output or "",
        append=append_run,
        run_name=run_name or "",
        count=count,
        compute_units=() if compute_units is None else parse_compute_units(compute_units),
        output=output,
        force=force,
        save_timeout_seconds=save_timeout,
        min_free_bytes=min_free,
    )
    with message_if_slow("Looking for xctrace …"):
        tool = require_xctrace(xctrace_path)
        version = read_version(tool)
    with message_if_slow("Asking xctrace what it offers …"):
        jobs = plan_recordings(request, tool, version, Mac())
    plan = jobs[0].settings.plan
    if show_plan:
        click.echo(plan_text(plan), nl=False)
    if dry_run:
        for job in jobs:
            place = choose_output_path(job.final, append=append_run)
            if place.is_copy:
                click.echo(shlex.join(copy_command(place)))
            click.echo(shlex.join(words_of(tool, place.path, job.settings)))
    if show_plan or dry_run:
        return
    for note in plan.notes:
        say(f"note: {note}")
    _Session(tool, version, request, analyse=not no_analysis, report=report, via=via).run(jobs)


class _Session:
    """Records job after job, then tells what they show."""

    def __init__(
        self,
        tool: Xctrace,
        version: Version,
        request: RecordRequest,
        *,
        analyse: bool,
        report: str | None,
        via: Via,
    ) -> None:
        from tracekit.record.signals import StopRequests

        self._tool, self._version, self._request = tool, version, request
        self._with_analysis, self._report, self._via = analyse, report, via
        self._requests = StopRequests()

    def run(self, jobs: Sequence[PlannedRecording]) -> None:
        """Record all jobs; those after the one that a signal stopped are not begun."""
        if self._request.until_stopped:
            from tracekit.record.signals import call_on_each_line

            call_on_each_line(self._stop_this)
        if len(jobs) == 1:
            self._one(jobs[0], alone=True)
            return
        analyses, failures = self._series(jobs)
        if jobs[0].compute_units and analyses:
            from tracekit.analysis.compute_units import compare_settings
            from tracekit.report.compute_units.text import settings_text

            write_output(settings_text(compare_settings(analyses)), "-", force=False)
        if failures:
            raise type(failures[0])(f"{len(failures)} of {len(jobs)} recordings failed; see above.")

    def _stop_this(self) -> None:
        self._requests.request()

    def _series(self, jobs: Sequence[PlannedRecording]) -> tuple[dict[str, Analysis], list[XctraceError]]:
        """Record one after the other; one that xctrace spoils does not keep the next from being made."""
        from tracekit.cli.record_terminal import say
        from tracekit.record.signals import StopRequests

        analyses: dict[str, Analysis] = {}
        failures: list[XctraceError] = []
        for number, job in enumerate(jobs, 1):
            setting = f": {job.compute_units}" if job.compute_units else ""
            say(f"Recording {number} of {len(jobs)}{setting}")
            self._requests = StopRequests()  # Enter stops one recording, a signal all of them
            try:
                analysis = self._one(job, alone=False)
            except XctraceError as error:
                failures.append(error)
                say("\n  ".join([f"Error: {error}", *error.lines]))
                analysis = None
            if analysis is not None:
                analyses[job.compute_units or str(number)] = analysis
            if self._requests.signal and number < len(jobs):
                say(f"Stopped: {len(jobs) - number} of {len(jobs)} recordings were not made.")
                break
        return analyses, failures

    def _one(self, job: PlannedRecording, alone: bool) -> Analysis | None:
        """Record once and analyse it; print the whole summary of a recording that stands alone."""
        from tracekit.cli.record_terminal import say
        from tracekit.record.messages import recording_error, saved_message
        from tracekit.report import wording
        from tracekit.report.analysis.text import to_text

        recording = self._record(job)
        if not recording.result.usable or (recording.result.state == "empty" and recording.result.failure):
            raise recording_error(recording, self._tool)
        say(saved_message(recording))
        if self._requests.signal in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            sys.exit(128 + self._requests.signal)
        if not self._with_analysis:
            return None
        analysis = self._analyse(recording)
        sentence = printable(wording.headline(analysis.summary.headline))
        short = f"{printable(recording.bundle.name)}: {sentence}\n"
        write_output(to_text(analysis, _MOST_WINDOWS) if alone else short, "-", force=False)
        if self._report:
            self._write_report(analysis, recording, "" if alone else recording.final.stem.rpartition("-")[2])
        return analysis

    def _write_report(self, analysis: Analysis, recording: RecordingAttempt, suffix: str) -> None:
        from tracekit.record.journal import recorded_commands
        from tracekit.report.viewmodel.view import Extras

        assert self._report is not None
        path = Path(self._report)
        target = str(path.with_name(f"{path.stem}-{suffix}{path.suffix}") if suffix else path)
        extras = Extras(commands=recorded_commands(recording.bundle))
        content = written(guess_format(None, target, FORMATS), analysis, extras, full=False)
        write_output(content, target, self._request.force)

    def _record(self, job: PlannedRecording) -> RecordingAttempt:
        from tracekit.cli.record_terminal import Talk, say
        from tracekit.record.journal import write_journal
        from tracekit.record.session import record
        from tracekit.record.signals import signals_request_stop
        from tracekit.xctrace.host import Mac

        talk = Talk(job.settings, job.final, self._request.until_stopped)
        with signals_request_stop(self._requests):
            recording = record(
                self._tool,
                job.settings,
                job.final,
                self._requests,
                talk,
                force=self._request.force,
                host=Mac(),
                stdin=_standard_input() if job.settings.target_input == "-" else None,
                pass_on=_pass_on if job.settings.target_output == "-" else None,
            )
            talk.clear()
            if recording.bundle.exists():
                try:
                    write_journal(recording, self._tool, self._version, tracekit.__version__)
                except UsageError as error:  # the recording is what matters
                    say(f"note: {error}")
        return recording

    def _analyse(self, recording: RecordingAttempt) -> Analysis:
        from tracekit.analysis import analyze
        from tracekit.detect import open_source
        from tracekit.load import open_trace

        path = str(recording.bundle)
        run = None
        if recording.settings.append:
            run = max(one.info.run for one in open_source(path, via=self._via).toc())
        with Progress("Reading") as progress:
            return analyze(open_trace(path, run, None, progress, self._via))


def _standard_input() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("--stdin - needs a pipe or a file on standard input: name the file instead.")
    return sys.stdin.buffer


def _pass_on(line: bytes) -> None:
    if sys.stdout is not None:
        with suppress(BrokenPipeError):  # nobody reads it any more: no reason to stop recording
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
