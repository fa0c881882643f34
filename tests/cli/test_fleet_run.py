"""``tracekit fleet run``: what it prints, and its exit codes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tracekit.cli import main
from tracekit.fleet.dataset import open_dataset

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def fleet_run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["fleet", "run", *map(str, arguments)])


@pytest.mark.integration
def test_a_run_names_what_it_did_and_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    for name in ("two-copies-ios27", "kperf-samples-macos26"):
        shutil.copytree(SAMPLES / name, lab / name)
    shutil.copytree(lab / "two-copies-ios27", lab / "z-copy-ios27")
    (lab / "broken").mkdir()
    (lab / "broken" / "x.xml").write_text("<trace-query-result>")
    (lab / "cut.trace.zip").write_bytes(b"PK\x03\x04")
    (lab / "kperf-samples-macos26.labels.json").write_text('{"branch": "main"}')
    options = (
        "-o",
        tmp_path / "results",
        "--labels-from-name",
        "{app}-{system}",
        "--workers",
        1,
        "--label",
        "build=7",
    )

    result = fleet_run(lab, *options)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[:6] == [
        f"{tmp_path}/results: 2 recordings analyzed, 1 the same as others, 2 that could not be analyzed.",
        "Could not be analyzed:",
        f"  {lab}/cut.trace.zip: cannot be unpacked: it is cut off or damaged. Make the archive again, or"
        " download it again.",
        f"  {lab}/broken: x.xml: ends in the middle of the document. The export was cut off: export the table"
        " again.",
        "The same recording under several names, counted once:",
        f"  {lab}/z-copy-ios27: the same as {lab}/two-copies-ios27",
    ]
    assert "5 recordings without labels of the name" in lines[6]
    recordings = (
        open_dataset(tmp_path / "results")
        .open_table("recordings")
        .to_table(columns=["name", "build", "labels"])
    )
    assert next(row for row in recordings.to_pylist() if str(row["name"]).startswith("kperf")) == {
        "name": "kperf-samples-macos26", "build": "7", "labels": [("branch", "main"), ("build", "7")]
    }  # fmt: skip

    result = fleet_run(lab, *options)
    assert result.exit_code == 0
    assert (
        "0 recordings analyzed, 2 already there, 1 the same as others, 2 that could not be analyzed."
        in result.output
    )


@pytest.mark.integration
def test_a_run_without_any_readable_recording_fails(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text("<trace-query-result>")
    result = fleet_run(tmp_path / "x.xml", "-o", tmp_path / "results", "--workers", 1)
    assert result.exit_code == 3
    assert "none of the recordings could be analyzed" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--resource", "GPU=1"), "--resource is for a cluster: name its --scheduler."),
        (("--scheduler", "tcp://127.0.0.1:1", "--resource", "GPU"), "--resource is NAME=N"),
        (("--labels-from-name", "build"), "is no pattern"),
        (("--label", "build"), "--label is NAME=VALUE"),
        (
            ("--labels-from-name", "{build}-{system}", "--label", "build=7"),
            "contradict each other in 1 place",
        ),
        (("--labels", "missing.csv"), "missing.csv cannot be read"),
    ],
)
def test_wrong_usage_is_stated_before_any_work(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "shop-ios.xml").write_text("<trace-query-result>")
    result = fleet_run(tmp_path / "shop-ios.xml", "-o", tmp_path / "results", *options)
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "results").exists()


def test_a_folder_of_other_files_is_no_place_for_results(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text("<trace-query-result>")
    result = fleet_run(tmp_path / "x.xml", "-o", tmp_path)
    assert result.exit_code == 2
    assert "neither empty nor a dataset of results" in result.output


@pytest.mark.integration
@pytest.mark.skipif(not Path("/proc").exists(), reason="needs Linux")
def test_a_run_that_is_interrupted_leaves_no_process_and_a_whole_dataset(tmp_path: Path) -> None:
    lab, results = tmp_path / "lab", tmp_path / "results"
    export = (SAMPLES / "text-addresses-ios16" / "time-profile.xml").read_bytes()
    for copy in range(200):  # a part is written after 64
        (lab / str(copy)).mkdir(parents=True)
        (lab / str(copy) / "x.xml").write_bytes(export.replace(b"SampleApp", f"Sample{copy}".encode()))
    command = [
        sys.executable,
        "-m",
        "tracekit",
        "fleet",
        "run",
        str(lab),
        "-o",
        str(results),
        "--workers",
        "1",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (results / "tracekit-fleet.json").exists() or not open_dataset(results).count("recordings"):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Run the same command again" in errors
    until = time.monotonic() + 30
    while processes_with(str(tmp_path), process.pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert processes_with(str(tmp_path), process.pid) == []
    assert 0 < open_dataset(results).count("recordings") < 200


def processes_with(text: str, parent: int) -> list[int]:
    """Return the processes with a text in their command or working folder, and the children of one."""
    matches = []
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and int(place.name) != os.getpid():
                status = (place / "status").read_text()
                if text in (place / "cmdline").read_text() or f"PPid:\t{parent}\n" in status:
                    matches.append(int(place.name))
        except OSError:
            continue
    return matches
