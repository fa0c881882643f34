"""Processes and apps of this Mac, to find the target of a recording."""

from __future__ import annotations

import plistlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Protocol
from xml.parsers.expat import ExpatError

from tracekit.frozen import frozen
from tracekit.xctrace.tool import run_command

_BUNDLES = (".app", ".appex", ".xpc", ".framework", ".bundle", ".plugin")
_INFO_LIMIT_BYTES = 4 << 20
_IDENTIFIER = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9_-]+)+\Z")
_SIMULATOR = re.compile(r"/CoreSimulator/Devices/([0-9A-Fa-f-]{36})/")
_APP_FOLDERS = ("/Applications", "/Applications/Utilities", "/System/Applications", "~/Applications")
_SEARCH_SECONDS = 20


@frozen
class App:
    """An app's bundle; the names are empty where its Info.plist does not give them."""

    path: str
    identifier: str = ""
    display_name: str = ""
    executable: str = ""

    def matches_name(self, name: str) -> bool:
        """Return True if ``name`` is the app's identifier, display name or file name."""
        return bool(name) and name in (self.identifier, self.display_name, PurePosixPath(self.path).stem)


@frozen
class Process:
    """A running process: its executable, and the app if it is the main program of one."""

    pid: int
    path: str
    app: App | None = None

    @property
    def name(self) -> str:
        """The executable's name."""
        return PurePosixPath(self.path).name

    @property
    def simulator(self) -> str:
        """The identifier of the simulator that it runs in, "" for the Mac itself."""
        match = _SIMULATOR.search(self.path)
        return match[1] if match else ""

    def matches_name(self, name: str) -> bool:
        """Return True if ``name`` is the executable's name, or matches its app."""
        return name == self.name or (self.app is not None and self.app.matches_name(name))


class Host(Protocol):
    """The processes and apps that can be recorded."""

    def processes(self) -> tuple[Process, ...]:
        """Return every running process."""

    def installed(self, name: str) -> tuple[App, ...]:
        """Return the installed apps with that bundle identifier, display name or file name."""


class Mac:
    """This Mac, through ``ps``, Spotlight and the usual folders of apps."""

    def processes(self) -> tuple[Process, ...]:
        """See ``Host.processes``; on macOS ``comm`` is the executable's whole path (man ps)."""
        result = run_command(["ps", "-axww", "-o", "pid=,comm="])
        return parse_processes(result.output)

    def installed(self, name: str) -> tuple[App, ...]:
        """See ``Host.installed``."""
        paths = [path for folder in _APP_FOLDERS for path in _list_apps(Path(folder).expanduser())]
        if _IDENTIFIER.match(name):  # no character that has a meaning in Spotlight's query language
            result = run_command(["mdfind", f"kMDItemCFBundleIdentifier == '{name}'"], _SEARCH_SECONDS)
            paths += [Path(line) for line in result.output.splitlines() if line.endswith(".app")]
        apps = {str(path): read_app(path) for path in paths}
        return tuple(app for app in apps.values() if app and app.matches_name(name))


def parse_processes(text: str) -> tuple[Process, ...]:
    """Return the processes in the output of ``ps -axww -o pid=,comm=``."""
    processes = []
    for line in text.splitlines():
        pid, _, path = line.strip().partition(" ")
        if pid.isdecimal() and path.strip():
            processes.append(Process(int(pid), path.strip(), find_app_of_executable(path.strip())))
    return tuple(processes)


def find_app_of_executable(executable: str) -> App | None:
    """Return the app of a main program; None for a helper, a service or a bare binary."""
    for folder in PurePosixPath(executable).parents:
        if folder.suffix in _BUNDLES:
            app = read_app(Path(folder)) if folder.suffix == ".app" else None
            return app if app and PurePosixPath(executable).name == app.executable else None
    return None


def read_app(path: Path) -> App | None:
    """Return the app at ``path``, None if it has no readable Info.plist.

    A Mac's app keeps it in Contents/, an iOS app next to its executable, and an iOS app installed on a Mac
    one level further down, behind the link WrappedBundle.
    """
    for folder in (path / "Contents", path, path / "WrappedBundle"):
        info = _read_info(folder / "Info.plist")
        if info:
            names = [info.get(key, "") for key in ("CFBundleIdentifier", "CFBundleExecutable")]
            display_name = info.get("CFBundleDisplayName") or info.get("CFBundleName") or ""
            identifier, executable, display = (
                name if isinstance(name, str) else "" for name in [*names, display_name]
            )
            return App(str(path), identifier, display, executable)
    return None


def find_main_executable(app: App) -> Path:
    """Return the path of an app's main program, the app's own path if it is not found."""
    path = Path(app.path)
    folders = [path / "Contents" / "MacOS", path, path / "WrappedBundle"]
    return next((folder / app.executable for folder in folders if (folder / app.executable).is_file()), path)


def _read_info(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > _INFO_LIMIT_BYTES:
            return {}
        info = plistlib.loads(path.read_bytes())
    except (OSError, ValueError, plistlib.InvalidFileException, ExpatError, OverflowError, RecursionError):
        return {}
    return info if isinstance(info, dict) else {}


def _list_apps(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(path for path in folder.iterdir() if path.suffix == ".app")
    except OSError:
        return
