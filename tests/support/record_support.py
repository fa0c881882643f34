"""A Mac for one test, with a strict fake xctrace."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from short_tools import answer_in_process
from xctrace_support import FakeXctrace, install

from tracekit.cli import main

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "ane-intervals-macos26"
PHONE = {"name": "My Phone", "os": "26.2", "udid": "00008101-000D482C1E78001E"}
SIMULATOR = "0F4D5D74-A4FE-4261-9596-8073565E7927"
IN_SIMULATOR = {
    "pid": 77,
    "path": f"/Users/me/Library/Developer/CoreSimulator/Devices/{SIMULATOR}/data/Containers/Bundle/Application/A/"
    "SampleApp.app/SampleApp",
    "device": SIMULATOR,
}
APP = ("--app", "SampleApp", "--time-limit", "100ms", "-o", "x.trace")
FAST = ("--save-timeout", "500ms")


@dataclass(frozen=True)
class Result:
    code: int
    output: str
    error: str


class Mac:
    """A Mac for one test: a folder to work in, and a fake xctrace."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.xctrace: FakeXctrace = install(folder.parent / "bin")
        for name, value in self.xctrace.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("DEVELOPER_DIR", raising=False)
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.chdir(folder)
        answer_in_process(monkeypatch)

    def record(self, *arguments: str, **settings: object) -> Result:
        self.xctrace.configure(**settings)
        result = CliRunner().invoke(main, ["record", *arguments])
        assert not isinstance(result.exception, Exception), result.exception
        assert self.xctrace.running() == []
        assert self.xctrace.temporary_files() == []
        return Result(result.exit_code, result.stdout, result.stderr)

    def journal(self, name: str = "x") -> dict[str, object]:
        journal = json.loads((self.folder / f"{name}.recording.json").read_text())
        assert isinstance(journal, dict)
        return journal

    def commands(self) -> list[list[str]]:
        """Return the `xctrace record` commands so far."""
        return [call for call in self.xctrace.calls("xctrace") if call[1:2] == ["record"]]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def program(mac: Mac, text: str) -> Path:
    path = mac.folder.parent / "tool"
    path.write_text(text)
    path.chmod(0o755)
    return path


def forgetful(mac: Mac, setting: str = "") -> Path:
    """Return an xctrace that fails to find the process once, or always under one setting."""
    path = mac.xctrace.folder / "forgetful"
    condition = (
        f'case "$*" in *TRACEKIT_COMPUTE_UNITS={setting}\\ *) true;; *) false;; esac'
        if setting
        else '[ ! -e "$0.tried" ]'
    )
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = record ] && {condition}; then : > "$0.tried";'
        " echo 'Cannot find process for provided pid: 4215' >&2; exit 21; fi\n"
        f'exec "{mac.xctrace.folder}/xctrace" "$@"\n'
    )
    path.chmod(0o755)
    return path
