"""Recordings of an iPhone through pymobiledevice3, on any system: a program of its own, found on the path.

It is GPL-3, so it is never imported or bundled: it is started, and its files are read. A recording is a
folder:

    NAME.device/ stackshot.json   every thread and image of the device, when the recording began
                 stream.ktrace    kdebug: a stack whenever the Neural Engine's driver traces an event
                 log.ndjson       log lines and signposts, without identifiers
                 device.json      the program, its version and commands

Its command line has no option for stacks by a timer; Instruments makes the tables of the engines on a Mac.
Commands: pymobiledevice3 11.45.0 (``developer dvt --help``); never run with a device for this project.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from tracekit.errors import DeviceProgramError, UsageError
from tracekit.frozen import frozen
from tracekit.parsers.kdebug.device_files import DEVICE_JOURNAL, DEVICE_LOG, DEVICE_STACKSHOT, DEVICE_STREAM
from tracekit.record.companions import RunningTool, find_error_line
from tracekit.record.signals import StopRequests, turn_signals_into_requests
from tracekit.xctrace.tool import run_command

PROGRAM = "pymobiledevice3"
_ANE_DRIVER_EVENTS = "0x061b"
"""Those that Instruments' tables of the Neural Engine are made from: class 6 (drivers), subclass 0x1b."""
_VERSION_SECONDS, _STACKSHOT_SECONDS = 30, 60
_POLL_SECONDS = 0.1
_MIN_FREE_BYTES = 1_000_000_000


@frozen
class DeviceRecording:
    """The recorded files with content, and a sentence for each that is missing."""

    folder: Path
    files: tuple[Path, ...]
    problems: tuple[str, ...]


@frozen
class DeviceCommands:
    """The commands of a recording, in the order of their start; the last two run at the same time."""

    stackshot: tuple[str, ...]
    stream: tuple[str, ...]
    log: tuple[str, ...]


def find_program() -> Path:
    """Return the program. Raises ``UsageError`` where it is not on the path."""
    path = shutil.which(PROGRAM)
    if path is None:
        raise UsageError(
            f"--via: the program {PROGRAM} was not found. It is not a part of tracekit; install it in an"
            f" environment of its own: uv tool install {PROGRAM}"
        )
    return Path(path)


def build_commands(program: Path, device: str, folder: Path) -> DeviceCommands:
    """Return the commands that write into a folder; ``device`` is a UDID."""
    dvt = (str(program), "developer", "dvt")
    target = ("--udid", device)
    session = (*dvt, "core-profile-session")
    events = ("--subclass-filters", _ANE_DRIVER_EVENTS)
    return DeviceCommands(
        (*session, "stackshot", "--out", str(folder / DEVICE_STACKSHOT), *target),
        (*session, "save", str(folder / DEVICE_STREAM), *events, *target),
        (*dvt, "oslog", "--format", "json", *target),
    )


def record_device(
    program: Path,
    device: str,
    seconds: float,
    folder: Path,
    requests: StopRequests,
    write: Callable[[str], None],
) -> DeviceRecording:
    """Record until the time is over, a stop is requested or both commands have ended.

    Raises ``UsageError`` if the folder exists, and ``DeviceProgramError`` if nothing was recorded; then the
    folder is removed.
    """
    commands = build_commands(program, device, folder)
    try:
        folder.mkdir()
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror or error}.") from error
    version = run_command([str(program), "version"], _VERSION_SECONDS).output.strip()
    with turn_signals_into_requests(requests), _removed_if_not_started(folder):
        write("Saving a stackshot of the device …")
        shot = run_command(commands.stackshot, _STACKSHOT_SECONDS)
        problems = (
            [] if shot.ok else [f"{DEVICE_STACKSHOT}: {find_error_line(shot.error) or shot.last_lines}."]
        )
        start = datetime.now(UTC)
        write(f"Recording for {seconds:g} s; Ctrl-C stops and keeps what was recorded.")
        problems += _run_tools(commands, seconds, folder, requests)
    files = tuple(
        path for name in (DEVICE_STACKSHOT, DEVICE_STREAM, DEVICE_LOG) if _has_content(path := folder / name)
    )
    if not any(path.name in (DEVICE_STREAM, DEVICE_LOG) for path in files):
        shutil.rmtree(folder, ignore_errors=True)
        raise DeviceProgramError(f"{PROGRAM} recorded nothing.", *problems)
    _write_journal(folder, version, device, start, commands)
    return DeviceRecording(folder, files, tuple(problems))


def _run_tools(commands: DeviceCommands, seconds: float, folder: Path, requests: StopRequests) -> list[str]:
    """Run the two commands that record; return a sentence for each that ended by itself."""
    # The stream's own output is of no use, but its pipe ends the command when tracekit is killed.
    with ExitStack() as tools:
        stream, log = (
            tools.enter_context(_run_while_open(word, command, folder / name))
            for word, name, command in (
                ("stream", DEVICE_STREAM, commands.stream),
                ("log", DEVICE_LOG, commands.log),
            )
        )
        end = time.monotonic() + seconds
        while time.monotonic() < end and not requests.count and (stream.is_running() or log.is_running()):
            if shutil.disk_usage(folder).free < _MIN_FREE_BYTES:
                break
            time.sleep(_POLL_SECONDS)
        for tool in (stream, log):
            tool.end()
        log.path.replace(folder / DEVICE_LOG)
        return [f"{tool.word}: {tool.problem}." for tool in (stream, log) if tool.problem]


@contextmanager
def _run_while_open(word: str, command: Sequence[str], final: Path) -> Iterator[RunningTool]:
    """Run a command for as long as the block runs; what is left of its hidden file is removed."""
    tool = RunningTool(word, command, final)
    try:
        yield tool
    finally:
        tool.end()
        tool.path.unlink(missing_ok=True)


@contextmanager
def _removed_if_not_started(folder: Path) -> Iterator[None]:
    try:
        yield
    except UsageError:  # of a program that cannot be started
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _has_content(path: Path) -> bool:
    with suppress(OSError):
        return path.stat().st_size > 0
    return False


def _write_journal(
    folder: Path, version: str, device: str, start: datetime, commands: DeviceCommands
) -> None:
    journal = {
        "schema": "tracekit-device-recording/1",
        "program": PROGRAM,
        "version": version,
        "device": device,
        "start": start.isoformat(timespec="milliseconds"),
        "commands": [list(command) for command in (commands.stackshot, commands.stream, commands.log)],
    }
    (folder / DEVICE_JOURNAL).write_text(json.dumps(journal, indent=2) + "\n", "utf-8")
