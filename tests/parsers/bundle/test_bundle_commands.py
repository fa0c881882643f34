"""The commands on a bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bundle_support import APP, CLOCK, MAIN, TEXT_AT, changed, loaded, new_run, profile_row, small_bundle
from click.testing import CliRunner, Result
from documents_support import one_table, write

from sample_generator.bundle_document import RunInfo
from sample_generator.bundle_images import Symbol
from sample_generator.bundle_schemas import TIME_PROFILE
from sample_generator.bundle_tables import Col
from sample_generator.bundle_writer import BundleWriter, write_folder, zipped
from tracekit.cli import main

EXPORT = one_table("t", [("time", "sample-time")], '<sample-time id="1">1</sample-time>')


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def no_xctrace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Two runs: one of three samples and a table of numbers, one with another table of the same name."""
    writer = BundleWriter()
    first_run = new_run(
        writer, RunInfo(process="SampleApp", pid=4711, template="Core ML", os_version="26.0 (25A354)")
    )
    first_run.load(APP, loaded(Symbol(0x1000, 0x100, "_work", "work")))
    first_run.table(
        "time-profile",
        TIME_PROFILE,
        [profile_row(time, TEXT_AT + 0x1011, TEXT_AT + 0x7000) for time in (1, 2, 3)],
    )
    columns = (
        CLOCK,
        Col("value", "Value", "XRPrototypeStringTypeID"),
        Col("thread", "Thread", "XRThreadTypeID"),
    )
    first_run.table("numbers", columns, [(5, "aESC[31m", MAIN)], attributes={"target-pid": "SINGLE"})
    two = new_run(writer)
    two.table("numbers", columns, [(7, "second run", None), (6, "first row", None)])
    # Python writes no control character into XML; Instruments does.
    strings = "corespace/run1/core/uniquing/strings"
    files = changed(writer.files(), strings, lambda xml: xml.replace(b"ESC", b"\x1b"))
    return write_folder(files, tmp_path / "App.trace")


def test_the_list_of_tables(bundle: Path) -> None:
    result = run("tables", bundle)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.split() for line in result.stdout.splitlines()] == [
        [
            "Run",
            "1",
            "of",
            "App.trace",
            "(Core",
            "ML,",
            "Instruments",
            "26.0",
            "(17C529),",
            "26.0",
            "(25A354),",
            "SampleApp)",
        ],
        ["#", "schema", "rows", "file", "attributes"],
        ["1", "process-info", "1"],
        ["2", "thread-info", "2"],
        ["3", "time-profile", "3"],
        ["4", "numbers", "1", "target-pid=SINGLE"],
        [],
        [
            "Run",
            "2",
            "of",
            "App.trace",
            "(Time",
            "Profiler,",
            "Instruments",
            "26.0",
            "(17C529),",
            "15.5",
            "(24F74),",
            "SampleApp)",
        ],
        ["#", "schema", "rows", "file", "attributes"],
        ["1", "process-info", "1"],
        ["2", "thread-info", "2"],
        ["3", "numbers", "2"],
    ]


def test_the_list_as_json(bundle: Path) -> None:
    document = json.loads(run("tables", bundle, "--format", "json", "--run", 2).stdout)
    assert document["input"] == "App.trace"
    (listed,) = document["runs"]
    assert (listed["kind"], listed["run"], listed["pid"]) == ("trace-bundle", 2, 4711)
    assert [(t["schema"], t["row_count"]) for t in listed["tables"]] == [
        ("process-info", 1),
        ("thread-info", 2),
        ("numbers", 2),
    ]


@pytest.mark.integration
def test_the_rows_of_a_table(bundle: Path) -> None:
    result = run("tables", bundle, "--schema", "numbers", "--format", "csv")
    assert (
        result.stdout
        == 'time,value,thread\n5,a\N{REPLACEMENT CHARACTER}[31m,"Main Thread (0x5a00) (SampleApp, pid: 4711)"\n'
    )
    result = run(
        "tables", bundle, "--schema", "numbers", "--run", 2, "--format", "csv", "--columns", "time,value"
    )
    assert result.stdout == "time,value\n6,first row\n7,second run\n"


def test_the_rows_of_a_table_as_json(bundle: Path) -> None:
    document = json.loads(
        run("tables", bundle, "--schema", "time-profile", "--format", "json", "--limit", 1).stdout
    )
    (row,) = document["rows"] if isinstance(document, dict) else document
    assert _values(row)["weight"] == 1_000_000
    assert [frame["symbol"] for frame in _values(row)["stack"]] == ["work", "0x100006fff"]


def _values(row: Any) -> dict[str, Any]:
    return row if isinstance(row, dict) else dict(zip([c.mnemonic for c in TIME_PROFILE], row, strict=True))


def test_control_characters_are_not_sent_to_a_terminal(bundle: Path) -> None:
    assert "\x1b" not in run("tables", bundle, "--schema", "numbers").stdout


def test_a_missing_path(bundle: Path) -> None:
    result = run("tables", bundle, "--schema", "nothing")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: App.trace has no table 'nothing' in run 1; it holds numbers, process-info, thread-info,"
        " time-profile.\n",
    )
    result = run("tables", bundle, "--run", 3)
    assert (result.exit_code, result.stderr) == (2, "Error: App.trace has no run 3; its runs are 1, 2.\n")
    result = run("analyze", bundle, "--run", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    assert ": see tracekit tables" in " ".join(result.stdout.split())


@pytest.mark.integration
@pytest.mark.parametrize("via", ["auto", "native"])
def test_the_analysis(bundle: Path, via: str) -> None:
    result = run("analyze", bundle, "--format", "json", "--via", via)
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["input"] == {"name": "App.trace", "kind": "trace-bundle", "run": 1}
    recording = document["recording"]
    assert (recording["template"], recording["os"], recording["pid"]) == ("Core ML", "26.0 (25A354)", 4711)
    assert (document["samples"]["source"], document["samples"]["count"]) == ("time-profile", 3)
    assert [issue["code"] for issue in document["issues"]] == [
        "several-runs",
        "binaries-without-symbols",
    ]


def test_the_analysis_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.zip"
    path.write_bytes(zipped(small_bundle().files(), "My App.trace"))
    document = json.loads(run("analyze", path, "--format", "json").stdout)
    assert (document["input"]["name"], document["samples"]["count"]) == ("My App.trace", 20)


@pytest.mark.integration
def test_issues_of_a_bundle_stand_in_the_analysis(tmp_path: Path) -> None:
    files = small_bundle().files()
    del files["form.template"]
    folder = write_folder(files | {"Trace1.run/Attachments/a.atrc": b""}, tmp_path / "x.trace")
    document = json.loads(run("analyze", folder, "--format", "json").stdout)
    assert "recording-unfinished" in [issue["code"] for issue in document["issues"]]
    assert (
        "xcrun xctrace import --input x.trace/Trace1.run/Attachments/a.atrc" in run("tables", folder).stdout
    )


def test_xctrace_where_there_is_none(bundle: Path) -> None:
    result = run("analyze", bundle, "--via", "xctrace")
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr == (
        "Error: xctrace was not found: it comes with Xcode, on a Mac. Install Xcode and select it with sudo"
        " xcode-select --switch /Applications/Xcode.app.\n"
    )


@pytest.mark.parametrize("via", ["native", "xctrace"])
@pytest.mark.parametrize("command", ["analyze", "tables"])
def test_a_way_to_read_bundles_is_not_for_exports(tmp_path: Path, command: str, via: str) -> None:
    path = write(tmp_path, EXPORT)
    result = run(command, path, "--via", via)
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {path} is not a .trace bundle: only a bundle can be read via {via}.\n",
    )


def test_a_file_that_only_is_called_a_bundle(tmp_path: Path) -> None:
    result = run("analyze", write(tmp_path, b"no bundle", "x.trace"))
    assert (result.exit_code, result.stderr.count("\n")) == (3, 1)
