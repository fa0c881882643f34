"""What to record: a running process, a program to start, or everything; found, never guessed."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracekit.errors import UsageError
from tracekit.xctrace.host import App, Host, Process, main_executable, read_app
from tracekit.xctrace.listing import Device

_MOST_LISTED = 8


@dataclass(frozen=True)
class Target:
    """What xctrace is told to record.

    ``word`` is the pid or name to attach to, or the program, app or bundle identifier to start. ``name`` is
    for people and file names, ``why`` says in a few words how the target was found.
    """

    kind: Literal["attach", "launch", "all"]
    name: str = ""
    word: str = ""
    arguments: tuple[str, ...] = ()
    why: str = ""

    def options(self) -> list[str]:
        """Return the words of xctrace's command line; they come last, as ``--launch`` must."""
        if self.kind == "attach":
            return ["--attach", self.word]
        if self.kind == "launch":
            return ["--launch", "--", self.word, *self.arguments]
        return ["--all-processes"]


ALL_PROCESSES = Target("all", "all-processes", why="--all-processes")


def find_target(
    app: str | None,
    host: Host,
    device: Device | None = None,
    *,
    launch: bool = False,
    arguments: Sequence[str] = (),
) -> Target:
    """Find what ``--app`` names: a pid, a process's name, a bundle identifier, a display name, or a path.

    What runs is attached to, by its pid, unless ``launch`` asks for a fresh start; what does not run is
    started. Without ``app`` the first of ``arguments`` is the program. Raises ``UsageError`` where nothing
    has that name, or several things have it: they are listed.
    """
    if app is None:
        return _program(arguments, device)
    if not app or "\0" in app:
        raise UsageError("--app: name a process, an app, a bundle identifier, a path or a pid.")
    if device is not None and device.kind == "device":
        return _on_device(app, device, launch, tuple(arguments))
    if app.isdecimal() and app.isascii():
        if launch or arguments:
            what = "launched" if launch else "given arguments"
            raise UsageError(f"--app {app} is a pid: a running process cannot be {what}.")
        return _pid(int(app), host, device)
    if "/" in app or (app.endswith(".app") and os.path.lexists(app)):
        return _path(app, host, device, launch, tuple(arguments))
    return _name(app, host, device, launch, tuple(arguments))


# By name ---------------------------------------------------------------------------------------------------


def _name(name: str, host: Host, device: Device | None, launch: bool, arguments: tuple[str, ...]) -> Target:
    processes = host.processes()
    matching = [one for one in processes if one.matches_name(name)]
    matching = matching or [one for one in processes if _folded(one, name)]
    running = [one for one in matching if _is_on(one, device)]
    if not launch and running:
        return _attach(name, running, arguments)
    if not launch and matching and device is None:
        raise UsageError(_in_simulators(name, matching))
    # An app that Xcode built lies in no folder of apps; one that lies there was not built for a simulator.
    apps = [one.app for one in running if one.app] + (list(host.installed(name)) if device is None else [])
    installed = list({one.path: one for one in apps}.values())
    if len(installed) > 1:
        raise UsageError(
            f"Several apps are called '{name}'. Name one by its path:",
            *(one.path for one in installed[:_MOST_LISTED]),
        )
    if installed:
        return _launch(installed[0], arguments, "it does not run" if not launch else "--launch")
    raise UsageError(_nothing(name, processes, device))


def _attach(name: str, running: Sequence[Process], arguments: tuple[str, ...]) -> Target:
    if len(running) > 1:
        listed = [f"{one.pid}  {one.path}" for one in running[:_MOST_LISTED]]
        more = [f"and {len(running) - _MOST_LISTED} more"] if len(running) > _MOST_LISTED else []
        raise UsageError(f"Several processes are called '{name}'. Name one by its pid:", *listed, *more)
    one = running[0]
    if arguments:
        raise UsageError(
            f"{one.name} runs already (pid {one.pid}): arguments need a fresh start. Add --launch, or leave"
            " them out."
        )
    return Target("attach", one.name, str(one.pid), why=f"running, pid {one.pid}")


def _folded(process: Process, name: str) -> bool:
    names = [process.name]
    if process.app:
        names += [process.app.identifier, process.app.display_name, Path(process.app.path).stem]
    return name.casefold() in (one.casefold() for one in names if one)


def _is_on(process: Process, device: Device | None) -> bool:
    return process.simulator.upper() == (device.udid.upper() if device else "")


def _in_simulators(name: str, matching: Sequence[Process]) -> str:
    simulators = " or ".join(dict.fromkeys(f"--device {one.simulator}" for one in matching))
    return f"'{name}' runs in a simulator, not on this Mac. Name the simulator: {simulators}."


def _nothing(name: str, processes: Sequence[Process], device: Device | None) -> str:
    known = {shown for one in processes if _is_on(one, device) for shown in _names_of(one)}
    close = difflib.get_close_matches(name, sorted(known), n=4, cutoff=0.6)
    similar = f" Running with a similar name: {', '.join(close)}." if close else ""
    place = f" on {device.name}" if device else ""
    if device:
        return (
            f"Nothing called '{name}' runs{place}.{similar} Start the app there, or give the path of its"
            " .app, built for the simulator."
        )
    return (
        f"Nothing called '{name}' runs{place}, and no installed app has that name or bundle"
        f" identifier.{similar} Start the app first, or give the path of its .app or binary."
    )


def _names_of(process: Process) -> list[str]:
    shown = [process.name]
    if process.app and process.app.display_name:
        shown.append(process.app.display_name)
    return shown


# By pid, by path -------------------------------------------------------------------------------------------


def _pid(pid: int, host: Host, device: Device | None) -> Target:
    processes = host.processes()
    for one in processes:
        if one.pid == pid:
            if not _is_on(one, device):
                if device is None:
                    raise UsageError(_in_simulators(str(pid), [one]))
                raise UsageError(f"The process {pid} ({one.name}) does not run on {device.name}.")
            return Target("attach", one.name, str(pid), why=f"running, pid {pid}")
    if not processes:  # ps told nothing: xctrace will say
        return Target("attach", f"pid-{pid}", str(pid), why=f"pid {pid}")
    raise UsageError(f"There is no process {pid}: it has ended. --app NAME finds it by name.")


def _path(path: str, host: Host, device: Device | None, launch: bool, arguments: tuple[str, ...]) -> Target:
    # os.path, because pathlib raises for a name that is too long and for ~somebody who is not there.
    expanded = os.path.expanduser(path)  # noqa: PTH111
    if not os.path.exists(expanded):  # noqa: PTH110
        raise UsageError(f"--app {path}: there is no such file.")
    place = Path(expanded).resolve()
    if place.is_dir():
        app = read_app(place)
        if app is None or not app.executable:
            raise UsageError(
                f"--app {path}: this folder is no app (it has no Info.plist with an executable)."
            )
        program = main_executable(app).resolve()
        started = _launch(app, arguments, "--launch" if launch else "it does not run")
    else:
        if not os.access(place, os.X_OK):
            raise UsageError(f"--app {path}: this file is no program that can be run.")
        program = place
        started = Target("launch", place.name, str(place), arguments, "a program")
    if launch:
        return started
    running = [one for one in host.processes() if _is_on(one, device) and _same_file(one.path, program)]
    return _attach(program.name, running, arguments) if running else started


def _same_file(path: str, program: Path) -> bool:
    return path == str(program) or os.path.realpath(path) == str(program)


def _launch(app: App, arguments: tuple[str, ...], why: str) -> Target:
    name = app.display_name or Path(app.path).stem
    return Target("launch", name, app.path, arguments, f"an app; {why}")


def _program(arguments: Sequence[str], device: Device | None) -> Target:
    if not arguments:
        raise UsageError("Nothing to record: name --app, a program after --launch --, or --all-processes.")
    word, *rest = arguments
    if device is not None and device.kind == "device":
        return Target(
            "launch", word.rpartition("/")[2], _plain(word), tuple(rest), f"started on {device.name}"
        )
    if word.endswith(".app") and Path(word).is_dir():
        app = read_app(Path(word).resolve())
        return Target(
            "launch", app.display_name if app else word, str(Path(word).resolve()), tuple(rest), "an app"
        )
    found = shutil.which(word)
    if found is None:
        problem = "is no program that can be run" if Path(word).exists() else "was not found"
        raise UsageError(f"{word} {problem}. Name a program, or an app's .app.")
    return Target("launch", Path(found).name, str(Path(found).absolute()), tuple(rest), "a program")


# On a device -----------------------------------------------------------------------------------------------


def _on_device(app: str, device: Device, launch: bool, arguments: tuple[str, ...]) -> Target:
    """Nothing on this Mac knows a device's processes: xctrace looks the name up (not tried on a device)."""
    word = _plain(app)
    last = app.rstrip("/").rpartition("/")[2]
    name = (
        last.removesuffix(".app") if "/" in app or last.endswith(".app") else last.rpartition(".")[2] or app
    )
    if launch or arguments:
        return Target("launch", name, word, arguments, f"started on {device.name}")
    return Target("attach", name, word, why=f"looked up on {device.name}")


def _plain(word: str) -> str:
    if word.startswith("-"):
        raise UsageError(f"'{word}': xctrace would take this name for an option. Give the pid.")
    return word
