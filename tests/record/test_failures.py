"""Messages of xctrace, as public projects quote them, and the failures they are recognised as."""

from __future__ import annotations

import pytest

from tracekit.record.xctrace_failures import find_known_failure, list_run_issues

SUCCESS = [
    "Starting recording with the Time Profiler template. Attaching to: ProbeFixture (27364). Time limit: 5.0 s",
    "Ctrl-C to stop the recording",
    "Reached specified time limit, ending recording...",
    "Recording completed. Saving output file...",
    "Output file saved as: time-profiler.trace",
]
PARTLY = [
    "Starting recording with the Time Profiler template. Attaching to: sleep (36937). Time limit: 3.0 s",
    "Ctrl-C to stop the recording",
    "Reached specified time limit, ending recording...",
    "Run issues were detected (trace is still ready to be viewed):",
    "* [Error] Failed to stop recording session: Failed stoping ktrace session. ",
    "* [Warning] Data rate might be too high",
    "Recording failed with errors. Saving output file...",
    "Output file saved as: rtk_profile2.trace",
]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Cannot find process matching name: NoSuchApp", "no-such-process"),
        ("Cannot find process for provided pid: 4999", "process-gone"),
        ("Failed to attach to target: Failed to attach to target process.", "attach-refused"),
        (
            "Target process is marked restricted and cannot be traced while System Integrity Protection is enabled",
            "restricted",
        ),
        ("_lockKPerf: could not lock kperf. Likely another session just started.", "recorder-busy"),
        ("Failed to start the recording: Could not set the recording priority.", "refused"),
        ("The device is locked.", "device-locked"),
        ("Unable to launch x because the device was not, or could not be, unlocked.", "device-locked"),
        ("The operation failed because Developer Mode is disabled.", "developer-mode"),
        ("* [Error] Allocations cannot handle a target type of 'All Processes'", "all-processes"),
        ("Recording of 'Network Connections' is not supported in the Simulator.", "not-for-platform"),
        (
            "You have not agreed to the Xcode license agreements. Please run 'sudo xcodebuild -license'",
            "licence",
        ),
        ("Failed to write: No space left on device", "disk-full"),
    ],
)
def test_every_known_failure_has_a_problem_and_advice(message: str, code: str) -> None:
    failure = find_known_failure([*SUCCESS[:2], message])
    assert failure is not None
    assert failure.code == code
    assert failure.problem.endswith(".")
    assert failure.advice.endswith(".")
    assert str(failure) == f"{failure.problem} {failure.advice}"


@pytest.mark.parametrize(
    ("code", "way_out"),
    [
        ("could not lock kperf", "Stop the other xctrace"),
        ("Could not set the recording priority", "Record from a Terminal of your own"),
        ("Failed to attach to target", "com.apple.security.get-task-allow"),
        ("The device is locked.", "Unlock it"),
        ("Cannot find process for provided pid: 1", "--device"),
    ],
)
def test_the_way_out_fits_the_failure(code: str, way_out: str) -> None:
    failure = find_known_failure([code])
    assert failure is not None
    assert way_out in failure.advice


@pytest.mark.parametrize("output", [[], SUCCESS, PARTLY, ["Target app exited, ending recording..."]])
def test_output_without_a_failure_is_not_explained(output: list[str]) -> None:
    assert find_known_failure(output) is None


def test_run_issues_are_what_xctrace_lists() -> None:
    assert list_run_issues(PARTLY) == (
        "Failed to stop recording session: Failed stoping ktrace session.",
        "Data rate might be too high",
    )
    assert list_run_issues(SUCCESS) == ()
