"""The command line of a recording, word by word, and the steps around the run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tracekit.errors import UsageError, XctraceError
from tracekit.record.recorder import RecordLimits, StopReason, XctraceRun
from tracekit.record.recording_plan import InstrumentPlan
from tracekit.record.recording_result import judge_result
from tracekit.record.session import (
    RecordingAttempt,
    RecordSettings,
    build_xctrace_command,
    format_time,
    record,
)
from tracekit.record.signals import StopRequests, turn_signals_into_requests
from tracekit.record.target import ALL_PROCESSES, Target
from tracekit.xctrace.mac_host import App, Process
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.xctrace_list import Device

SAMPLE = (
    Path(__file__).resolve().parents[2] / "sample_traces" / "gpu-mpsgraph-macos15-bundle" / "recording.trace"
)
TOOL = Xctrace("/Xcode.app/xctrace")
PHONE = Device("My iPhone", "26.4", "00008101-000D482C1E78001E", "device")
ATTACH = RecordSettings(
    InstrumentPlan("CPU Counters", ("Core ML", "GPU")), Target("attach", "MyApp", "501"), RecordLimits(10)
)
LAUNCH = replace(
    ATTACH,
    plan=InstrumentPlan(None, ("GPU",)),
    target=Target("launch", "t", "/bin/t", ("-x", "a b", "--env")),
)
START = ["/Xcode.app/xctrace", "record", "--output", "x.trace", "--no-prompt"]


# Command line ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            ATTACH,
            "--template|CPU Counters|--instrument|Core ML|--instrument|GPU|--time-limit|10s|--attach|501",
        ),
        (LAUNCH, "--instrument|GPU|--time-limit|10s|--launch|--|/bin/t|-x|a b|--env"),
        (
            replace(LAUNCH, target=ALL_PROCESSES, limits=RecordLimits(0.5)),
            "--instrument|GPU|--time-limit|500ms|--all-processes",
        ),
        (
            replace(ATTACH, append=True, run_name="Fix#2"),
            "--append-run|--run-name|Fix#2|--time-limit|10s|--attach|501",
        ),
        (
            replace(LAUNCH, device=PHONE, window_seconds=2.5),
            "--instrument|GPU|--device|00008101-000D482C1E78001E|--time-limit|10s|--window|2500ms|--launch|--|/bin/t|-x|a b|--env",
        ),
        (
            replace(LAUNCH, environment=(("A", "1"), ("B", "x=y z"))),
            "--instrument|GPU|--time-limit|10s|--env|A=1|--env|B=x=y z|--launch|--|/bin/t|-x|a b|--env",
        ),
        (
            replace(LAUNCH, target_input="in put", target_output="-"),
            "--instrument|GPU|--time-limit|10s|--target-stdin|in put|--target-stdout|-|--launch|--|/bin/t|-x|a b|--env",
        ),
    ],
    ids=["attach", "launch", "all", "append", "device and window", "variables", "input and output"],
)
def test_the_command_line_word_by_word(settings: RecordSettings, words: str) -> None:
    assert build_xctrace_command(TOOL, Path("x.trace"), settings) == [*START, *words.split("|")]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (10, "10s"),
        (0.5, "500ms"),
        (0.001, "1ms"),
        (1.5, "1500ms"),
        (0.29, "290ms"),
        (600.0, "600s"),
        (604800, "604800s"),
    ],
)
def test_a_limit_is_whole_seconds_or_milliseconds(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


# The result ---------------------------------------------------------------------------------------------

SAVED = ("Starting recording with the Blank template.", "Output file saved as: x.trace")
RUN = XctraceRun(("xctrace",), 0, SAVED, "", False, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture
def no_xctrace() -> Xctrace:
    return Xctrace("/no/such/xctrace")


@pytest.mark.parametrize("code", [0, 1, 2, 21, 54, -9, 133])
def test_a_good_bundle_is_good_whatever_the_exit_code(no_xctrace: Xctrace, code: int) -> None:
    assert judge_result(SAMPLE, replace(RUN, exit_code=code), no_xctrace).state == "good"


def test_exit_code_zero_makes_no_bundle(tmp_path: Path, no_xctrace: Xctrace) -> None:
    assert judge_result(tmp_path / "x.trace", RUN, no_xctrace).state == "missing"


def test_a_bundle_without_its_template_is_unfinished(tmp_path: Path, no_xctrace: Xctrace) -> None:
    shutil.copytree(SAMPLE, tmp_path / "x.trace")
    (tmp_path / "x.trace" / "form.template").unlink()
    assert judge_result(tmp_path / "x.trace", RUN, no_xctrace).state == "unfinished"


@pytest.mark.integration
def test_a_bundle_that_neither_reader_can_read_is_unreadable(tmp_path: Path, no_xctrace: Xctrace) -> None:
    (tmp_path / "x.trace").mkdir()
    (tmp_path / "x.trace" / "form.template").touch()
    result = judge_result(tmp_path / "x.trace", RUN, no_xctrace)
    assert (result.state, result.is_analyzable, bool(result.detail)) == ("unreadable", False, True)


def test_issues_of_a_good_recording_are_notes_and_no_failure(no_xctrace: Xctrace) -> None:
    result = judge_result(
        SAMPLE, replace(RUN, output=("* [Error] Could not set the recording priority.", *SAVED)), no_xctrace
    )
    assert (result.state, result.failure) == ("good", None)
    assert result.notes == ("Could not set the recording priority.",)


# Around the run -------------------------------------------------------------------------------------------


class Silent:
    """Does nothing. Implements ``recorder.RecordingListener``."""

    def on_recording(self) -> None: ...
    def on_no_output(self) -> None: ...
    def on_saving(self, reason: StopReason) -> None: ...
    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None: ...
    def on_stop_while_saving(self, seconds: float) -> None: ...


@dataclass
class Host:
    """A Mac on which more processes run at each call. Implements ``host.Host``."""

    moments: list[tuple[Process, ...]] = field(default_factory=list)

    def processes(self) -> tuple[Process, ...]:
        return self.moments.pop(0) if len(self.moments) > 1 else self.moments[0]

    def installed(self, name: str) -> tuple[App, ...]:
        return ()


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of temporary files of this test's own; nothing stays in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == []


def xctrace(tmp_path: Path, *lines: str) -> Xctrace:
    """A script in xctrace's place; `$3` is the path of the recording."""
    path = tmp_path / "xctrace"
    path.write_text("\n".join(("#!/bin/sh", f'echo "$@" >> {tmp_path}/calls', *lines)) + "\n")
    path.chmod(0o755)
    return Xctrace(str(path))


def calls(tmp_path: Path) -> int:
    return len((tmp_path / "calls").read_text().splitlines()) if (tmp_path / "calls").exists() else 0


def record_with(
    tool: Xctrace, final: Path, settings: RecordSettings = ATTACH, **more: object
) -> RecordingAttempt:
    limits = replace(settings.limits, min_free_bytes=1, silence_seconds=0.3, term_seconds=0.2)
    requests = more.pop("requests", StopRequests())
    return record(tool, replace(settings, limits=limits), final, requests, Silent(), **more)  # type: ignore[arg-type]


@pytest.fixture
def retried_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.record.session._RETRY_DELAY_SECONDS", 0.01)


SAVE = (f'cp -R "{SAMPLE}" "$3"', 'echo "Output file saved as: $3"')


@pytest.mark.integration
def test_a_good_recording_is_at_its_final_path(tmp_path: Path) -> None:
    attempt = record_with(xctrace(tmp_path, *SAVE, "exit 54"), tmp_path / "x.trace")
    assert (attempt.bundle, attempt.result.state) == (tmp_path / "x.trace", "good")
    assert attempt.runs[0].exit_code == 54


@pytest.mark.integration
@pytest.mark.usefixtures("retried_at_once")
def test_a_pid_that_is_not_found_at_first_is_tried_once_more(tmp_path: Path) -> None:
    """The same command attaches a bit later (software-mansion/argent#333)."""
    gone = 'echo "Cannot find process for provided pid: 501" >&2; exit 21'
    first = f"[ $(wc -l < {tmp_path}/calls) = 1 ] && {{ {gone}; }}"
    attempt = record_with(xctrace(tmp_path, first, *SAVE), tmp_path / "x.trace")
    assert [run.exit_code for run in attempt.runs] == [21, 0]
    assert attempt.result.state == "good"


@pytest.mark.integration
@pytest.mark.usefixtures("retried_at_once")
def test_a_pid_that_is_never_found_is_tried_twice_only(tmp_path: Path) -> None:
    tool = xctrace(tmp_path, 'echo "Cannot find process for provided pid: 501" >&2', "exit 21")
    attempt = record_with(tool, tmp_path / "x.trace")
    assert (attempt.result.state, len(attempt.runs)) == ("missing", 2)
    assert attempt.result.failure is not None
    assert attempt.result.failure.code == "process-gone"


@pytest.mark.integration
def test_another_failure_is_not_tried_again(tmp_path: Path) -> None:
    tool = xctrace(
        tmp_path, 'echo "_lockKPerf: could not lock kperf. Likely another session just started."', "exit 2"
    )
    assert len(record_with(tool, tmp_path / "x.trace").runs) == 1


def test_without_space_nothing_is_started(tmp_path: Path) -> None:
    settings = replace(ATTACH, limits=RecordLimits(10, min_free_bytes=2 * 10**9))
    with pytest.raises(XctraceError, match=r"Only 1\.5 GB are free .* and recording needs 2\.0"):
        record(
            xctrace(tmp_path),
            settings,
            tmp_path / "x.trace",
            StopRequests(),
            Silent(),
            free_space=lambda _: 15 * 10**8,
        )
    assert calls(tmp_path) == 0


def test_an_output_that_exists_is_found_before_anything_is_started(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "x.trace")
    with pytest.raises(UsageError, match="without --force"):
        record_with(xctrace(tmp_path), tmp_path / "x.trace")
    assert calls(tmp_path) == 0


@pytest.mark.integration
def test_a_forced_recording_that_fails_leaves_the_earlier_one_and_itself(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "x.trace")
    tool = xctrace(
        tmp_path, 'mkdir -p "$3/Trace1.run/Attachments"', 'echo raw > "$3/Trace1.run/Attachments/a.atrc"'
    )
    attempt = record_with(tool, tmp_path / "x.trace", force=True)
    assert (attempt.result.state, attempt.final) == ("unfinished", tmp_path / "x.trace")
    assert (attempt.bundle / "Trace1.run" / "Attachments" / "a.atrc").exists()
    assert (tmp_path / "x.trace" / "form.template").exists()


@pytest.mark.integration
def test_the_program_that_a_killed_xctrace_launched_is_ended(tmp_path: Path) -> None:
    """xctrace can no longer end it; earlier processes and other programs stay."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    older, target, unrelated = (subprocess.Popen(sleeper) for _ in range(3))
    try:
        before = (Process(older.pid, "/bin/t"), Process(unrelated.pid, "/bin/other"))
        host = Host([before, (*before, Process(target.pid, "/bin/t"))])
        stuck = xctrace(
            tmp_path, "trap '' TERM INT", "echo 'Reached specified time limit'", "sleep 60 & wait"
        )
        attempt = record_with(stuck, tmp_path / "x.trace", LAUNCH, host=host)
        assert (attempt.runs[-1].stop_reason, attempt.runs[-1].killed) == ("silent", True)
        assert target.wait(10) == -15
        assert (older.poll(), unrelated.poll()) == (None, None)
    finally:
        for child in (older, target, unrelated):
            child.kill()
            child.wait()


@pytest.mark.integration
def test_processes_that_a_killed_xctrace_started_itself_are_killed_with_it(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    helper = f"for _ in $(seq 400); do echo x >> {beat}; sleep 0.05; done &"
    stuck = xctrace(tmp_path, "trap '' TERM INT", helper, "echo 'Reached specified time limit'", "wait")
    assert record_with(stuck, tmp_path / "x.trace").runs[0].killed
    size = beat.stat().st_size
    time.sleep(0.3)
    assert beat.stat().st_size == size > 0


@pytest.mark.integration
def test_a_stop_request_before_the_start_ends_the_recording_early(tmp_path: Path) -> None:
    requests = StopRequests()
    requests.request()
    tool = xctrace(tmp_path, "trap 'exit 54' INT", "echo 'Starting recording'", "while :; do sleep 0.1; done")
    started = time.monotonic()
    attempt = record_with(tool, tmp_path / "x.trace", requests=requests)
    assert (attempt.runs[0].stop_reason, len(attempt.runs)) == ("asked", 1)
    assert time.monotonic() - started < 20


# Signals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_a_request_while_the_block_runs(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    requests = StopRequests()
    with turn_signals_into_requests(requests):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
    assert (requests.count, requests.signal) == (2, number)
    assert signal.getsignal(number) == before


def test_in_another_thread_signals_keep_their_meaning() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def work() -> None:
        with turn_signals_into_requests(StopRequests()):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
