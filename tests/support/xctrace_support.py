"""What tests use to run tracekit on a machine that seems to have Xcode.

    stand_in = install(tmp_path / "mac", devices=[…])
    subprocess.run([sys.executable, "-m", "tracekit", "record", …], env=stand_in.environment())
    assert stand_in.calls("xctrace") == [["xctrace", "record", …]]

What each setting means stands in `fake_xctrace/README.md`.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fake_xctrace.machine import birth, read_settings, write_settings

PROGRAMS = ("xctrace", "xcrun", "xcode-select", "ps", "mdfind")


@dataclass(frozen=True)
class FakeXctrace:
    """Executables in a folder, and what they were told and did."""

    folder: Path

    def configure(self, **settings: object) -> None:
        """Change settings; a program that runs already keeps those that it started with."""
        write_settings(self.folder, {**read_settings(self.folder), **settings})

    def calls(self, program: str | None = None) -> list[list[str]]:
        """Return the command line of every call so far, in order; `xcrun xctrace …` is a call of both."""
        argvs = [call["argv"] for call in self.log()]
        return [argv for argv in argvs if program in {None, argv[0]}]

    def log(self) -> list[dict[str, Any]]:
        """Return every call with its `argv`, `pid`, `cwd` and `DEVELOPER_DIR`."""
        return _lines(self.folder / "calls.jsonl")

    def running(self) -> list[int]:
        """Return the pids of stand-in processes and of the targets they launched that still run."""
        known = _lines(self.folder / "calls.jsonl") + _lines(self.folder / "targets.jsonl")
        alive = {one["pid"] for one in known if one["born"] and birth(one["pid"]) == one["born"]}
        return sorted(alive)

    def environment(self, **extra: str) -> dict[str, str]:
        """Return an environment in which nothing but the stand-in is in PATH."""
        own = {
            "PATH": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            "HOME": str(self.folder / "home"),
        }
        inherited = {name: value for name, value in os.environ.items() if name != "DEVELOPER_DIR"}
        return {**inherited, **own, **extra}


def install(folder: Path, **settings: object) -> FakeXctrace:
    """Write the executables into a folder, which is made if need be."""
    for name in ("tmp", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        program = folder / name
        program.write_text(
            _SCRIPT.format(python=sys.executable, tests=_TESTS, name=name, folder=str(folder.resolve())),
            "utf-8",
        )
        program.chmod(0o755)
    stand_in = FakeXctrace(folder)
    stand_in.configure(**settings)
    return stand_in


_TESTS = str(Path(__file__).resolve().parents[1])
_SCRIPT = """#!{python} -I
import sys
sys.path.insert(0, {tests!r})
from fake_xctrace.program import main
sys.exit(main({name!r}, {folder!r}))
"""


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
