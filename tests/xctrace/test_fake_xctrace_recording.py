"""The fake xctrace records, stops, saves, hangs and dies as xctrace does."""

from __future__ import annotations

import os
import re
import signal
import sys
import time

import pytest
from fake_xctrace_support import ATTACH, HOST, LONG, PHONE, SHORT, WORK, Mac, ended, mac, until, wait_for_line

pytestmark = pytest.mark.integration

__all__ = ["mac"]


# Recording ------------------------------------------------------------------------------------------------


def test_a_recording_reports_and_saves(mac: Mac) -> None:
    done = mac.run(*ATTACH)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Starting recording with the Time Profiler template. Attaching to: SampleApp (4215). Time limit: 0.05 s\n"
        "Ctrl-C to stop the recording\n"
        "Reached specified time limit, ending recording...\n"
        "Recording completed. Saving output file...\n"
        "Output file saved as: a.trace\n"
    )
    assert mac.finished() and not list(mac.work.rglob("Attachments"))


def test_instruments_alone_make_a_blank_template(mac: Mac) -> None:
    done = mac.run(
        "record", "--instrument", "GPU", "--instrument", "Core ML", "--all-processes", "--time-limit", "10ms"
    )
    assert done.stdout.splitlines()[0] == (
        "Starting recording with the Blank template and GPU, Core ML Instruments. Targeting All Processes. Time limit: 0.01 s"
    )


def test_an_existing_trace_is_not_overwritten(mac: Mac) -> None:
    mac.run(*ATTACH)
    assert mac.error(*ATTACH) == (1, "The output file exists already: a.trace")


def test_a_directory_gets_a_unique_name(mac: Mac) -> None:
    (mac.work / "out").mkdir()
    for _ in range(2):
        output = mac.run(*SHORT, "--attach", "SampleApp", "--output", "out").stdout
        assert re.search(
            r"saved as: out/Attach_SampleApp_\d{4}-\d\d-\d\d_\d\d\.\d\d\.\d\d_[0-9A-F]{8}\.trace\n", output
        )
    assert len(list((mac.work / "out").iterdir())) == 2


def test_a_silent_recorder_records(mac: Mac) -> None:
    mac.fake.configure(prints=False)
    done = mac.run(*ATTACH)
    assert (done.returncode, done.stdout + done.stderr, mac.finished()) == (0, "", True)


def test_run_issues_are_reported_and_the_trace_is_saved(mac: Mac) -> None:
    mac.fake.configure(run_issues=["Failed to stop recording session: Failed stoping ktrace session."])
    done = mac.run(*ATTACH)
    assert done.returncode == 54 and mac.finished()
    assert done.stdout.splitlines()[-5:] == [
        "Run issues were detected (trace is still ready to be viewed):",
        "* [Error] Failed to stop recording session: Failed stoping ktrace session.",
        "",
        "Recording failed with errors. Saving output file...",
        "Output file saved as: a.trace",
    ]


def test_a_forced_exit_code_comes_with_a_saved_trace(mac: Mac) -> None:
    mac.fake.configure(exit_code=3)
    assert (mac.run(*ATTACH).returncode, mac.finished()) == (3, True)


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        ({"attach": "refused"}, 2, "Failed to attach to target: Failed to attach to target process."),
        ({"attach": "restricted"}, 2, "Target process is marked restricted and cannot be traced while System Integrity Protection is enabled"),
        ({"kperf": "busy"}, 2, "_lockKPerf: could not lock kperf. Likely another session just started."),
    ],
)  # fmt: skip
def test_a_recording_that_cannot_begin_leaves_nothing(
    mac: Mac, settings: dict[str, object], code: int, message: str
) -> None:
    assert mac.error(*ATTACH, **settings) == (code, message)
    assert not list(mac.work.iterdir())


def test_two_recorders_collide(mac: Mac) -> None:
    first = mac.start(*LONG)
    wait_for_line(first, "Ctrl-C")
    assert mac.error(*SHORT, "--all-processes") == (
        2,
        "_lockKPerf: could not lock kperf. Likely another session just started.",
    )
    first.send_signal(signal.SIGINT)
    assert ended(first)[0] == 54


def test_a_sandboxed_recording_has_no_rows(mac: Mac) -> None:
    mac.fake.configure(sandbox=True)
    done = mac.run(*ATTACH)
    assert "* [Error] Failed to start the recording: Could not set the recording priority." in done.stdout
    assert mac.finished()
    answer = mac.export("//table")
    assert '<schema name="time-profile"' in answer and "<row>" not in answer


@pytest.mark.parametrize(
    ("state", "target", "message"),
    [
        ("locked", ("--launch", "--", "com.example.app"), "Unable to launch com.example.app because the device was not, or could not be, unlocked."),
        ("locked", ("--all-processes",), "The device is locked."),
        ("developer-mode-off", ("--all-processes",), "The operation failed because Developer Mode is disabled."),
    ],
)  # fmt: skip
def test_a_phone_may_not_be_ready(mac: Mac, state: str, target: tuple[str, ...], message: str) -> None:
    settings = {"devices": [HOST, PHONE], "device": state}
    assert mac.error(*SHORT, "--device", PHONE["udid"], *target, **settings) == (1, message)
    assert mac.run(*SHORT, "--all-processes").returncode == 0


def test_a_phone_may_go_in_the_middle(mac: Mac) -> None:
    mac.fake.configure(devices=[HOST, PHONE], device="disconnects")
    done = mac.run(
        *SHORT, "--device", PHONE["udid"], "--output", "a.trace", "--launch", "--", "com.example.app"
    )
    assert "* [Error] The device was disconnected." in done.stdout
    assert (done.returncode, mac.finished()) == (54, True)


def test_a_full_disk_leaves_a_part(mac: Mac) -> None:
    mac.fake.configure(disk="full")
    done = mac.run(*ATTACH)
    assert (done.returncode, done.stderr) == (1, "Failed to save the trace: No space left on device\n")
    assert "Output file saved" not in done.stdout
    assert any((mac.work / "a.trace").iterdir()) and not mac.finished()


def test_impossible_instruments_are_run_issues(mac: Mac) -> None:
    output = mac.run("record", "--template", "Allocations", "--all-processes", "--time-limit", "10ms").stdout
    assert "* [Error] Allocations cannot handle a target type of 'All Processes'\n" in output


# The target -----------------------------------------------------------------------------------------------


def test_a_launched_target_gets_arguments_environment_and_streams(mac: Mac) -> None:
    (mac.work / "in.txt").write_text("from a file")
    program = (
        sys.executable,
        "-c",
        "import os, sys; print(os.environ['A'], sys.argv[1], sys.stdin.read())",
        "--x",
    )
    done = mac.run(
        *SHORT[:3],
        "--time-limit",
        "9s",
        "--env",
        "A=a=b",
        "--target-stdin",
        "in.txt",
        "--target-stdout",
        "-",
        "--launch",
        "--",
        *program,
    )
    assert done.returncode == 54
    assert "a=b --x from a file\nTarget app exited, ending recording...\nRecording completed." in done.stdout


def test_the_output_of_a_target_goes_to_a_file_or_nowhere(mac: Mac) -> None:
    program = (sys.executable, "-c", "print('hello')")
    done = mac.run(*SHORT[:3], "--target-stdout", "out.txt", "--launch", "--", *program)
    assert (mac.work / "out.txt").read_text() == "hello\n" and "hello" not in done.stdout
    assert "hello" not in mac.run(*SHORT[:3], "--launch", "--", *program).stdout


def test_a_target_is_killed_at_the_limit(mac: Mac) -> None:
    done = mac.run(*SHORT, "--output", "a.trace", "--launch", "--", *WORK)
    assert "Reached specified time limit" in done.stdout
    assert (done.returncode, mac.finished(), mac.fake.running()) == (54, True, [])


def test_a_target_lies_outside_of_the_recorders_process_group(mac: Mac) -> None:
    child = mac.start(*LONG[:5], "--launch", "--", *WORK)
    until(lambda: len(mac.fake.running()) == 2)
    (target,) = set(mac.fake.running()) - {child.pid}
    assert os.getpgid(target) == target != os.getpgid(child.pid)
    child.send_signal(signal.SIGINT)
    code, output = ended(child)
    assert code == 54 and "Stopping recording...\nRecording completed." in output
    assert not mac.fake.running()


def test_an_app_is_launched_by_its_folder(mac: Mac) -> None:
    inside = mac.work / "My.app" / "Contents" / "MacOS"
    inside.mkdir(parents=True)
    (inside / "My Tool").write_text(f"#!{sys.executable}\nprint('I run')")
    (inside / "My Tool").chmod(0o755)
    output = mac.run(*SHORT[:3], "--target-stdout", "-", "--launch", "--", "My.app").stdout
    assert "Launching process: My Tool.\n" in output and "I run\n" in output


def test_an_attached_process_may_end_by_itself(mac: Mac) -> None:
    mac.fake.configure(processes=[{"pid": 4215, "path": "/App", "ends_after": 0.02}])
    done = mac.run(*LONG)
    assert "Target app exited, ending recording..." in done.stdout and done.returncode == 54


# Signals and hangs ----------------------------------------------------------------------------------------


def test_ctrl_c_saves_and_sigterm_is_ignored_while_recording(mac: Mac) -> None:
    child = mac.start(*LONG)
    wait_for_line(child, "Ctrl-C")
    child.terminate()
    (growing,) = mac.work.glob("a.trace/Trace1.run/Attachments/trace-data.atrc")
    size = growing.stat().st_size
    until(lambda: growing.stat().st_size > size)
    assert child.poll() is None and not mac.finished()
    child.send_signal(signal.SIGINT)
    assert ended(child) == (
        54,
        "Stopping recording...\nRecording completed. Saving output file...\nOutput file saved as: a.trace\n",
    )
    assert mac.finished()


def test_ctrl_c_may_lose_the_recording(mac: Mac) -> None:
    child = mac.start(*LONG, interrupt_saves=False)
    wait_for_line(child, "Ctrl-C")
    child.send_signal(signal.SIGINT)
    assert ended(child) == (54, "Stopping recording...\n")
    assert (mac.work / "a.trace").exists() and not mac.finished()


@pytest.mark.parametrize(("second", "saved"), [("ignored", True), ("aborts", False)])
def test_a_second_ctrl_c_may_lose_the_recording(mac: Mac, second: str, saved: bool) -> None:
    end = mac.work.parent / "end"
    child = mac.start(*LONG, second_interrupt=second, save_until=str(end))
    wait_for_line(child, "Ctrl-C")
    child.send_signal(signal.SIGINT)
    wait_for_line(child, "Recording completed")
    child.send_signal(signal.SIGINT)
    if saved:
        time.sleep(0.1)
        assert child.poll() is None
        end.touch()
    assert ended(child)[0] == 54
    assert mac.finished() == saved


def test_a_hang_at_the_start_obeys_ctrl_c(mac: Mac) -> None:
    child = mac.start(*LONG, hang="start")
    wait_for_line(child, "Starting recording")
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    assert ended(child) == (54, "")
    assert not list(mac.work.iterdir())


def test_a_hang_at_the_limit_obeys_ctrl_c(mac: Mac) -> None:
    child = mac.start(*ATTACH, hang="time-limit")
    wait_for_line(child, "Ctrl-C")
    time.sleep(0.2)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    assert ended(child)[0] == 54 and mac.finished()


@pytest.mark.parametrize(
    ("hang", "ends_it"), [("saving", signal.SIGTERM), ("saving-ignores-interrupt", signal.SIGKILL)]
)
def test_a_hang_while_saving_ends_by_force_and_leaves_an_unfinished_trace(
    mac: Mac, hang: str, ends_it: signal.Signals
) -> None:
    child = mac.start(*LONG, hang=hang)
    wait_for_line(child, "Ctrl-C")
    child.send_signal(signal.SIGINT)
    wait_for_line(child, "Recording completed")
    for number in {signal.SIGINT, signal.SIGTERM} - {ends_it}:
        if hang == "saving-ignores-interrupt" or number == signal.SIGINT:
            child.send_signal(number)
    time.sleep(0.1)
    assert child.poll() is None
    child.send_signal(ends_it)
    assert ended(child)[0] == -ends_it
    assert mac.error("export", "--input", "a.trace", "--toc") == (
        10,
        "Export failed: Document Missing Template Error",
    )


def test_a_recorder_that_dies_leaves_an_unfinished_trace_and_the_target(mac: Mac) -> None:
    mac.fake.configure(dies=0.05)
    done = mac.run(*LONG[:5], "--output", "a.trace", "--launch", "--", *WORK)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in mac.work.rglob("*.atrc")] == ["trace-data.atrc"] and not mac.finished()
    (target,) = mac.fake.running()
    os.kill(target, signal.SIGKILL)
    until(lambda: not mac.fake.running())


def test_raw_data_can_be_imported(mac: Mac) -> None:
    mac.fake.configure(dies=0.02)
    mac.run(*ATTACH)
    raw = "a.trace/Trace1.run/Attachments/trace-data.atrc"
    done = mac.run("import", "--input", raw, "--template", "Time Profiler", "--output", "b.trace")
    assert done.returncode == 0 and mac.finished("b.trace")
