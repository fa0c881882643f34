"""`tracekit record` as a user runs it, against a strict stand-in for xctrace: every way to fail, nothing lost."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from xctrace_support import StandIn, install

from tracekit.cli import main

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "ane-intervals-macos26"
PHONE = {"name": "My Phone", "os": "26.2", "udid": "00008101-000D482C1E78001E"}
SIMULATOR = "0F4D5D74-A4FE-4261-9596-8073565E7927"
IN_SIMULATOR = {
    "pid": 77,
    "path": f"/Users/me/Library/Developer/CoreSimulator/Devices/{SIMULATOR}/data/Containers/Bundle/Application/A/"
    "SampleApp.app/SampleApp",
    "device": SIMULATOR,
}
APP = ("--app", "SampleApp", "--time-limit", "100ms", "-o", "x.trace")
FAST = ("--save-timeout", "500ms")


@dataclass(frozen=True)
class Result:
    code: int
    output: str
    error: str


class Mac:
    """A Mac of one test: a folder to work in, and xctrace as it is told to behave."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.xctrace: StandIn = install(folder.parent / "bin")
        for name, value in self.xctrace.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("DEVELOPER_DIR", raising=False)
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.chdir(folder)

    def record(self, *arguments: str, **settings: object) -> Result:
        self.xctrace.configure(**settings)
        result = CliRunner().invoke(main, ["record", *arguments])
        assert not isinstance(result.exception, Exception), result.exception
        assert self.xctrace.running() == []
        assert list((self.xctrace.folder / "tmp").iterdir()) == []
        return Result(result.exit_code, result.stdout, result.stderr)

    def journal(self, name: str = "x") -> dict[str, object]:
        found = json.loads((self.folder / f"{name}.recording.json").read_text())
        assert isinstance(found, dict)
        return found

    def commands(self) -> list[list[str]]:
        """What xctrace was asked to record so far."""
        return [call for call in self.xctrace.calls("xctrace") if call[1:2] == ["record"]]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    folder = tmp_path / "work"
    folder.mkdir()
    return Mac(folder, monkeypatch)


# The first command of a user -------------------------------------------------------------------------------------


def test_one_line_from_a_running_app_to_the_answer(mac: Mac) -> None:
    result = mac.record("--app", "SampleApp", "--time-limit", "100ms")
    assert result.code == 0
    assert result.output.startswith("Handed work to the GPU (6 samples); 12 of 12 windows alike;")
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
    mac.record(*APP)
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


def test_a_dry_run_names_the_places_that_a_real_one_would_use(mac: Mac) -> None:
    mac.record(*APP)
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


def test_an_xctrace_that_takes_long_to_answer_is_spoken_of(mac: Mac, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracekit.cli import record_talk

    monkeypatch.setattr(record_talk, "_SILENT_SECONDS", 0.0)
    assert "Asking xctrace what it offers …\n" in mac.record(*APP, "--dry-run").error


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
    mac.record(*APP)
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
def test_what_cannot_be_read_natively_is_exported(mac: Mac, recording: str) -> None:
    result = mac.record(*APP, recording=recording)
    assert result.code == 0
    exported = any(call[1:2] == ["export"] for call in mac.xctrace.calls("xctrace"))
    assert exported == (recording == "ane-intervals-macos26")
    assert ("Ran on the ANE (measured" in result.output) == exported


@pytest.mark.parametrize("schemas", ["once", "changed"])
def test_tables_of_several_schemas_by_one_export(mac: Mac, schemas: str) -> None:
    """Whether xctrace repeats a schema after tables of another is not known: either must do."""
    mac.record(*APP, "--no-analysis", recording="ane-intervals-macos26", export={"schemas": schemas})
    result = CliRunner().invoke(main, ["tables", "x.trace", "--schema", "os-signpost", "--format", "csv"])
    expected = CliRunner().invoke(main, ["tables", str(SAMPLE), "--schema", "os-signpost", "--format", "csv"])
    assert result.exit_code == 0
    assert result.stdout == expected.stdout and len(result.stdout) > 1000
    analysis = CliRunner().invoke(main, ["analyze", "x.trace"])
    assert "Ran on the ANE (measured" in analysis.stdout
    assert "could not be exported" not in analysis.stdout


def test_only_recording(mac: Mac) -> None:
    result = mac.record(*APP, "--no-analysis")
    assert (result.code, result.output) == (0, "")
    assert mac.files() == ["x.recording.json", "x.trace"]


# Exit codes and complaints of xctrace decide nothing -------------------------------------------------------------


@pytest.mark.parametrize("code", [1, 2, 54, 133])
def test_a_good_bundle_is_good_whatever_the_exit_code(mac: Mac, code: int) -> None:
    result = mac.record(*APP, exit_code=code)
    assert result.code == 0
    assert "12 GPU" in result.output


def test_an_xctrace_that_says_nothing(mac: Mac) -> None:
    assert mac.record(*APP, *FAST, prints=False).code == 0


def test_issues_of_the_run_are_told_and_kept(mac: Mac) -> None:
    result = mac.record(*APP, run_issues=["Failed to stop recording session: Failed stoping ktrace session."])
    assert result.code == 0
    assert "xctrace reports: Failed to stop recording session: Failed stoping ktrace session." in result.error
    assert mac.journal()["run_issues"] == ["Failed to stop recording session: Failed stoping ktrace session."]


# Failures: each has its sentence and its way out -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "problem", "advice"),
    [
        (
            {"attach": "refused"},
            "macOS refused to attach to this process",
            "com.apple.security.get-task-allow",
        ),
        ({"attach": "restricted"}, "macOS does not let this process be traced", "--all-processes"),
        ({"kperf": "busy"}, "Another recording is at work", "wait a minute"),
    ],
)
def test_what_keeps_xctrace_from_recording(
    mac: Mac, settings: dict[str, object], problem: str, advice: str
) -> None:
    result = mac.record(*APP, **settings)
    assert (result.code, result.output) == (4, "")
    assert f"Error: Nothing was recorded. {problem}" in result.error
    assert advice in result.error
    assert mac.files() == []


def test_a_sandbox_records_no_sample(mac: Mac) -> None:
    result = mac.record(*APP, sandbox=True)
    assert result.code == 4
    assert (
        "Error: x.trace holds no sample. The kernel refused to record: this shell runs in a sandbox"
        in result.error
    )
    assert "Record from a Terminal of your own." in result.error
    assert mac.files() == ["x.recording.json", "x.trace"]


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
    assert "are free where x.trace goes, and recording needs 900000.0. Free some space" in result.error
    assert mac.commands() == []


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("locked", "Nothing was recorded. The device is locked. Unlock it"),
        ("developer-mode-off", "Nothing was recorded. Developer Mode is off on this device. Turn it on"),
    ],
)
def test_a_device_that_is_not_ready(mac: Mac, state: str, told: str) -> None:
    process = {
        "pid": 9,
        "path": "/private/var/containers/Bundle/Application/A/SampleApp.app/SampleApp",
        "device": PHONE["udid"],
    }
    result = mac.record(*APP, "--device", "My Phone", devices=[PHONE], processes=[process], device=state)
    assert result.code == 4
    assert told in result.error


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
    assert "12 GPU" in result.output


def test_a_process_that_is_not_found_at_first_is_tried_again(mac: Mac) -> None:
    result = mac.record(
        "--app", "4215", "-o", "x.trace", "--xctrace", str(forgetful(mac)), "--time-limit", "100ms"
    )
    assert result.code == 0
    assert [run["exit_code"] for run in mac.journal()["runs"]] == [21, 0]  # type: ignore[attr-defined]


def test_a_crash_while_recording(mac: Mac) -> None:
    result = mac.record("--app", "SampleApp", "--time-limit", "20s", "-o", "x.trace", dies=0.1)
    assert result.code == 4
    assert (
        "Error: x.trace was not finished: xctrace was ended by signal 9. This recovers what was"
        in result.error
    )
    assert mac.journal()["state"] == "unfinished"


@pytest.mark.parametrize(
    ("hang", "told", "left"),
    [
        ("start", "Nothing was recorded: xctrace did not end by itself at its time limit.", []),
        (
            "saving",
            "x.trace was not finished: xctrace gave no sign of life while it saved",
            ["x.recording.json", "x.trace"],
        ),
    ],
)
def test_an_xctrace_that_hangs_is_ended(mac: Mac, hang: str, told: str, left: list[str]) -> None:
    result = mac.record(*APP, *FAST, hang=hang)
    assert result.code == 4
    assert told in result.error
    assert mac.files() == left


def test_an_xctrace_that_nothing_but_force_ends(mac: Mac) -> None:
    result = mac.record(*APP, *FAST, hang="saving-ignores-interrupt")
    assert result.code == 4
    assert "gave no sign of life" in result.error


def test_an_xctrace_that_overlooks_its_limit_is_stopped_and_nothing_is_lost(mac: Mac) -> None:
    result = mac.record(*APP, *FAST, hang="time-limit")
    assert result.code == 0
    assert "xctrace did not stop at its time limit: stopping it and saving …" in result.error
    assert "12 GPU" in result.output


@pytest.mark.parametrize(
    ("xcode", "told"),
    [
        (
            "licence",
            "The licence of Xcode was not accepted. Read and accept it with sudo xcodebuild -license.",
        ),
        ("command-line-tools", "Only the Command Line Tools are selected, and they have no xctrace."),
        ("none", "xctrace was not found: it comes with Xcode, on a Mac."),
    ],
)
def test_no_xctrace_to_record_with(mac: Mac, xcode: str, told: str) -> None:
    result = mac.record(*APP, xcode=xcode)
    assert result.code == 4
    assert f"Error: {told}" in result.error
    assert mac.files() == []


def test_another_xctrace_by_its_path(mac: Mac) -> None:
    result = mac.record(*APP, "--xctrace", str(mac.xctrace.folder / "xctrace"), xcode="command-line-tools")
    assert "Only the Command Line Tools" in result.error  # it belongs to the same Xcode
    other = mac.record(*APP, "--xctrace", "nowhere")
    assert (other.code, other.error) == (2, "Error: --xctrace nowhere: there is no such file.\n")


def test_two_recorders_at_once(mac: Mac) -> None:
    from tracekit.xctrace.lock import sole_recorder

    with sole_recorder("", Path("other.trace")):
        mac.xctrace.configure()
        result = CliRunner().invoke(main, ["record", *APP])
    assert result.exit_code == 4
    assert "Another tracekit records already (pid " in result.stderr
    assert ", into other.trace): only one can profile this Mac or device at a time." in result.stderr
    assert mac.record(*APP).code == 0


# Targets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("app", "told"),
    [
        ("Nobody", "Nothing called 'Nobody' runs, and no installed app has that name or bundle identifier."),
        ("SampelApp", "Running with a similar name: SampleApp."),
        ("99999", "There is no process 99999: it has ended. --app NAME finds it by name."),
        ("-rf", "Nothing called '-rf' runs"),
        (
            "$(touch gone)`touch gone`; touch gone",
            "Nothing called '$(touch gone)`touch gone`; touch gone' runs",
        ),
        ("two\nlines \"'", "Nothing called 'two\\nlines \"'' runs"),
        ("\x1b[2J", "Nothing called '\\x1b[2J' runs"),
        ("no/such/thing.app", "--app no/such/thing.app: there is no such file."),
        ("", "--app: name a process, an app, a bundle identifier, a path or a pid."),
    ],
)
def test_targets_that_are_not_there(mac: Mac, app: str, told: str) -> None:
    result = mac.record("--app", app, "-o", "x.trace")
    assert result.code == 2
    assert told in result.error
    assert mac.files() == [] and mac.commands() == []


def test_two_of_one_name_are_listed_and_none_is_guessed(mac: Mac) -> None:
    processes = [{"pid": 1, "path": "/A/SampleApp"}, {"pid": 2, "path": "/B/SampleApp"}]
    result = mac.record(*APP, processes=processes)
    assert result.code == 2
    assert result.error == (
        "Error: Several processes are called 'SampleApp'. Name one by its pid:\n"
        "  1  /A/SampleApp\n"
        "  2  /B/SampleApp\n"
    )
    assert mac.record("--app", "2", "-o", "x.trace", "--time-limit", "100ms").code == 0
    assert mac.commands()[0][-2:] == ["--attach", "2"]


def test_what_runs_in_a_simulator_needs_the_simulator(mac: Mac) -> None:
    refused = mac.record(*APP, processes=[IN_SIMULATOR])
    assert refused.error == (
        f"Error: 'SampleApp' runs in a simulator, not on this Mac. Name the simulator: --device {SIMULATOR}.\n"
    )
    result = mac.record(*APP, "--device", "iPhone 17", build="17F42", version="16.0")
    assert result.code == 0
    assert "note: A simulator runs models on this Mac's CPU and GPU" in result.error
    command = mac.commands()[0]
    assert command[command.index("--device") + 1] == SIMULATOR
    assert command[-2:] == ["--attach", "77"]
    assert "--template" not in command  # it can hang from 26.4 on


def program(mac: Mac, text: str) -> Path:
    path = mac.folder.parent / "tool"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_launching_a_program_with_arguments_variables_and_files(mac: Mac) -> None:
    tool = program(mac, '#!/bin/sh\nread line\necho "$line|$GREETING|$1|$2"\n')
    (mac.folder / "in.txt").write_text("from a file\n")
    result = mac.record(
        *[
            "--time-limit",
            "5s",
            "-o",
            "x.trace",
            "--env",
            "GREETING=a=b",
            "--stdin",
            "in.txt",
            "--stdout",
            "out.txt",
            "--no-analysis",
            "--launch",
            "--",
        ],
        str(tool),
        "--flag",
        "two words",
    )
    assert result.code == 0
    assert (mac.folder / "out.txt").read_text() == "from a file|a=b|--flag|two words\n"
    assert mac.commands()[0][-5:] == ["--launch", "--", str(tool), "--flag", "two words"]


def test_the_programs_output_is_passed_on_and_not_kept(mac: Mac) -> None:
    tool = program(mac, "#!/bin/sh\necho a word of its own\necho $SECRET\n")
    result = mac.record(
        *[
            "--time-limit",
            "5s",
            "-o",
            "x.trace",
            "--no-analysis",
            "--stdout",
            "-",
            "--env",
            "SECRET=hush",
            "--app",
        ],
        str(tool),
    )
    assert result.output == "a word of its own\nhush\n"
    text = (mac.folder / "x.recording.json").read_text()
    assert "hush" not in text and "a word of its own" not in text
    assert "SECRET=<hidden>" in text


def test_arguments_for_what_runs_already(mac: Mac) -> None:
    result = mac.record("--app", "SampleApp", "--", "--verbose")
    assert result.code == 2
    assert "SampleApp runs already (pid 4215): arguments need a fresh start. Add --launch" in result.error


def test_everything(mac: Mac) -> None:
    assert mac.record(*["--all-processes", "--time-limit", "100ms", "-o", "x.trace"]).code == 0
    assert mac.commands()[0][-1] == "--all-processes"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            (),
            "What shall be recorded? Name it with --app, start it with --launch --, or give --all-processes.",
        ),
        (("--launch",), "Nothing to record: name --app, a program after --launch --, or --all-processes."),
        (("tool",), "'tool': name what to record with --app, or start a program with --launch --."),
        (("--app", "SampleApp", "--all-processes"), "Give --all-processes or one target, not both."),
        (
            ("--all-processes", "--env", "A=1"),
            "--env, --stdin and --stdout are for a program that is started",
        ),
        (("--launch", "--", "no-such-tool"), "no-such-tool was not found. Name a program, or an app's .app."),
        (("--app", "SampleApp", "--env", "A"), "--env A: give NAME=VALUE."),
        (("--app", "SampleApp", "--time-limit", "10"), "'10' is no time such as 500ms, 10s, 5m or 1h"),
        (("--app", "SampleApp", "--min-free", "lots"), "'lots' is no size such as 500MB or 2GB"),
        (("--app", ""), "--app: name a process, an app, a bundle identifier, a path or a pid."),
        (("--launch", "--stdin", "-", "--count", "2", "--", "/bin/cat"), "--stdin - can be read once"),
        (
            ("--app", "SampleApp", "--window", "1h", "--time-limit", "5s"),
            "it cannot be longer than --time-limit.",
        ),
        (
            ("--launch", "--stdout", "/etc/passwd", "--", "/bin/true"),
            "--stdout /etc/passwd: the file exists and will not",
        ),
        (("--app", "SampleApp", "--device", ""), "No device is called ''."),
        (("--app", "SampleApp", "--template", ""), "This Xcode has no template called ''."),
        (("--app", "SampleApp", "-o", ""), "-o: name a .trace, or a folder."),
        (("--app", "SampleApp", "--template", "Time profiler"), "Did you mean Time Profiler?"),
        (("--app", "SampleApp", "--instrument", "Neural"), "Did you mean Neural Engine?"),
        (
            ("--app", "SampleApp", "--preset", "coreml", "--template", "Core ML"),
            "Give --preset or --template, not both",
        ),
        (("--app", "SampleApp", "--device", "iPad"), "No device is called 'iPad'. xctrace knows:"),
        (
            ("--app", "SampleApp", "--compute-units", "gpu"),
            "'gpu' is none of all, cpuAndGPU, cpuAndNeuralEngine, cpuOnly",
        ),
        (("--app", "SampleApp", "--compute-units", "all,all"), "names a setting twice"),
        (
            ("--app", "SampleApp", "--compute-units", "all", "--count", "2"),
            "leave out --all-processes, --count",
        ),
        (("--app", "4215", "--launch"), "--app 4215 is a pid: a running process cannot be launched."),
    ],
)
def test_what_cannot_be_meant(mac: Mac, arguments: tuple[str, ...], told: str) -> None:
    result = mac.record(*arguments)
    assert result.code == 2
    assert told in result.error
    assert mac.commands() == [] and mac.files() == []


def test_a_run_has_a_name_from_xcode_26_on(mac: Mac) -> None:
    assert mac.record(*APP, "--run-name", "Fix#2").code == 0
    old = mac.record(
        "--app", "SampleApp", "-o", "y.trace", "--run-name", "Fix#2", build="16F6", version="16.0"
    )
    assert (old.code, old.error) == (
        2,
        "Error: --run-name needs Xcode 26 or later; this is Xcode 16 (16F6).\n",
    )


# Outputs ---------------------------------------------------------------------------------------------------------


def test_an_output_that_exists_is_left_alone(mac: Mac) -> None:
    mac.record(*APP)
    before = snapshot(mac.folder / "x.trace")
    result = mac.record(*APP)
    assert result.code == 2
    assert result.error == "Error: x.trace exists and will not be overwritten without --force.\n"
    assert snapshot(mac.folder / "x.trace") == before
    assert len(mac.commands()) == 1


def test_force_replaces_a_recording_by_a_good_one(mac: Mac) -> None:
    mac.record(*APP)
    (mac.folder / "x.trace" / "marker").write_text("the old one")
    assert mac.record(*APP, "--force").code == 0
    assert not (mac.folder / "x.trace" / "marker").exists()
    assert mac.files() == ["x.recording.json", "x.trace"]


def test_force_keeps_the_old_recording_when_the_new_one_fails(mac: Mac) -> None:
    mac.record(*APP)
    before = snapshot(mac.folder / "x.trace")
    result = mac.record(*APP, "--force", *FAST, hang="saving")
    assert result.code == 4
    assert "x.new.trace was not finished" in result.error
    assert snapshot(mac.folder / "x.trace") == before
    assert mac.files() == ["x.new.recording.json", "x.new.trace", "x.recording.json", "x.trace"]


def test_force_spares_what_is_no_recording(mac: Mac) -> None:
    (mac.folder / "x.trace").mkdir()
    (mac.folder / "x.trace" / "thesis.tex").write_text("years of work")
    result = mac.record(*APP, "--force")
    assert result.code == 2
    assert "x.trace is no recording, and will not be overwritten. Name another output." in result.error
    assert (mac.folder / "x.trace" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("x.xml", "x.xml names no recording: give a name that ends in .trace, or a folder."),
        ("gone/x.trace", "gone/x.trace cannot be written: its folder does not exist."),
    ],
)
def test_outputs_that_cannot_be_written(mac: Mac, output: str, told: str) -> None:
    result = mac.record("--app", "SampleApp", "-o", output)
    assert (result.code, result.error) == (2, f"Error: {told}\n")
    assert mac.commands() == []


def test_somebody_elses_file_in_the_journals_place(mac: Mac) -> None:
    journal = mac.folder / "x.recording.json"
    journal.write_text("mine")
    result = mac.record(*APP)
    assert result.code == 2
    assert (
        "x.recording.json, the record of x.trace, exists and will not be overwritten without --force."
        in result.error
    )
    assert journal.read_text() == "mine" and mac.commands() == []
    journal.unlink()
    journal.mkdir()
    assert mac.record(*APP, "--force").code == 2


def test_a_name_that_is_no_utf_8(mac: Mac) -> None:
    name = os.fsdecode(b"caf\xe9.trace")
    result = mac.record(*APP[:4], "-o", name, "--no-analysis")
    assert result.code == 0
    assert "Saved caf\\udce9.trace" in result.error
    assert (mac.folder / name / "form.template").exists()


def test_a_run_is_added_to_what_a_link_leads_to(mac: Mac) -> None:
    mac.record(*APP)
    (mac.folder / "x.trace").rename(mac.folder / "real.trace")
    (mac.folder / "x.trace").symlink_to("real.trace")
    assert mac.record(*APP, "--append-run").code == 0
    assert (mac.folder / "x.trace").is_symlink()
    assert "Run 2 of real.trace" in CliRunner().invoke(main, ["tables", "x.trace"]).stdout
    assert [name for name in mac.files() if name.endswith(".trace")] == ["real.trace", "x.trace"]


def test_a_folder_as_output_gets_a_fresh_name(mac: Mac) -> None:
    (mac.folder / "here").mkdir()
    assert mac.record("--app", "SampleApp", "--time-limit", "100ms", "-o", "here").code == 0
    assert [p.suffix for p in sorted((mac.folder / "here").iterdir())] == [".json", ".trace"]


def test_a_run_is_added(mac: Mac) -> None:
    mac.record(*APP)
    result = mac.record(*APP, "--append-run")
    assert result.code == 0
    assert "12 GPU" in result.output
    runs = CliRunner().invoke(main, ["tables", "x.trace"]).stdout
    assert "Run 2 of x.trace" in runs
    assert len(mac.journal()["runs"]) == 2  # type: ignore[arg-type]
    assert mac.files() == ["x.recording.json", "x.trace"]


@pytest.mark.parametrize("settings", [{"attach": "refused"}, {"hang": "saving"}, {"dies": 0.05}])
def test_a_run_that_fails_leaves_the_earlier_ones_untouched(mac: Mac, settings: dict[str, object]) -> None:
    mac.record(*APP)
    before = snapshot(mac.folder / "x.trace")
    result = mac.record(*APP, "--append-run", *FAST, **settings)
    assert result.code == 4
    assert snapshot(mac.folder / "x.trace") == before
    assert ("Nothing was recorded; x.trace is as it was." in result.error) == ("attach" in settings)
    left = [name for name in mac.files() if "appending" in name and name.endswith(".trace")]
    assert left == ([] if "attach" in settings else ["x.appending.trace"])
    assert ("x.appending.trace was not finished" in result.error) == bool(left)
    assert CliRunner().invoke(main, ["analyze", "x.trace"]).exit_code == 0


def test_adding_to_nothing(mac: Mac) -> None:
    result = mac.record(*APP, "--append-run")
    assert result.error == "Error: --append-run: x.trace is no recording that a run could be added to.\n"
    result = mac.record(*APP, "--append-run", "--preset", "minimal")
    assert "--append-run records with the template of the recording that it adds to." in result.error


def test_a_report_of_the_recording(mac: Mac) -> None:
    result = mac.record(*APP, "--report", "x.html")
    assert result.code == 0
    text = (mac.folder / "x.html").read_text()
    assert text.startswith("<!doctype html>") and "12 GPU" in text
    assert "record --output x.trace --no-prompt" in text  # the command that made it
    refused = mac.record("--app", "SampleApp", "-o", "y.trace", "--report", "x.html")
    assert (refused.code, len(mac.commands())) == (2, 1)
    several = mac.record(*APP[:4], "-o", "z.trace", "--count", "2", "--report", "z.md")
    assert several.code == 0
    assert [name for name in mac.files() if name.endswith(".md")] == ["z-1.md", "z-2.md"]


# Several recordings ----------------------------------------------------------------------------------------------


def test_recording_several_times(mac: Mac) -> None:
    result = mac.record(*APP, "--count", "3")
    assert result.code == 0
    assert [line.split(":")[0] for line in result.output.splitlines()] == [
        "x-1.trace",
        "x-2.trace",
        "x-3.trace",
    ]
    assert [name for name in mac.files() if name.endswith(".trace")] == [
        "x-1.trace",
        "x-2.trace",
        "x-3.trace",
    ]


def test_settings_of_the_compute_units_end_with_a_table(mac: Mac) -> None:
    tool = program(mac, '#!/bin/sh\necho "$TRACEKIT_COMPUTE_UNITS" >> seen.txt\n')
    result = mac.record("--app", str(tool), "--compute-units", "all,cpuAndGPU,CPUONLY", "-o", "x.trace")
    assert result.code == 0
    assert (mac.folder / "seen.txt").read_text().split() == ["all", "cpuAndGPU", "cpuOnly"]
    table = result.output[result.output.index("  compute units") :].splitlines()
    assert table[0].split() == [
        "compute",
        "units",
        "windows",
        "cold",
        "warm",
        "p50",
        "warm",
        "p90",
        "×",
        "cpuOnly",
        "load",
        "ran",
        "on",
    ]
    assert [line.split()[0] for line in table[1:4]] == ["all", "cpuAndGPU", "cpuOnly"]
    assert all("  1.00 ×  " in line and line.endswith("12 GPU") for line in table[1:4])


def test_all_of_several_recordings_are_tried_and_each_failure_told(mac: Mac) -> None:
    result = mac.record(*APP, "--count", "3", dies=0.05)
    assert result.code == 4
    assert result.error.count("This recovers what was recorded (not tried by us):") == 3
    assert "x-2.trace/Trace1.run/Attachments/trace-data.atrc" in result.error
    assert result.error.endswith("Error: 3 of 3 recordings failed; see above.\n")


def test_one_failing_setting_does_not_hide_the_others(mac: Mac) -> None:
    tool = program(mac, "#!/bin/sh\n")
    Path("x-all.trace").mkdir()
    refused = mac.record("--app", str(tool), "--compute-units", "all,cpuOnly", "-o", "x.trace")
    assert refused.code == 2  # before anything is recorded
    assert mac.commands() == []
    shutil.rmtree("x-all.trace")
    result = mac.record(
        "--app",
        str(tool),
        "--compute-units",
        "all,cpuOnly",
        "-o",
        "x.trace",
        "--xctrace",
        str(forgetful(mac, "all")),
    )
    assert result.code == 4
    assert "cpuOnly" in result.output[result.output.index("Compute units compared") :]


def forgetful(mac: Mac, setting: str = "") -> Path:
    """An xctrace that does not find the process at the first time, or never under one setting."""
    path = mac.xctrace.folder / "forgetful"
    condition = (
        f'case "$*" in *TRACEKIT_COMPUTE_UNITS={setting}\\ *) true;; *) false;; esac'
        if setting
        else '[ ! -e "$0.tried" ]'
    )
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = record ] && {condition}; then : > "$0.tried";'
        " echo 'Cannot find process for provided pid: 4215' >&2; exit 21; fi\n"
        f'exec "{mac.xctrace.folder}/xctrace" "$@"\n'
    )
    path.chmod(0o755)
    return path


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
