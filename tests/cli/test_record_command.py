"""`tracekit record` as a user runs it, against a strict fake xctrace: every way to fail, nothing lost."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from record_support import APP, FAST, PHONE, SAMPLE, Mac, forgetful, program

from tracekit.cli import main

pytestmark = pytest.mark.integration

# The first command of a user -------------------------------------------------------------------------------------


def test_one_command_from_a_running_app_to_its_verdict(mac: Mac) -> None:
    result = mac.record("--app", "SampleApp", "--time-limit", "100ms")
    assert result.code == 0
    assert result.output.startswith(
        "The model submitted work to the GPU in all 12 calls (seen on stacks, not"
    )
    (trace,) = (name for name in mac.files() if name.endswith(".trace"))
    assert trace.startswith("SampleApp-2")
    assert mac.files() == [trace.replace(".trace", ".recording.json"), trace]
    assert (
        f"Recording SampleApp (running, pid 4215) for 0.1 s into {trace}. Ctrl-C stops and saves."
        in result.error
    )
    assert f"Saved {trace} (" in result.error


def test_xctrace_gets_the_pid_and_always_a_limit(mac: Mac) -> None:
    mac.record("--app", "SampleApp", "-o", "x.trace", "--dry-run")
    mac.record(*APP, "--no-analysis")
    assert mac.commands() == [
        [
            "xctrace",
            *["record", "--output", "x.trace", "--no-prompt", "--template"],
            "CPU Counters",
            *("--instrument", "Core ML", "--instrument", "Neural Engine", "--instrument", "GPU"),
            *["--instrument", "os_signpost", "--time-limit", "100ms", "--attach", "4215"],
        ]
    ]


def test_a_dry_run_prints_what_would_run_ready_to_paste(mac: Mac) -> None:
    result = mac.record("--app", "SampleApp", "--dry-run", "-o", "a b.trace")
    assert result.code == 0
    words = shlex.split(result.output)
    assert words[1:4] == ["record", "--output", "a b.trace"]
    assert words[-4:] == ["--time-limit", "10s", "--attach", "4215"]
    assert mac.files() == [] and mac.commands() == []


def test_a_dry_run_names_the_paths_that_a_real_one_would_use(mac: Mac) -> None:
    mac.record(*APP, "--no-analysis")
    forced = shlex.split(mac.record(*APP, "--force", "--dry-run").output)
    assert forced[forced.index("--output") + 1] == "x.new.trace"
    copy, command = mac.record(*APP, "--append-run", "--dry-run").output.splitlines()
    final = mac.folder / "x.trace"
    assert shlex.split(copy) == ["cp", "-cRp", str(final), str(final.with_name("x.appending.trace"))]
    assert shlex.split(command)[3:6] == [
        str(final.with_name("x.appending.trace")),
        "--no-prompt",
        "--append-run",
    ]
    assert mac.files() == ["x.recording.json", "x.trace"]


def test_a_device_by_its_name_as_people_type_it(mac: Mac) -> None:
    phone = {**PHONE, "name": "Jo’s iPhone"}
    result = mac.record(
        "--app", "9", "--device", "jo's iphone", "-o", "x.trace", "--dry-run", devices=[phone]
    )
    assert f"--device {PHONE['udid']}" in result.output


def test_a_slow_xctrace_is_mentioned(mac: Mac, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracekit.cli import record_terminal

    monkeypatch.setattr(record_terminal, "_SECONDS_BEFORE_MESSAGE", 0.0)
    assert "Listing xctrace's templates and devices …\n" in mac.record(*APP, "--dry-run").error


def test_a_dry_run_of_several_settings_prints_a_line_each(mac: Mac) -> None:
    tool = program(mac, "#!/bin/sh\n")
    lines = mac.record("--app", str(tool), "--compute-units", "all,cpuOnly", "--dry-run").output.splitlines()
    assert ["TRACEKIT_COMPUTE_UNITS=all" in line for line in lines] == [True, False]
    assert ["TRACEKIT_COMPUTE_UNITS=cpuOnly" in line for line in lines] == [False, True]


def test_the_plan_is_shown_with_its_reasons(mac: Mac) -> None:
    result = mac.record("--app", "SampleApp", "--preset", "minimal", "--show-plan")
    assert result.output.startswith(
        "template    Time Profiler  holds Points of Interest, Time Profiler: samples"
    )
    assert mac.commands() == []


def test_the_journal_holds_commands_versions_and_times(mac: Mac) -> None:
    mac.record(*APP, "--no-analysis")
    journal = mac.journal()
    assert journal["schema"] == "tracekit-recording/1"
    assert journal["xctrace"] == {
        "path": str(mac.xctrace.folder / "xctrace"),
        "version": "26.0",
        "build": "17C529",
    }
    (run,) = journal["runs"]  # type: ignore[misc]
    assert run["command"] == [str(mac.xctrace.folder / "xctrace"), *mac.commands()[0][1:]]
    assert run["started"] < run["recording_from"] < run["saving_from"] < run["ended"]
    assert run["said"][-1] == "Output file saved as: x.trace"


@pytest.mark.parametrize("recording", ["ane-intervals-macos26", "gpu-mpsgraph-macos15-bundle"])
def test_a_bundle_without_native_reading_is_exported(mac: Mac, recording: str) -> None:
    result = mac.record(*APP, recording=recording)
    assert result.code == 0
    exported = any(call[1:2] == ["export"] for call in mac.xctrace.calls("xctrace"))
    assert exported == (recording == "ane-intervals-macos26")
    assert ("SpeechEncoder left the Neural Engine after its 7th call" in result.output) == exported


@pytest.mark.parametrize("schemas", ["once", "changed"])
def test_tables_of_several_schemas_by_one_export(mac: Mac, schemas: str) -> None:
    """xctrace may or may not repeat a schema after tables of another (unknown): both must work."""
    mac.record(*APP, "--no-analysis", recording="ane-intervals-macos26", export={"schemas": schemas})
    result = CliRunner().invoke(main, ["tables", "x.trace", "--schema", "os-signpost", "--format", "csv"])
    expected = CliRunner().invoke(main, ["tables", str(SAMPLE), "--schema", "os-signpost", "--format", "csv"])
    assert result.exit_code == 0
    assert result.stdout == expected.stdout and len(result.stdout) > 1000
    analysis = CliRunner().invoke(main, ["analyze", "x.trace"])
    assert "SpeechEncoder left the Neural Engine after its 7th call" in analysis.stdout
    assert "could not be exported" not in analysis.stdout


def test_only_recording(mac: Mac) -> None:
    result = mac.record(*APP, "--no-analysis")
    assert (result.code, result.output) == (0, "")
    assert mac.files() == ["x.recording.json", "x.trace"]


# Exit codes and messages of xctrace decide nothing ---------------------------------------------------------------


@pytest.mark.parametrize("code", [54, 133])  # other codes: tests/record/test_session.py, without a process
def test_a_good_bundle_is_good_whatever_the_exit_code(mac: Mac, code: int) -> None:
    result = mac.record(*APP, exit_code=code)
    assert result.code == 0
    assert "GPU in all 12 calls" in result.output


def test_an_xctrace_without_output(mac: Mac) -> None:
    assert mac.record(*APP, *FAST, prints=False).code == 0


def test_issues_of_the_run_are_reported_and_kept(mac: Mac) -> None:
    result = mac.record(*APP, run_issues=["Failed to stop recording session: Failed stoping ktrace session."])
    assert result.code == 0
    assert "xctrace reports: Failed to stop recording session: Failed stoping ktrace session." in result.error
    assert mac.journal()["run_issues"] == ["Failed to stop recording session: Failed stoping ktrace session."]


# Failures: each has its message and its advice -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "problem", "advice"),
    [
        (
            {"attach": "refused"},
            "macOS refused to attach to this process",
            "com.apple.security.get-task-allow",
        ),
        (
            {"attach": "restricted"},
            "System Integrity Protection does not allow this process to be traced",
            "--all-processes",
        ),
        ({"kperf": "busy"}, "Another recording is running", "wait a minute"),
    ],
)
def test_failures_before_the_recording_begins(
    mac: Mac, settings: dict[str, object], problem: str, advice: str
) -> None:
    result = mac.record(*APP, **settings)
    assert (result.code, result.output) == (4, "")
    assert f"Error: Nothing was recorded. {problem}" in result.error
    assert advice in result.error
    assert mac.files() == []


def test_a_sandbox_records_no_samples(mac: Mac) -> None:
    result = mac.record(*APP, sandbox=True)
    assert result.code == 4
    assert (
        "Error: Nothing was recorded: x.trace has tables without rows. The kernel refused to record: this shell"
        " runs in a sandbox" in result.error
    )
    assert "Record from a Terminal of your own" in result.error
    assert mac.journal()["state"] == "refused"
    assert mac.files() == ["x.recording.json", "x.trace"]


def test_core_ai_without_privilege_is_not_recorded(mac: Mac) -> None:
    """As silicon-ledger EXP-028 saw it on 27.0.1; what was saved shows it later, too."""
    mac.xctrace.configure(version="27.0", build="27A266a")
    result = mac.record(*APP, "--preset", "coreai")
    assert result.code == 4
    assert "note: In Xcode 27.0.1 the template Core AI recorded nothing without privilege" in result.error
    assert "Error: Nothing was recorded: x.trace has tables without rows." in result.error
    assert "with the template Core AI, as root" in result.error
    later = CliRunner().invoke(main, ["analyze", "x.trace", "-v"]).stdout
    assert later.startswith("Nothing was recorded: no table that an analysis reads has a row.")
    assert "Could not set the recording priority. (recording-refused)" in later
    assert "not recorded: the kernel refused" in later and "recorded, no rows" not in later
    forbidden = CliRunner().invoke(main, ["check", "x.trace", "--forbid", "ANE"])
    assert forbidden.exit_code == 5  # nothing shows that the engine was not used
    assert mac.record("--force", *APP, "--preset", "coreai", root=True).code == 0


def test_a_full_disk_leaves_what_can_be_recovered(mac: Mac) -> None:
    result = mac.record(*APP, disk="full")
    assert result.code == 4
    assert "x.trace was not finished. The disk is full. Free some space" in result.error
    recover = result.error.splitlines()[-1]
    assert shlex.split(recover)[1:] == [
        *["import", "--input", "x.trace/Trace1.run/Attachments/trace-data.atrc", "--template"],
        "Time Profiler",
        *["--output", "x.recovered.trace"],
    ]
    assert mac.files() == ["x.recording.json", "x.trace"]


def test_too_little_space_to_begin_with(mac: Mac) -> None:
    result = mac.record(*APP, "--min-free", "900TB")
    assert result.code == 4
    assert "are free on the disk of x.trace, and recording needs 900000.0. Free some space" in result.error
    assert mac.commands() == []


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("locked", "Nothing was recorded. The device is locked. Unlock it"),
        ("developer-mode-off", "Nothing was recorded. Developer Mode is off on this device. Turn it on"),
    ],
)
def test_a_device_that_is_not_ready(mac: Mac, state: str, message: str) -> None:
    process = {
        "pid": 9,
        "path": "/private/var/containers/Bundle/Application/A/SampleApp.app/SampleApp",
        "device": PHONE["udid"],
    }
    result = mac.record(*APP, "--device", "My Phone", devices=[PHONE], processes=[process], device=state)
    assert result.code == 4
    assert message in result.error


def test_a_device_that_goes_away_leaves_what_it_recorded(mac: Mac) -> None:
    process = {
        "pid": 9,
        "path": "/private/var/containers/Bundle/Application/A/SampleApp.app/SampleApp",
        "device": PHONE["udid"],
    }
    result = mac.record(
        *APP, "--device", "My Phone", devices=[PHONE], processes=[process], device="disconnects"
    )
    assert result.code == 0
    assert "xctrace reports: " in result.error
    assert "GPU in all 12 calls" in result.output


def test_a_process_that_is_not_found_at_first_is_tried_again(mac: Mac) -> None:
    result = mac.record(
        "--app", "4215", "-o", "x.trace", "--xctrace", str(forgetful(mac)), "--time-limit", "100ms"
    )
    assert result.code == 0
    assert [run["exit_code"] for run in mac.journal()["runs"]] == [21, 0]  # type: ignore[attr-defined]


def test_a_crash_while_recording(mac: Mac) -> None:
    result = mac.record("--app", "SampleApp", "--time-limit", "20s", "-o", "x.trace", dies=0.1)
    assert result.code == 4
    assert "Error: x.trace was not finished: xctrace was ended by signal 9. This command may" in result.error
    assert mac.journal()["state"] == "unfinished"


@pytest.mark.parametrize(
    ("hang", "message", "files"),
    [
        ("start", "Nothing was recorded: xctrace did not stop at its time limit.", []),
        (
            "saving",
            "x.trace was not finished: xctrace showed no activity while it was saving",
            ["x.recording.json", "x.trace"],
        ),
    ],
)
def test_an_xctrace_that_hangs_is_ended(mac: Mac, hang: str, message: str, files: list[str]) -> None:
    result = mac.record(*APP, *FAST, hang=hang)
    assert result.code == 4
    assert message in result.error
    assert mac.files() == files


def test_an_xctrace_that_nothing_but_force_ends(mac: Mac) -> None:
    result = mac.record(*APP, *FAST, hang="saving-ignores-interrupt")
    assert result.code == 4
    assert "showed no activity" in result.error


def test_an_xctrace_that_overlooks_its_limit_is_stopped_and_nothing_is_lost(mac: Mac) -> None:
    result = mac.record(*APP, *FAST, hang="time-limit")
    assert result.code == 0
    assert "xctrace did not stop at its time limit: stopping it and saving …" in result.error
    assert "GPU in all 12 calls" in result.output


@pytest.mark.parametrize(
    ("xcode", "message"),
    [
        (
            "licence",
            "The licence of Xcode was not accepted. Read and accept it with sudo xcodebuild -license.",
        ),
        ("command-line-tools", "Only the Command Line Tools are selected, and they have no xctrace."),
        ("none", "xctrace was not found: it comes with Xcode, on a Mac."),
    ],
)
def test_no_xctrace_to_record_with(mac: Mac, xcode: str, message: str) -> None:
    result = mac.record(*APP, xcode=xcode)
    assert result.code == 4
    assert f"Error: {message}" in result.error
    assert mac.files() == []


def test_another_xctrace_by_its_path(mac: Mac) -> None:
    result = mac.record(*APP, "--xctrace", str(mac.xctrace.folder / "xctrace"), xcode="command-line-tools")
    assert "Only the Command Line Tools" in result.error  # it belongs to the same Xcode
    missing = mac.record(*APP, "--xctrace", "nowhere")
    assert (missing.code, missing.error) == (2, "Error: --xctrace nowhere: there is no such file.\n")


def test_two_recorders_at_once(mac: Mac) -> None:
    from tracekit.record.lock import hold_recorder_lock

    with hold_recorder_lock("", Path("other.trace")):
        mac.xctrace.configure()
        result = CliRunner().invoke(main, ["record", *APP])
    assert result.exit_code == 4
    assert "Another tracekit is recording (pid " in result.stderr
    assert (
        ", into other.trace). Only one recording at a time can profile this Mac or device." in result.stderr
    )
    assert mac.record(*APP).code == 0


def test_a_model_and_its_plan_are_noted_and_joined(mac: Mac) -> None:
    sample = Path(__file__).resolve().parents[2] / "sample_traces" / "operators-leave-macos27"
    model, plan = sample / "Encoder.mlmodelc", sample / "com.apple.e5rt.e5bundlecache"
    result = mac.record(*APP, "--model", str(model), "--plan", str(plan))
    assert result.code == 0
    assert "Operations off the Neural Engine" in result.output
    assert (mac.journal()["models"], mac.journal()["plans"]) == ([str(model)], [str(plan)])
    again = CliRunner().invoke(main, ["analyze", str(mac.folder / "x.trace")])
    assert "gather_12" in again.output


def test_a_model_that_is_not_there_is_refused_before_anything_is_recorded(mac: Mac) -> None:
    result = mac.record(*APP, "--model", "Net=nowhere.mlpackage")
    assert result.code == 2
    assert "Net=nowhere.mlpackage: there is no such model or plan." in result.error
    assert mac.commands() == []
