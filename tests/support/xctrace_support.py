"""Set up a fake xctrace, so that tests run tracekit on a machine that seems to have Xcode.

    fake = install(tmp_path / "mac", devices=[…])
    subprocess.run([sys.executable, "-m", "tracekit", "record", …], env=fake.environment())
    assert fake.calls("xctrace") == [["xctrace", "record", …]]

`fake_xctrace/README.md` documents the settings.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lxml
from fake_xctrace.answers import SCRIPT
from fake_xctrace.machine import birth, read_settings, write_settings

PROGRAMS = ("xctrace", "xcrun", "xcode-select", "ps", "mdfind")


@dataclass(frozen=True)
class FakeXctrace:
    """Fake executables in a folder, with their settings and the log of their calls."""

    folder: Path

    def configure(self, **settings: object) -> None:
        """Change settings; a running program keeps those that it started with."""
        write_settings(self.folder, {**read_settings(self.folder), **settings})

    def calls(self, program: str | None = None) -> list[list[str]]:
        """Return the command line of every call so far, in order; `xcrun xctrace …` is a call of both."""
        argvs = [call["argv"] for call in self.log()]
        return [argv for argv in argvs if program in {None, argv[0]}]

    def log(self) -> list[dict[str, Any]]:
        """Return every call with its `argv`, `pid`, `cwd` and `DEVELOPER_DIR`."""
        return _lines(self.folder / "calls.jsonl")

    def running(self) -> list[int]:
        """Return the pids of fake programs, and of the targets they launched, that still run."""
        processes = _lines(self.folder / "calls.jsonl") + _lines(self.folder / "targets.jsonl")
        # A pid may be in use again: the same process has the same time of birth.
        alive = {
            process["pid"]
            for process in processes
            if process["born"] and birth(process["pid"]) == process["born"]
        }
        return sorted(alive)

    def temporary_files(self) -> list[str]:
        """Return the names in the folder of temporary files, without the lock files, which stay."""
        return [path.name for path in (self.folder / "tmp").iterdir() if path.suffix != ".lock"]

    def environment(self, **extra: str) -> dict[str, str]:
        """Return an environment with nothing but the fake programs in PATH."""
        variables = {
            "PATH": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            "HOME": str(self.folder / "home"),
        }
        inherited = {name: value for name, value in os.environ.items() if name != "DEVELOPER_DIR"}
        return {**inherited, **variables, **extra}


def install(folder: Path, **settings: object) -> FakeXctrace:
    """Write the executables into a folder, which is created if it does not exist."""
    for name in ("tmp", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        program = folder / name
        program.write_text(_script(program), "utf-8")
        program.chmod(0o755)
    fake = FakeXctrace(folder)
    fake.configure(**settings)
    return fake


def is_installed(program: Path) -> bool:
    """Return whether a file is one of the fake programs, as ``install`` wrote it."""
    return program.name in PROGRAMS and program.is_file() and program.read_text("utf-8") == _script(program)


def _script(program: Path) -> str:
    folder = str(program.parent.resolve())
    code = f"import sys; sys.path += {_PATHS!r}; from fake_xctrace.program import main; sys.exit(main({program.name!r}, {folder!r}))"
    return SCRIPT.format(
        folder=shlex.quote(folder),
        name=program.name,
        python=shlex.quote(sys.executable),
        code=shlex.quote(code),
    )


# -IS spares what site-packages hooks into the start of every Python.
_PATHS = [str(Path(__file__).resolve().parents[1]), str(Path(lxml.__file__).parents[1])]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
