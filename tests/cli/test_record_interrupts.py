"""Recordings that are stopped from outside, at any moment: a usable bundle or a clear sentence, nothing left over."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from xctrace_support import FakeXctrace, install

LONG = ("--app", "SampleApp", "--time-limit", "60s", "-o", "x.trace")
INTERRUPTED = 100


@dataclass(frozen=True)
class Ended:
    code: int
    output: str
    error: str
    folder: Path
    xctrace: FakeXctrace

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def nothing_is_left(self) -> bool:
        return self.xctrace.running() == [] and self.xctrace.temporary_files() == []


def start(
    folder: Path, arguments: Sequence[str], *, own_session: bool = False, **settings: object
) -> tuple[subprocess.Popen[str], FakeXctrace]:
    xctrace = install(folder / "bin", **settings)
    (folder / "work").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "tracekit", "record", *arguments],
        cwd=folder / "work",
        env=xctrace.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=own_session,
    )
    return process, xctrace


def end(folder: Path, process: subprocess.Popen[str], xctrace: FakeXctrace) -> Ended:
    output, error = process.communicate(timeout=60)
    return Ended(process.returncode, output, error, folder / "work", xctrace)


def wait_for(condition: object, process: subprocess.Popen[str], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)


def recording(folder: Path) -> bool:
    """Return whether xctrace has begun to write its bundle."""
    return (folder / "work" / "x.trace").exists() or any((folder / "work").glob("*.trace"))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_every_way_to_be_stopped_saves_the_recording(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process, xctrace = start(tmp_path, LONG)
    wait_for(lambda: recording(tmp_path), process)
    process.send_signal(number)
    ended = end(tmp_path, process, xctrace)
    assert ended.code == code
    assert "Stopping and saving …" in ended.error
    assert "Saved x.trace (" in ended.error
    assert ("12 GPU" in ended.output) == (number == signal.SIGINT)  # a kill leaves no time for an analysis
    assert ended.files() == ["x.recording.json", "x.trace"]
    assert ended.nothing_is_left()


def test_xctrace_gets_one_interrupt_even_from_a_terminals_ctrl_c(tmp_path: Path) -> None:
    """A terminal interrupts its whole foreground group; with a second one, xctrace would not save."""
    process, xctrace = start(tmp_path, LONG, own_session=True, second_interrupt="aborts", save_seconds=0.5)
    wait_for(lambda: recording(tmp_path), process)
    os.killpg(process.pid, signal.SIGINT)
    ended = end(tmp_path, process, xctrace)
    assert ended.code == 0
    assert "12 GPU" in ended.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_terminal_that_is_gone_costs_no_recording(tmp_path: Path, number: signal.Signals) -> None:
    """Nobody reads what is said any more: `tracekit record … 2>&1 | head -1`, or a window that was closed."""
    xctrace = install(tmp_path / "bin")
    (tmp_path / "work").mkdir()
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "tracekit", "record", *LONG],
        cwd=tmp_path / "work",
        env=xctrace.environment(),
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=writing,
    )
    os.close(writing)
    wait_for(lambda: recording(tmp_path), process)
    os.close(reading)
    process.send_signal(number)
    process.wait(60)
    assert (tmp_path / "work" / "x.trace" / "form.template").exists()
    assert json.loads((tmp_path / "work" / "x.recording.json").read_text())["state"] == "good"
    assert xctrace.running() == []


def test_words_of_the_target_are_not_taken_for_xctraces(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text(
        "#!/bin/sh\necho 'Stopping recording...'\necho 'Recording completed.'\necho its own\n"
        ': > "$0.spoke"\nexec sleep 60\n'
    )
    tool.chmod(0o755)
    arguments = ("--time-limit", "60s", "-o", "x.trace", "--stdout", "-", "--launch", "--", str(tool))
    process, xctrace = start(tmp_path, arguments)
    wait_for(lambda: recording(tmp_path) and (tmp_path / "tool.spoke").exists(), process)
    time.sleep(0.5)  # until its words went through the pipes
    process.send_signal(signal.SIGINT)
    ended = end(tmp_path, process, xctrace)
    assert ended.code == 0
    assert ended.output.startswith("its own\n")
    assert ended.error.count("saving …") + ended.error.count("Saving …") == 1
    assert ended.nothing_is_left()


def test_a_target_that_never_stops_talking_can_be_stopped(tmp_path: Path) -> None:
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
        "/usr/bin/yes",
    )
    xctrace = install(tmp_path / "bin")
    (tmp_path / "work").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "tracekit", "record", *arguments],
        cwd=tmp_path / "work",
        env=xctrace.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: recording(tmp_path) and xctrace.running(), process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Saved x.trace" in error


def test_enter_stops_one_recording_of_several(tmp_path: Path) -> None:
    xctrace = install(tmp_path / "bin")
    (tmp_path / "work").mkdir()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tracekit",
            "record",
            "--app",
            "SampleApp",
            "--until-enter",
            "--count",
            "2",
            "-o",
            "x.trace",
        ],
        cwd=tmp_path / "work",
        env=xctrace.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    for number in (1, 2):
        wait_for(lambda number=number: (tmp_path / "work" / f"x-{number}.trace").exists(), process)
        process.stdin.write("\n")
        process.stdin.flush()
    output, error = process.communicate(timeout=60)
    assert process.returncode == 0
    assert [line.split(":")[0] for line in output.splitlines()] == ["x-1.trace", "x-2.trace"], error


def test_a_second_interrupt_asks_and_kills_nothing(tmp_path: Path) -> None:
    process, xctrace = start(tmp_path, LONG, second_interrupt="aborts", save_seconds=1.5)
    wait_for(lambda: recording(tmp_path), process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    ended = end(tmp_path, process, xctrace)
    assert ended.code == 0
    assert (
        "xctrace is still saving; killing it now can lose the recording. Ctrl-C again within 15 s kills it"
        in ended.error
    )
    assert "Saved x.trace" in ended.error


def test_who_insists_kills_and_is_told_what_is_left(tmp_path: Path) -> None:
    process, xctrace = start(tmp_path, LONG, hang="saving")
    wait_for(lambda: recording(tmp_path), process)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    ended = end(tmp_path, process, xctrace)
    assert ended.code == 4
    assert (
        "Error: x.trace was not finished: xctrace was killed while it was saving, after a repeated stop request."
        in ended.error
    )
    assert "import --input x.trace/Trace1.run/Attachments/trace-data.atrc" in ended.error
    assert json.loads((ended.folder / "x.recording.json").read_text())["runs"][0]["stopped_by"] == "insisted"
    assert ended.nothing_is_left()


def test_an_interrupt_that_xctrace_does_not_save_at(tmp_path: Path) -> None:
    process, xctrace = start(tmp_path, LONG, interrupt_saves=False)
    wait_for(lambda: recording(tmp_path), process)
    process.send_signal(signal.SIGINT)
    ended = end(tmp_path, process, xctrace)
    assert ended.code == 4
    assert "x.trace was not finished: it was stopped, and xctrace did not save it." in ended.error


def test_enter_stops_and_saves(tmp_path: Path) -> None:
    xctrace = install(tmp_path / "bin")
    (tmp_path / "work").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "tracekit", "record", "--app", "SampleApp", "--until-enter", "-o", "x.trace"],
        cwd=tmp_path / "work",
        env=xctrace.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: recording(tmp_path), process)
    output, error = process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert "for at most 10 min into x.trace. Enter or Ctrl-C stops and saves." in error
    assert "12 GPU" in output


def test_after_an_interrupt_no_further_recording_begins(tmp_path: Path) -> None:
    process, xctrace = start(tmp_path, (*LONG, "--count", "3"))
    wait_for(lambda: recording(tmp_path), process)
    process.send_signal(signal.SIGINT)
    ended = end(tmp_path, process, xctrace)
    assert ended.code == 0
    assert "Stopped: 2 of 3 recordings were not made." in ended.error
    assert ended.files() == ["x-1.recording.json", "x-1.trace"]


def test_what_an_insisted_kill_leaves_of_a_launched_program_is_ended(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    tool.chmod(0o755)
    arguments = ("--time-limit", "60s", "-o", "x.trace", "--launch", "--", "/bin/sleep", "60")
    process, xctrace = start(tmp_path, arguments, hang="saving")
    wait_for(lambda: recording(tmp_path) and xctrace.running(), process)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    ended = end(tmp_path, process, xctrace)
    assert ended.code == 4
    assert ended.nothing_is_left()


def test_a_hundred_recordings_interrupted_at_random_moments(tmp_path: Path) -> None:
    chance = random.Random(0 if os.environ.get("CI") else None)
    moments = [chance.uniform(0.0, 2.0) for _ in range(INTERRUPTED)]

    def one(number: int) -> tuple[float, Ended]:
        folder = tmp_path / str(number)
        folder.mkdir()
        arguments = (*LONG[:2], "--time-limit", "1s", "-o", "x.trace", "--no-analysis")
        process, xctrace = start(folder, arguments, start_seconds=0.2, save_seconds=0.3)
        wait_for(xctrace.calls, process)  # before that, it is Python itself that loads
        try:
            process.wait(moments[number])
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        return moments[number], end(folder, process, xctrace)

    with ThreadPoolExecutor(4) as pool:
        for moment, ended in pool.map(one, range(INTERRUPTED)):
            told = (moment, ended.code, ended.error)
            assert ended.nothing_is_left(), told
            assert "Traceback" not in ended.error, told
            if (
                "Saved x.trace" in ended.error
            ):  # an interrupt after that may end tracekit, the recording stays
                assert (ended.folder / "x.trace" / "form.template").exists(), told
            else:
                assert ended.code != 0, told
                assert "Error: " in ended.error or ended.error.strip() == "Interrupted.", told
                assert "x.trace" not in ended.files() or "was not finished" in ended.error, told
