"""A recording from the request to the judged bundle: the command, the run, the retry, the record of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tracekit.errors import XctraceError
from tracekit.record.lock import recorder_lock
from tracekit.record.output_path import check_output_path, reserve_output_path
from tracekit.record.plan import InstrumentPlan
from tracekit.record.recorder import Recorder, RecordingListener, RecordLimits, XctraceRun, free_bytes
from tracekit.record.result import RecordingResult, judge_result, run_numbers
from tracekit.record.signals import StopRequests
from tracekit.record.target import Target
from tracekit.xctrace.host import Host
from tracekit.xctrace.listing import Device
from tracekit.xctrace.tool import Xctrace

_MOST_TRIES = 2
_BEFORE_RETRY_SECONDS = 1.0
FLAGS = ("--no-prompt", "--append-run", "--all-processes")
"""Those of the options in a command that stand alone."""


@dataclass(frozen=True)
class RecordSettings:
    """What one ``xctrace record`` is asked for; ``target_input`` and ``target_output`` are files or "-"."""

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


@dataclass(frozen=True)
class RecordingAttempt:
    """A finished attempt: where the bundle lies, what it came to, and every run of xctrace that it took.

    ``final`` is where it was to go; a recording that is not good does not take an earlier one's place.
    """

    bundle: Path
    final: Path
    result: RecordingResult
    runs: tuple[XctraceRun, ...]
    settings: RecordSettings


def record_command(tool: Xctrace, output: Path, settings: RecordSettings) -> list[str]:
    """Return the words of the command line; the target comes last."""
    words = [tool.path, "record", "--output", str(output), "--no-prompt"]
    words += ["--append-run"] if settings.append else settings.plan.options()
    words += ["--run-name", settings.run_name] if settings.run_name else []
    words += ["--device", settings.device.udid] if settings.device else []
    words += ["--time-limit", as_limit(settings.limits.time_limit_seconds)]
    words += ["--window", as_limit(settings.window_seconds)] if settings.window_seconds else []
    for name, value in settings.environment:
        words += ["--env", f"{name}={value}"]
    words += ["--target-stdin", settings.target_input] if settings.target_input else []
    words += ["--target-stdout", settings.target_output] if settings.target_output else []
    return words + settings.target.options()


def as_limit(seconds: float) -> str:
    """Return a time as xctrace takes it: whole seconds, or whole milliseconds."""
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
    pass_on: Callable[[bytes], None] | None = None,
    free: Callable[[Path], int] = free_bytes,
) -> RecordingAttempt:
    """Record into ``final`` and judge what came of it.

    Raises ``UsageError`` or ``XctraceError`` before anything is recorded: an output that cannot be written,
    no space, another recorder at work. What goes wrong later is the ``Recording``'s outcome.
    """
    check_output_path(final, replace=force, append=settings.append)
    _check_space(final, settings.limits, free)
    with recorder_lock(settings.device.udid if settings.device else "", final):
        place = reserve_output_path(final, append=settings.append)
        earlier = run_numbers(place.path, tool) if settings.append else frozenset()
        before = _running(host, settings.target)
        runs: list[XctraceRun] = []
        good = False
        try:
            while True:
                command = record_command(tool, place.path, settings)
                recorder = Recorder(
                    command,
                    place.path,
                    settings.limits,
                    requests,
                    listener,
                    stdin=stdin,
                    pass_on=pass_on,
                    free=free,
                )
                runs.append(recorder.record())
                outcome = judge_result(place.path, runs[-1], tool, earlier)
                if not _is_worth_another_try(outcome, runs, requests):
                    break
                time.sleep(_BEFORE_RETRY_SECONDS)
            good = outcome.state == "good"
        finally:
            if not runs or runs[-1].killed:
                _end(_running(host, settings.target) - before)
            lies = place.settle(good)
        return RecordingAttempt(lies, final, outcome, tuple(runs), settings)


def _is_worth_another_try(outcome: RecordingResult, runs: list[XctraceRun], requests: StopRequests) -> bool:
    """A pid that is there is now and then not found; the same command attaches a bit later (argent#333)."""
    gone = outcome.failure is not None and outcome.failure.code == "process-gone"
    return gone and outcome.state == "missing" and len(runs) < _MOST_TRIES and not requests.count


def _check_space(final: Path, limits: RecordLimits, free: Callable[[Path], int]) -> None:
    there = free(final.absolute().parent)
    if there < limits.min_free_bytes:
        raise XctraceError(
            f"Only {there / 1e9:.1f} GB are free where {final} goes, and recording needs"
            f" {limits.min_free_bytes / 1e9:.1f}. Free some space, name another place with -o, or lower"
            " --min-free."
        )


def _running(host: Host | None, target: Target) -> set[int]:
    """Return the processes of the program that is to be launched."""
    if host is None or target.kind != "launch":
        return set()
    inside = f"{target.word}/"
    return {one.pid for one in host.processes() if one.path == target.word or one.path.startswith(inside)}


def _end(pids: set[int]) -> None:
    """End what a killed xctrace launched and cannot end any more."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
