"""Planning the recordings of a request; contradictions are refused before anything starts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.errors import UsageError
from tracekit.record import record_request as request_module
from tracekit.record.record_request import (
    PlannedRecording,
    RecordRequest,
    parse_compute_units,
    parse_environment,
    plan_recordings,
)
from tracekit.record.target import ALL_PROCESSES
from tracekit.xctrace.mac_host import App, Process
from tracekit.xctrace.mac_host import Host as AnyHost
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version
from tracekit.xctrace.xctrace_list import Device

TOOL = Xctrace("/Xcode.app/xctrace")
XCODE_16 = Version("16.0", (16, "F", 6, ""))
XCODE_26_3 = Version("26.0", (17, "C", 529, ""))
XCODE_26_5 = Version("16.0", (17, "F", 42, ""))
MAC = Device("MacBook Pro", "", "D283C622-DE11-5668-8E1F-E6234E85E6C8", "mac")
PHONE = Device("My iPhone", "26.4", "00008101-000D482C1E78001E", "device")
SIMULATOR = Device("iPhone 17 Simulator", "26.2", "0F4D5D74-A4FE-4261-9596-8073565E7927", "simulator")
APP = App("/Applications/MyApp.app", "com.example.MyApp", "My App", "MyApp")


@dataclass(frozen=True)
class Host:
    """A literal Mac. Implements ``host.Host``."""

    name: str = "MyApp"

    def processes(self) -> tuple[Process, ...]:
        return (Process(501, f"/opt/{self.name}"), Process(502, "/opt/Second"))

    def installed(self, name: str) -> tuple[App, ...]:
        return (APP,) if APP.matches_name(name) else ()


@dataclass(frozen=True)
class Simulated:
    """A literal Mac with a simulator. Implements ``host.Host``."""

    path: str

    def processes(self) -> tuple[Process, ...]:
        return (Process(77, self.path),)

    def installed(self, name: str) -> tuple[App, ...]:
        return ()


@pytest.fixture(autouse=True)
def offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the lists of xctrace, and an empty working folder."""
    listed = ("CPU Counters", "Core ML", "Time Profiler")
    monkeypatch.setattr(request_module, "list_templates", lambda _tool: listed)
    monkeypatch.setattr(request_module, "list_instruments", lambda _tool: (*listed, "GPU", "Neural Engine"))
    monkeypatch.setattr(request_module, "list_devices", lambda _tool: (MAC, PHONE, SIMULATOR))
    monkeypatch.chdir(tmp_path)


def plan(
    host: AnyHost | None = None, version: Version = XCODE_26_3, **options: Any
) -> tuple[PlannedRecording, ...]:
    return plan_recordings(RecordRequest(**options), TOOL, version, host or Host())


def refusal(version: Version = XCODE_26_3, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        plan(version=version, **options)
    return str(caught.value)


# Words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("all", ("all",)),
        ("all,cpuAndGPU,cpuOnly", ("all", "cpuAndGPU", "cpuOnly")),
        (" CPUONLY , cpuandneuralengine", ("cpuOnly", "cpuAndNeuralEngine")),
    ],
)
def test_compute_units_are_written_as_core_ml_writes_them(text: str, units: tuple[str, ...]) -> None:
    assert parse_compute_units(text) == units


@pytest.mark.parametrize("text", ["", "all,", "ane", "all cpuOnly", "all;cpuOnly"])
def test_other_compute_units_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is none of all, cpuAndGPU, cpuAndNeuralEngine, cpuOnly"):
        parse_compute_units(text)


def test_compute_units_named_twice_are_refused() -> None:
    with pytest.raises(UsageError, match="names a setting twice"):
        parse_compute_units("all,cpuOnly,ALL")


def test_variables_are_split_at_the_first_sign() -> None:
    assert parse_environment(["A=1", "B=", "C=x=y", "D=a b\n$(c)"]) == (
        ("A", "1"),
        ("B", ""),
        ("C", "x=y"),
        ("D", "a b\n$(c)"),
    )


@pytest.mark.parametrize("text", ["", "A", "=1", "A=\0"])
def test_an_invalid_variable_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write NAME=VALUE"):
        parse_environment([text])


# Contradictions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "No target: name it with --app"),
        ({"app": "MyApp", "all_processes": True}, "--all-processes or one target, not both"),
        ({"launch": True, "all_processes": True}, "--all-processes or one target, not both"),
        ({"arguments": ("MyApp",)}, "'MyApp': name the target with --app"),
        ({"all_processes": True, "environment": (("A", "1"),)}, "are for a program that tracekit starts"),
        ({"all_processes": True, "target_output": "-"}, "are for a program that tracekit starts"),
        ({"all_processes": True, "target_input": "x"}, "are for a program that tracekit starts"),
        (
            {"app": "MyApp", "append": True, "output": "x.trace", "preset": "coreml"},
            "--append-run uses the template",
        ),
        (
            {"app": "MyApp", "append": True, "output": "x.trace", "instruments": ("GPU",)},
            "--append-run uses the template",
        ),
        ({"app": "MyApp", "append": True}, "name the recording to add to with -o"),
        ({"app": "MyApp", "until_stopped": True, "target_input": "-"}, "both read standard input"),
        (
            {"all_processes": True, "compute_units": ("all",)},
            "--compute-units starts the app once per setting",
        ),
        ({"app": "MyApp", "count": 2, "compute_units": ("all",)}, "--compute-units starts the app once"),
        ({"app": "MyApp", "append": True, "compute_units": ("all",)}, "--compute-units starts the app once"),
        ({"app": "501", "interleave": "MyApp"}, "names the same target as the base, MyApp (501)"),
        ({"app": "501", "interleave": "My App"}, "MyApp is running and My App would be started"),
        ({"app": "501", "interleave": "NoSuchApp"}, "Nothing called 'NoSuchApp' is running"),
        ({"all_processes": True, "interleave": "501"}, "--interleave records two targets"),
        (
            {"app": "501", "interleave": "502", "append": True, "output": "x.trace"},
            "--interleave records two targets",
        ),
        ({"app": "501", "interleave": "502", "compute_units": ("all",)}, "--interleave records two targets"),
        (
            {"app": "My App", "interleave": "502", "target_input": "-", "count": 1},
            "--stdin - can be read once",
        ),
        ({"app": "501", "compute_units": ("all",)}, "a running process cannot be launched"),
        ({"app": "501", "target_output": "-"}, "a running process cannot be launched"),
        ({"app": "NoSuchApp"}, "Nothing called 'NoSuchApp' is running"),
        ({"app": "MyApp", "devices": ("No Phone",)}, "No device is called 'No Phone'"),
        ({"app": "MyApp", "preset": "coreml", "template": "Core ML"}, "--preset or --template, not both"),
        ({"app": "MyApp", "output": "no/such/x.trace"}, "its folder does not exist"),
        ({"app": "MyApp", "output": "no-folder"}, "-o no-folder: give a name that ends in .trace"),
        ({"app": "MyApp", "output": "a" * 5000}, "give a name that ends in .trace, or a folder."),
    ],
)
def test_a_contradiction_is_refused_with_a_message(options: dict[str, Any], message: str) -> None:
    assert message in refusal(**options)


def test_a_runs_name_needs_xcode_26() -> None:
    assert "--run-name needs Xcode 26 or later; this is Xcode 16 (16F6)" in refusal(
        XCODE_16, app="MyApp", run_name="a"
    )
    assert plan(app="MyApp", run_name="a")[0].settings.run_name == "a"


def test_an_existing_output_needs_force(tmp_path: Path) -> None:
    (tmp_path / "x.trace" / "Trace1.run").mkdir(parents=True)
    assert "will not be overwritten without --force" in refusal(app="MyApp", output="x.trace")
    assert plan(app="MyApp", output="x.trace", force=True)[0].final == Path("x.trace")


def test_one_of_several_outputs_that_exists_is_found_before_the_first_is_made(tmp_path: Path) -> None:
    (tmp_path / "x-2.trace" / "Trace1.run").mkdir(parents=True)
    assert "x-2.trace exists" in refusal(app="MyApp", output="x.trace", count=3)


# Limits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({}, 10),
        ({"until_stopped": True}, 600),
        ({"time_limit_seconds": 2.5}, 2.5),
        ({"time_limit_seconds": 2.5, "until_stopped": True}, 2.5),
    ],
)
def test_there_is_always_a_time_limit(options: dict[str, Any], seconds: float) -> None:
    assert plan(app="MyApp", **options)[0].settings.limits.time_limit_seconds == seconds


def test_patience_and_disk_space_are_those_of_the_request() -> None:
    limits = plan(app="MyApp", save_timeout_seconds=7, min_free_bytes=5)[0].settings.limits
    assert (limits.silence_seconds, limits.min_free_bytes) == (7, 5)


# Targets and devices --------------------------------------------------------------------------------------


def test_a_running_process_is_attached_to() -> None:
    assert plan(app="MyApp")[0].settings.target.build_options() == ["--attach", "501"]


@pytest.mark.parametrize(
    "options",
    [
        {"environment": (("A", "1"),)},
        {"target_input": "x"},
        {"target_output": "-"},
        {"compute_units": ("all",)},
        {"launch": True},
    ],
)
def test_options_that_need_a_fresh_start_start_the_program(options: dict[str, Any]) -> None:
    """xctrace refuses them with --attach (flamegraph-rs/flamegraph#393)."""
    assert plan(app="My App", **options)[0].settings.target.build_options() == ["--launch", "--", APP.path]


def test_this_mac_by_name_is_no_device() -> None:
    assert plan(app="MyApp", devices=("MacBook Pro",))[0].settings.device is None
    assert plan(app="MyApp", devices=("My iPhone",))[0].settings.device == PHONE


@pytest.mark.parametrize(
    ("build", "device"),
    [
        ((16, "F", 6, ""), SIMULATOR),
        ((17, "C", 529, ""), SIMULATOR),
        ((17, "E", 192, ""), None),
        ((17, "F", 113, ""), None),
        ((27, "A", 266, "a"), None),
        ((27, "B", 5019, "j"), None),
    ],
)
def test_a_simulator_is_recorded_through_this_mac_where_xctrace_does_not_end(
    build: tuple[int, str, int, str], device: Device | None
) -> None:
    """The range is that of software-mansion/argent#350; that 27.2 is mended was not published."""
    (recording,) = plan(version=Version("", build), all_processes=True, devices=("iPhone 17",))
    settings = recording.settings
    assert (settings.device, settings.simulator) == (device, SIMULATOR)
    assert settings.target == ALL_PROCESSES
    assert settings.plan.template == "CPU Counters"
    notes = [note.partition(":")[0] for note in settings.plan.notes if not note.startswith("This Xcode")]
    assert notes == ["A simulator runs models on this Mac's CPU and GPU"] + (
        [] if device else ["iPhone 17 Simulator is recorded through this Mac, with all processes of the Mac"]
    )


def test_the_app_of_a_simulator_is_selected_among_all_processes() -> None:
    path = f"/L/CoreSimulator/Devices/{SIMULATOR.udid}/data/MyApp"
    (recording,) = plan(Simulated(path), XCODE_26_5, app="MyApp", devices=("iPhone 17",))
    target = recording.settings.target
    assert target.build_options() == ["--all-processes"]
    assert (target.name, target.pid_among_all) == ("MyApp", 77)
    assert target.reason == "pid 77 in iPhone 17 Simulator; all processes of this Mac are recorded"
    (recording,) = plan(Simulated(path), XCODE_26_3, app="MyApp", devices=("iPhone 17",))
    assert recording.settings.target.build_options() == ["--attach", "77"]
    assert recording.settings.target.pid_among_all is None


def test_nothing_is_started_in_a_simulator_through_this_mac() -> None:
    options = {"launch": True, "arguments": ("/bin/cat",), "devices": ("iPhone 17",)}
    with pytest.raises(UsageError, match=r"cat cannot be started in iPhone 17 Simulator: ") as caught:
        plan(version=XCODE_26_5, **options)
    assert caught.value.lines == (f"xcrun simctl launch {SIMULATOR.udid} BUNDLE-IDENTIFIER",)
    assert plan(version=XCODE_26_3, **options)[0].settings.target.kind == "launch"


def test_two_apps_of_a_simulator_do_not_take_turns_through_this_mac() -> None:
    path = f"/L/CoreSimulator/Devices/{SIMULATOR.udid}/data/MyApp"
    with pytest.raises(UsageError, match="each recording would hold both targets"):
        plan(Simulated(path), XCODE_26_5, app="MyApp", interleave="78", devices=("iPhone 17",))


def test_this_macs_template_is_used_in_every_xcode() -> None:
    assert plan(version=XCODE_26_5, app="MyApp")[0].settings.plan.template == "CPU Counters"


# Outputs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("MyApp", "MyApp"),
        ("My App", "My-App"),
        ("a\"b'c", "a-b-c"),
        ("$(x);y", "x-y"),
        ("line\nbreak", "line-break"),
        ("-rf", "rf"),
        ("..", "recording"),
        ("模型", "模型"),
        ("*", "recording"),
    ],
)
def test_an_output_is_named_after_the_target_and_the_time(name: str, stem: str) -> None:
    (recording,) = plan(Host(name), app=name)
    assert recording.final.parent == Path()
    assert re.fullmatch(re.escape(stem) + r"-\d{8}-\d{6}\.trace", recording.final.name)


@pytest.mark.parametrize(
    "name", ["a" * 200, "模" * 80, "🧠" * 60], ids=["ASCII", "three bytes", "four bytes"]
)
def test_an_outputs_name_is_one_that_file_systems_take(name: str) -> None:
    for recording in plan(Host(name), app=name, count=2):
        assert len(os.fsencode(recording.final.with_suffix(".recording.json").name)) <= 255


def test_a_folder_takes_a_recording_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (recording,) = plan(app="MyApp", output="out")
    assert recording.final.parent == Path("out")
    assert "name the .trace in it" in refusal(app="MyApp", output="out", append=True)


def test_repeated_recordings_are_numbered() -> None:
    assert [recording.final.name for recording in plan(app="MyApp", output="x.trace", count=3)] == [
        "x-1.trace",
        "x-2.trace",
        "x-3.trace",
    ]


def test_two_builds_take_turns(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    options = {"output": "x.trace", "count": 2, "environment": (("A", "1"),)}
    by_path = plan(app="./old", interleave="./new", arguments=("-v",), **options)
    assert [recording.final.name for recording in by_path] == [
        *("x-base-1.trace", "x-new-1.trace", "x-new-2.trace", "x-base-2.trace")
    ]
    launched = {side: ["--launch", "--", str(tmp_path / side), "-v"] for side in ("old", "new")}
    assert [recording.settings.target.build_options() for recording in by_path] == [
        launched[side] for side in ("old", "new", "new", "old")
    ]
    assert {recording.settings.environment for recording in by_path} == {(("A", "1"),)}
    by_command = plan(launch=True, arguments=("./old", "-v"), interleave="./new", **options)
    assert [recording.settings for recording in by_command[:2]] == [
        replace(recording.settings, target=replace(recording.settings.target, reason="a program"))
        for recording in by_path[:2]
    ]


def test_targets_that_take_turns_are_recorded_five_times_unless_a_count_is_given() -> None:
    planned = plan(Host("Old.app/Old"), app="501", interleave="502")
    assert len(planned) == 10
    assert planned[0].final.name.startswith("Old-Second-")
    assert len(plan(app="501", interleave="502", count=1)) == 2


def test_repeated_runs_are_added_to_one_recording(tmp_path: Path) -> None:
    (tmp_path / "x.trace" / "Trace1.run").mkdir(parents=True)
    planned = plan(app="MyApp", output="x.trace", append=True, count=2)
    assert [recording.final.name for recording in planned] == ["x.trace", "x.trace"]
    assert planned[0].settings.append
    assert planned[0].settings.plan.build_options() == []


def test_each_setting_of_the_compute_units_is_passed_to_the_app() -> None:
    planned = plan(
        app="My App", output="x.trace", compute_units=("all", "cpuOnly"), environment=(("A", "1"),)
    )
    assert [
        (recording.final.name, recording.compute_units, recording.settings.environment)
        for recording in planned
    ] == [
        ("x-all.trace", "all", (("A", "1"), ("TRACEKIT_COMPUTE_UNITS", "all"))),
        ("x-cpuOnly.trace", "cpuOnly", (("A", "1"), ("TRACEKIT_COMPUTE_UNITS", "cpuOnly"))),
    ]


def test_several_devices_take_turns() -> None:
    planned = plan(app="MyApp", output="x.trace", devices=("My iPhone", "MacBook Pro"), count=2)
    assert [(recording.final.name, recording.settings.device) for recording in planned] == [
        ("x-My-iPhone-1.trace", PHONE),
        ("x-this-mac-1.trace", None),
        ("x-My-iPhone-2.trace", PHONE),
        ("x-this-mac-2.trace", None),
    ]
    once = plan(all_processes=True, output="x.trace", devices=("My iPhone", "iPhone 17"))
    assert [recording.suffix for recording in once] == ["My-iPhone", "iPhone-17-Simulator"]
    again = plan(version=XCODE_26_5, all_processes=True, output="x.trace", devices=("My iPhone", "iPhone 17"))
    assert [recording.suffix for recording in again] == ["My-iPhone", "iPhone-17-Simulator"]


def test_what_several_devices_exclude() -> None:
    devices = ("My iPhone", "MacBook Pro")
    assert "each as often as --count" in refusal(app="./a", interleave="./b", devices=devices)
    assert "names a device twice" in refusal(app="MyApp", devices=("My iPhone", PHONE.udid))
    several = refusal(launch=True, arguments=("/bin/cat",), target_input="-", devices=devices)
    assert "--stdin - can be read once" in several
