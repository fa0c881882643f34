"""`tracekit record`: how a target is named, found and started."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from record_support import APP, IN_SIMULATOR, SIMULATOR, Mac, program

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("app", "message"),
    [
        (
            "Nobody",
            "Nothing called 'Nobody' is running, and no installed app has that name or bundle identifier.",
        ),
        ("SampelApp", "Running with a similar name: SampleApp."),
        ("99999", "There is no process 99999: it has ended. --app NAME finds it by name."),
        ("-rf", "Nothing called '-rf' is running"),
        (
            "$(touch gone)`touch gone`; touch gone",
            "Nothing called '$(touch gone)`touch gone`; touch gone' is running",
        ),
        ("two\nlines \"'", "Nothing called 'two\\nlines \"'' is running"),
        ("\x1b[2J", "Nothing called '\\x1b[2J' is running"),
        ("no/such/thing.app", "--app no/such/thing.app: there is no such file."),
        ("", "--app: name a process, an app, a bundle identifier, a path or a pid."),
    ],
)
def test_targets_that_are_not_found(mac: Mac, app: str, message: str) -> None:
    result = mac.record("--app", app, "-o", "x.trace")
    assert result.code == 2
    assert message in result.error
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


def test_a_process_in_a_simulator_needs_the_simulator(mac: Mac) -> None:
    refused = mac.record(*APP, processes=[IN_SIMULATOR])
    assert refused.error == (
        f"Error: 'SampleApp' runs in a simulator, not on this Mac. Name the simulator: --device {SIMULATOR}.\n"
    )
    result = mac.record(*APP, "--device", "iPhone 17")
    assert result.code == 0
    assert "note: A simulator runs models on this Mac's CPU and GPU" in result.error
    command = mac.commands()[0]
    assert command[command.index("--device") + 1] == SIMULATOR
    assert command[-2:] == ["--attach", "77"]


@pytest.mark.parametrize(("version", "build"), [("16.0", "17E192"), ("16.0", "17F42"), ("27.0", "27A266a")])
def test_a_simulator_whose_recording_would_not_end_is_recorded_through_the_mac(
    mac: Mac, version: str, build: str
) -> None:
    mac.xctrace.configure(processes=[IN_SIMULATOR], version=version, build=build)
    hanging = ["--device", SIMULATOR, "--template", "Time Profiler", "--all-processes", "--output", "y.trace"]
    with pytest.raises(subprocess.TimeoutExpired):  # as software-mansion/argent#350 reports
        subprocess.run(
            [mac.xctrace.folder / "xctrace", "record", *hanging, "--time-limit", "100ms"],
            timeout=1,
            capture_output=True,
            check=False,
        )
    shutil.rmtree("y.trace")
    result = mac.record(*APP, "--device", "iPhone 17")
    assert result.code == 0, result.error
    command = mac.commands()[-1]
    assert "--device" not in command and command[-1] == "--all-processes"
    notes = [line for line in result.error.splitlines() if line.startswith("note: ")]
    assert notes[:2] == [
        "note: A simulator runs models on this Mac's CPU and GPU: its recording does not show a device's engines.",
        "note: iPhone 17 Simulator is recorded through this Mac, with all processes of the Mac: xctrace of Xcode 26.4 to"
        " 27.0 does not end a recording with --device SIMULATOR, and no later one is known to.",
    ]
    assert "It holds all processes of this Mac; SampleApp is the process 77." in result.error
    journal = mac.journal()
    assert (journal["device"], journal["simulator"]) == (None, SIMULATOR)
    assert journal["target"] == {"kind": "all", "name": "SampleApp", "pid": 77}


def test_the_analysis_is_of_the_simulators_app_alone(mac: Mac) -> None:
    """The sample holds the process 4711: it stands in for a recording of all processes."""
    app = {**IN_SIMULATOR, "pid": 4711}
    result = mac.record(*APP, "--device", "iPhone 17", processes=[app], build="17F42", version="16.0")
    assert result.code == 0
    assert "To analyze that process again: tracekit analyze x.trace --process 4711\n" in result.error
    gone = mac.record("--force", *APP, "--device", "iPhone 17", processes=[IN_SIMULATOR])
    assert "note: it has no thread of the process 77: all processes are analyzed.\n" in gone.error


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


def test_the_programs_output_is_forwarded_and_not_stored(mac: Mac) -> None:
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


def test_arguments_for_a_running_process(mac: Mac) -> None:
    result = mac.record("--app", "SampleApp", "--", "--verbose")
    assert result.code == 2
    assert (
        "SampleApp is already running (pid 4215): arguments need a fresh start. Add --launch" in result.error
    )


def test_all_processes(mac: Mac) -> None:
    assert mac.record(*["--all-processes", "--time-limit", "100ms", "-o", "x.trace"]).code == 0
    assert mac.commands()[0][-1] == "--all-processes"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (),
            "No target: name it with --app, start it with --launch --, or give --all-processes.",
        ),
        (("--launch",), "No target: name --app, a program after --launch --, or --all-processes."),
        (("tool",), "'tool': name the target with --app, or start a program with --launch --."),
        (("--app", "SampleApp", "--all-processes"), "Give --all-processes or one target, not both."),
        (
            ("--all-processes", "--env", "A=1"),
            "--env, --stdin and --stdout are for a program that tracekit starts",
        ),
        (("--launch", "--", "no-such-tool"), "no-such-tool was not found. Name a program, or an app's .app."),
        (("--app", "SampleApp", "--env", "A"), "--env A: write NAME=VALUE."),
        (("--app", "SampleApp", "--time-limit", "10"), "'10' is not a time such as 500ms, 10s, 5m or 1h"),
        (("--app", "SampleApp", "--min-free", "lots"), "'lots' is not a size such as 500MB or 2GB"),
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
        (("--app", "SampleApp", "--device", "iPad"), "No device is called 'iPad'. xctrace lists:"),
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
def test_invalid_combinations_of_options(mac: Mac, arguments: tuple[str, ...], message: str) -> None:
    result = mac.record(*arguments)
    assert result.code == 2
    assert message in result.error
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
