"""Run the fake xctrace from outside, for the tests of its contract."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from fake_xctrace.machine import CapturedConsole
from short_tools import run_in_process
from xctrace_support import install

SIMULATOR = "0F4D5D74-A4FE-4261-9596-8073565E7927"
PHONE = {"name": "yx’s iPhone12 ", "os": "26.4", "udid": "00008101-000D482C1E78001E"}
HOST = {"name": "Test Mac", "udid": "D283C622-DE11-5668-8E1F-E6234E85E6C8"}
SHORT = ("record", "--template", "Time Profiler", "--time-limit", "50ms")
ATTACH = (*SHORT, "--attach", "4215", "--output", "a.trace")
LONG = (
    "record",
    "--template",
    "Time Profiler",
    "--time-limit",
    "1h",
    "--attach",
    "4215",
    "--output",
    "a.trace",
)
WORK = (sys.executable, "-c", "import time; time.sleep(60)")


class Mac:
    """A fake xctrace, and a folder to run it in."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.fake = install(folder / "mac", start_seconds=0, save_seconds=0)

    def run(self, *arguments: str, program: str = "xctrace", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.fake.folder / program, *arguments],
            cwd=self.work,
            env=self.fake.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, *arguments: str, **settings: object) -> subprocess.Popen[str]:
        self.fake.configure(**settings)
        return subprocess.Popen(
            [self.fake.folder / "xctrace", *arguments],
            cwd=self.work,
            env=self.fake.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def error(self, *arguments: str, program: str = "xctrace", **settings: object) -> tuple[int, str]:
        """Return the exit code and first line of a refused call, which prints nothing to stdout.

        It is made in this process: a refusal is the program's alone.
        """
        self.fake.configure(**settings)
        console = CapturedConsole()
        with contextlib.chdir(self.work), patch.dict(os.environ, self.fake.environment()):
            code = run_in_process(self.fake.folder / program, arguments, console)
        assert not console.texts[1]
        return code, console.texts[2].splitlines()[0]

    def export(self, query: str, trace: str = "a.trace") -> str:
        done = self.run("export", "--input", trace, "--xpath", query)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def finished(self, trace: str = "a.trace") -> bool:
        return (self.work / trace / "form.template").exists()


@pytest.fixture
def mac(tmp_path: Path) -> Iterator[Mac]:
    mac = Mac(tmp_path)
    yield mac
    processes = mac.fake.running()
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
    assert not processes


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def ended(child: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = child.communicate(timeout=30)
    return child.returncode, output


def wait_for_line(child: subprocess.Popen[str], text: str) -> None:
    """Read up to a line that begins with the text."""
    assert child.stdout
    while not child.stdout.readline().startswith(text):
        assert child.poll() is None
