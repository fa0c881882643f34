"""Recordings through pymobiledevice3, on a stand-in with its command line: what is kept, and what is printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kdebug_files import write_device_folder

import tracekit
from tracekit.cli import main

pytestmark = pytest.mark.integration

PROGRAM = """\
#!{python}
import json, os, pathlib, sys, time
folder = pathlib.Path(os.environ["DEVICE"])
with (folder / "commands").open("a") as file:
    print(*sys.argv[1:], file=file)
word = sys.argv[4] if "core-profile-session" in sys.argv else sys.argv[-1]
if sys.argv[1:] == ["version"]:
    print("11.45.0")
elif (folder / "error").exists():
    print("2026-11-28 INFO Trying\\n2026-11-28 ERROR Failed to connect to usbmuxd socket\\nINFO Run again with -v", file=sys.stderr)
    sys.exit(1)
elif "stackshot" in sys.argv:
    pathlib.Path(sys.argv[sys.argv.index("--out") + 1]).write_bytes((folder / "stackshot.json").read_bytes())
elif "save" in sys.argv:
    with open(sys.argv[sys.argv.index("save") + 1], "wb") as out:
        out.write((folder / "stream.ktrace").read_bytes())
    while True:
        print("Receiving trace data", flush=True)
        time.sleep(0.05)
elif "oslog" in sys.argv:
    while True:
        print((folder / "log.ndjson").read_text(), end="", flush=True)
        time.sleep(0.05)
"""


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a stand-in's data; the program is the first on the path."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "pymobiledevice3").write_text(PROGRAM.format(python=sys.executable))
    (tools / "pymobiledevice3").chmod(0o755)
    data = write_device_folder(tmp_path / "device")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DEVICE", str(data))
    monkeypatch.chdir(tmp_path)
    return data


def record(*options: str) -> Result:
    return CliRunner().invoke(main, ["record", "--via", "pymobiledevice3", *options])


def test_a_device_is_recorded_into_a_folder(device: Path) -> None:
    result = record("--device", "UDID-1", "--time-limit", "500ms", "-o", "x.device")
    assert result.exit_code == 0, result.output
    folder = Path("x.device")
    assert sorted(path.name for path in folder.iterdir()) == [
        "device.json",
        "log.ndjson",
        "stackshot.json",
        "stream.ktrace",
    ]
    lacking = "the tables of the engines, which Instruments makes on a Mac, and stacks by a timer."
    before, after = " ".join(result.output.split()).split("Saved x.device: ")
    assert f"Not to be had this way: {lacking}" in before
    assert f"Not in it: {lacking}" in after
    commands = (device / "commands").read_text().splitlines()
    assert commands[0] == "version"
    assert commands[1] == (
        "developer dvt core-profile-session stackshot --out x.device/stackshot.json --udid UDID-1"
    )
    assert sorted(commands[2:]) == [
        "developer dvt core-profile-session save x.device/stream.ktrace --subclass-filters 0x061b --udid UDID-1",
        "developer dvt oslog --format json --udid UDID-1",
    ]
    journal = json.loads((folder / "device.json").read_text())
    assert journal["version"] == "11.45.0" and journal["device"] == "UDID-1"


def test_the_stackshot_names_the_threads_and_images_of_the_stream(device: Path) -> None:
    record("--device", "UDID-1", "--time-limit", "300ms", "-o", "x.device", "--no-analysis")
    trace = tracekit.open_trace("x.device")
    assert trace.threads.values.tolist() == [[7, "render", 42, "MyApp"]]
    assert trace.stacks.binaries["name"].tolist() == ["Espresso"]
    assert trace.info.start == "2026-09-21T14:13:20.000000+00:00"
    issues = {issue.code: issue.message for issue in trace.issues}
    # The stand-in's samples are as regular as a timer's, and none was taken by one.
    assert issues["weight-assumed"].endswith("counts as 1 ms")
    assert issues["sampling-uneven"] == (
        "a sample was taken whenever the Neural Engine's driver traced an event, and not by a timer: weights are"
        " no time"
    )


def test_a_damaged_stackshot_is_left_out_alone(device: Path) -> None:
    (device / "stackshot.json").write_text('{"a":')
    record("--device", "UDID-1", "--time-limit", "300ms", "-o", "x.device", "--no-analysis")
    trace = tracekit.open_trace("x.device")
    assert len(trace.samples) == 5
    messages = [issue.message for issue in trace.issues if issue.code == "file-skipped"]
    assert "stackshot.json is left out: it is no stackshot as JSON" in messages
    assert not any(message.startswith("stream.ktrace") for message in messages)


def test_a_program_that_cannot_be_started_leaves_nothing(device: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "pymobiledevice3").write_bytes(b"\0 no program")
    result = record("--device", "UDID-1", "-o", "x.device")
    assert result.exit_code == 2
    assert "cannot be started" in result.output
    assert not Path("x.device").exists()


def test_a_program_that_cannot_reach_the_device_leaves_nothing(device: Path) -> None:
    (device / "error").touch()
    result = record("--device", "UDID-1", "--time-limit", "2s", "-o", "x.device")
    assert result.exit_code == 4
    assert "recorded nothing" in result.output
    assert "ERROR Failed to connect to usbmuxd socket" in result.output
    assert not Path("x.device").exists()


def test_a_program_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = record("--device", "UDID-1")
    assert result.exit_code == 2
    assert "uv tool install pymobiledevice3" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--device UDID"),
        (("--device", "A", "--device", "B"), "--device UDID"),
        (("--device", ""), "To list devices: pymobiledevice3 usbmux list"),
        (("--device", "--udid"), "--device UDID"),
        (("--device", "A", "--app", "MyApp"), "does not go with --app"),
        (("--device", "A", "--with", "power"), "does not go with --with"),
        (("--device", "A", "--report", "x.html"), "does not go with --report"),
        (("--device", "A", "--dry-run"), "does not go with --dry-run"),
    ],
)
def test_options_of_other_recordings_are_refused(device: Path, options: tuple[str, ...], words: str) -> None:
    result = record(*options)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
    assert not (device / "commands").exists()


def test_an_existing_folder_is_not_touched(device: Path) -> None:
    Path("x.device").mkdir()
    assert record("--device", "UDID-1", "-o", "x.device").exit_code == 2
    assert list(Path("x.device").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_program_outlives_the_recording(device: Path, number: signal.Signals) -> None:
    command = [
        sys.executable,
        "-m",
        "tracekit",
        "record",
        "--via",
        "pymobiledevice3",
        "--device",
        "U",
        "-o",
        "x.device",
    ]
    process = subprocess.Popen([*command, "--no-analysis"], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    stream = Path("x.device/stream.ktrace")
    while not (stream.exists() and stream.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    process.wait(20)
    while "oslog" in list_commands() and time.monotonic() < deadline + 10:
        time.sleep(0.1)
    assert "core-profile-session" not in list_commands()
    assert (Path("x.device") / "log.ndjson").exists() is (number == signal.SIGINT)


def list_commands() -> str:
    """Return the command lines of this test's stand-ins that still run."""
    result = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return "\n".join(line for line in result.stdout.splitlines() if str(Path.cwd()) in line)
