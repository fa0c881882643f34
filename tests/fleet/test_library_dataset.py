"""The dataset of a dashboard's library: its recordings with their tags, each counted once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from fleet_rows import arrow_rows

from tracekit.cli import main
from tracekit.errors import UsageError
from tracekit.fleet.library_dataset import open_results
from tracekit.fleet.library_entries import parse_tags
from tracekit.fleet.library_rows import write_rows

A, B, C = "a" * 32, "b" * 32, "c" * 32
READ_AGAIN = "Read the recording again on the dashboard's page."


def library_in(folder: Path) -> Path:
    (folder / "recordings").mkdir()
    (folder / "tracekit-library.json").write_text('{"tracekit": "library", "version": 1}')
    return folder


def describe(library: Path, identity: str, /, **values: object) -> None:
    about = {
        "name": f"{identity[0]}.trace",
        "origin": "file",
        "path": f"/traces/{identity[0]}.trace",
        "tags": [],
    }
    folder = library / "recordings" / identity
    folder.mkdir(exist_ok=True)
    document = {**about, "added_us": 1, "deleted_us": None, "digest": "", **values}
    (folder / "about.json").write_text(json.dumps(document))


def add(
    library: Path, identity: str, calls: Sequence[int] = (5,), /, recording: str = "", **values: object
) -> None:
    describe(library, identity, **values)
    results = library / "recordings" / identity / "results"
    results.mkdir(exist_ok=True)
    place = {"recording": recording or identity[0], "app": "App"}
    of_recording = {**place, "run": 1, "state": "analyzed", "content": identity[0]}
    of_calls = [{**place, "model": "Net", "call": call, "length_ns": call} for call in calls]
    write_rows(
        results,
        {"recordings": arrow_rows("recordings", [of_recording]), "calls": arrow_rows("calls", of_calls)},
    )


def column_values(library: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    found: pa.Table = open_results(library).open_table(table).to_table(columns=list(columns))
    return sorted(zip(*(found.column(name).to_pylist() for name in columns), strict=True))


def recordings(library: Path) -> list[tuple[Any, ...]]:
    return column_values(library, "recordings", "recording", "name", "build")


@pytest.mark.parametrize(
    ("tags", "labels"),
    [
        ([], {}),
        (["build=422"], {"build": "422"}),
        (["build: 422", "branch=main"], {"build": "422", "branch": "main"}),
        (["slow", "before the fix"], {"tag": "before the fix, slow"}),
        (["build=421", "build=422", "slow"], {"tag": "slow"}),
        (["2 = two", "build="], {"tag": "2 = two, build="}),
        ("build=422", {}),
        ([422], {}),
    ],
)
def test_tags_become_labels(tags: object, labels: Mapping[str, str]) -> None:
    assert parse_tags(tags) == labels


def test_the_rows_of_all_recordings_have_the_names_and_tags_of_the_library(tmp_path: Path) -> None:
    library = library_in(tmp_path)
    add(library, A, (5, 7), name="first", tags=["build=1"])
    add(library, B, (6,), origin="upload", path="", tags=["slow"])
    assert column_values(library, "calls", "recording", "build", "length_ns") == [
        ("a", "1", 5),
        ("a", "1", 7),
        ("b", "", 6),
    ]
    assert column_values(library, "recordings", "recording", "name", "path", "labels") == [
        ("a", "first", "/traces/a.trace", [("build", "1")]),
        ("b", "b.trace", f"{tmp_path}/recordings/{B}/input", [("tag", "slow")]),
    ]


def test_a_recording_made_on_the_page_has_its_path_in_the_library(tmp_path: Path) -> None:
    library = library_in(tmp_path)
    add(library, A, path="recorded:20260102-030405-0a1b2c3d/a.trace")
    path = f"{tmp_path}/recorded/20260102-030405-0a1b2c3d/a.trace"
    assert column_values(library, "recordings", "path") == [(path,)]


def test_the_dataset_follows_the_library(tmp_path: Path) -> None:
    library = library_in(tmp_path)
    add(library, A, tags=["build=1"])
    add(library, B)
    assert recordings(library) == [("a", "a.trace", "1"), ("b", "b.trace", "")]
    describe(library, B, tags=["build=2"], name="renamed")
    add(library, C, (8,))
    assert recordings(library) == [("a", "a.trace", "1"), ("b", "renamed", "2"), ("c", "c.trace", "")]
    describe(library, A, deleted_us=5)
    assert recordings(library) == [("b", "renamed", "2"), ("c", "c.trace", "")]
    add(library, C, (8, 9, 10))
    assert column_values(library, "calls", "recording", "call") == [("b", 5), ("c", 8), ("c", 9), ("c", 10)]
    describe(library, A, tags=["build=1"])
    (library / "recordings" / C / "results" / "rows.arrow").unlink()
    assert recordings(library) == [("a", "a.trace", "1"), ("b", "renamed", "2")]


def test_an_unchanged_library_is_not_written_again(tmp_path: Path) -> None:
    library = library_in(tmp_path)
    add(library, A)
    parts = open_results(library).read_parts()
    inventory = (library / "fleet" / "library.json").stat().st_mtime_ns
    assert open_results(library).read_parts() == parts
    assert (library / "fleet" / "library.json").stat().st_mtime_ns == inventory


@pytest.mark.parametrize(("identity", "digest"), [("same", ""), ("", "same")])
def test_copies_count_once_as_long_as_one_is_left(tmp_path: Path, identity: str, digest: str) -> None:
    library = library_in(tmp_path)
    add(library, A, recording=identity, digest=digest, added_us=2)
    add(library, B, recording=identity, digest=digest, added_us=1)
    assert [row[1] for row in recordings(library)] == ["b.trace"]
    assert [row[1] for row in recordings(library)] == ["b.trace"]
    describe(library, B, deleted_us=5, digest=digest)
    assert [row[1] for row in recordings(library)] == ["a.trace"]
    describe(library, B, digest=digest, added_us=1)
    assert [row[1] for row in recordings(library)] == ["b.trace"]


@pytest.mark.parametrize("damage", [b"", b"ARROW1\0\0 and nothing more", "cut", "flipped"])
def test_damaged_rows_are_named_and_hide_no_other_recording(tmp_path: Path, damage: bytes | str) -> None:
    library = library_in(tmp_path)
    add(library, A, tags=["build=1"])
    add(library, B, tags=["build=1"])
    path = library / "recordings" / B / "results" / "rows.arrow"
    whole = path.read_bytes()
    flipped = bytes(255 - byte for byte in whole[100:-100])
    of_name = {"cut": whole[: len(whole) // 2], "flipped": whole[:100] + flipped + whole[-100:]}
    path.write_bytes(of_name[damage] if isinstance(damage, str) else damage)
    rows = column_values(library, "recordings", "name", "state", "build")
    assert rows == [("a.trace", "analyzed", "1"), ("b.trace", "failed", "1")]
    reason = column_values(library, "recordings", "state", "reason")[1][1]
    assert str(path) in reason
    assert reason.endswith(READ_AGAIN)
    assert column_values(library, "calls", "recording") == [("a",)]
    path.write_bytes(whole + b"")
    add(library, B, (1, 2), tags=["build=1"])
    assert column_values(library, "recordings", "name", "state") == [
        ("a.trace", "analyzed"),
        ("b.trace", "analyzed"),
    ]


def test_recordings_without_rows_or_description_are_left_out(tmp_path: Path) -> None:
    library = library_in(tmp_path)
    add(library, A)
    describe(library, B)
    add(library, C)
    (library / "recordings" / C / "about.json").write_text("{")
    (library / "recordings" / "notes.txt").write_text("mine")
    assert [row[0] for row in recordings(library)] == ["a"]


@pytest.mark.parametrize("lost", ["library.json", "tracekit-fleet.json"])
def test_what_is_lost_of_the_dataset_is_made_again(tmp_path: Path, lost: str) -> None:
    library = library_in(tmp_path)
    add(library, A, tags=["build=1"])
    before = recordings(library)
    if lost == "library.json":
        (library / "fleet" / lost).write_text("{")
    else:
        for path in sorted((library / "fleet").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    assert recordings(library) == before == [("a", "a.trace", "1")]


def test_a_moved_library_has_the_paths_of_its_new_place(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    add(library_in(tmp_path / "old"), A, origin="upload", path="")
    open_results(tmp_path / "old")
    moved = (tmp_path / "old").rename(tmp_path / "new")
    assert column_values(moved, "recordings", "path") == [(f"{moved}/recordings/{A}/input",)]


def test_a_query_reads_a_library(tmp_path: Path) -> None:
    library = library_in(tmp_path)
    add(library, A, (5, 7), tags=["build=1"])
    sql = "SELECT build, max(length_ns) AS longest FROM calls GROUP BY build"
    result = CliRunner().invoke(main, ["fleet", "query", sql, str(library), "--format", "csv"])
    assert (result.exit_code, result.stdout.split()) == (0, ["build,longest", "1,7"])


def test_a_folder_of_anything_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a dataset of results"):
        open_results(tmp_path)
    assert list(tmp_path.iterdir()) == []
