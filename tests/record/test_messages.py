"""Messages about a finished recording, from literal runs and results."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.record.messages import build_recording_error, format_saved_message
from tracekit.record.recorder import RecordLimits, StopReason, XctraceRun
from tracekit.record.recording_plan import InstrumentPlan
from tracekit.record.recording_result import RecordingResult, ResultState
from tracekit.record.session import RecordingAttempt, RecordSettings
from tracekit.record.target import ALL_PROCESSES
from tracekit.record.xctrace_failures import Failure
from tracekit.xctrace.tool import Xctrace

TOOL = Xctrace("/Applications/Xcode beta.app/xctrace")
OUTPUT = (
    "Starting recording with the Blank template.",
    "Ctrl-C to stop the recording",
    "Output file saved as: x",
)
RUN = XctraceRun(("xctrace",), 0, OUTPUT, "", False, 100.0, 101.0, 111.0, 114.5)
FAILURE = Failure("sandbox", "The kernel refused to record.", "Record from a Terminal of your own.")


def recording(bundle: Path, result: RecordingResult, run: XctraceRun = RUN) -> RecordingAttempt:
    return RecordingAttempt(
        bundle,
        bundle,
        result,
        (run,),
        RecordSettings(InstrumentPlan(None, ("GPU",)), ALL_PROCESSES, RecordLimits(10)),
    )


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A recording of 1.5 MB."""
    folder = tmp_path / "x.trace"
    (folder / "Trace1.run").mkdir(parents=True)
    (folder / "Trace1.run" / "data").write_bytes(b"x" * 1_500_000)
    return folder


# What can be used -----------------------------------------------------------------------------------------


def test_a_good_recording_is_one_line(bundle: Path) -> None:
    assert (
        format_saved_message(recording(bundle, RecordingResult("good")))
        == f"Saved {bundle} (1.5 MB) in 3.5 s"
    )


def test_run_issues_are_reported_and_many_are_counted(bundle: Path) -> None:
    notes = tuple(f"issue {number}" for number in range(8))
    lines = format_saved_message(recording(bundle, RecordingResult("good", notes=notes))).splitlines()
    assert lines[1:6] == [f"xctrace reports: issue {number}" for number in range(5)]
    assert lines[6:] == [f"xctrace reports 3 more: see {bundle.with_name('x.recording.json')}"]


def test_a_recording_cut_short_by_the_disk_is_reported(bundle: Path) -> None:
    text = format_saved_message(recording(bundle, RecordingResult("good"), replace(RUN, stop_reason="disk")))
    assert text.endswith("It is shorter than requested: the disk was nearly full.")


def test_a_recording_without_samples_comes_with_the_likely_cause(bundle: Path) -> None:
    assert format_saved_message(recording(bundle, RecordingResult("empty"))).endswith(
        "It has no samples. The target may have been idle, or have ended at once."
    )
    assert format_saved_message(recording(bundle, RecordingResult("empty", FAILURE))).endswith(
        f"It has no samples. {FAILURE}"
    )


# What cannot ----------------------------------------------------------------------------------------------


def test_a_known_failure_comes_with_its_way_out(tmp_path: Path) -> None:
    error = build_recording_error(recording(tmp_path / "x.trace", RecordingResult("missing", FAILURE)), TOOL)
    assert (str(error), error.lines, error.exit_code) == (f"Nothing was recorded. {FAILURE}", (), 4)


def test_an_unknown_failure_is_reported_in_xctraces_words(tmp_path: Path) -> None:
    run = replace(RUN, exit_code=1, output=(*OUTPUT[:2], "Something new.", "  It went wrong."))
    error = build_recording_error(recording(tmp_path / "x.trace", RecordingResult("missing"), run), TOOL)
    assert "xctrace reported: Something new. " in str(error)
    assert "It went wrong." in str(error)
    assert "Ctrl-C" not in str(error)


def test_an_xctrace_without_output_is_reported_by_its_exit_code(tmp_path: Path) -> None:
    error = build_recording_error(
        recording(tmp_path / "x.trace", RecordingResult("missing"), replace(RUN, exit_code=21, output=())),
        TOOL,
    )
    assert str(error) == "Nothing was recorded. xctrace wrote no message (exit code 21)."


def test_an_added_run_that_failed_leaves_the_earlier_ones_unchanged(tmp_path: Path) -> None:
    attempt = recording(tmp_path / "x.appending.trace", RecordingResult("missing", FAILURE))
    attempt = replace(attempt, final=tmp_path / "x.trace", settings=replace(attempt.settings, append=True))
    assert f"Nothing was recorded; {tmp_path}/x.trace is unchanged" in str(
        build_recording_error(attempt, TOOL)
    )


@pytest.mark.parametrize(
    ("reason", "code", "began", "text"),
    [
        ("insisted", -9, 101.0, "xctrace was killed while it was saving, after a repeated stop request"),
        (
            "silent",
            -9,
            101.0,
            "xctrace showed no activity while it was saving (--save-timeout) and was killed",
        ),
        ("asked", 54, 101.0, "it was stopped, and xctrace did not save it"),
        ("asked", 54, None, "it was stopped before it began"),
        ("overdue", 54, 101.0, "xctrace did not stop at its time limit"),
        ("disk", 54, 101.0, "the disk was nearly full"),
        ("", -9, 101.0, "xctrace was ended by signal 9"),
    ],
)
def test_every_end_has_its_reason(
    bundle: Path, reason: StopReason, code: int, began: float | None, text: str
) -> None:
    run = replace(RUN, stop_reason=reason, exit_code=code, recording_from=began)
    error = str(build_recording_error(recording(bundle, RecordingResult("unfinished"), run), TOOL))
    assert error.startswith(f"{bundle} was not finished: {text}.")


@pytest.mark.parametrize(
    ("state", "text"),
    [("unreadable", "cannot be read"), ("unfinished", "was not finished"), ("empty", "has no samples")],
)
def test_every_state_has_its_words(bundle: Path, state: ResultState, text: str) -> None:
    assert str(
        build_recording_error(recording(bundle, RecordingResult(state, detail="Why.")), TOOL)
    ).startswith(f"{bundle} {text}.")


def test_an_unfinished_recording_with_raw_data_comes_with_the_command_that_recovers_it(bundle: Path) -> None:
    raw = bundle / "Trace1.run" / "Attachments" / "trace-data.atrc"
    raw.parent.mkdir()
    raw.touch()
    error = build_recording_error(
        recording(bundle, RecordingResult("unfinished"), replace(RUN, exit_code=-9)), TOOL
    )
    assert str(error).endswith("This command may recover the raw data (untested):")
    (command,) = error.lines
    recovered = str(bundle.with_name("x.recovered.trace"))
    assert shlex.split(command) == [
        TOOL.path,
        "import",
        "--input",
        str(raw),
        "--template",
        "Time Profiler",
        "--output",
        recovered,
    ]


def test_an_unfinished_recording_without_raw_data_is_to_be_made_again(bundle: Path) -> None:
    error = build_recording_error(
        recording(bundle, RecordingResult("unfinished"), replace(RUN, exit_code=-9)), TOOL
    )
    assert (str(error).endswith("Record again."), error.lines) == (True, ())
