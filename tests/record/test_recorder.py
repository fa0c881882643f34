"""One run of xctrace, played by small scripts that log the signals they receive."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tracekit.errors import XctraceError
from tracekit.record import recorder as recorder_module
from tracekit.record.recorder import Recorder, RecordLimits, StopReason, XctraceRun
from tracekit.record.signals import StopRequests

pytestmark = pytest.mark.integration

SCRIPT = """
import os, signal, subprocess, sys, time
home = sys.argv[1]
seen = []
def note(word):
    seen.append(word)
    with open(home + "/log", "a") as log:
        log.write(word + "\\n")
signal.signal(signal.SIGINT, lambda *_: note("INT"))
signal.signal(signal.SIGTERM, lambda *_: note("TERM"))
with open(home + "/pid", "w") as pid:
    pid.write(str(os.getpid()))
def say(text):
    os.write(1, text.encode() + b"\\n")
def wait_for(word):
    until = time.monotonic() + 20
    while word not in seen and not os.path.exists(home + '/' + word) and time.monotonic() < until:
        time.sleep(0.005)
def begin():
    say("Starting recording with the Blank template. Targeting All Processes.")
    say("Ctrl-C to stop the recording")
def save(seconds=0.0):
    say("Recording completed. Saving output file...")
    time.sleep(seconds)
    note("saved")
    say("Output file saved as: x.trace")
"""
UNTIL_INTERRUPTED = "begin(); wait_for('INT'); say('Stopping recording...'); save(0.15); sys.exit(54)"
STUCK = "begin(); say('Reached specified time limit, ending recording...'); wait_for('never')"
GENEROUS = RecordLimits(
    60, silence_seconds=60, start_seconds=60, overdue_seconds=20, term_seconds=0.4, min_free_bytes=1
)


class LoggingListener:
    """Logs the events, and reacts to them. Implements ``recorder.RecordingListener``."""

    def __init__(self, **reactions: Callable[[], object]) -> None:
        self.events: list[str] = []
        self._reactions = reactions

    def _log(self, event: str, text: str) -> None:
        self.events.append(text)
        self._reactions.get(event, lambda: None)()

    def on_recording(self) -> None:
        self._log("recording", "recording")

    def on_saving(self, reason: StopReason) -> None:
        self._log("saving", f"saving {reason}".rstrip())

    def on_no_output(self) -> None:
        self._log("no_output", "no output")

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        self._reactions.get("progress", lambda: None)()

    def on_stop_while_saving(self, seconds: float) -> None:
        self._log("stop_while_saving", "stop while saving")


class Bench:
    """Records with a script in xctrace's place."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.bundle = home / "x.trace"
        self.requests = StopRequests()
        self.listener = LoggingListener()

    def react(self, **reactions: Callable[[], object]) -> None:
        self.listener = LoggingListener(**reactions)

    def record(self, body: str, limits: RecordLimits = GENEROUS, **more: object) -> XctraceRun:
        (self.home / "xctrace.py").write_text(f"{SCRIPT}\n{body}\n", "utf-8")
        command = [sys.executable, "-I", "-S", str(self.home / "xctrace.py"), str(self.home)]
        return Recorder(command, self.bundle, limits, self.requests, self.listener, **more).record()  # type: ignore[arg-type]

    @property
    def log(self) -> list[str]:
        path = self.home / "log"
        return path.read_text().split() if path.exists() else []

    @property
    def is_gone(self) -> bool:
        with suppress(ProcessLookupError):
            os.kill(int((self.home / "pid").read_text()), 0)
            return False
        return True


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(recorder_module, "_PROGRESS_SECONDS", 0.05)
    bench = Bench(tmp_path)
    yield bench
    assert not (tmp_path / "pid").exists() or bench.is_gone, "xctrace never outlives record()"


# How it ends by itself ------------------------------------------------------------------------------------


def test_a_run_to_its_time_limit_is_reported_step_by_step(bench: Bench) -> None:
    run = bench.record("begin(); say('Reached specified time limit, ending recording...'); save()")
    assert (run.exit_code, run.stop_reason, run.killed, bench.log) == (0, "", False, ["saved"])
    assert bench.listener.events == ["recording", "saving"]
    assert run.output == (
        "Starting recording with the Blank template. Targeting All Processes.",
        "Ctrl-C to stop the recording",
        "Reached specified time limit, ending recording...",
        "Recording completed. Saving output file...",
        "Output file saved as: x.trace",
    )
    assert run.recording_from is not None
    assert run.saving_from is not None
    assert run.started <= run.recording_from <= run.saving_from <= run.ended <= time.time() + 1


def test_an_xctrace_without_output_records_all_the_same(bench: Bench) -> None:
    run = bench.record("note('saved')")
    assert (run.exit_code, run.output, run.recording_from, run.saving_from, run.stop_reason) == (
        0,
        (),
        None,
        None,
        "",
    )


def test_standard_error_is_part_of_the_output(bench: Bench) -> None:
    run = bench.record("print('Cannot find process for provided pid: 4999', file=sys.stderr); sys.exit(21)")
    assert (run.exit_code, run.output) == (21, ("Cannot find process for provided pid: 4999",))


def test_a_death_by_signal_is_its_exit_code(bench: Bench) -> None:
    run = bench.record("begin(); os.kill(os.getpid(), signal.SIGKILL)")
    assert (run.exit_code, run.killed, run.stop_reason) == (-9, False, "")


def test_a_terminals_interrupt_does_not_reach_it(bench: Bench) -> None:
    bench.record("note('own' if os.getsid(0) == os.getpid() else 'shared')")
    assert bench.log == ["own"]


# Stop requests --------------------------------------------------------------------------------------------


def test_one_stop_request_is_one_interrupt(bench: Bench) -> None:
    bench.react(recording=bench.requests.request)
    run = bench.record(UNTIL_INTERRUPTED)
    assert bench.log == ["INT", "saved"]
    assert (run.exit_code, run.stop_reason, run.killed) == (54, "asked", False)
    assert bench.listener.events == ["recording", "saving asked"]


def test_several_stop_requests_at_once_are_one_interrupt(bench: Bench) -> None:
    bench.react(recording=lambda: [bench.requests.request() for _ in range(5)])
    assert bench.record(UNTIL_INTERRUPTED).stop_reason == "asked"
    assert bench.log == ["INT", "saved"]


def test_a_stop_request_before_it_records_is_an_interrupt(bench: Bench) -> None:
    def ask_when_it_listens() -> None:
        while not (bench.home / "pid").exists():
            time.sleep(0.01)
        bench.requests.request()

    threading.Thread(target=ask_when_it_listens).start()
    run = bench.record("wait_for('INT'); sys.exit(54)")
    assert (bench.log, run.stop_reason, run.recording_from) == (["INT"], "asked", None)


def test_a_stop_request_before_the_start_ends_it_early(bench: Bench) -> None:
    """The program takes the interrupt at any moment; a Python that still starts may lose it."""
    bench.requests.request()
    command = ["/bin/sleep", "60"]
    run = Recorder(command, bench.bundle, GENEROUS, bench.requests, bench.listener).record()
    assert (run.stop_reason, run.exit_code) == ("asked", -signal.SIGINT)


def test_a_stop_request_while_it_saves_is_a_warning_and_no_interrupt(bench: Bench) -> None:
    bench.react(saving=bench.requests.request)
    run = bench.record("begin(); save(0.4)")
    assert (bench.log, run.stop_reason, run.killed) == (["saved"], "", False)
    assert bench.listener.events == ["recording", "saving", "stop while saving"]


def test_a_repeated_request_while_it_saves_terminates_and_then_kills_it(bench: Bench) -> None:
    bench.react(saving=bench.requests.request, stop_while_saving=bench.requests.request)
    run = bench.record(STUCK)
    assert bench.log == ["TERM"]
    assert (run.exit_code, run.stop_reason, run.killed) == (-signal.SIGKILL, "insisted", True)


def test_a_repeated_request_kills_nothing_that_ends_at_sigterm(bench: Bench) -> None:
    bench.react(saving=bench.requests.request, stop_while_saving=bench.requests.request)
    run = bench.record("begin(); say('Stopping recording...'); wait_for('TERM'); sys.exit(7)")
    assert (run.exit_code, run.stop_reason, run.killed) == (7, "insisted", True)


def test_a_request_much_later_is_a_warning_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "_FORCE_SECONDS", 0.1)

    def ask_later() -> None:
        if bench.listener.events.count("stop while saving") == 1:
            threading.Timer(0.3, bench.requests.request).start()
        else:
            (bench.home / "enough").touch()

    bench.react(saving=bench.requests.request, stop_while_saving=ask_later)
    run = bench.record("begin(); say('Stopping recording...'); wait_for('enough'); save()")
    assert bench.listener.events == ["recording", "saving", "stop while saving", "stop while saving"]
    assert (run.killed, bench.log) == (False, ["saved"])


# Runs that do not end by themselves -----------------------------------------------------------------------


def test_one_that_is_silent_while_it_saves_is_ended(bench: Bench) -> None:
    run = bench.record(STUCK, RecordLimits(60, silence_seconds=0.3, term_seconds=0.4, min_free_bytes=1))
    assert (bench.log, run.stop_reason, run.killed) == (["TERM"], "silent", True)


@pytest.mark.parametrize(
    "sign",
    ["say('still saving')", "open(home + '/x.trace/data', 'a').write('x' * 100)"],
    ids=["word", "growth"],
)
def test_one_that_gives_signs_of_life_while_it_saves_is_waited_for(bench: Bench, sign: str) -> None:
    bench.bundle.mkdir()
    body = f"begin(); say('Stopping recording...')\nfor _ in range(12):\n    time.sleep(0.1)\n    {sign}\nnote('saved')"
    run = bench.record(body, RecordLimits(60, silence_seconds=1.0, term_seconds=0.4, min_free_bytes=1))
    assert (bench.log, run.killed) == (["saved"], False)


def test_silence_while_it_records_is_no_fault(bench: Bench) -> None:
    limits = RecordLimits(60, silence_seconds=0.2, term_seconds=0.4, min_free_bytes=1)
    run = bench.record("begin(); time.sleep(0.6); save()", limits)
    assert (bench.log, run.killed) == (["saved"], False)


def test_one_that_goes_on_beyond_its_time_limit_is_stopped_and_saves(bench: Bench) -> None:
    run = bench.record(UNTIL_INTERRUPTED, RecordLimits(0.1, overdue_seconds=0.2, min_free_bytes=1))
    assert (bench.log, run.stop_reason, run.killed) == (["INT", "saved"], "overdue", False)


def test_one_that_never_begins_is_stopped(bench: Bench) -> None:
    limits = RecordLimits(0.1, start_seconds=0.6, overdue_seconds=0.2, min_free_bytes=1)
    run = bench.record("wait_for('INT'); sys.exit(54)", limits)
    assert (run.stop_reason, run.recording_from, run.exit_code) == ("overdue", None, 54)


def test_one_that_never_begins_and_heeds_no_interrupt_is_killed(bench: Bench) -> None:
    limits = RecordLimits(
        0.1, silence_seconds=0.2, start_seconds=0.6, overdue_seconds=0.2, term_seconds=0.4, min_free_bytes=1
    )
    run = bench.record("wait_for('never')", limits)
    assert (bench.log, run.stop_reason, run.killed) == (["INT", "TERM"], "silent", True)


def test_a_disk_that_fills_stops_it_early(bench: Bench) -> None:
    folders: list[Path] = []

    def falling(folder: Path) -> int:
        folders.append(folder)
        return 10**9 - len(folders)

    run = bench.record(UNTIL_INTERRUPTED, RecordLimits(60, min_free_bytes=10**9 - 7), free_space=falling)
    assert (bench.log, run.stop_reason, run.killed) == (["INT", "saved"], "disk", False)
    assert set(folders) == {bench.home, Path(tempfile.gettempdir())}


def test_a_disk_of_unknown_space_does_not_end_the_recording(bench: Bench) -> None:
    def gone(_folder: Path) -> int:
        raise FileNotFoundError("it was ejected")

    run = bench.record("begin(); time.sleep(0.3); save()", free_space=gone)
    assert (bench.log, run.exit_code) == (["saved"], 0)


# Output ---------------------------------------------------------------------------------------------------


def test_one_that_closes_its_output_early_is_waited_for(bench: Bench) -> None:
    run = bench.record("begin(); os.close(1); os.close(2); time.sleep(0.4); note('saved')")
    assert (bench.log, run.exit_code, len(run.output)) == (["saved"], 0, 2)


def test_ten_megabytes_without_a_newline_hide_nothing(bench: Bench) -> None:
    forwarded: list[bytes] = []
    body = "begin()\nfor _ in range(100):\n    os.write(1, b'x' * 100_000)\nsay('')\nsave()"
    run = bench.record(body, forward_output=forwarded.append)
    assert sum(map(len, forwarded)) == 10_000_001
    assert run.output[-1] == "Output file saved as: x.trace"


def test_the_last_output_of_xctrace_is_kept_after_many_lines_of_the_target(bench: Bench) -> None:
    body = (
        "begin()\nos.write(1, b'chatter of the target\\n' * 5000)\n"
        "say('* [Error] Could not set the recording priority.')\nsave()"
    )
    run = bench.record(body, forward_output=lambda _line: None)
    assert run.output[-3:] == (
        "* [Error] Could not set the recording priority.",
        "Recording completed. Saving output file...",
        "Output file saved as: x.trace",
    )


def test_bytes_that_are_no_text_are_no_error(bench: Bench) -> None:
    forwarded: list[bytes] = []
    run = bench.record(r"os.write(1, b'\xff\xfe a\n')", forward_output=forwarded.append)
    assert run.output == ("\ufffd\ufffd a",)
    assert forwarded == [b"\xff\xfe a\n"]


def test_the_targets_lines_are_passed_on_and_xctraces_are_not(bench: Bench) -> None:
    forwarded: list[bytes] = []
    bench.record(
        "begin(); say('hello'); say('  indented '); say('* [Error] x'); save()",
        forward_output=forwarded.append,
    )
    assert forwarded == [b"hello\n", b"  indented \n"]


def test_a_grandchild_that_holds_the_pipe_open_is_not_waited_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_LAST_OUTPUT_SECONDS", 0.3)
    body = "child = subprocess.Popen(['sleep', '60'])\nnote(str(child.pid))\nsay('last words')"
    started = time.monotonic()
    run = bench.record(body)
    with suppress(ProcessLookupError):
        os.kill(int(bench.log[0]), signal.SIGKILL)
    assert time.monotonic() - started < 10
    assert run.output == ("last words",)


def test_it_reads_nothing_unless_it_is_given_something(bench: Bench, tmp_path: Path) -> None:
    assert bench.record("say(repr(sys.stdin.read()))").output == ("''",)
    (tmp_path / "input").write_text("given")
    with (tmp_path / "input").open("rb") as file:
        assert bench.record("say(repr(sys.stdin.read()))", stdin=file).output == ("'given'",)


# Failures of the caller -----------------------------------------------------------------------------------


def fails() -> None:
    raise OSError("the terminal is gone")


@pytest.mark.parametrize("event", ["recording", "progress", "saving"])
def test_a_listener_that_fails_lets_xctrace_save(bench: Bench, event: str) -> None:
    bench.react(**{"recording": bench.requests.request if event == "saving" else lambda: None, event: fails})
    limits = RecordLimits(60, start_seconds=60, overdue_seconds=3, term_seconds=0.4, min_free_bytes=1)
    with pytest.raises(OSError, match="the terminal is gone"):
        bench.record(UNTIL_INTERRUPTED, limits)
    assert bench.log == ["INT", "saved"]


def test_a_listener_that_fails_while_it_saves_lets_it_save(bench: Bench) -> None:
    bench.react(saving=fails)
    with pytest.raises(OSError, match="the terminal is gone"):
        bench.record("begin(); say('Stopping recording...'); save(0.3)")
    assert bench.log == ["saved"]


def test_a_listener_that_fails_leaves_no_stuck_process(bench: Bench) -> None:
    bench.react(recording=fails)
    limits = RecordLimits(60, overdue_seconds=0.2, term_seconds=0.4, min_free_bytes=1)
    with pytest.raises(OSError, match="the terminal is gone"):
        bench.record("begin(); wait_for('never')", limits)
    assert bench.log == ["INT", "TERM"]


@pytest.mark.parametrize("command", [["/no/such/xctrace"], ["/"], ["a\0b"]])
def test_a_command_that_cannot_be_started_is_an_error(bench: Bench, command: list[str]) -> None:
    with pytest.raises(XctraceError, match="could not be started"):
        Recorder(command, bench.bundle, GENEROUS, bench.requests, bench.listener).record()


# Limits ---------------------------------------------------------------------------------------------------


def test_no_step_takes_longer_than_the_patience() -> None:
    limits = RecordLimits.build_within(10, 20, 5)
    steps = (limits.silence_seconds, limits.start_seconds, limits.overdue_seconds)
    assert (limits.time_limit_seconds, steps, limits.min_free_bytes) == (10, (20, 20, 20), 5)
    usual = RecordLimits.build_within(10, 600, 5)
    assert (usual.silence_seconds, usual.start_seconds, usual.overdue_seconds) == (600, 90, 30)
    assert (usual.term_seconds, RecordLimits.build_within(10, 2, 5).term_seconds) == (5, 2)
