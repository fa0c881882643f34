"""The journal beside a recording: what it holds, and what it must not hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.errors import UsageError
from tracekit.record.interleaving import SeriesPlace
from tracekit.record.journal import hide_environment_values, write_journal
from tracekit.record.output_path import build_journal_path
from tracekit.record.recorder import RecordLimits, XctraceRun
from tracekit.record.recording_plan import InstrumentPlan
from tracekit.record.recording_result import RecordingResult
from tracekit.record.session import RecordingAttempt, RecordSettings, build_xctrace_command
from tracekit.record.target import Target
from tracekit.record.xctrace_failures import Failure
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version

TOOL = Xctrace("/Xcode.app/xctrace")
VERSION = Version("16.0", (17, "F", 42, ""))
PLAN = InstrumentPlan("Core ML", ("GPU",), (("Core ML", "why it"), ("GPU", "requested")), ("a note",))
OUTPUT = ("Starting recording with the Blank template.", "password: hunter2", "Output file saved as: x.trace")
RUN = XctraceRun(
    ("xctrace", "record"),
    54,
    OUTPUT,
    "asked",
    False,
    1_700_000_000.0,
    1_700_000_001.5,
    None,
    1_700_000_009.25,
)
SETTINGS = RecordSettings(PLAN, Target("attach", "MyApp", "501"), RecordLimits(10))


def recording(bundle: Path, *runs: XctraceRun, **more: Any) -> RecordingAttempt:
    return RecordingAttempt(
        bundle, bundle, RecordingResult("good"), runs or (RUN,), replace(SETTINGS, **more)
    )


def written(attempt: RecordingAttempt) -> dict[str, Any]:
    path = write_journal(attempt, TOOL, VERSION, "0.1.0")
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def test_the_journal_lies_beside_the_recording(tmp_path: Path) -> None:
    assert build_journal_path(tmp_path / "a.b.trace") == tmp_path / "a.b.recording.json"


def test_it_holds_commands_versions_and_times(tmp_path: Path) -> None:
    journal = written(recording(tmp_path / "x.trace"))
    assert journal["schema"] == "tracekit-recording/1"
    assert (journal["trace"], journal["tracekit"], journal["state"]) == ("x.trace", "0.1.0", "good")
    assert journal["xctrace"] == {"path": "/Xcode.app/xctrace", "version": "16.0", "build": "17F42"}
    assert journal["plan"] == {
        "template": "Core ML",
        "instruments": ["GPU"],
        "reasons": [["Core ML", "why it"], ["GPU", "requested"]],
        "notes": ["a note"],
    }
    assert journal["target"] == {"kind": "attach", "name": "MyApp", "pid": None}
    assert journal["runs"] == [
        {
            "command": ["xctrace", "record"],
            "shell": "xctrace record",
            "exit_code": 54,
            "stopped_by": "asked",
            "killed": False,
            "started": "2023-11-14T22:13:20.000+00:00",
            "recording_from": "2023-11-14T22:13:21.500+00:00",
            "saving_from": None,
            "ended": "2023-11-14T22:13:29.250+00:00",
            "said": list(OUTPUT),
        }
    ]


def test_it_holds_the_place_among_recordings_of_two_targets(tmp_path: Path) -> None:
    attempt = recording(tmp_path / "x.trace")
    path = write_journal(attempt, TOOL, VERSION, "0.1.0", SeriesPlace("new", 2, 3, 10))
    assert json.loads(path.read_text("utf-8"))["interleaved"] == {
        "side": "new",
        "number": 2,
        "position": 3,
        "recordings": 10,
    }
    assert written(attempt)["interleaved"] is None


def test_a_failure_is_written_with_its_advice(tmp_path: Path) -> None:
    result = RecordingResult("unfinished", Failure("sandbox", "It failed.", "Do this."), ("an issue",))
    journal = written(replace(recording(tmp_path / "x.trace"), result=result))
    assert (journal["state"], journal["failure"], journal["run_issues"]) == (
        "unfinished",
        "It failed. Do this.",
        ["an issue"],
    )


def test_what_the_target_printed_is_left_out(tmp_path: Path) -> None:
    journal = written(recording(tmp_path / "x.trace", target_output="-"))
    assert journal["runs"][0]["said"] == [OUTPUT[0], OUTPUT[2]]


def test_several_runs_of_xctrace_are_all_there(tmp_path: Path) -> None:
    journal = written(recording(tmp_path / "x.trace", replace(RUN, exit_code=21), RUN))
    assert [run["exit_code"] for run in journal["runs"]] == [21, 54]


# Secrets --------------------------------------------------------------------------------------------------


def command(**more: Any) -> list[str]:
    launched = Target("launch", "tool", "/bin/tool", ("--env", "KEY=shown", "--launch", "--env", "B=too"))
    return build_xctrace_command(TOOL, Path("x.trace"), replace(SETTINGS, **{"target": launched, **more}))


@pytest.mark.parametrize(
    ("name", "value"),
    [("TOKEN", "hunter2"), ("TOKEN", "a=hunter2=b"), ("TOKEN", "--launch hunter2"), ("--launch", "hunter2")],
)
def test_values_of_variables_are_hidden(name: str, value: str) -> None:
    words = hide_environment_values(command(environment=((name, value), ("LAST", "hunter2"))))
    assert not any("hunter2" in word for word in words)
    assert f"{name}=<hidden>" in words
    assert "LAST=<hidden>" in words


def test_arguments_of_the_target_that_look_like_variables_stay() -> None:
    assert hide_environment_values(command())[-7:] == [
        "--",
        "/bin/tool",
        "--env",
        "KEY=shown",
        "--launch",
        "--env",
        "B=too",
    ]


def test_the_compute_units_stay() -> None:
    assert "TRACEKIT_COMPUTE_UNITS=cpuOnly" in hide_environment_values(
        command(environment=(("TRACEKIT_COMPUTE_UNITS", "cpuOnly"),))
    )


@pytest.mark.parametrize(
    "more", [{"run_name": "--launch"}, {"run_name": "--env"}, {"target_input": "--launch"}]
)
def test_other_words_that_look_like_options_uncover_nothing(more: dict[str, str]) -> None:
    words = hide_environment_values(command(environment=(("TOKEN", "hunter2"),), **more))
    assert not any("hunter2" in word for word in words)


def test_no_value_reaches_the_file(tmp_path: Path) -> None:
    words = command(environment=(("TOKEN", "hunter2"),))
    attempt = recording(
        tmp_path / "x.trace",
        replace(RUN, command=tuple(words), output=()),
        environment=(("TOKEN", "hunter2"),),
    )
    assert "hunter2" not in write_journal(attempt, TOOL, VERSION, "0.1.0").read_text("utf-8")


# Earlier journals -----------------------------------------------------------------------------------------


def test_an_added_run_keeps_the_earlier_ones(tmp_path: Path) -> None:
    written(recording(tmp_path / "x.trace", replace(RUN, exit_code=1)))
    written(recording(tmp_path / "x.trace", replace(RUN, exit_code=2), append=True))
    journal = written(recording(tmp_path / "x.trace", replace(RUN, exit_code=3), append=True))
    assert [run["exit_code"] for run in journal["runs"]] == [1, 2, 3]


def test_a_fresh_recording_replaces_the_journal_of_an_earlier_one(tmp_path: Path) -> None:
    written(recording(tmp_path / "x.trace", replace(RUN, exit_code=1)))
    assert [run["exit_code"] for run in written(recording(tmp_path / "x.trace"))["runs"]] == [54]


@pytest.mark.parametrize(
    "damaged",
    [b"", b"{", b"\xff", b"[]", b"{}", b'{"runs": 5}', b'{"runs": null}', b"[" * 100_000, b"7"],
    ids=lambda content: content[:12].decode("latin-1"),
)
def test_a_damaged_earlier_journal_is_ignored(tmp_path: Path, damaged: bytes) -> None:
    build_journal_path(tmp_path / "x.trace").write_bytes(damaged)
    assert len(written(recording(tmp_path / "x.trace", append=True))["runs"]) == 1


def test_a_journal_that_cannot_be_written_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = write_journal(recording(tmp_path / "x.trace"), TOOL, VERSION, "0.1.0").read_bytes()

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match=r"x\.recording\.json cannot be written: No space left on device\."):
        write_journal(recording(tmp_path / "x.trace"), TOOL, VERSION, "0.2.0")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x.recording.json": before}


def test_a_folder_in_the_journals_place_is_an_error_in_words(tmp_path: Path) -> None:
    build_journal_path(tmp_path / "x.trace").mkdir()
    with pytest.raises(UsageError, match=r"x\.recording\.json cannot be written"):
        write_journal(recording(tmp_path / "x.trace"), TOOL, VERSION, "0.1.0")
    assert [path.name for path in tmp_path.iterdir()] == ["x.recording.json"]


def test_text_that_is_no_unicode_is_written_all_the_same(tmp_path: Path) -> None:
    journal = written(recording(tmp_path / "x.trace", replace(RUN, output=("\udcff’",))))
    assert journal["runs"][0]["said"] == ["?’"]
