"""The record page: its choices, its messages, and access to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dash import html
from test_pages import text_of

from tracekit.errors import UsageError
from tracekit.record.doctor import Check
from tracekit.xctrace.mac_host import App, Process
from tracekit.xctrace.xctrace_list import Device
from tracekit_dashboard.callbacks.record import build_request, may_record
from tracekit_dashboard.pages import record, record_form
from tracekit_dashboard.pages.frame import build_frame
from tracekit_dashboard.recording.attempts import Attempt
from tracekit_dashboard.recording.inventory import HostInventory
from tracekit_dashboard.recording.request import RecordingRequest
from tracekit_dashboard.recording.state import AttemptState
from tracekit_dashboard.settings import Settings

SIMULATOR = "0F4D5D74-A4FE-4261-9596-8073565E7927"
PHONE = "00008101-000D482C1E78001E"
APP = Process(4215, "/Applications/A.app/Contents/MacOS/a", App("/Applications/A.app", display_name="Photos"))
IN_SIMULATOR = Process(77, f"/L/CoreSimulator/Devices/{SIMULATOR}/data/B.app/b")
DEVICES = (
    Device("Test Mac", "", "D283C622-DE11-5668-8E1F-E6234E85E6C8", "mac"),
    Device("My Phone", "26.2", PHONE, "device"),
    Device("Old Phone", "17.0", "0" * 16, "device", online=False),
    Device("iPhone 17 Simulator", "26.2", SIMULATOR, "simulator"),
)
STATE = AttemptState("recording", "SampleApp (pid 4215)", 10.0, began=1000.0, size_bytes=586_000)
UNFINISHED = replace(
    STATE, phase="failed", message="x.trace was not finished.", command="xctrace import", left="x.trace"
)


def acts(layout: Any) -> list[str]:
    """The acts of all buttons."""
    texts: list[str] = []
    stack = [layout]
    while stack:
        component = stack.pop()
        if isinstance(component, (list, tuple)):
            stack += reversed(component)
        elif isinstance(getattr(component, "id", None), dict):
            texts.append(component.id["record"])
        elif hasattr(component, "children"):
            stack.append(component.children)
    return texts


# What there is to choose ----------------------------------------------------------------------------------


def options(layout: Any) -> list[tuple[str, str, bool]]:
    """Label, value and whether it cannot be chosen, of all options."""
    choices: list[tuple[str, str, bool]] = []
    for part in layout if isinstance(layout, list) else [layout]:
        if isinstance(part, html.Option):
            choices.append((part.children, part.value, bool(getattr(part, "disabled", False))))
        elif part is not None:
            choices += options(part.children)
    return choices


def test_devices_by_name_and_those_that_are_away_cannot_be_chosen() -> None:
    assert options(record_form.build_device_options(DEVICES)) == [
        ("This Mac", "mac", False),
        ("My Phone (26.2)", f"device:{PHONE}", False),
        ("Old Phone (17.0, offline)", f"device:{'0' * 16}", True),
        ("iPhone 17 Simulator (simulator 26.2)", f"simulator:{SIMULATOR}", False),
    ]


def test_processes_of_this_mac_and_those_of_a_simulator_apart() -> None:
    both = [APP, IN_SIMULATOR]
    none = ("Choose …", "", False)
    assert options(record_form.build_process_select(both, "")) == [
        none,
        ("a – Photos (pid 4215)", "4215 a", False),
    ]
    assert options(record_form.build_process_select(both, SIMULATOR.lower())) == [
        none,
        ("b (pid 77)", "77 b", False),
    ]
    assert options(record_form.build_process_select(both, "elsewhere")) == [("No processes", "", False)]


def test_presets_come_before_templates() -> None:
    values = [value for _, value, _ in options(record_form.build_instrument_options(["Leaks", "Zombies"]))]
    assert values == [
        "preset:counters",
        "preset:coreml",
        "preset:coreai",
        "preset:minimal",
        "template:Leaks",
        "template:Zombies",
    ]


def test_the_form_has_every_choice() -> None:
    text = text_of(
        record_form.build_form(HostInventory(version="26.0", devices=DEVICES, note="No list.\u202e"), [APP])
    )
    for label in ("On", "What", "Process", "App or program", "Compute units", "With", "Time limit", "Start"):
        assert label in text
    assert "No list.\\u202e" in text


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        (("mac", "running", "4215 a b", "", "", "preset:coreml", 5, []), RecordingRequest("running", "a b", 4215, "", "coreml", "", 5)),
        (
            (f"simulator:{SIMULATOR}", "running", "77 b", "", "", "template:Leaks", 2.5, []),
            RecordingRequest("running", "b", 77, SIMULATOR, "", "Leaks", 2.5),
        ),
        (
            (f"device:{PHONE}", "running", "4215 a", "MyApp ", "", "preset:minimal", 1, []),
            RecordingRequest("running", "MyApp", 0, PHONE, "minimal", "", 1),
        ),
        (
            ("mac", "launch", None, "", "/A.app", "preset:counters", 10, ["all"]),
            RecordingRequest("launch", "/A.app", 0, "", "counters", "", 10, ("all",)),
        ),
        (("mac", "all", "4215 a", "x", "y", "preset:counters", 10, ["all"]), RecordingRequest("all")),
    ],
)  # fmt: skip
def test_the_fields_make_a_request(fields: tuple[Any, ...], made: RecordingRequest) -> None:
    assert build_request(*fields) == made


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("mac", "running", None, "", "", "preset:coreml", 5, []), "Choose the process"),
        (("mac", "running", "0 a", "", "", "preset:coreml", 5, []), "Choose the process"),
        (("mac", "running", "-1 a", "", "", "preset:coreml", 5, []), "Choose the process"),
        (("mac", "launch", "", "", None, "preset:coreml", 5, []), "Choose or name"),
        (("mac", "launch", "", "", "--output", "preset:coreml", 5, []), "taken for an option"),
        (("device:-x", "all", "", "", "", "preset:coreml", 5, []), "taken for an option"),
        (("mac", "all", "", "", "", "template:-x", 5, []), "taken for an option"),
        (("mac", "all", "", "", "", "preset:all", 5, []), "Choose what to record"),
        (("mac", "all", "", "", "", None, 5, []), "Choose what to record"),
        (("mac", "all", "", "", "", "preset:coreml", None, []), "from 0.1 to 3,600, such as"),
        (("mac", ["all"], "", "", "", "preset:coreml", 5, []), "Choose what to record"),
    ],
)
def test_fields_that_make_none(fields: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build_request(*fields)


# What it says ---------------------------------------------------------------------------------------------


def test_while_it_prepares_records_and_saves() -> None:
    for phase, message, doing in (
        ("preparing", "Preparing to record SampleApp (pid 4215)", ["stop"]),
        ("recording", "Recording SampleApp (pid 4215)", ["stop", "discard"]),
        ("saving", "Saving SampleApp (pid 4215)", ["stop", "discard"]),
    ):
        (card,) = record.build_live_attempts([Attempt("x", replace(STATE, phase=phase))])  # type: ignore[arg-type]
        assert message in text_of(card)
        assert acts(card) == doing


def test_the_time_that_has_passed() -> None:
    recording = Attempt("x", STATE)
    assert "4 s of 10 s, 586 kB so far" in text_of(record.build_elapsed(recording, 1004.2))
    assert "10 s of 10 s" in text_of(record.build_elapsed(recording, 1015.0))
    saving = Attempt("x", replace(STATE, phase="saving"))
    assert "Saving for 1 min 5 s" in text_of(record.build_elapsed(saving, 1065.0))
    assert record.build_elapsed(None, 0) is None
    assert record.build_elapsed(Attempt("x", replace(STATE, phase="preparing")), 1000.0) is None


def test_which_of_several_is_being_recorded() -> None:
    state = replace(STATE, number=2, count=3, compute_units="cpuOnly")
    assert "Recording 2 of 3: cpuOnly" in text_of(record.build_live_attempts([Attempt("x", state)]))


def test_a_repeated_request_is_warned_before_anything_is_killed() -> None:
    (card,) = record.build_live_attempts([Attempt("x", replace(STATE, phase="saving", insist_until=1.0))])
    assert "killing it now can lose the recording" in text_of(card)
    assert "Kill xctrace" in text_of(card)


def test_a_failure_names_what_is_left_and_what_can_be_done() -> None:
    (card,) = record.build_failed_attempts([Attempt("x", UNFINISHED)])
    assert acts(card) == ["open", "dismiss", "discard"]
    assert "x.trace was not finished.xctrace import" in text_of(card)
    (card,) = record.build_failed_attempts(
        [Attempt("x", replace(UNFINISHED, left="", command="", message="No.\u202e"))]
    )
    assert acts(card) == ["dismiss"]
    assert "No.\\u202e" in text_of(card)


def test_without_xctrace_the_doctors_findings_and_another_way_are_shown() -> None:
    checks = (
        Check("xctrace", "problem", "not found", "Select one:\nsudo xcode-select"),
        Check("devices", "skipped", "xctrace does not work"),
    )
    page = record.build_unavailable(HostInventory("Only the Command Line Tools.", checks))
    text = text_of(page)
    assert "Nothing can be recorded here: Only the Command Line Tools." in text
    assert "not foundSelect one:sudo xcode-select" in text
    assert "devices" not in text
    assert "add it to the library" in text
    assert text.count("Checks by tracekit doctor") == 1 and "Last looked" not in text
    assert acts(page) == ["look"]


def test_where_the_doctor_finds_nothing_wrong_the_table_shows_the_finding() -> None:
    page = record.build_unavailable(HostInventory("No Mac.", (Check("python", "ok", "3.12"),)), "21:03:04")
    assert "recordingproblemNo Mac.pythonok3.12" in text_of(page)
    assert "Last looked at 21:03:04." in text_of(page)


# Who may --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "0.0.0.0", "token": "t"}, False),
        ({"host": "192.168.1.2", "token": "t"}, False),
        ({"allowed_hosts": ("mac.example.org",)}, False),
        ({"host": "0.0.0.0", "token": "t", "remote_recording": True}, True),
        ({"allowed_hosts": ("mac.example.org",), "remote_recording": True}, True),
    ],
)
def test_visitors_from_elsewhere_start_no_programs_here(settings: dict[str, Any], allowed: bool) -> None:
    assert may_record(Settings(Path(), **settings)) is allowed


START = {
    "output": "..record-drawn.data...record-watched.data..",
    "outputs": [],
    "inputs": [{"id": "record-start", "property": "n_clicks", "value": 1}],
    "changedPropIds": ["record-start.n_clicks"],
    "state": [],
}


def posted(client: Any, host: str) -> Any:
    headers = {"Sec-Fetch-Site": "same-origin", "Host": host}
    return client.post("/_dash-update-component", json=START, headers=headers)


def test_where_others_can_reach_it_nothing_can_be_started_even_by_hand(
    client: Callable[..., Any], tmp_path: Path
) -> None:
    made = client(allowed_hosts=("mac.example.org",))
    answer = posted(made, "mac.example.org:8127")
    assert answer.status_code == 400
    assert not (tmp_path / "recorded").exists()
    rules = made.get("/_dash-dependencies", headers={"Host": "127.0.0.1:8127"}).get_json()
    assert not any("record" in rule["output"] for rule in rules)


def test_here_its_callbacks_are_there(client: Callable[..., Any]) -> None:
    rules = client().get("/_dash-dependencies", headers={"Host": "127.0.0.1:8127"}).get_json()
    assert sum("record-" in rule["output"] for rule in rules) == 6


def test_another_site_cannot_start_one(client: Callable[..., Any], tmp_path: Path) -> None:
    answer = client().post(
        "/_dash-update-component",
        json=START,
        headers={"Host": "127.0.0.1:8127", "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    )
    assert answer.status_code == 403
    assert not (tmp_path / "recorded").exists()


def test_every_page_leads_to_it() -> None:
    assert "Record" in text_of(build_frame(is_watching=False))
    assert "tracekit record --app MyApp" in text_of(record.build_not_allowed())
