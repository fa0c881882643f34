"""Answer the short commands of a fake xctrace in the test's own process: a process of Python takes 50 ms each.

``answer_in_process`` replaces the start of a process in ``tracekit.xctrace.tool``, the only place that runs such commands;
everything else of ``run_command`` is run as it is. Recordings, exports and programs that a test has written itself
stay processes.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from fake_xctrace.machine import CapturedConsole, Machine, log_call
from fake_xctrace.program import run_program
from xctrace_support import is_installed

from tracekit.xctrace import tool

_SHORT_COMMANDS = ("version", "list", "help")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)
_WITHOUT_VARIABLE = ["/usr/bin/env", "-u"]


class EndedProcess:
    """A program that was run in this process, as the part of ``Popen`` that ``run_command`` uses."""

    def __init__(self, code: int, console: CapturedConsole) -> None:
        self.returncode = code
        self.stdout, self.stderr = (io.BytesIO(console.texts[stream].encode()) for stream in (1, 2))

    def wait(self, seconds: float) -> int:
        del seconds
        return self.returncode

    def poll(self) -> int:
        return self.returncode


class InProcess:
    """Stands for the module ``subprocess``."""

    def __getattr__(self, name: str) -> object:
        return getattr(subprocess, name)

    def Popen(self, command: list[str], **options: object) -> object:
        words = [str(word) for word in command]
        if words[:2] == _WITHOUT_VARIABLE:
            with patch.dict(os.environ):
                os.environ.pop(words[2], None)
                return self.Popen(words[3:], **options)
        path = Path(shutil.which(words[0]) or words[0])
        is_short = path.name != "xctrace" or words[1] in _SHORT_COMMANDS
        if not is_short or not is_installed(path):
            return subprocess.Popen(command, **options)  # type: ignore[call-overload]
        console = CapturedConsole()
        return EndedProcess(run_in_process(path, words[1:], console), console)


def run_in_process(path: Path, arguments: Sequence[str], console: CapturedConsole) -> int:
    """Run a fake program and return its exit code; it must not record."""
    handlers = [signal.getsignal(number) for number in _SIGNALS]
    log_call(path.parent, [path.name, *arguments], None)
    machine = Machine(path.parent, lambda program, words: run_in_process(program, words[1:], console))
    code = run_program(path.name, list(arguments), machine, console)
    assert [signal.getsignal(number) for number in _SIGNALS] == handlers, "they are the test's own"
    return code


def answer_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run short commands of fakes that ``xctrace_support.install`` wrote in this process."""
    monkeypatch.setattr(tool, "subprocess", InProcess())
