"""Recording from the page: a recording that was begun is saved and found, whatever ends in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from library_support import BUNDLE_VERDICT, ROOT, opened, removed, settled, wait_for
from recording_support import APP, LONG, desk_of, recorded, state_of, until, until_opened, until_recording
from xctrace_support import FakeXctrace

from tracekit_dashboard.errors import Conflict, NoSpace, NotFound
from tracekit_dashboard.jobs.process import WorkerProcess
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.recording import attempts as attempts_module
from tracekit_dashboard.recording.attempts import Attempts
from tracekit_dashboard.recording.request import RecordingRequest
from tracekit_dashboard.settings import ServerLimits

pytestmark = pytest.mark.integration


def process_of(desk: Attempts, attempt: str) -> WorkerProcess:
    process = desk._find_process(attempt)
    assert process is not None
    return process


# To the end -----------------------------------------------------------------------------------------------


def test_a_recording_comes_into_the_library_with_its_journal(
    library: Library, desk: Attempts, xctrace: FakeXctrace, tmp_path: Path
) -> None:
    (number,) = until_opened(desk, desk.start(APP))
    recording = library.find_recording(number)
    assert recording.name.startswith("SampleApp-") and recording.name.endswith(".trace")
    assert recording.origin == "file"
    assert Path(recording.path).parents[1] == tmp_path / "library" / "recorded"
    assert desk.list_attempts() == []
    journal = Path(recording.path).with_suffix(".recording.json")
    assert json.loads(journal.read_text())["state"] == "good"
    (command,) = [call for call in xctrace.calls("xctrace") if call[1] == "record"]
    assert command[command.index("--attach") + 1] == "4215"
    assert command[command.index("--time-limit") + 1] == "200ms"


def test_it_is_read_like_any_other(tmp_path: Path, xctrace: FakeXctrace) -> None:
    with opened(tmp_path / "library", ServerLimits(free_disk_bytes=0)) as library:
        desk = desk_of(library, tmp_path)
        (number,) = until_opened(desk, desk.start(APP))
        assert BUNDLE_VERDICT.split(" (")[0] in settled(library, library.find_recording(number)).verdict


def test_the_state_shows_the_next_step(library: Library, xctrace: FakeXctrace, tmp_path: Path) -> None:
    end = tmp_path / "end"
    xctrace.configure(save_until=str(end))
    desk = desk_of(library, tmp_path)
    attempt = desk.start(RecordingRequest("running", "SampleApp", 4215, seconds=60))
    assert state_of(desk, attempt).phase == "preparing"
    state = until(desk, attempt, "recording")
    assert (state.what, state.limit_seconds) == ("SampleApp (pid 4215)", 60)
    assert abs(time.time() - state.began) < 5
    wait_for(lambda: state_of(desk, attempt).size_bytes > 0)
    desk.stop(attempt)
    until(desk, attempt, "saving")
    end.touch()
    assert len(until_opened(desk, attempt)) == 1


def test_one_recording_per_setting_of_the_compute_units(
    library: Library, desk: Attempts, xctrace: FakeXctrace, tmp_path: Path
) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    tool.chmod(0o755)
    attempt = desk.start(RecordingRequest("launch", str(tool), seconds=0.2, compute_units=("all", "cpuOnly")))
    numbers = until_opened(desk, attempt)
    assert [library.find_recording(number).tags for number in numbers] == [("all",), ("cpuOnly",)]
    commands = [call for call in xctrace.calls("xctrace") if call[1] == "record"]
    assert [call[call.index("--env") + 1] for call in commands] == [
        "TRACEKIT_COMPUTE_UNITS=all",
        "TRACEKIT_COMPUTE_UNITS=cpuOnly",
    ]


def test_what_xctrace_reports_of_a_good_recording_stands_in_its_note(
    library: Library, desk: Attempts, xctrace: FakeXctrace
) -> None:
    xctrace.configure(run_issues=["Some events were lost."])
    (number,) = until_opened(desk, desk.start(APP))
    assert library.find_recording(number).note == "xctrace reports: Some events were lost."


def test_everything_can_be_recorded_with_a_template(desk: Attempts, xctrace: FakeXctrace) -> None:
    until_opened(desk, desk.start(RecordingRequest("all", template="Metal System Trace", seconds=0.2)))
    (command,) = [call for call in xctrace.calls("xctrace") if call[1] == "record"]
    assert command[-1] == "--all-processes"
    assert command[command.index("--template") + 1] == "Metal System Trace"


# Ended in between -----------------------------------------------------------------------------------------


def test_stopped_by_a_person(library: Library, desk: Attempts) -> None:
    attempt = desk.start(LONG)
    until_recording(desk, attempt)
    desk.stop(attempt)
    (number,) = until_opened(desk, attempt)
    assert (Path(library.find_recording(number).path) / "form.template").exists()


def test_discarded_nothing_is_kept(library: Library, desk: Attempts, tmp_path: Path) -> None:
    attempt = desk.start(LONG)
    until_recording(desk, attempt)
    desk.discard(attempt)
    assert until_opened(desk, attempt) == ()
    assert recorded(tmp_path) == []
    assert library.list_recordings() == []


def test_discarded_while_it_is_saved(
    library: Library, desk: Attempts, xctrace: FakeXctrace, tmp_path: Path
) -> None:
    end = tmp_path / "end"
    xctrace.configure(save_until=str(end), second_interrupt="aborts")
    attempt = desk.start(LONG)
    until_recording(desk, attempt)
    desk.stop(attempt)
    until(desk, attempt, "saving")
    desk.discard(attempt)
    end.touch()
    assert until_opened(desk, attempt) == ()
    assert recorded(tmp_path) == []


def test_cancelled_before_it_began(desk: Attempts, xctrace: FakeXctrace, tmp_path: Path) -> None:
    xctrace.configure(start_seconds=30)
    attempt = desk.start(LONG)
    wait_for(lambda: any(call[1] == "record" for call in xctrace.calls("xctrace")))
    time.sleep(0.2)
    desk.stop(attempt)
    assert until(desk, attempt, "failed").message.startswith("Nothing was recorded: it was stopped")
    desk.close_attempt(attempt)
    assert recorded(tmp_path) == []


def test_the_server_ends_while_it_records(tmp_path: Path, xctrace: FakeXctrace) -> None:
    """A recording that runs is stopped and saved; the next server follows it to its end."""
    end = tmp_path / "end"
    xctrace.configure(save_until=str(end))
    with opened(tmp_path / "library") as library:
        desk = desk_of(library, tmp_path)
        attempt = desk.start(LONG)
        until_recording(desk, attempt)
        library.queue.close()
    with opened(tmp_path / "library") as library:
        desk = desk_of(library, tmp_path)
        assert state_of(desk, attempt).phase in ("recording", "saving")
        with pytest.raises(Conflict, match="being recorded already"):
            desk.start(APP)
        with pytest.raises(Conflict, match="It is being saved"):
            desk.stop(attempt)
        end.touch()
        (number,) = until_opened(desk, attempt)
        assert (Path(library.find_recording(number).path) / "form.template").exists()
        assert len(library.list_recordings()) == 1


def test_what_was_saved_while_no_server_ran_is_found(tmp_path: Path, xctrace: FakeXctrace) -> None:
    with opened(tmp_path / "library") as library:
        desk = desk_of(library, tmp_path)
        attempt = desk.start(LONG)
        until_recording(desk, attempt)
        library.queue.close()
        wait_for(lambda: xctrace.running() == [])
        wait_for(lambda: '"done"' in (tmp_path / "library/recorded" / attempt / "state.json").read_text())
        assert library.list_recordings() == []
    with opened(tmp_path / "library") as library:
        desk_of(library, tmp_path)
        (recording,) = library.list_recordings()
        removed(library, recording.id)
    with opened(tmp_path / "library") as library:
        desk_of(library, tmp_path)
        assert library.list_recordings() == []  # what was found once does not come back


SERVER = """
    import sys, time
    from pathlib import Path
    from tracekit_dashboard.library.library import Library
    from tracekit_dashboard.recording.attempts import Attempts
    from tracekit_dashboard.recording.request import RecordingRequest
    from tracekit_dashboard.settings import ServerLimits
    folder = Path(sys.argv[1])
    desk = Attempts(folder, Library(folder, ServerLimits(workers=0, free_disk_bytes=0)), 0)
    desk.resume()
    desk.start(RecordingRequest("running", "SampleApp", 4215, seconds=60))
    while True:
        time.sleep(1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_interrupted_or_killed_costs_no_recording(
    tmp_path: Path, xctrace: FakeXctrace, number: signal.Signals
) -> None:
    """Ctrl-C goes to the whole group of a terminal; xctrace and its keeper are not in it."""
    command = [sys.executable, "-c", textwrap.dedent(SERVER), str(tmp_path / "library")]
    xctrace.configure(second_interrupt="aborts", save_seconds=0.5)
    server = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: list(tmp_path.glob("library/recorded/*/*.trace")))
        os.killpg(server.pid, number)
        server.wait(60)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    wait_for(lambda: xctrace.running() == [])
    with opened(tmp_path / "library") as library:
        desk_of(library, tmp_path)
        wait_for(library.list_recordings)
        (recording,) = library.list_recordings()
        assert (Path(recording.path) / "form.template").exists()


def test_the_process_that_records_is_interrupted(
    library: Library, xctrace: FakeXctrace, tmp_path: Path
) -> None:
    desk = desk_of(library, tmp_path)
    attempt = desk.start(LONG)
    until_recording(desk, attempt)
    process_of(desk, attempt).send(signal.SIGTERM)
    assert len(until_opened(desk, attempt)) == 1


def test_the_process_that_records_is_killed(library: Library, xctrace: FakeXctrace, tmp_path: Path) -> None:
    """xctrace is in a session of its own, goes on to its time limit, and what it saves is found."""
    desk = desk_of(library, tmp_path)
    attempt = desk.start(RecordingRequest("running", "SampleApp", 4215, seconds=3))
    until_recording(desk, attempt)
    wait_for(lambda: list(tmp_path.glob("library/recorded/*/*.trace")))
    process_of(desk, attempt).send(signal.SIGKILL)
    state = until(desk, attempt, "lost")
    assert "was killed" in state.message and "will be found" in state.message
    (number,) = until_opened(desk, attempt)
    assert "was killed" in library.find_recording(number).note
    assert desk.list_attempts() == []


# One at a time --------------------------------------------------------------------------------------------


def test_two_tabs_that_start_at_once(desk: Attempts, xctrace: FakeXctrace) -> None:
    first = desk.start(APP)
    with pytest.raises(Conflict, match=r"^SampleApp \(pid 4215\) is being recorded already"):
        desk.start(APP)
    until_opened(desk, first)
    until_opened(desk, desk.start(APP))


def test_another_recorder_is_at_work(desk: Attempts, xctrace: FakeXctrace) -> None:
    xctrace.configure(kperf="busy")
    state = until(desk, desk.start(APP), "failed")
    assert "Another recording is running" in state.message


# What goes wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attach": "refused"}, "or record all processes."),
        ({"attach": "restricted"}, "System Integrity Protection"),
        ({"processes": [{"pid": 1, "path": "/sbin/launchd"}]}, "SampleApp (pid 4215) has ended."),
        ({"processes": [{"pid": 4215, "path": "/bin/other"}]}, "SampleApp (pid 4215) has ended."),
        ({"xcode": "licence"}, "The licence of Xcode was not accepted"),
        ({"xcode": "none"}, "Install Xcode and select it"),
        ({"templates": [], "instruments": ["Leaks"]}, "none of the instruments"),
        ({"sandbox": True}, "The kernel refused to record"),
    ],
)
def test_xctraces_refusal_in_a_sentence(
    desk: Attempts, xctrace: FakeXctrace, tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    xctrace.configure(**settings)
    state = until(desk, desk.start(APP), "failed")
    assert message in state.message
    assert " --" not in state.message.replace("xcode-select --switch", "")
    assert str(tmp_path) not in state.message


def test_a_full_disk_leaves_what_there_is(library: Library, desk: Attempts, xctrace: FakeXctrace) -> None:
    xctrace.configure(disk="full")
    attempt = desk.start(APP)
    state = until(desk, attempt, "failed")
    assert "The disk is full." in state.message
    assert state.left.startswith("SampleApp-")
    recording = desk.open_partial(attempt)
    assert library.find_recording(recording.id).name == state.left
    assert desk.list_attempts() == []


@pytest.mark.usefixtures("recording_threads")
def test_no_room_to_begin(library: Library, tmp_path: Path, xctrace: FakeXctrace) -> None:
    desk = Attempts(tmp_path / "library", library, min_free_bytes=1 << 60)
    state = until(desk, desk.start(APP), "failed")
    assert state.message.startswith("Only ") and state.message.endswith("Free some space.")


def test_the_disk_takes_no_state(
    library: Library, desk: Attempts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(attempts_module, "write_state", lambda *_: False)
    with pytest.raises(NoSpace, match=r"^Nothing can be recorded: No space left on device\.$"):
        desk.start(APP)
    assert recorded(tmp_path) == []


def test_an_unfinished_recording_names_the_command_that_recovers_it(
    desk: Attempts, xctrace: FakeXctrace, tmp_path: Path
) -> None:
    xctrace.configure(interrupt_saves=False)
    attempt = desk.start(LONG)
    until_recording(desk, attempt)
    desk.stop(attempt)
    state = until(desk, attempt, "failed")
    assert "was not finished: it was stopped, and xctrace did not save it." in state.message
    assert f"import --input {tmp_path}/library/recorded/{attempt}/{state.left}/" in state.command
    desk.discard(attempt)
    assert recorded(tmp_path) == []


def test_who_insists_kills_and_not_before(desk: Attempts, xctrace: FakeXctrace) -> None:
    xctrace.configure(hang="saving")
    attempt = desk.start(LONG)
    until_recording(desk, attempt)
    desk.stop(attempt)
    until(desk, attempt, "saving")
    desk.stop(attempt)
    wait_for(lambda: state_of(desk, attempt).insist_until > time.time())
    assert xctrace.running() != []
    desk.stop(attempt)
    assert (
        "xctrace was killed while it was saving, after a repeated stop request"
        in until(desk, attempt, "failed").message
    )


def test_a_server_that_ends_after_a_request_to_stop_kills_nothing(
    tmp_path: Path, xctrace: FakeXctrace
) -> None:
    end = tmp_path / "end"
    xctrace.configure(save_until=str(end))
    with opened(tmp_path / "library") as library:
        desk = desk_of(library, tmp_path)
        attempt = desk.start(LONG)
        until_recording(desk, attempt)
        desk.stop(attempt)
        until(desk, attempt, "saving")
        desk.stop(attempt)
        wait_for(lambda: state_of(desk, attempt).insist_until > time.time())
        library.queue.close()
    end.touch()
    with opened(tmp_path / "library") as library:
        assert len(until_opened(desk_of(library, tmp_path), attempt)) == 1


@pytest.mark.usefixtures("recording_threads")
def test_a_failure_is_shown_after_a_restart_until_it_is_read(tmp_path: Path, xctrace: FakeXctrace) -> None:
    xctrace.configure(attach="refused")
    with opened(tmp_path / "library") as library:
        desk = desk_of(library, tmp_path)
        attempt = desk.start(APP)
        until(desk, attempt, "failed")
    with opened(tmp_path / "library") as library:
        desk = desk_of(library, tmp_path)
        assert state_of(desk, attempt).phase == "failed"
        desk.close_attempt(attempt)
        assert desk.list_attempts() == []


@pytest.mark.parametrize("name", ["0" * 32, "../../catalog.sqlite3", "", "20260101-000000-00000000"])
def test_an_attempt_that_is_none(desk: Attempts, name: str) -> None:
    for act in (desk.stop, desk.discard, desk.close_attempt, desk.open_partial):
        with pytest.raises(NotFound):
            act(name)
