"""The machine that the fake xctrace seems to run on: its settings, and the log of calls."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fake_xctrace.catalogue import INSTRUMENTS, TEMPLATES_26, TEMPLATES_27, XCODE_27, Build, build_key

DEFAULTS: dict[str, Any] = {
    "version": "26.0",
    "build": "17C529",
    "templates": None,  # those of the build
    "user_templates": [],
    "instruments": list(INSTRUMENTS),
    "devices": [{"name": "Test Mac", "udid": "D283C622-DE11-5668-8E1F-E6234E85E6C8"}],
    "offline": [],
    "simulators": [
        {"name": "iPhone 17 Simulator", "os": "26.2", "udid": "0F4D5D74-A4FE-4261-9596-8073565E7927"},
    ],
    "processes": [{"pid": 4215, "path": "/Applications/SampleApp.app/Contents/MacOS/SampleApp"}],
    "apps": {},
    "xcode": "xcode",
    "recording": "gpu-mpsgraph-macos15-bundle",
    "start_seconds": 0,
    "save_seconds": 0.05,
    "save_until": None,
    "prints": True,
    "exit_code": None,
    "run_issues": [],
    "attach": "ok",
    "kperf": "free",
    "sandbox": False,
    "root": False,
    "device": "ok",
    "disk": "ok",
    "hang": None,
    "dies": None,
    "interrupt_saves": True,
    "second_interrupt": "ignored",
    "export": {},
}
CHOICES: dict[str, tuple[object, ...]] = {
    "xcode": ("xcode", "command-line-tools", "none", "licence"),
    "attach": ("ok", "refused", "restricted"),
    "kperf": ("free", "busy"),
    "device": ("ok", "locked", "developer-mode-off", "disconnects"),
    "disk": ("ok", "full"),
    "hang": (None, "start", "time-limit", "saving", "saving-ignores-interrupt"),
    "second_interrupt": ("ignored", "aborts"),
}


class Refusal(Exception):
    """A message on stderr and an exit code that end the program."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Machine:
    """Settings by name, and files beside them."""

    def __init__(
        self,
        folder: Path,
        execute: Callable[[Path, list[str]], int] = os.execv,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.folder, self.execute, self.environment = folder, execute, environment
        self._settings = {**DEFAULTS, **read_settings(folder)}

    def __getitem__(self, name: str) -> Any:
        return self._settings[name]

    @property
    def build(self) -> Build:
        return build_key(self["build"])

    @property
    def templates(self) -> list[str]:
        listed = self["templates"]
        if listed is None:
            return TEMPLATES_27 if self.build >= XCODE_27 else TEMPLATES_26
        return list(listed)


class Console:
    """The output of the program, which stops when its reader is gone; the program goes on."""

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled

    def write(self, line: str) -> None:
        self._write(1, line)

    def write_error(self, line: str) -> None:
        self._write(2, line)

    def _write(self, stream: int, line: str) -> None:
        if self.enabled:
            try:
                write_all(stream, f"{line}\n".encode())
            except OSError:
                self.enabled = False


class CapturedConsole(Console):
    """A console whose output is kept, by stream."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = {1: "", 2: ""}

    def _write(self, stream: int, line: str) -> None:
        if self.enabled:
            self.texts[stream] += f"{line}\n"


def write_all(stream: int, content: bytes) -> None:
    """Write unbuffered, so that no output is lost, whatever ends the program."""
    while content:
        content = content[os.write(stream, content) :]


def read_settings(folder: Path) -> dict[str, Any]:
    path = folder / "settings.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def write_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Replace the settings: a program that starts meanwhile sees the old or the new ones."""
    from fake_xctrace.answers import write_answers

    for name, value in settings.items():
        if name not in DEFAULTS:
            raise TypeError(f"fake xctrace has no setting '{name}'")
        if name in CHOICES and value not in CHOICES[name]:
            raise ValueError(f"'{name}' is one of {CHOICES[name]}, not {value!r}")
    replace_file(folder / "settings.json", json.dumps(settings))
    write_answers(Machine(folder, environment={}))


def replace_file(path: Path, text: str) -> None:
    """Write a file in one step."""
    temporary = path.with_name(f"new.{os.getpid()}")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)


def append_line(path: Path, **fields: object) -> None:
    """Append a line that no other process can split."""
    stream = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(stream, (json.dumps(fields) + "\n").encode())
    finally:
        os.close(stream)


def log_call(folder: Path, argv: list[str], pid: int | None) -> None:
    """Log the start of a program; without a pid it is no process."""
    append_line(
        folder / "calls.jsonl",
        argv=argv,
        pid=pid,
        born=None if pid is None else birth(pid),
        time=time.time(),
        cwd=str(Path.cwd()),
        DEVELOPER_DIR=os.environ.get("DEVELOPER_DIR"),
    )


def log_target(folder: Path, pid: int) -> None:
    append_line(folder / "targets.jsonl", pid=pid, born=birth(pid))


def birth(pid: int) -> str | None:
    """Return the start time of a process, in a unit of the system; None if it has ended or is a zombie."""
    if sys.platform == "linux":
        try:
            state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            return None
        return None if state in "ZX" else fields[18]  # field 22 of proc(5), starttime
    import subprocess

    answer = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = answer.stdout.strip().partition(" ")
    return started.strip() or None if state and not state.startswith("Z") else None
