"""An xctrace whose tracekit was killed is found, and ended only with consent and if it is the same process."""

from __future__ import annotations

import json
import math
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tracekit.cli import record_terminal
from tracekit.errors import XctraceError
from tracekit.record import leftover
from tracekit.record.leftover import Leftover, end_leftover, find_all_leftovers, note_recorder
from tracekit.record.lock import build_lock_path, hold_recorder_lock
from tracekit.xctrace.tool import CommandResult

STARTED = 1795334400.25  # Sun Nov 22 08:00:00 2026
XCTRACE = "/Xcode/usr/bin/xctrace record --output /w/x.trace"
LEFTOVER = Leftover(4711, STARTED, "/w/x.trace")


class Machine:
    """The processes of a machine, and the signals that they got."""

    def __init__(self) -> None:
        self.line = f"Sun Nov 22 08:00:00 2026     {XCTRACE}\n"
        self.signals: list[tuple[int, int]] = []
        self.ends = True

    def ps(self, command: list[str]) -> CommandResult:
        assert command[:3] == ["/usr/bin/env", "LC_ALL=C", "TZ=UTC"]
        assert command[-6:] == ["-o", "lstart=", "-o", "command=", "-p", "4711"]
        return CommandResult(0 if self.line else 1, self.line, "")

    def kill(self, pid: int, number: int) -> None:
        self.signals.append((pid, number))
        if self.ends:
            self.line = ""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(leftover, "run_command", machine.ps)
    monkeypatch.setattr(leftover.time, "time", lambda: STARTED)
    monkeypatch.setattr(leftover.os, "kill", machine.kill)
    return machine


def leave_note(text: str | None = None) -> Path:
    """Leave a note as a killed tracekit does: it is never removed."""
    lock = build_lock_path("")
    lock.touch()
    note = lock.with_suffix(".xctrace")
    with note_recorder("", Path("/w/x.trace")) as write:
        write(4711)
        content = note.read_text()
    note.write_text(content if text is None else text)
    return note


def consent(_leftover: Leftover) -> bool:
    return True


def test_a_note_lives_as_long_as_its_recording(machine: Machine, tmp_path: Path) -> None:
    with note_recorder("", Path("/w/x.trace")) as write:
        write(4711)
        note = json.loads(build_lock_path("").with_suffix(".xctrace").read_text())
    assert note == {"pid": 4711, "started": STARTED, "bundle": "/w/x.trace"}
    assert list(tmp_path.iterdir()) == []


def test_it_is_interrupted_with_consent_so_that_it_saves(machine: Machine) -> None:
    leave_note()
    assert find_all_leftovers() == (LEFTOVER,)
    end_leftover("", consent, 1)
    assert machine.signals == [(4711, signal.SIGINT)]
    assert find_all_leftovers() == ()


@pytest.mark.parametrize("second", [59, 58])
def test_a_clock_that_was_set_meanwhile_is_no_other_process(machine: Machine, second: int) -> None:
    leave_note()
    machine.line = f"Sun Nov 22 07:59:{second} 2026  {XCTRACE}"
    assert find_all_leftovers() == (LEFTOVER,)


def test_without_consent_nothing_is_ended(machine: Machine) -> None:
    leave_note()
    with pytest.raises(XctraceError, match="left running by a tracekit that was killed") as raised:
        end_leftover("", lambda _leftover: False, 1)
    assert raised.value.lines == ("kill -INT 4711",)
    assert machine.signals == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        f"Sun Nov 22 08:00:06 2026  {XCTRACE}",
        f"Sun Nov 22 07:59:55 2026  {XCTRACE}",
        f"Sun Nov 22 08:00:00 2025  {XCTRACE}",
        f"So 22 Nov 08:00:00 2026  {XCTRACE}",
        "Sun Nov 22 08:00:00 2026",
        "Sun Nov 22 08:00:00 2026  /usr/bin/vim x",
        "Sun Nov 22 08:00:00 2026  /Xcode/usr/bin/xctrace export --input x",
    ],
)
def test_another_process_with_that_pid_is_left_alone(machine: Machine, line: str) -> None:
    leave_note()
    machine.line = line
    assert find_all_leftovers() == ()
    end_leftover("", consent, 1)
    LEFTOVER.end(1, lambda: False)
    assert machine.signals == []


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"pid": 4711}', "[" * 5000, '{"pid": "x", "started": 1, "bundle": ""}']
    + [json.dumps({"pid": pid, "started": STARTED, "bundle": "b"}) for pid in (0, -1, 1, 1e999)]
    + [
        json.dumps({"pid": 4711, "started": started, "bundle": "b"})
        for started in ("", 1e999, math.nan, None)
    ],
)
def test_a_note_without_sense_is_of_no_process(machine: Machine, text: str) -> None:
    leave_note(text)
    assert find_all_leftovers() == ()


def test_a_note_of_another_user_is_ignored(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_note()
    user = os.getuid()
    monkeypatch.setattr("tracekit.record.lock._get_user_id", lambda: user)
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    assert find_all_leftovers() == ()


@pytest.mark.integration
def test_the_xctrace_of_a_running_tracekit_is_no_leftover(machine: Machine) -> None:
    with hold_recorder_lock("", Path("x.trace")):
        leave_note()
        assert find_all_leftovers() == ()


@pytest.mark.parametrize(
    ("cancelled", "text"), [(False, "did not end within 0 s"), (True, "is still saving")]
)
def test_one_that_saves_on_is_never_killed(machine: Machine, cancelled: bool, text: str) -> None:
    machine.ends = False
    with pytest.raises(XctraceError, match=text):
        LEFTOVER.end(0, lambda: cancelled)
    assert machine.signals == [(4711, signal.SIGINT)]


def decision(
    monkeypatch: pytest.MonkeyPatch, confirm: Callable[..., bool], *, terminal: bool, requested: bool = False
) -> bool:
    monkeypatch.setattr("sys.stdin.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(record_terminal.click, "confirm", confirm)
    return record_terminal.make_consent(requested, may_ask=True)(LEFTOVER)


def test_consent_is_the_option_or_an_answer_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> bool:
        raise AssertionError("no question without a terminal")

    def abort(*_: object, **__: object) -> bool:
        raise click.Abort

    assert decision(monkeypatch, refuse, terminal=True, requested=True)
    assert not decision(monkeypatch, refuse, terminal=False)
    assert decision(monkeypatch, lambda *_, **__: True, terminal=True)
    assert not decision(monkeypatch, lambda *_, **__: False, terminal=True)
    assert not decision(monkeypatch, abort, terminal=True)
