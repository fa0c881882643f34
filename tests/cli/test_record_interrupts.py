"""Recordings stopped from outside, at any moment: a usable bundle or a clear error, and nothing left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from record_process import Running

from tracekit.cli import main

pytestmark = pytest.mark.integration

LONG = ("--app", "SampleApp", "--time-limit", "60s", "-o", "x.trace")


def test_xctrace_of_a_killed_tracekit_is_ended_with_consent_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(tmp_path, LONG)
    running.wait_for_recording()
    running.interrupt(signal.SIGKILL)
    running.end()
    (pid,) = running.xctrace.running()
    for name, value in running.xctrace.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(running.folder)
    again = ["record", "--app", "SampleApp", "--time-limit", "100ms", "-o", "y.trace", "--no-analysis"]
    refused = CliRunner().invoke(main, again)
    assert refused.exit_code == 4
    assert f"xctrace (pid {pid}, recording into {running.folder / 'x.trace'}) was left" in refused.stderr
    assert running.xctrace.running() == [pid]
    ended = CliRunner().invoke(main, [*again, "--end-leftover"])
    assert ended.exit_code == 0, ended.stderr
    assert "it saves first" in ended.stderr
    assert running.xctrace.running() == []
    assert {"x.trace", "y.trace", "y.recording.json"} == {path.name for path in running.folder.iterdir()}
    assert (running.folder / "x.trace" / "form.template").exists()  # saved


def program(home: Path, text: str) -> str:
    home.mkdir(exist_ok=True)
    path = home / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_every_signal_saves_the_recording(tmp_path: Path, number: signal.Signals, code: int) -> None:
    running = Running(tmp_path, LONG)
    running.wait_for_recording()
    running.interrupt(number)
    ended = running.end()
    assert ended.code == code
    assert "Stopping and saving …" in ended.error
    assert "Saved x.trace (" in ended.error
    is_analyzed = "GPU in all 12 calls" in ended.output
    assert is_analyzed == (number == signal.SIGINT)  # a kill leaves no time for an analysis
    assert ended.files() == ["x.recording.json", "x.trace"]
    assert ended.left_nothing()


def test_xctrace_gets_one_interrupt_even_from_a_terminals_ctrl_c(tmp_path: Path) -> None:
    """A terminal interrupts its whole foreground group; with a second one, xctrace would not save."""
    running = Running(tmp_path, LONG, own_session=True, second_interrupt="aborts", save_seconds=0.5)
    running.wait_for_recording()
    os.killpg(running.process.pid, signal.SIGINT)
    ended = running.end()
    assert ended.code == 0
    assert "GPU in all 12 calls" in ended.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_closed_terminal_loses_no_recording(tmp_path: Path, number: signal.Signals) -> None:
    """The reader of the output is gone: `tracekit record … 2>&1 | head -1`, or a closed window."""
    reading, writing = os.pipe()
    running = Running(tmp_path, LONG, output=writing, error=writing)
    os.close(writing)
    running.wait_for_recording()
    os.close(reading)
    running.interrupt(number)
    ended = running.end()
    assert (ended.folder / "x.trace" / "form.template").exists()
    assert json.loads((ended.folder / "x.recording.json").read_text())["state"] == "good"
    assert ended.xctrace.running() == []


def test_output_of_the_target_is_not_taken_for_xctraces(tmp_path: Path) -> None:
    tool = program(
        tmp_path, "echo 'Stopping recording...'\necho 'Recording completed.'\necho its own\nexec sleep 60"
    )
    arguments = (
        "--time-limit",
        "60s",
        "-o",
        "x.trace",
        "--stdout",
        "-",
        "--no-analysis",
        "--launch",
        "--",
        tool,
    )
    running = Running(tmp_path, arguments)
    running.wait_for(lambda: "its own\n" in running.output())
    running.interrupt()
    ended = running.end()
    assert ended.code == 0
    assert ended.output == "its own\n"
    assert ended.error.count("saving …") + ended.error.count("Saving …") == 1
    assert ended.left_nothing()


def test_a_target_that_writes_without_end_can_be_stopped(tmp_path: Path) -> None:
    arguments = ("--time-limit", "60s", "-o", "x.trace", "--stdout", "-", "--no-analysis")
    running = Running(tmp_path, (*arguments, "--launch", "--", "/usr/bin/yes"), output=subprocess.DEVNULL)
    running.wait_for_recording()
    running.wait_for(lambda: len(running.xctrace.running()) == 2)  # xctrace and its target
    time.sleep(0.5)  # until every pipe and queue is full
    running.interrupt()
    ended = running.end()
    assert ended.code == 0
    assert "Saved x.trace" in ended.error


def test_a_second_interrupt_warns_and_kills_nothing(tmp_path: Path) -> None:
    end = tmp_path / "end"
    running = Running(tmp_path, (*LONG, "--no-analysis"), second_interrupt="aborts", save_until=str(end))
    running.wait_for_recording()
    running.interrupt()
    running.wait_for_message("Stopping and saving …")
    running.interrupt()
    running.wait_for_message("Ctrl-C again within 15 s kills it")
    end.touch()
    ended = running.end()
    assert ended.code == 0
    assert (
        "xctrace is still saving; killing it now can lose the recording. Ctrl-C again within 15 s kills it"
        in ended.error
    )
    assert "Saved x.trace" in ended.error


def test_a_third_interrupt_kills_and_the_error_names_what_is_left(tmp_path: Path) -> None:
    running = Running(tmp_path, LONG, hang="saving")
    running.wait_for_recording()
    running.interrupt_until_killed()
    ended = running.end()
    assert ended.code == 4
    assert (
        "Error: x.trace was not finished: xctrace was killed while it was saving, after a repeated stop request."
        in ended.error
    )
    assert "import --input x.trace/Trace1.run/Attachments/trace-data.atrc" in ended.error
    assert json.loads((ended.folder / "x.recording.json").read_text())["runs"][0]["stopped_by"] == "insisted"
    assert ended.left_nothing()


def test_a_program_launched_by_a_killed_xctrace_is_ended(tmp_path: Path) -> None:
    arguments = ("--time-limit", "60s", "-o", "x.trace", "--launch", "--", "/bin/sleep", "60")
    running = Running(tmp_path, arguments, hang="saving")
    running.wait_for_recording()
    running.wait_for(lambda: len(running.xctrace.running()) == 2)  # xctrace and its target
    running.interrupt_until_killed()
    ended = running.end()
    assert ended.code == 4
    assert ended.left_nothing()


def test_nothing_slow_is_imported_before_xctrace_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    ended = Running(tmp_path, LONG, attach="refused").end()
    assert "Nothing was recorded" in ended.error
    assert "tracekit.record.session" in ended.error
    assert "pandas" not in ended.error and "numpy" not in ended.error


def test_an_interrupt_that_xctrace_does_not_save_at(tmp_path: Path) -> None:
    running = Running(tmp_path, LONG, interrupt_saves=False)
    running.wait_for_recording()
    running.interrupt()
    ended = running.end()
    assert ended.code == 4
    assert "x.trace was not finished: it was stopped, and xctrace did not save it." in ended.error


def test_enter_stops_and_saves(tmp_path: Path) -> None:
    running = Running(tmp_path, ("--app", "SampleApp", "--until-enter", "-o", "x.trace"))
    running.wait_for_recording()
    running.press_enter()
    ended = running.end()
    assert ended.code == 0
    assert "for at most 10 min into x.trace. Enter or Ctrl-C stops and saves." in ended.error
    assert "GPU in all 12 calls" in ended.output


def test_enter_stops_one_recording_of_several(tmp_path: Path) -> None:
    running = Running(tmp_path, ("--app", "SampleApp", "--until-enter", "--count", "2", "-o", "x.trace"))
    for number in (1, 2):
        running.wait_for_recording(f"x-{number}")
        running.press_enter()
    ended = running.end()
    assert ended.code == 0
    assert [line.split(":")[0] for line in ended.output.splitlines()] == ["x-1.trace", "x-2.trace"], (
        ended.error
    )


def test_after_an_interrupt_no_further_recording_begins(tmp_path: Path) -> None:
    running = Running(tmp_path, (*LONG, "--count", "3", "--no-analysis"))
    running.wait_for_recording()
    running.interrupt()
    ended = running.end()
    assert ended.code == 130
    assert "Saved x-1.trace (" in ended.error
    assert ended.error.endswith("Stopped: x-1.trace ended early; 2 of 3 recordings were not made.\n")
    assert ended.files() == ["x-1.recording.json", "x-1.trace"]
    assert ended.left_nothing()


def test_an_interrupt_in_the_last_recording_of_a_series_is_an_interruption(tmp_path: Path) -> None:
    short = ("--app", "SampleApp", "--until-enter", "-o", "x.trace", "--count", "2", "--no-analysis")
    running = Running(tmp_path, short)
    running.wait_for_recording("x-1")
    running.press_enter()
    running.wait_for_recording("x-2")
    running.interrupt()
    ended = running.end()
    assert ended.code == 130
    assert ended.error.endswith("Stopped: x-1.trace is whole; x-2.trace ended early.\n")


def test_an_interrupted_comparison_of_two_builds_is_no_success(tmp_path: Path) -> None:
    programs = [program(tmp_path / name, "exec sleep 60") for name in ("base", "new")]
    arguments = ("--app", programs[0], "--interleave", programs[1], "--launch", *LONG[2:], "--no-analysis")
    running = Running(tmp_path, (*arguments, "--count", "1"))
    running.wait_for_recording()
    running.interrupt()
    ended = running.end()
    assert ended.code == 130
    assert "Stopped: x-base-1.trace ended early; 1 of 2 recordings were not made." in ended.error
    assert ended.error.endswith("There is no comparison: no recording of base is whole.\n")
    assert ended.files() == ["x-base-1.recording.json", "x-base-1.trace"]
