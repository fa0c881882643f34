"""The target of a recording: a running process, a program to start, or all processes; never guessed."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.xctrace.mac_host import App, Host, Process, find_main_executable, read_app
from tracekit.xctrace.xctrace_list import Device

_MAX_LISTED = 8
_NOT_RUNNING = "it is not running"


@frozen
class Target:
    """A target in xctrace's terms.

    ``locator`` is the pid or name to attach to, or the program, app or bundle identifier to start. ``name``
    is for people and file names, ``reason`` states in a few words how the target was found.
    Where all processes are recorded, ``locator`` may be the pid of the one that is meant.
    """

    kind: Literal["attach", "launch", "all"]
    name: str = ""
    locator: str = ""
    arguments: tuple[str, ...] = ()
    reason: str = ""

    @property
    def pid_among_all(self) -> int | None:
        """The pid of the process that is meant where all are recorded; None otherwise."""
        return int(self.locator) if self.kind == "all" and self.locator else None

    def build_options(self) -> list[str]:
        """Return the words of xctrace's command line; they come last, as ``--launch`` must."""
        if self.kind == "attach":
            return ["--attach", self.locator]
        if self.kind == "launch":
            return ["--launch", "--", self.locator, *self.arguments]
        return ["--all-processes"]


ALL_PROCESSES = Target("all", "all-processes", reason="--all-processes")


def find_target(
    app: str | None,
    host: Host,
    device: Device | None = None,
    *,
    launch: bool = False,
    arguments: Sequence[str] = (),
) -> Target:
    """Find the target that ``--app`` names: a pid, a process, a bundle identifier, a display name, or a path.

    A running process is attached to, by its pid, unless ``launch`` requires a fresh start; otherwise the app
    is started. Without ``app`` the first of ``arguments`` is the program. Raises ``UsageError`` if nothing
    has that name, or if several processes or apps have it: they are listed.
    """
    if app is None:
        return _make_program_target(arguments, device)
    if not app or "\0" in app:
        raise UsageError("--app: name a process, an app, a bundle identifier, a path or a pid.")
    if device is not None and device.kind == "device":
        return _make_device_target(app, device, launch, tuple(arguments))
    if app.isdecimal() and app.isascii():
        if launch or arguments:
            action = "launched" if launch else "given arguments"
            raise UsageError(f"--app {app} is a pid: a running process cannot be {action}.")
        return _find_by_pid(int(app), host, device)
    if "/" in app or (app.endswith(".app") and os.path.lexists(app)):
        return _find_by_path(app, host, device, launch, tuple(arguments))
    return _find_by_name(app, host, device, launch, tuple(arguments))


# By name ---------------------------------------------------------------------------------------------------


def _find_by_name(
    name: str, host: Host, device: Device | None, launch: bool, arguments: tuple[str, ...]
) -> Target:
    processes = host.processes()
    matches = _find_processes(name, processes)
    running = [process for process in matches if _is_on_device(process, device)]
    if not launch:
        if running:
            return _make_attach_target(name, running, arguments)
        if matches and device is None:
            raise UsageError(_explain_simulator_process(name, matches))
    apps = _find_apps_to_start(name, running, host, device)
    if len(apps) > 1:
        raise UsageError(
            f"Several apps are called '{name}'. Name one by its path:",
            *(app.path for app in apps[:_MAX_LISTED]),
        )
    if apps:
        return _make_launch_target(apps[0], arguments, "--launch" if launch else _NOT_RUNNING)
    raise UsageError(_explain_not_found(name, processes, device))


def _find_processes(name: str, processes: Sequence[Process]) -> list[Process]:
    """Return the processes of exactly that name, else those that differ from it in case only."""
    exact = [process for process in processes if process.matches_name(name)]
    return exact or [process for process in processes if _matches_ignoring_case(process, name)]


def _find_apps_to_start(
    name: str, running: Sequence[Process], host: Host, device: Device | None
) -> tuple[App, ...]:
    """Return the apps of that name: of running processes, and installed on this Mac.

    An app that Xcode built is in no folder of apps, so only its process leads to it. An app that is in such
    a folder was not built for a simulator.
    """
    apps = [process.app for process in running if process.app]
    if device is None:
        apps += host.installed(name)
    return tuple({app.path: app for app in apps}.values())


def _make_attach_target(name: str, running: Sequence[Process], arguments: tuple[str, ...]) -> Target:
    if len(running) > 1:
        process_lines = [f"{process.pid}  {process.path}" for process in running[:_MAX_LISTED]]
        more = [f"and {len(running) - _MAX_LISTED} more"] if len(running) > _MAX_LISTED else []
        raise UsageError(
            f"Several processes are called '{name}'. Name one by its pid:", *process_lines, *more
        )
    process = running[0]
    if arguments:
        raise UsageError(
            f"{process.name} is already running (pid {process.pid}): arguments need a fresh start. Add"
            " --launch, or leave them out."
        )
    return Target("attach", process.name, str(process.pid), reason=f"running, pid {process.pid}")


def _matches_ignoring_case(process: Process, name: str) -> bool:
    names = [process.name]
    if process.app:
        names += [process.app.identifier, process.app.display_name, Path(process.app.path).stem]
    return name.casefold() in (candidate.casefold() for candidate in names if candidate)


def _is_on_device(process: Process, device: Device | None) -> bool:
    return process.simulator.upper() == (device.udid.upper() if device else "")


def _explain_simulator_process(name: str, matches: Sequence[Process]) -> str:
    simulators = " or ".join(dict.fromkeys(f"--device {process.simulator}" for process in matches))
    return f"'{name}' runs in a simulator, not on this Mac. Name the simulator: {simulators}."


def _explain_not_found(name: str, processes: Sequence[Process], device: Device | None) -> str:
    running = {
        display_name
        for process in processes
        if _is_on_device(process, device)
        for display_name in _list_display_names(process)
    }
    close = difflib.get_close_matches(name, sorted(running), n=4, cutoff=0.6)
    similar = f" Running with a similar name: {', '.join(close)}." if close else ""
    if device:
        return (
            f"Nothing called '{name}' is running on {device.name}.{similar} Start the app there, or give the"
            " path of its .app, built for the simulator."
        )
    return (
        f"Nothing called '{name}' is running, and no installed app has that name or bundle"
        f" identifier.{similar} Start the app first, or give the path of its .app or binary."
    )


def _list_display_names(process: Process) -> list[str]:
    names = [process.name]
    if process.app and process.app.display_name:
        names.append(process.app.display_name)
    return names


# By pid, by path -------------------------------------------------------------------------------------------


def _find_by_pid(pid: int, host: Host, device: Device | None) -> Target:
    processes = host.processes()
    if not processes:  # ps gave no list: xctrace will report a pid that does not exist
        return Target("attach", f"pid-{pid}", str(pid), reason=f"pid {pid}")
    process = next((process for process in processes if process.pid == pid), None)
    if process is None:
        raise UsageError(f"There is no process {pid}: it has ended. --app NAME finds it by name.")
    if not _is_on_device(process, device):
        if device is None:
            raise UsageError(_explain_simulator_process(str(pid), [process]))
        raise UsageError(f"The process {pid} ({process.name}) does not run on {device.name}.")
    return Target("attach", process.name, str(pid), reason=f"running, pid {pid}")


def _find_by_path(
    path: str, host: Host, device: Device | None, launch: bool, arguments: tuple[str, ...]
) -> Target:
    # os.path, because pathlib raises for a name that is too long and for ~user of a user that does not exist.
    expanded = os.path.expanduser(path)  # noqa: PTH111
    if not os.path.exists(expanded):  # noqa: PTH110
        raise UsageError(f"--app {path}: there is no such file.")
    file = Path(expanded).resolve()
    if file.is_dir():
        app = read_app(file)
        if app is None or not app.executable:
            raise UsageError(
                f"--app {path}: this folder is not an app (it has no Info.plist with an executable)."
            )
        program = find_main_executable(app).resolve()
        fresh_start = _make_launch_target(app, arguments, "--launch" if launch else _NOT_RUNNING)
    else:
        if not os.access(file, os.X_OK):
            raise UsageError(f"--app {path}: this file is not an executable program.")
        program = file
        fresh_start = Target("launch", file.name, str(file), arguments, "a program")
    if launch:
        return fresh_start
    processes = host.processes()
    running = [
        process
        for process in processes
        if _is_on_device(process, device) and _is_same_file(process.path, program)
    ]
    return _make_attach_target(program.name, running, arguments) if running else fresh_start


def _is_same_file(path: str, program: Path) -> bool:
    return path == str(program) or os.path.realpath(path) == str(program)


def _make_launch_target(app: App, arguments: tuple[str, ...], reason: str) -> Target:
    name = app.display_name or Path(app.path).stem
    return Target("launch", name, app.path, arguments, f"an app; {reason}")


def _make_program_target(arguments: Sequence[str], device: Device | None) -> Target:
    if not arguments:
        raise UsageError("No target: name --app, a program after --launch --, or --all-processes.")
    word, *remaining = arguments
    if device is not None and device.kind == "device":
        name = word.rpartition("/")[2]
        return Target("launch", name, _require_no_option(word), tuple(remaining), f"started on {device.name}")
    if word.endswith(".app") and Path(word).is_dir():
        path = Path(word).resolve()
        app = read_app(path)
        return Target("launch", app.display_name if app else word, str(path), tuple(remaining), "an app")
    program = shutil.which(word)
    if program is None:
        problem = "is not an executable program" if Path(word).exists() else "was not found"
        raise UsageError(f"{word} {problem}. Name a program, or an app's .app.")
    return Target("launch", Path(program).name, str(Path(program).absolute()), tuple(remaining), "a program")


# On a device -----------------------------------------------------------------------------------------------


def _make_device_target(app: str, device: Device, launch: bool, arguments: tuple[str, ...]) -> Target:
    """Return the target on a device, whose processes are not listed on this Mac.

    xctrace looks the name up (untried: the claim ``device-by-name``).
    """
    locator = _require_no_option(app)
    last_component = app.rstrip("/").rpartition("/")[2]
    is_path = "/" in app or last_component.endswith(".app")
    name = last_component.removesuffix(".app") if is_path else last_component.rpartition(".")[2] or app
    if launch or arguments:
        return Target("launch", name, locator, arguments, f"started on {device.name}")
    return Target("attach", name, locator, reason=f"looked up on {device.name}")


def _require_no_option(word: str) -> str:
    if word.startswith("-"):
        raise UsageError(f"'{word}': xctrace would take this name for an option. Give the pid.")
    return word
