"""Copies of one recording whose files differ count once, as the one that shows most; other recordings stay."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from tracekit.cli import main
from tracekit.fleet.dataset import Dataset, create_dataset
from tracekit.fleet.recording_copies import identify_run
from tracekit.fleet.schema import build_arrow_schema
from tracekit.model.trace import TraceInfo

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
RUN = TraceInfo(
    "Demo", "trace-bundle", start="2026-03-05T17:27:38.879Z", duration_ns=3_398_757_000, model="iPhone17,1", os="27.0"
)  # fmt: skip


@pytest.mark.parametrize(
    "copy",
    [
        {"name": "Other", "kind": "pack", "device": "", "template": "", "process": "", "pid": None},
        {"kind": "xctrace-xml", "instruments": "27.0"},
    ],
)
def test_a_copy_has_the_identity_of_the_recording(copy: dict[str, object]) -> None:
    assert identify_run(replace(RUN, **copy)) == identify_run(RUN) != ""


@pytest.mark.parametrize(
    "other",
    [
        {"start": "2026-03-05T17:27:38.880Z"},
        {"duration_ns": 3_398_758_000},
        {"model": "iPhone17,2"},
        {"os": "27.1"},
    ],
)
def test_another_recording_has_another_identity(other: dict[str, object]) -> None:
    assert identify_run(replace(RUN, **other)) not in ("", identify_run(RUN))


@pytest.mark.parametrize(
    "vague",
    [
        {"start": ""},
        {"start": "2026-03-05T17:27:38Z"},
        {"duration_ns": None},
        {"duration_ns": 0},
        {"kind": "spindump"},
    ],
)
def test_what_is_not_stated_exactly_identifies_nothing(vague: dict[str, object]) -> None:
    assert identify_run(replace(RUN, **vague)) == ""


def append(dataset: Dataset, *rows: dict[str, object]) -> list[tuple[str, str]]:
    """Append recordings, and return the files that do not count, each with the one that does."""
    fields = [field for field in build_arrow_schema("recordings") if any(field.name in row for row in rows)]
    copies = dataset.append({"recordings": pa.Table.from_pylist(list(rows), schema=pa.schema(fields))})
    return [(copy.file.content, copy.counted.content) for copy in copies]


def row(content: str, identity: str | None, **columns: object) -> dict[str, object]:
    return {"recording": content, "content": content, "identity": identity, "kind": "pack", **columns}


def counted(dataset: Dataset) -> list[str]:
    return sorted(
        dataset.open_table("recordings").to_table(columns=["content"]).column("content").to_pylist()
    )


def test_the_copy_with_the_most_evidence_counts_in_any_order(tmp_path: Path) -> None:
    files = [
        row("few calls", "x", calls=1, samples=9, device="phone"),
        row("redacted", "x", calls=2, samples=5),
        row("pack", "x", calls=2, samples=5, device="phone"),
        row("bundle", "x", calls=2, samples=5, device="phone", kind="trace-bundle"),
        row("other", "y", calls=7),
        row("vague", None),
        row("vague too", ""),
    ]
    for number, order in enumerate((files, files[::-1])):
        at_once, one_by_one = (create_dataset(tmp_path / f"{number} {name}") for name in ("a", "b"))
        expected = [("few calls", "bundle"), ("pack", "bundle"), ("redacted", "bundle")]
        assert sorted(append(at_once, *order)) == expected
        for file in order:
            append(one_by_one, file)
        assert counted(at_once) == counted(one_by_one) == ["bundle", "other", "vague", "vague too"]


def test_a_copy_that_is_analyzed_with_other_options_replaces_the_earlier_one(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path)
    append(dataset, row("bundle", "x", calls=5, options=""))
    assert append(dataset, row("pack", "x", calls=4, options="{}")) == [("bundle", "pack")]
    assert counted(dataset) == ["pack"]


def test_a_file_counts_while_a_run_of_it_has_no_copy(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path)
    append(dataset, row("whole", "x", calls=5))
    two_runs = [row("two runs", "x"), {**row("two runs", "y"), "recording": "second run"}]
    assert append(dataset, *two_runs) == []
    assert counted(dataset) == ["two runs", "whole"]
    assert sorted(dataset.read_recording_ids()) == ["second run", "whole"]


def fleet_run(*arguments: object) -> list[str]:
    result = CliRunner().invoke(main, ["fleet", "run", *map(str, arguments), "--workers", "1"])
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


@pytest.mark.integration
def test_packs_of_a_recording_count_once_and_are_not_analyzed_again(tmp_path: Path) -> None:
    lab, results = tmp_path / "lab", tmp_path / "results"
    shutil.copytree(SAMPLES / "two-copies-ios27", lab / "run")
    for options, name in (([], "a"), (["--redact"], "b")):
        arguments = ["collect", str(lab / "run"), "-o", str(tmp_path / name), *options]
        assert CliRunner().invoke(main, arguments).exit_code == 0
    stores = (tmp_path / "b", tmp_path / "a")
    (redacted,) = stores[0].glob("*.zip")
    (pack,) = stores[1].glob("*.zip")

    assert fleet_run(stores[0], "-o", results) == [f"{results}: 1 recording analyzed."]
    lines = fleet_run(*stores, lab, "-o", results, "--label", "build=7")
    assert lines[0] == f"{results}: 1 recording analyzed, 2 the same as others."
    copies = {f"  {redacted}: the same as {pack}", f"  {lab}/run: the same as {pack}"}
    assert set(lines[2:]) == copies
    lines = fleet_run(*stores, lab, "-o", results, "--label", "build=7")
    assert lines[0] == f"{results}: 0 recordings analyzed, 1 already there, 2 the same as others."
    assert set(lines[2:]) == copies
    assert fleet_run(stores[0], "-o", results, "--label", "build=7")[1:] == [
        "The same recording under several names, counted once:",
        f"  {redacted}: the same as {pack}",
    ]
