"""The step from a request to the recordings to make; nothing is started but short questions to xctrace."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.record.companions import check_companions, is_root
from tracekit.record.interleaving import DEFAULT_PAIRS, SeriesPlace, check_sides, iter_interleaved_places
from tracekit.record.journal import COMPUTE_UNITS_VARIABLE
from tracekit.record.output_path import check_output_path, make_safe_file_name
from tracekit.record.recorder import RecordLimits
from tracekit.record.recording_plan import (
    InstrumentCatalog,
    InstrumentPlan,
    Preset,
    make_plan,
)
from tracekit.record.session import RecordSettings
from tracekit.record.simulator import (
    NO_ENGINES_OF_DEVICE,
    describe_way_through_mac,
    move_to_mac,
    must_record_through_mac,
    refuse_turns,
)
from tracekit.record.target import ALL_PROCESSES, Target, find_target
from tracekit.xctrace.mac_host import Host
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version
from tracekit.xctrace.xctrace_list import Device, find_device, list_devices, list_instruments, list_templates

_DEFAULT_SECONDS = 10.0
_UNTIL_STOPPED_SECONDS = 600.0
"""A recording always has a limit: one that is never stopped would fill the disk."""

_RequestRules: TypeAlias = Sequence[tuple[bool, str]]
"""Pairs of a condition and the message of the error that it is."""


@frozen
class RecordRequest:
    """Options of a recording; ``tracekit record --help`` describes each.

    ``interleave`` names a second target, to be recorded in turn with the first. Several ``devices`` take
    turns, each ``count`` times; none is this Mac.
    """

    app: str | None = None
    launch: bool = False
    all_processes: bool = False
    arguments: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
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
    count: int | None = None
    interleave: str | None = None
    compute_units: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    plans: tuple[str, ...] = ()
    output: str | None = None
    force: bool = False
    save_timeout_seconds: float = 600
    min_free_bytes: int = 10**9

    @property
    def repetitions(self) -> int:
        """Return the number of recordings per target and device."""
        return self.count or (1 if self.interleave is None else DEFAULT_PAIRS)


@frozen
class PlannedRecording:
    """One recording to make: its path, and its setting of the compute units ("" for none).

    ``suffix`` distinguishes it from the others of its request ("" for the only one); ``place`` is its place
    among recordings of two targets.
    """

    final: Path
    settings: RecordSettings
    compute_units: str = ""
    suffix: str = ""
    place: SeriesPlace | None = None


def plan_recordings(
    request: RecordRequest, tool: Xctrace, version: Version, host: Host
) -> tuple[PlannedRecording, ...]:
    """Find the target and the device, choose template and instruments, and name the outputs.

    Raises ``UsageError`` for options that contradict each other, for names that are ambiguous or not found,
    and for outputs that cannot be written; ``XctraceError`` when xctrace does not work.
    """
    _check_request(request, version)
    devices = _find_devices(tool, request.devices)
    settings, *further_settings = [_make_settings(request, tool, version, host, device) for device in devices]
    if further_settings:
        planned = _plan_rounds(request, [settings, *further_settings])
    elif request.interleave is None:
        planned = _split_recordings(request, settings)
    else:
        other = _find_other(request, host, settings.device, request.interleave)
        check_sides(settings.target, other)
        planned = _interleave_recordings(request, settings, other)
    for recording in planned:
        check_output_path(recording.final, replace=request.force, append=request.append)
    for device in devices:
        if request.companions and device is not None and device.kind == "device":
            raise UsageError(f"--with watches this Mac, and the recording is of {device.name}: leave it out.")
    finals = [recording.final for recording in planned]
    check_companions(request.companions, finals, replace=request.force, is_root=is_root())
    return planned


def _make_settings(
    request: RecordRequest, tool: Xctrace, version: Version, host: Host, device: Device | None
) -> RecordSettings:
    """Return the settings of the recordings of one device."""
    target = _find_target(request, host, device, request.app, request.arguments)
    plan = _make_plan(request, tool)
    simulator = device if device is not None and device.kind == "simulator" else None
    if simulator is not None:
        plan = plan.add_notes(NO_ENGINES_OF_DEVICE)
        if must_record_through_mac(simulator, version):
            if request.interleave is not None:
                raise UsageError(refuse_turns(simulator))
            plan = plan.add_notes(describe_way_through_mac(simulator))
            target, device = move_to_mac(target, simulator), None
    default_seconds = _UNTIL_STOPPED_SECONDS if request.until_stopped else _DEFAULT_SECONDS
    limits = RecordLimits.build_within(
        request.time_limit_seconds or default_seconds, request.save_timeout_seconds, request.min_free_bytes
    )
    return RecordSettings(
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
        request.companions,
        tuple(_locate_file(entry) for entry in request.models),
        tuple(_locate_file(entry) for entry in request.plans),
        simulator,
    )


def _locate_file(entry: str) -> str:
    """Return ``[NAME=]FILE`` with the file's whole path; raise ``UsageError`` for one that is not there."""
    name, equals, path = ("", "", entry) if Path(entry).exists() else entry.partition("=")
    if not path or not Path(path).exists():
        raise UsageError(f"{entry}: there is no such model or plan.")
    return f"{name}{equals}{Path(path).resolve()}"


def parse_compute_units(text: str) -> tuple[str, ...]:
    """Return the settings in a list such as ``all,cpuOnly``; raise ``UsageError`` for an unknown one."""
    by_folded_name = {name.casefold(): name for name in COMPUTE_UNITS}
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word.casefold() not in by_folded_name:
            raise UsageError(f"--compute-units: '{word}' is none of {', '.join(COMPUTE_UNITS)}.")
    units = tuple(by_folded_name[word.casefold()] for word in words)
    if len(set(units)) < len(units):
        raise UsageError(f"--compute-units names a setting twice: {text}.")
    return units


def parse_environment(variables: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return variables written NAME=VALUE; raise ``UsageError`` for anything else."""
    for text in variables:
        if not text.partition("=")[0] or "=" not in text or "\0" in text:
            raise UsageError(f"--env {text}: write NAME=VALUE.")
    return tuple((name, value) for name, _, value in (text.partition("=") for text in variables))


def _check_request(request: RecordRequest, version: Version) -> None:
    """Raise ``UsageError`` for the first rule that the request breaks."""
    for is_broken, message in (
        *_build_target_rules(request),
        *_build_program_rules(request),
        *_build_series_rules(request),
        *_build_duration_rules(request, version),
    ):
        if is_broken:
            raise UsageError(message)


def _build_target_rules(request: RecordRequest) -> _RequestRules:
    has_target = request.app is not None or request.launch or bool(request.arguments)
    stray_argument = request.arguments[0] if request.arguments else ""
    return (
        (request.all_processes and has_target, "Give --all-processes or one target, not both."),
        (
            bool(request.arguments) and request.app is None and not request.launch,
            f"'{stray_argument}': name the target with --app, or start a program with --launch --.",
        ),
        (
            not (request.all_processes or has_target),
            "No target: name it with --app, start it with --launch --, or give --all-processes.",
        ),
    )


def _build_program_rules(request: RecordRequest) -> _RequestRules:
    """Return the rules about a program to start, and its files."""
    needs_program = bool(request.environment or request.target_input or request.target_output)
    reads_stdin = request.target_input == "-"
    output = request.target_output
    output_exists = output not in {"", "-"} and os.path.lexists(output)
    return (
        (
            request.all_processes and needs_program,
            "--env, --stdin and --stdout are for a program that tracekit starts: name it.",
        ),
        (
            request.append and bool(request.template or request.preset or request.instruments),
            "--append-run uses the template of the existing recording: leave out --preset, --template and"
            " --instrument.",
        ),
        (
            output_exists and not request.force,
            f"--stdout {output}: the file exists and will not be overwritten without --force.",
        ),
        (
            request.append and bool(request.companions),
            "--with writes files beside a recording of its own: leave out --append-run.",
        ),
        (request.until_stopped and reads_stdin, "--until-enter and --stdin - both read standard input."),
    )


def _build_series_rules(request: RecordRequest) -> _RequestRules:
    """Return the rules about several recordings."""
    several = (
        request.repetitions > 1
        or bool(request.compute_units)
        or request.interleave is not None
        or len(request.devices) > 1
    )
    return (
        (
            request.target_input == "-" and several,
            "--stdin - can be read once: for several recordings, name a file.",
        ),
        (
            bool(request.compute_units)
            and (request.all_processes or (request.count or 1) > 1 or request.append),
            "--compute-units starts the app once per setting: leave out --all-processes, --count and"
            " --append-run.",
        ),
        (
            request.interleave is not None
            and (request.all_processes or request.append or bool(request.compute_units)),
            "--interleave records two targets into recordings of their own: leave out --all-processes,"
            " --append-run and --compute-units.",
        ),
        (
            len(request.devices) > 1
            and (bool(request.compute_units) or request.append or request.interleave is not None),
            "Several devices are recorded in turn, each as often as --count: leave out --interleave,"
            " --compute-units and --append-run.",
        ),
    )


def _build_duration_rules(request: RecordRequest, version: Version) -> _RequestRules:
    limit = request.time_limit_seconds or _DEFAULT_SECONDS
    return (
        (
            not request.until_stopped and (request.window_seconds or 0) > limit,
            "--window keeps the end of a recording: it cannot be longer than --time-limit.",
        ),
        (
            bool(request.run_name) and not version.is_since("17A"),
            f"--run-name needs Xcode 26 or later; this is {version.xcode} ({version.build}).",
        ),
    )


def _find_devices(tool: Xctrace, names: Sequence[str]) -> list[Device | None]:
    """Return the devices with these names or identifiers; None is this Mac, which is the one of no name."""
    known_devices = list_devices(tool) if names else ()
    found = [find_device(name, known_devices) for name in names]
    if len({device.udid for device in found}) < len(found):
        raise UsageError("--device names a device twice.")
    return [None if device.kind == "mac" else device for device in found] or [None]


def _find_target(
    request: RecordRequest, host: Host, device: Device | None, app: str | None, arguments: tuple[str, ...]
) -> Target:
    if request.all_processes:
        return ALL_PROCESSES
    # A running process can no longer be given variables or files: these need a fresh start.
    needs_start = (
        request.environment or request.target_input or request.target_output or request.compute_units
    )
    return find_target(app, host, device, launch=request.launch or bool(needs_start), arguments=arguments)


def _find_other(request: RecordRequest, host: Host, device: Device | None, name: str) -> Target:
    """Return the target that takes turns with the first, and gets the same arguments."""
    if request.app is None:  # the first argument is the first program
        return _find_target(request, host, device, None, (name, *request.arguments[1:]))
    return _find_target(request, host, device, name, request.arguments)


def _make_plan(request: RecordRequest, tool: Xctrace) -> InstrumentPlan:
    if request.append:
        return InstrumentPlan(None, (), notes=("The run is recorded with the template of the earlier ones.",))
    catalog = InstrumentCatalog(list_templates(tool), list_instruments(tool))
    return make_plan(catalog, request.preset, request.template, request.instruments)


def _split_recordings(request: RecordRequest, settings: RecordSettings) -> tuple[PlannedRecording, ...]:
    """Return one recording per setting of the compute units, or ``count`` equal ones."""
    final = _choose_final_path(request, settings.target.name)
    if request.compute_units:
        return tuple(
            PlannedRecording(_with_suffix(final, units), _set_compute_units(settings, units), units, units)
            for units in request.compute_units
        )
    if request.repetitions == 1 or request.append:
        return (PlannedRecording(final, settings),) * request.repetitions
    return tuple(
        PlannedRecording(_with_suffix(final, number), settings, suffix=number)
        for number in map(str, range(1, request.repetitions + 1))
    )


def _plan_rounds(
    request: RecordRequest, of_devices: Sequence[RecordSettings]
) -> tuple[PlannedRecording, ...]:
    """Return ``count`` rounds of recordings, one per device each."""
    final = _choose_final_path(request, of_devices[0].target.name)
    names = [
        make_safe_file_name(settings.recorded_device.name if settings.recorded_device else "this-mac")
        or "device"
        for settings in of_devices
    ]
    words = [f"{name}-{place}" if names.count(name) > 1 else name for place, name in enumerate(names, 1)]
    rounds = [""] if request.repetitions == 1 else [f"-{number + 1}" for number in range(request.repetitions)]
    return tuple(
        PlannedRecording(_with_suffix(final, f"{word}{number}"), settings, suffix=f"{word}{number}")
        for number in rounds
        for word, settings in zip(words, of_devices, strict=True)
    )


def _interleave_recordings(
    request: RecordRequest, settings: RecordSettings, other: Target
) -> tuple[PlannedRecording, ...]:
    """Return the recordings of the two targets in turn."""
    by_side = {"base": settings, "new": replace(settings, target=other)}
    names = dict.fromkeys((settings.target.name, other.name))
    final = _choose_final_path(request, "-".join(names))
    return tuple(
        PlannedRecording(_with_suffix(final, place.name), by_side[place.side], suffix=place.name, place=place)
        for place in iter_interleaved_places(request.repetitions)
    )


def _set_compute_units(settings: RecordSettings, units: str) -> RecordSettings:
    return replace(settings, environment=(*settings.environment, (COMPUTE_UNITS_VARIABLE, units)))


def _with_suffix(path: Path, word: str) -> Path:
    return path.with_name(f"{path.stem}-{word}.trace")


def _choose_final_path(request: RecordRequest, target_name: str) -> Path:
    if request.append and not request.output:
        raise UsageError("--append-run: name the recording to add to with -o.")
    if request.output == "":
        raise UsageError("-o: name a .trace, or a folder.")
    path = Path(request.output or ".")
    if path.suffix == ".trace":
        return path
    if not os.path.isdir(path):  # noqa: PTH112 - pathlib raises for a name that is too long
        raise UsageError(f"-o {path}: give a name that ends in .trace, or a folder.")
    if request.append:
        raise UsageError(f"--append-run: {path} is a folder; name the .trace in it.")
    stem = make_safe_file_name(target_name) or "recording"
    return path / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}.trace"
