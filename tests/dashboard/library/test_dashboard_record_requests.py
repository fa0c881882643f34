"""Recording from the page: valid requests, and the choices that the machine offers."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from library_support import wait_for
from recording_support import until_opened
from xctrace_support import FakeXctrace

from tracekit.errors import UsageError
from tracekit.record import xctrace_failures
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.recording import inventory
from tracekit_dashboard.recording.attempts import Attempts
from tracekit_dashboard.recording.request import RecordingRequest, reword_for_page

# What is asked for ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"target": "--output"}, "taken for an option"),
        ({"device": "-x"}, "taken for an option"),
        ({"template": "-x"}, "taken for an option"),
        ({"target": "a\0b"}, "contains characters that no name has"),
        ({"target": "x" * 1001}, "too long"),
        ({"target": ["x"]}, "too long, or"),
        ({"target": " "}, "Choose or name"),
        ({"seconds": 0}, "between 0.1 and 3600"),
        ({"seconds": 3601}, "between 0.1 and 3600"),
        ({"seconds": float("nan")}, "between 0.1 and 3600"),
        ({"seconds": "10"}, "must be a number"),
        ({"seconds": True}, "must be a number"),
        ({"kind": "shell"}, "Choose what to record"),
        ({"preset": "all of it"}, "Choose what to record"),
        ({"compute_units": ("all",)}, "choose to start it"),
        ({"kind": "launch", "compute_units": ("gpu",)}, "The compute units are all, "),
    ],
)
def test_values_that_make_no_recording(changed: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RecordingRequest(**{"kind": "running", "target": "SampleApp", **changed})  # type: ignore[arg-type]


def test_no_advice_names_an_option_of_the_command_line() -> None:
    for _, failure in xctrace_failures._FAILURES:
        assert " --" not in reword_for_page(str(failure))


@pytest.mark.integration
def test_a_name_with_a_shells_signs_is_a_name(desk: Attempts, xctrace: FakeXctrace, tmp_path: Path) -> None:
    tool = tmp_path / "a tool; touch $(HOME)`x`'\""
    tool.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    tool.chmod(0o755)
    until_opened(desk, desk.start(RecordingRequest("launch", str(tool), seconds=0.2)))
    (command,) = [call for call in xctrace.calls("xctrace") if call[1] == "record"]
    assert command[-1] == str(tool)


# What there is --------------------------------------------------------------------------------------------


def test_the_machine_is_examined_once_and_in_the_background(library: Library) -> None:
    looks: list[int] = []
    may_end = threading.Event()

    def take() -> inventory.HostInventory:
        looks.append(1)
        assert may_end.wait(60)
        return inventory.HostInventory(version="26.0")

    probe = inventory.HostProbe(library.queue, take)
    assert [probe.find_inventory() for _ in range(5)] == [None] * 5
    may_end.set()
    wait_for(lambda: probe.find_inventory() == inventory.HostInventory(version="26.0"))
    assert looks == [1]
    probe.find_inventory(refresh=True)
    wait_for(lambda: probe.find_inventory() is not None)
    assert looks == [1, 1]


@pytest.mark.integration
def test_what_this_xctrace_offers(xctrace: FakeXctrace) -> None:
    examination = inventory.take_inventory()
    assert examination.problem == ""
    assert examination.version == "26.0 (17C529), of Xcode 26"
    assert "Core ML" in examination.templates
    assert [device.kind for device in examination.devices] == ["mac", "simulator"]
    assert [process.name for process in inventory.list_processes()] == ["SampleApp"]


def test_where_there_is_no_xctrace_the_doctor_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    examination = inventory.take_inventory()
    assert (
        "it comes with Xcode, on a Mac." in examination.problem
        or examination.problem
        == "Recording needs a Mac with Xcode. Reading, reports and the library work here."
    )
    assert [check.name for check in examination.checks][:3] == ["tracekit", "readers", "system"]
