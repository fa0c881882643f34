"""From what somebody asks for to the recordings to make: nothing is started here but questions."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.errors import UsageError
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.record.journal import COMPUTE_UNITS_VARIABLE
from tracekit.record.output_path import check_output_path
from tracekit.record.plan import InstrumentCatalog, InstrumentPlan, Preset, make_plan, template_hang
from tracekit.record.recorder import RecordLimits
from tracekit.record.session import RecordSettings
from tracekit.record.target import ALL_PROCESSES, Target, find_target
from tracekit.xctrace.host import Host
from tracekit.xctrace.listing import Device, find_device, list_devices, list_instruments, list_templates
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version

_DEFAULT_SECONDS = 10.0
_UNTIL_STOPPED_SECONDS = 600.0
"""A recording always has a limit: one that nobody stops would fill the disk."""
_UNSAFE = re.compile(r"[^\w.-]+")
_LONGEST_NAME_BYTES = 120


@dataclass(frozen=True)
class RecordRequest:
    """What to record, how, and where to; see ``tracekit record --help`` for each."""

    app: str | None = None
    launch: bool = False
    all_processes: bool = False
    arguments: tuple[str, ...] = ()
    device: str | None = None
    time_limit_seconds: float | None = None
    until_stopped: bool = False
    window_seconds: float | None = None
    preset: Preset | None = None
    template: str | None = None
    instruments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    target_input: str = ""
    target_output: str = ""
    append: bool = False
    run_name: str = ""
    count: int = 1
    compute_units: tuple[str, ...] = ()
    output: str | None = None
    force: bool = False
    save_timeout_seconds: float = 600
    min_free_bytes: int = 10**9


@dataclass(frozen=True)
class PlannedRecording:
    """One recording to make: where it goes, and under which setting of the compute units ("" for none)."""

    final: Path
    settings: RecordSettings
    compute_units: str = ""


def plan_recordings(
    request: RecordRequest, tool: Xctrace, version: Version, host: Host
) -> tuple[PlannedRecording, ...]:
    """Find the target and the device, choose what to record, and name the outputs.

    Raises ``UsageError`` for what contradicts itself, is ambiguous, is not there, or could not be written;
    ``XctraceError`` when xctrace does not answer.
    """
    _check(request, version)
    device = None if request.device is None else _device(tool, request.device)
    target = _target(request, host, device)
    plan = _plan(request, tool, version, device)
    limit = _UNTIL_STOPPED_SECONDS if request.until_stopped else _DEFAULT_SECONDS
    limits = RecordLimits.within(
        request.time_limit_seconds or limit, request.save_timeout_seconds, request.min_free_bytes
    )
    settings = RecordSettings(
        plan,
        target,
        limits,
        device,
        request.window_seconds,
        request.environment,
        request.target_input,
        request.target_output,
        request.append,
        request.run_name,
    )
    jobs = _jobs(request, settings)
    for job in jobs:
        check_output_path(job.final, replace=request.force, append=request.append)
    return jobs


def parse_compute_units(text: str) -> tuple[str, ...]:
    """Return the settings that a list such as ``all,cpuOnly`` names; raise ``UsageError`` for another."""
    folded = {one.casefold(): one for one in COMPUTE_UNITS}
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word.casefold() not in folded:
            raise UsageError(f"--compute-units: '{word}' is none of {', '.join(COMPUTE_UNITS)}.")
    units = tuple(folded[word.casefold()] for word in words)
    if len(set(units)) < len(units):
        raise UsageError(f"--compute-units names a setting twice: {text}.")
    return units


def parse_environment(variables: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return variables written NAME=VALUE; raise ``UsageError`` for anything else."""
    for text in variables:
        if not text.partition("=")[0] or "=" not in text or "\0" in text:
            raise UsageError(f"--env {text}: give NAME=VALUE.")
    return tuple((name, value) for name, _, value in (text.partition("=") for text in variables))


def _check(request: RecordRequest, version: Version) -> None:
    """Refuse what contradicts itself."""
    named = request.app is not None or request.launch or bool(request.arguments)
    if request.all_processes and named:
        raise UsageError("Give --all-processes or one target, not both.")
    if request.arguments and request.app is None and not request.launch:
        first = request.arguments[0]
        raise UsageError(f"'{first}': name what to record with --app, or start a program with --launch --.")
    if not (request.all_processes or named):
        raise UsageError(
            "What shall be recorded? Name it with --app, start it with --launch --, or give --all-processes."
        )
    if request.all_processes and (request.environment or request.target_input or request.target_output):
        raise UsageError("--env, --stdin and --stdout are for a program that is started: name it.")
    if request.append and (request.template or request.preset or request.instruments):
        raise UsageError("--append-run records with the template of the recording that it adds to.")
    if request.target_input == "-" and (request.count > 1 or request.compute_units):
        raise UsageError("--stdin - can be read once: with several recordings, name a file.")
    written = request.target_output
    if written not in ("", "-") and os.path.lexists(written) and not request.force:
        raise UsageError(f"--stdout {written}: the file exists and will not be overwritten without --force.")
    if request.until_stopped and request.target_input == "-":
        raise UsageError("--until-enter and --stdin - both want standard input.")
    if request.compute_units and (request.all_processes or request.count > 1 or request.append):
        raise UsageError(
            "--compute-units starts the app once per setting: leave out --all-processes, --count and"
            " --append-run."
        )
    limit = request.time_limit_seconds or _DEFAULT_SECONDS
    if request.window_seconds and not request.until_stopped and request.window_seconds > limit:
        raise UsageError("--window keeps the end of a recording: it cannot be longer than --time-limit.")
    if request.run_name and not version.since("17A"):
        raise UsageError(f"--run-name needs Xcode 26 or later; this is {version.xcode} ({version.build}).")


def _device(tool: Xctrace, wanted: str) -> Device | None:
    """Return the device of that name or identifier; None is this Mac."""
    device = find_device(wanted, list_devices(tool))
    return None if device.kind == "mac" else device


def _target(request: RecordRequest, host: Host, device: Device | None) -> Target:
    if request.all_processes:
        return ALL_PROCESSES
    fresh = request.environment or request.target_input or request.target_output or request.compute_units
    return find_target(
        request.app, host, device, launch=request.launch or bool(fresh), arguments=request.arguments
    )


def _plan(request: RecordRequest, tool: Xctrace, version: Version, device: Device | None) -> InstrumentPlan:
    if request.append:
        return InstrumentPlan(None, (), notes=("The run is recorded with the template of the earlier ones.",))
    simulated = device is not None and device.kind == "simulator"
    why_not = template_hang(version) if simulated else ""
    offer = InstrumentCatalog(list_templates(tool), list_instruments(tool))
    plan = make_plan(offer, request.preset, request.template, request.instruments, no_template=why_not)
    return plan.for_simulator(why_not) if simulated else plan


def _jobs(request: RecordRequest, settings: RecordSettings) -> tuple[PlannedRecording, ...]:
    final = _final(request, settings.target.name)
    if request.compute_units:
        return tuple(
            PlannedRecording(_suffixed(final, unit), _with_units(settings, unit), unit)
            for unit in request.compute_units
        )
    if request.count == 1 or request.append:
        return (PlannedRecording(final, settings),) * request.count
    return tuple(
        PlannedRecording(_suffixed(final, str(number)), settings) for number in range(1, request.count + 1)
    )


def _with_units(settings: RecordSettings, unit: str) -> RecordSettings:
    return replace(settings, environment=(*settings.environment, (COMPUTE_UNITS_VARIABLE, unit)))


def _suffixed(path: Path, word: str) -> Path:
    return path.with_name(f"{path.stem}-{word}.trace")


def _final(request: RecordRequest, name: str) -> Path:
    if request.append and not request.output:
        raise UsageError("--append-run: name the recording to add to with -o.")
    if request.output == "":
        raise UsageError("-o: name a .trace, or a folder.")
    path = Path(request.output or ".")
    if path.suffix == ".trace":
        return path
    if not os.path.isdir(path):  # noqa: PTH112 - pathlib raises for a name that is too long
        raise UsageError(f"{path} names no recording: give a name that ends in .trace, or a folder.")
    if request.append:
        raise UsageError(f"--append-run: {path} is a folder; name the .trace in it.")
    plain = _UNSAFE.sub("-", name).encode("utf-8", "replace")[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore")
    stem = plain.strip("-.") or "recording"
    return path / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}.trace"
