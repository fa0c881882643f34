"""``tracekit collect``: each recording once, test results through Apple's tool, reports of the field as rows."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tracekit.cli import main
from tracekit.errors import InputError, UsageError
from tracekit.fleet.collect import xcresult
from tracekit.fleet.collect.metrickit import build_report_tables, read_report
from tracekit.fleet.dataset import open_dataset
from tracekit.fleet.history.build_series import read_history
from tracekit.parsers.in_memory import InMemorySource
from tracekit.xctrace.tool import CommandResult

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
SAMPLE = "ane-happy-macos14"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["collect", *map(str, arguments)])


def sample_names() -> list[str]:
    return sorted(path.name for path in SAMPLES.iterdir() if path.is_dir() and any(path.glob("*.xml")))


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    """A folder with one recording under two names, labels, and a damaged file."""
    folder = tmp_path / "farm"
    source = SAMPLES / sample_names()[0]
    for name in ("Run 1 (iPhone)", "again"):
        shutil.copytree(source, folder / name)
    (folder / "again.labels.json").write_text('{"build": "424"}')
    (folder / "half.zip").write_bytes(b"PK\x03\x04 half uploaded")
    return folder


def test_a_recording_under_two_names_is_collected_once(farm: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = run(farm, "-o", store)
    assert result.exit_code == 0, result.output
    assert result.stdout == "1 already there, 1 collected; 1 problem.\n"
    assert "half.zip" in result.stderr
    (pack,) = store.glob("*.tracekit.zip")
    assert pack.name.startswith("Run-1-iPhone-")
    analyzed = CliRunner().invoke(main, ["analyze", str(pack)])
    assert analyzed.exit_code == 0
    assert run(farm, "-o", store).stdout == "2 already there; 1 problem.\n"


def test_a_store_that_grows_shows_how_many_recordings_are_left(
    farm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int | None]] = []
    monkeypatch.setattr("tracekit.cli.output.Progress.__call__", lambda _, *counts: calls.append(counts))
    run(farm, "-o", tmp_path / "store")
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_a_redacted_pack_is_another_file(farm: Path, tmp_path: Path) -> None:
    run(farm / "again", "-o", tmp_path / "store")
    run(farm / "again", "-o", tmp_path / "store", "--redact")
    names = sorted(path.name for path in (tmp_path / "store").glob("*.tracekit.zip"))
    assert [name.count("-redacted") for name in names] == [1, 0]


def test_a_recording_that_cannot_be_redacted_stops_no_other(
    farm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(farm / "Run 1 (iPhone)")
    shutil.copytree(SAMPLES / "same-name-two-processes-macos27", farm / "Run 1 (iPhone)")

    def redact(source: InMemorySource) -> InMemorySource:
        if source.runs[0].info.name == "Run 1 (iPhone)":
            raise UsageError("Run 1 has no target process.")
        return source

    monkeypatch.setattr("tracekit.fleet.collect.pack_store.redact_source", redact)
    result = run(farm, "-o", tmp_path / "store", "--redact")
    assert result.stdout == "1 collected; 2 problems.\n"
    assert f"{farm}/Run 1 (iPhone): cannot be redacted: Run 1 has no target process" in result.stderr


def test_labels_go_with_their_recording(farm: Path, tmp_path: Path) -> None:
    shutil.rmtree(farm / "Run 1 (iPhone)")
    run(farm, "-o", tmp_path / "store")
    (labels,) = (tmp_path / "store").glob("again-*.tracekit.zip.labels.json")
    assert json.loads(labels.read_text()) == {"build": "424"}


def test_nothing_to_collect_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("nothing")
    assert run(tmp_path, "-o", tmp_path / "store").exit_code == 2
    assert run(tmp_path).exit_code == 2


# Test results --------------------------------------------------------------------------------------------------


def exporting(manifest: object, files: Sequence[str]) -> Any:
    """Return a stand-in for xcresulttool, which takes the documented command and writes files."""

    def command(words: Sequence[str], _seconds: float) -> CommandResult:
        assert list(words[:6]) == ["xcrun", "xcresulttool", "export", "attachments", "--path", "T.xcresult"]
        assert words[6] == "--output-path"
        folder = Path(words[7])
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        for name in files:
            (folder / name).write_text("x")
        return CommandResult(0)

    return command


def manifest(*names: object) -> list[dict[str, object]]:
    attachments = [{"exportedFileName": name, "suggestedHumanReadableName": "a"} for name in names]
    return [{"testIdentifier": "T/test()", "attachments": attachments}]


def test_attachments_of_test_results_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xcresult.shutil, "which", lambda _name: "/usr/bin/xcrun")
    tool = exporting(
        manifest("1.zip", "2.ktrace", "../outside", "/etc/passwd", 3, "absent"), ["1.zip", "2.ktrace"]
    )
    found = xcresult.export_attachments(Path("T.xcresult"), tmp_path / "out", tool)
    assert [path.name for path in found] == ["1.zip", "2.ktrace"]


@pytest.mark.parametrize("document", [{}, [{"attachments": [{}]}], [1], "text"])
def test_a_manifest_of_another_form_is_an_error(
    document: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xcresult.shutil, "which", lambda _name: "/usr/bin/xcrun")
    if document == {}:
        document = {"tests": 1}
    with pytest.raises(InputError, match="manifest"):
        xcresult.export_attachments(Path("T.xcresult"), tmp_path / "out", exporting(document, []))


def test_a_failing_tool_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xcresult.shutil, "which", lambda _name: "/usr/bin/xcrun")
    with pytest.raises(InputError, match="unknown version"):
        xcresult.export_attachments(
            Path("T.xcresult"), tmp_path, lambda _words, _seconds: CommandResult(64, "", "unknown version")
        )


def test_without_a_mac_test_results_are_named_and_the_others_collected(
    farm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xcresult.shutil, "which", lambda _name: None)
    (farm / "T.xcresult").mkdir()
    with pytest.raises(UsageError, match="needs a Mac"):
        xcresult.export_attachments(farm / "T.xcresult", tmp_path)
    result = run(farm, "-o", tmp_path / "store")
    assert result.exit_code == 0
    assert "needs a Mac with Xcode" in " ".join(result.stderr.split())


# Reports of MetricKit ------------------------------------------------------------------------------------------

REPORT = {
    "timeStampBegin": "2026-11-01 00:00:00 +0000",
    "timeStampEnd": "2026-11-01 23:59:59 +0000",
    "appVersion": "1.4",
    "includesMultipleApplicationVersions": False,
    "metaData": {
        "appBuildVersion": "424",
        "osVersion": "iPhone OS 27.0 (24A300)",
        "regionFormat": "US",
        "deviceType": "iPhone17,1",
        "bundleIdentifier": "com.example.Dictate",
    },
    "signpostMetrics": [
        {
            "signpostCategory": "Core ML",
            "signpostName": "Encoder",
            "totalSignpostCount": 140,
            "signpostIntervalData": {
                "histogrammedSignpostDurations": {
                    "histogramNumBuckets": 3,
                    "histogramValue": {
                        "0": {"bucketCount": 50, "bucketStart": "0 ms", "bucketEnd": "100 ms"},
                        "2": {"bucketCount": 30, "bucketStart": "1,400 ms", "bucketEnd": "1.5 s"},
                        "1": {"bucketCount": 60, "bucketStart": "100 ms", "bucketEnd": "400 ms"},
                    },
                }
            },
        },
        {"signpostCategory": "Core ML", "signpostName": "Event", "totalSignpostCount": 3},
    ],
}


def test_a_report_becomes_rows_of_field_and_counts_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.json", "b.json"):
        (tmp_path / "in" / name).write_text(json.dumps(REPORT))
    for _ in range(2):
        result = run(tmp_path / "in", "--results", tmp_path / "results")
        assert result.stdout == "1 report of MetricKit added; 0 problems.\n"
    dataset = open_dataset(tmp_path / "results")
    columns = ["app", "build", "device_model", "system", "category", "signpost"]
    columns += ["bucket_start_ns", "bucket_end_ns", "count"]
    rows = [tuple(row.values()) for row in dataset.open_table("field").to_table(columns=columns).to_pylist()]
    place = ("com.example.Dictate", "424", "iPhone17,1", "iPhone OS 27.0 (24A300)", "Core ML", "Encoder")
    assert rows == [
        (*place, 0, 100_000_000, 50),
        (*place, 100_000_000, 400_000_000, 60),
        (*place, 1_400_000_000, 1_500_000_000, 30),
    ]
    assert dataset.count("recordings") == 1
    assert read_history(dataset).builds == {}


def test_a_report_of_several_builds_has_none(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**REPORT, "includesMultipleApplicationVersions": True}))
    report = read_report(path)
    assert report is not None
    assert set(build_report_tables(report)["field"].column("build").to_pylist()) == {""}


def test_other_json_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"signpostMetrics": []}')
    assert read_report(tmp_path / "other.json") is None


@pytest.mark.parametrize("length", ["5 parsecs", "", "-3 ms", 5])
def test_a_report_with_other_lengths_is_an_error(tmp_path: Path, length: object) -> None:
    text = json.dumps(REPORT).replace('"100 ms"', json.dumps(length))
    (tmp_path / "report.json").write_text(text)
    report = read_report(tmp_path / "report.json")
    assert report is not None
    with pytest.raises(InputError, match="not as MetricKit writes it"):
        build_report_tables(report)


FIRST_BUCKET = '{"bucketCount": 50, "bucketStart": "0 ms", "bucketEnd": "100 ms"}'


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ('"bucketCount": 50', '"bucketCount": 1' + "0" * 30),
        ('"bucketCount": 50', '"bucketCount": -5'),
        ('"bucketCount": 50', '"bucketCount": 2.5'),
        ('"bucketEnd": "100 ms"', '"bucketEnd": "' + "9" * 40 + ' s"'),
        (FIRST_BUCKET, '{"bucketCount": 50, "bucketStart": "100 ms", "bucketEnd": "1 ms"}'),
        ('"com.example.Dictate"', '"\\ud800"'),
        ('"2026-11-01 23:59:59 +0000"', "1e18"),
    ],
)
def test_a_report_with_values_out_of_range_does_not_stop_the_others(
    tmp_path: Path, text: str, replacement: str
) -> None:
    document = json.dumps(REPORT)
    assert text in document
    (tmp_path / "a.json").write_text(document.replace(text, replacement))
    (tmp_path / "b.json").write_text(document)
    result = run(tmp_path, "--results", tmp_path / "results")
    assert result.stdout == "1 report of MetricKit added; 1 problem.\n"
    assert "a.json: it is not as MetricKit writes it" in result.stderr


def test_reports_lie_in_folders_of_versions_and_pipes_are_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "in" / "v1.4").mkdir(parents=True)
    (tmp_path / "in" / "v1.4" / "report.json").write_text(json.dumps(REPORT))
    os.mkfifo(tmp_path / "in" / "pipe.json")
    result = run(tmp_path / "in", "--results", tmp_path / "results")
    assert result.stdout == "1 report of MetricKit added; 0 problems.\n"


# Stores -----------------------------------------------------------------------------------------------------


def test_a_store_is_not_collected_into_itself(farm: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    run(farm / "again", "-o", store)
    assert run(store, "-o", store).stdout == "1 already there; 0 problems.\n"
    assert len(list(store.glob("*.tracekit.zip"))) == 1


def test_labels_of_a_copy_are_added_and_never_exchanged(farm: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    run(farm / "Run 1 (iPhone)", "-o", store)
    assert run(farm / "again", "-o", store).stdout == "1 already there; 0 problems.\n"
    (labels,) = store.glob("*.labels.json")
    assert json.loads(labels.read_text()) == {"build": "424"}
    (farm / "again.labels.json").write_text('{"build": "425"}')
    result = run(farm / "again", "-o", store)
    assert result.stdout == "1 already there; 1 problem.\n"
    assert "with other labels: the store keeps the labels that it has" in result.stderr
    assert json.loads(labels.read_text()) == {"build": "424"}
