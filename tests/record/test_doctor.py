"""The checks of the doctor: each cause that prevents a recording is found, with advice."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from short_tools import answer_in_process
from xctrace_support import FakeXctrace, install

from tracekit.errors import UsageError
from tracekit.record.doctor import NEEDS_MAC, Check, CheckState, examine
from tracekit.record.doctor.machine_checks import MachineProbe, check_machine
from tracekit.record.leftover import Leftover

pytestmark = pytest.mark.integration

PHONE = {"name": "yx’s iPhone12", "os": "26.4", "udid": "00008101-000D482C1E78001E"}
WAKE = "xcrun devicectl device info details --device 00008101-000D482C1E78001E"
SELECT = "sudo xcode-select --switch /Applications/Xcode.app"


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeXctrace:
    fake = install(tmp_path / "mac")
    monkeypatch.setenv("PATH", str(fake.folder))
    monkeypatch.delenv("DEVELOPER_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    answer_in_process(monkeypatch)
    return fake


def machine(free_bytes: int = 50 * 10**9, sandboxed: bool | None = False) -> MachineProbe:
    return MachineProbe(lambda folder: free_bytes, lambda: sandboxed)


def doctor(
    xctrace: str | None = None, device: str | None = None, **machine_settings: Any
) -> dict[str, Check]:
    checks = examine("0.1.0", xctrace, device, system="darwin", machine=machine(**machine_settings))
    return {check.name: check for check in checks}


def on_machine(**machine_settings: Any) -> dict[str, Check]:
    """Return the checks of the machine alone, which start few programs."""
    return {check.name: check for check in check_machine(machine(**machine_settings))}


def in_state(checks: dict[str, Check], state: CheckState) -> set[str]:
    return {name for name, check in checks.items() if check.state == state}


def program(fake: FakeXctrace, name: str, script: str) -> None:
    path = fake.folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_healthy_mac_has_no_problem(mac: FakeXctrace) -> None:
    checks = doctor()
    assert in_state(checks, "problem") | in_state(checks, "warning") == set()
    assert in_state(checks, "skipped") == {"debugging"}  # the fake has no DevToolsSecurity
    assert checks["xctrace"].finding == str(mac.folder / "xctrace")
    assert checks["xctrace version"].finding == "26.0 (17C529), of Xcode 26"
    assert checks["licence"].finding == "accepted"


def test_the_doctor_never_records(mac: FakeXctrace) -> None:
    doctor()
    assert {call[1] for call in mac.calls("xctrace")} == {"version", "list", "help"}


def test_elsewhere_recording_is_skipped_and_reading_is_not(mac: FakeXctrace) -> None:
    checks = {check.name: check for check in examine("0.1.0", system="linux")}
    assert in_state(checks, "ok") == {"tracekit", "readers", "system"}
    made = {name for name in doctor() if not name.startswith("preset ")}
    assert in_state(checks, "skipped") == made - {"tracekit", "readers", "system"}
    assert {check.finding for check in checks.values() if check.state == "skipped"} == {NEEDS_MAC}


def test_a_device_is_skipped_elsewhere_too() -> None:
    checks = examine("0.1.0", device="iPhone", system="linux")
    assert Check("device", "skipped", NEEDS_MAC) in checks


def test_the_command_line_tools_have_no_xctrace(mac: FakeXctrace) -> None:
    mac.configure(xcode="command-line-tools")
    checks = doctor()
    assert in_state(checks, "problem") == {"xcode-select", "xctrace"}
    assert checks["xcode-select"].advice.split("\n")[1] == SELECT
    assert checks["licence"].state == checks["templates"].state == checks["devices"].state == "skipped"


def test_a_named_xctrace_makes_the_selection_a_note(mac: FakeXctrace, tmp_path: Path) -> None:
    second_xctrace = install(tmp_path / "other")
    mac.configure(xcode="command-line-tools")
    checks = doctor(str(second_xctrace.folder / "xctrace"))
    assert in_state(checks, "problem") == set()
    assert checks["xcode-select"].state == "warning"
    assert checks["licence"].state == "skipped"
    assert checks["xctrace"].finding == str(second_xctrace.folder / "xctrace")


def test_without_any_xcode_nothing_runs_that_opens_a_dialog(mac: FakeXctrace) -> None:
    mac.configure(xcode="none")
    checks = doctor()
    assert in_state(checks, "problem") == {"xcode-select", "xctrace"}
    assert mac.calls("xcrun") == mac.calls("xctrace") == []


def test_the_licence_is_one_problem_and_not_several(mac: FakeXctrace) -> None:
    mac.configure(xcode="licence")
    checks = doctor()
    assert in_state(checks, "problem") == {"licence"}
    assert checks["licence"].advice.split("\n")[1] == "sudo xcodebuild -license"
    assert checks["xctrace"] == Check("xctrace", "skipped", "the licence must be accepted first")


def test_an_xctrace_that_is_not_there_is_wrong_usage(mac: FakeXctrace) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        doctor("/nowhere/xctrace")


def test_a_program_that_is_not_xctrace_is_a_problem(mac: FakeXctrace) -> None:
    program(mac, "other", "echo hello")
    check = doctor(str(mac.folder / "other"))["xctrace"]
    assert (check.state, "is it xctrace?" in check.finding) == ("problem", True)


def test_a_file_that_cannot_be_run_is_a_problem(mac: FakeXctrace, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("")
    check = doctor(str(tmp_path / "text"))["xctrace"]
    assert (check.state, "is not an executable program" in check.finding) == ("problem", True)


def developer_folder(path: Path, xctrace: bool = True) -> Path:
    tools = path / "Contents" / "Developer" / "usr" / "bin"
    tools.mkdir(parents=True)
    if xctrace:
        (tools / "xctrace").touch()
    return path


def test_a_developer_dir_that_differs_from_the_selection_is_a_note(
    mac: FakeXctrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beta = developer_folder(tmp_path / "Xcode-beta.app")
    monkeypatch.setenv("DEVELOPER_DIR", str(beta))
    checks = doctor()
    assert checks["DEVELOPER_DIR"].state == "warning"
    assert checks["DEVELOPER_DIR"].finding == f"{beta} overrides the Xcode of xcode-select"
    # xcode-select runs without DEVELOPER_DIR, which it would only repeat.
    selections = [call for call in mac.log() if call["argv"][0] == "xcode-select"]
    assert [call["DEVELOPER_DIR"] for call in selections] == [None]


def test_an_app_and_the_developer_folder_in_it_are_the_same(
    mac: FakeXctrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = developer_folder(tmp_path / "Xcode.app")
    program(mac, "xcode-select", f"echo '{app / 'Contents' / 'Developer'}'")
    monkeypatch.setenv("DEVELOPER_DIR", str(app))
    assert doctor()["DEVELOPER_DIR"] == Check("DEVELOPER_DIR", "ok", str(app))


def test_a_developer_dir_without_xctrace_is_a_problem(
    mac: FakeXctrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(mac, "xcrun", "exit 1")
    (mac.folder / "xctrace").unlink()
    monkeypatch.setenv("DEVELOPER_DIR", "/nowhere")
    checks = doctor()
    assert (checks["DEVELOPER_DIR"].state, checks["DEVELOPER_DIR"].finding) == (
        "problem",
        "does not exist: /nowhere",
    )
    assert checks["DEVELOPER_DIR"].advice.split("\n")[1] == "unset DEVELOPER_DIR"
    bare = developer_folder(tmp_path / "Tools.app", xctrace=False)
    monkeypatch.setenv("DEVELOPER_DIR", str(bare))
    assert doctor()["DEVELOPER_DIR"].finding == f"has no xctrace: {bare}"


def known_issues(mac: FakeXctrace, build: str) -> list[str]:
    mac.configure(build=build)
    checks = examine("0.1.0", system="darwin", machine=machine())
    return [check.finding for check in checks if check.name == "known issue"]


@pytest.mark.parametrize(
    ("build", "hangs", "display_names", "empty_table"),
    [
        ("16F6", False, False, True),
        ("17C529", False, False, False),
        ("17E192", True, False, False),
        ("17F42", True, True, True),
        ("27A266a", True, True, False),
        ("27B5019j", False, True, False),
    ],
)
def test_a_known_issue_is_listed_for_its_builds_only(
    mac: FakeXctrace, build: str, hangs: bool, display_names: bool, empty_table: bool
) -> None:
    text = " ".join(known_issues(mac, build))
    assert ("does not come to its end" in text, "display name" in text, "was empty" in text) == (
        hangs,
        display_names,
        empty_table,
    )


def test_an_old_xcode_is_a_note(mac: FakeXctrace) -> None:
    mac.configure(version="13.4", build="13F17a")
    assert doctor()["xctrace version"].state == "warning"
    mac.configure(version="14.3.1", build="14E300c")
    assert doctor()["xctrace version"].state == "ok"


def test_each_missing_instrument_is_named_with_what_it_costs(mac: FakeXctrace) -> None:
    mac.configure(
        instruments=["Core ML", "Counters", "GPU", "Points of Interest", "Time Profiler", "os_signpost"]
    )
    check = doctor()["instruments"]
    assert (check.state, check.advice) == (
        "warning",
        "No Neural Engine: the Neural Engine's busy time cannot be measured.",
    )


def test_a_template_that_another_xcode_has_is_named_and_no_cause_for_a_note(mac: FakeXctrace) -> None:
    mac.configure(version="27.0", build="27A266a")
    check = doctor()["templates"]
    assert check.state == "ok"
    assert check.finding == "Time Profiler, CPU Counters, Core AI, Foundation Models (of 25)"
    assert check.advice == "No Core ML: its instruments are recorded one by one, with the same result."
    mac.configure(templates=["Core ML"])
    assert doctor()["templates"].state == "warning"


def test_missing_lists_are_no_problem_and_never_ok(mac: FakeXctrace) -> None:
    program(mac, "xctrace", '[ "$1" = version ] && echo "xctrace version 26.0 (17C529)" || exit 1')
    checks = doctor(device="x")
    assert {checks[name].state for name in ("templates", "instruments", "devices")} == {"warning"}
    assert checks["device"].state == "skipped"


def test_devices_are_counted_and_one_that_is_offline_can_be_woken(mac: FakeXctrace) -> None:
    mac.configure(offline=[PHONE])
    check = doctor()["devices"]
    assert check.state == "warning"
    assert check.finding.startswith("this Mac: Test Mac; 1 offline: yx’s iPhone12 (26.4); 1 simulated: ")
    assert check.advice.split("\n")[1:] == [WAKE]


def test_of_many_devices_the_first_are_named(mac: FakeXctrace) -> None:
    mac.configure(simulators=[{"name": f"Sim {n}", "os": "26.2", "udid": f"0000000{n}"} for n in range(5)])
    assert "5 simulated: Sim 0 (26.2), Sim 1 (26.2), Sim 2 (26.2) and 2 more" in doctor()["devices"].finding


@pytest.mark.parametrize("name", ["yx’s iPhone12", "00008101-000d482c1e78001e"])
def test_a_device_is_found_by_name_or_identifier(mac: FakeXctrace, name: str) -> None:
    mac.configure(offline=[PHONE])
    check = doctor(device=name)["device"]
    assert (check.state, check.advice.split("\n")[1]) == ("problem", WAKE)
    mac.configure(offline=[], devices=[PHONE])
    assert doctor(device=name)["device"].state == "ok"


def test_a_name_with_another_apostrophe_gets_the_right_one_offered(mac: FakeXctrace) -> None:
    mac.configure(devices=[PHONE])
    check = doctor(device="yx's iPhone12")["device"]
    assert check.state == "problem"
    assert check.advice.startswith("Did you mean yx’s iPhone12?")


def test_two_devices_of_one_name_are_distinguished_by_identifier(mac: FakeXctrace) -> None:
    mac.configure(devices=[PHONE, {**PHONE, "udid": "00008130-0000000000000001"}])
    check = doctor(device="yx’s iPhone12")["device"]
    assert check.state == "problem"
    assert "00008130-0000000000000001" in check.advice


@pytest.mark.parametrize(
    ("free_bytes", "state"),
    [(5_000_000_000, "ok"), (4_999_999_999, "warning"), (1_000_000_000, "warning"), (999_999_999, "problem")],
)
def test_little_space_is_a_note_and_less_a_problem(
    mac: FakeXctrace, free_bytes: int, state: CheckState
) -> None:
    checks = on_machine(free_bytes=free_bytes)
    assert (checks["space here"].state, checks["space in TMPDIR"].state) == (state, state)


def test_a_folder_that_went_away_is_skipped(
    mac: FakeXctrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    shutil.rmtree(tmp_path / "gone")
    checks = on_machine()
    assert (checks["space here"].state, checks["space in TMPDIR"].state) == ("skipped", "ok")


@pytest.mark.parametrize(
    ("path", "finding"),
    [
        ("/Applications/Xcode.app/Contents/Developer/usr/bin/xctrace", "xctrace (pid 501)"),
        (
            "/Applications/My Xcode.app/Contents/Applications/Instruments.app/Contents/MacOS/Instruments",
            "Instruments (pid 501)",
        ),
        ("/opt/xctrace-helper", "none"),
        ("/Applications/Instruments.app/Contents/MacOS/Tuner", "none"),
    ],
)
def test_another_recorder_at_work_is_named(mac: FakeXctrace, path: str, finding: str) -> None:
    mac.configure(processes=[{"pid": 501, "path": path}])
    check = on_machine()["other recorders"]
    assert (check.finding, check.state) == (finding, "ok" if finding == "none" else "warning")


def test_an_xctrace_of_a_killed_tracekit_is_named(mac: FakeXctrace, monkeypatch: pytest.MonkeyPatch) -> None:
    mac.configure(processes=[{"pid": 77, "path": "/Xcode/usr/bin/xctrace"}])
    left = Leftover(77, 0, "/w/x.trace")
    monkeypatch.setattr("tracekit.record.doctor.machine_checks.find_all_leftovers", lambda: (left,))
    check = on_machine()["other recorders"]
    assert (check.state, check.finding) == ("warning", "xctrace (pid 77, left by a tracekit that was killed)")
    assert check.advice.splitlines()[-1] == "kill -INT 77"


@pytest.mark.parametrize(("sandboxed", "state"), [(False, "ok"), (True, "warning"), (None, "skipped")])
def test_a_sandbox_is_a_note_and_an_unknown_one_is_not_ok(
    mac: FakeXctrace, sandboxed: bool | None, state: CheckState
) -> None:
    assert on_machine(sandboxed=sandboxed)["sandbox"].state == state


@pytest.mark.parametrize(("status", "state"), [("enabled", "ok"), ("disabled", "warning"), ("?", "skipped")])
def test_the_setting_that_macos_asks_for_a_password(mac: FakeXctrace, status: str, state: CheckState) -> None:
    program(mac, "DevToolsSecurity", f"echo 'Developer mode is currently {status}.'")
    assert on_machine()["debugging"].state == state


def test_this_machine_is_probed_without_an_error() -> None:
    assert MachineProbe().is_sandboxed() in ((True, False) if sys.platform == "darwin" else (None,))
    assert MachineProbe().free_bytes(".") > 0


def test_every_name_but_known_issue_comes_once(mac: FakeXctrace) -> None:
    mac.configure(build="17F42")
    checks = examine("0.1.0", device="x", system="darwin", machine=machine())
    names = [check.name for check in checks if check.name != "known issue"]
    assert len(names) < len(checks)
    assert len(names) == len(set(names))


def test_each_preset_is_listed_with_what_its_recording_will_show(mac: FakeXctrace) -> None:
    mac.configure(version="27.0", build="27A266a")
    checks = doctor()
    assert checks["preset coreai"].finding.startswith("calls: exact, from Core ML's predictions, Core AI's")
    assert "Not measured: Neural Engine (calls to it on stacks" in checks["preset minimal"].advice
    mac.configure(version="26.0", build="17C529")
    assert "This Xcode has no template Core AI" in doctor()["preset coreai"].advice


def test_commands_of_a_newer_xctrace_are_named(mac: FakeXctrace) -> None:
    assert "toc" not in doctor()["commands"].finding
    mac.configure(version="27.0", build="27A266a")
    check = doctor()["commands"]
    assert check.state == "ok"
    assert check.finding.endswith("; new, and not needed by tracekit: toc, show, triage")


def test_an_xctrace_without_a_needed_command_is_noted(mac: FakeXctrace) -> None:
    script = '[ "$1" = version ] && echo "xctrace version 26.0 (17C529)"; [ "$1" = help ] && printf "commands:\\n\\texport  x\\n"; true'
    program(mac, "xctrace", script)
    check = doctor()["commands"]
    assert (check.state, check.advice) == (
        "warning",
        "No record or import or list: this xctrace cannot record or export.",
    )
