"""One recording, from its settings to the judged bundle: command, run, retry, result."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from tracekit.errors import XctraceError
from tracekit.frozen import frozen
from tracekit.record.leftover import Leftover, end_leftover, note_recorder
from tracekit.record.lock import hold_recorder_lock
from tracekit.record.output_path import check_output_path, reserve_output_path
from tracekit.record.recorder import Recorder, RecordingListener, RecordLimits, XctraceRun, measure_free_bytes
from tracekit.record.recording_plan import InstrumentPlan
from tracekit.record.recording_result import RecordingResult, judge_result, read_run_numbers
from tracekit.record.signals import StopRequests
from tracekit.record.target import Target
from tracekit.xctrace.mac_host import Host
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.xctrace_list import Device

_MAX_TRIES = 2
_RETRY_DELAY_SECONDS = 1.0
FLAGS = ("--no-prompt", "--append-run", "--all-processes")
"""The options of an xctrace command that have no value."""


@frozen
class RecordSettings:
    """Settings of one ``xctrace record``; ``target_input`` and ``target_output`` are files or "-"."""

    plan: InstrumentPlan
    target: Target
    limits: RecordLimits
    device: Device | None = None
    window_seconds: float | None = None
    environment: tuple[tuple[str, str], ...] = ()
    target_input: str = ""
    target_output: str = ""
    append: bool = False
    run_name: str = ""
    companions: tuple[str, ...] = ()
    """The tools that watch the Mac meanwhile: words of ``companions.COMPANIONS``."""
    models: tuple[str, ...] = ()
    plans: tuple[str, ...] = ()
    """Files of the models that the target runs and plans of them, as ``analyze`` takes them."""
    simulator: Device | None = None
    """The simulator of the target; ``device`` is None where it is recorded through this Mac."""

    @property
    def recorded_device(self) -> Device | None:
        """The device or simulator of the target, None for this Mac."""
        return self.simulator or self.device


@frozen
class RecordingAttempt:
    """A finished attempt: the path of its bundle, the result, and every run of xctrace that it took.

    ``final`` is the intended path; a recording that is not good does not replace an earlier one there.
    ``journal_problem`` is the reason why its journal could not be written, "" if it was.
    """

    bundle: Path
    final: Path
    result: RecordingResult
    runs: tuple[XctraceRun, ...]
    settings: RecordSettings
    journal_problem: str = ""


def build_xctrace_command(tool: Xctrace, output: Path, settings: RecordSettings) -> list[str]:
    """Return the words of the command line; the target comes last."""
    words = [tool.path, "record", "--output", str(output), "--no-prompt"]
    words += ["--append-run"] if settings.append else settings.plan.build_options()
    words += ["--run-name", settings.run_name] if settings.run_name else []
    words += ["--device", settings.device.udid] if settings.device else []
    words += ["--time-limit", format_time(settings.limits.time_limit_seconds)]
    words += ["--window", format_time(settings.window_seconds)] if settings.window_seconds else []
    for name, value in settings.environment:
        words += ["--env", f"{name}={value}"]
    words += ["--target-stdin", settings.target_input] if settings.target_input else []
    words += ["--target-stdout", settings.target_output] if settings.target_output else []
    return words + settings.target.build_options()


def format_time(seconds: float) -> str:
    """Return a time in xctrace's notation: whole seconds, or whole milliseconds."""
    milliseconds = round(seconds * 1000)
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"


def record(
    tool: Xctrace,
    settings: RecordSettings,
    final: Path,
    requests: StopRequests,
    listener: RecordingListener,
    *,
    force: bool = False,
    host: Host | None = None,
    stdin: IO[bytes] | None = None,
    forward_output: Callable[[bytes], None] | None = None,
    may_end: Callable[[Leftover], bool] = lambda _leftover: False,
    free_space: Callable[[Path], int] = measure_free_bytes,
) -> RecordingAttempt:
    """Record into ``final`` and judge the result.

    Raises ``UsageError`` or ``XctraceError`` before anything is recorded: an output that cannot be written,
    no space, another recording in progress. Later failures are the attempt's result. ``may_end`` decides
    whether an xctrace that a killed tracekit left running is ended first; it never is by default.
    """
    check_output_path(final, replace=force, append=settings.append)
    _check_space(final, settings.limits, free_space)
    device = settings.device.udid if settings.device else ""
    with hold_recorder_lock(device, final):
        end_leftover(device, may_end, settings.limits.silence_seconds, lambda: requests.count > 0)
        output = reserve_output_path(final, append=settings.append)
        earlier_runs = read_run_numbers(output.working, tool) if settings.append else frozenset()
        earlier_processes = _find_launched_processes(host, settings.target)
        runs: list[XctraceRun] = []
        good = False
        try:
            while True:
                with note_recorder(device, output.working) as note:
                    recorder = Recorder(
                        build_xctrace_command(tool, output.working, settings),
                        output.working,
                        settings.limits,
                        requests,
                        listener,
                        stdin=stdin,
                        forward_output=forward_output,
                        free_space=free_space,
                        on_start=note,
                    )
                    runs.append(recorder.record())
                result = judge_result(output.working, runs[-1], tool, earlier_runs)
                if not _should_retry(result, runs, requests):
                    break
                time.sleep(_RETRY_DELAY_SECONDS)
            # An empty or unreadable recording is kept beside an earlier one, never in its place.
            good = result.state == "good"
        finally:
            # Also when the listener fails: then no run was added, and xctrace was ended by the recorder.
            if not runs or runs[-1].killed:
                _terminate_processes(_find_launched_processes(host, settings.target) - earlier_processes)
            bundle = output.commit() if good else output.restore()
        return RecordingAttempt(bundle, final, result, tuple(runs), settings)


def _should_retry(result: RecordingResult, runs: list[XctraceRun], requests: StopRequests) -> bool:
    """Return True if xctrace did not find a pid at the first try.

    Now and then it does not find a running process; the same command attaches a bit later (argent#333).
    """
    not_found = result.failure is not None and result.failure.code == "process-gone"
    return not_found and result.state == "missing" and len(runs) < _MAX_TRIES and not requests.count


def _check_space(final: Path, limits: RecordLimits, free_space: Callable[[Path], int]) -> None:
    free = free_space(final.absolute().parent)
    if free < limits.min_free_bytes:
        raise XctraceError(
            f"Only {free / 1e9:.1f} GB are free on the disk of {final}, and recording needs"
            f" {limits.min_free_bytes / 1e9:.1f}. Free some space, choose another output with -o, or lower"
            " --min-free."
        )


def _find_launched_processes(host: Host | None, target: Target) -> set[int]:
    """Return the pids of the program to launch, which may have run before."""
    if host is None or target.kind != "launch":
        return set()
    in_bundle = f"{target.locator}/"
    return {
        process.pid
        for process in host.processes()
        if process.path == target.locator or process.path.startswith(in_bundle)
    }


def _terminate_processes(pids: set[int]) -> None:
    """Terminate the processes that a killed xctrace launched and can no longer end."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
