"""A dataset grows in whole steps, counts a recording once, and reads what an earlier version wrote."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.errors import InputError, UsageError
from tracekit.fleet import dataset as dataset_module
from tracekit.fleet.dataset import Dataset, create_dataset, open_dataset
from tracekit.fleet.schema import TABLES, build_arrow_schema


def rows(
    recording: str, content: str = "", calls: tuple[int, ...] = (), **columns: object
) -> dict[str, pa.Table]:
    """Return the tables of a recording with calls of some lengths."""
    place = {"recording": recording, "labels": [("build", "7")], "chip": "A17 Pro"}
    return {
        "recordings": table("recordings", {**place, "content": content or recording, "run": 1, **columns}),
        "calls": table("calls", *({**place, "length_ns": length_ns} for length_ns in calls)),
    }


def table(name: str, *dicts: Mapping[str, object]) -> pa.Table:
    schema = build_arrow_schema(name)
    fields = [field for field in schema if any(field.name in row for row in dicts)]
    return pa.Table.from_pylist(list(dicts), schema=pa.schema(fields))


def lengths(dataset: Dataset) -> list[tuple[str, int]]:
    matches = dataset.open_table("calls").to_table(columns=["recording", "length_ns"]).to_pylist()
    return sorted((row["recording"], row["length_ns"]) for row in matches)


def test_rows_come_back_in_the_columns_of_the_schema(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path / "results")
    dataset.append(rows("a", calls=(5, 6)))
    dataset.append(rows("b", calls=(7,)))

    assert lengths(open_dataset(tmp_path / "results")) == [("a", 5), ("a", 6), ("b", 7)]
    calls = dataset.open_table("calls").to_table()
    assert calls.schema.equals(build_arrow_schema("calls"))
    assert calls.column("labels").to_pylist() == [[("build", "7")]] * 3
    assert calls.column("chip").to_pylist() == ["A17 Pro"] * 3
    assert calls.column("thread").to_pylist() == [None] * 3
    assert dataset.count("calls") == 3


@pytest.mark.parametrize("name", TABLES)
def test_a_new_dataset_has_every_table_without_rows(tmp_path: Path, name: str) -> None:
    matches = create_dataset(tmp_path / "results").open_table(name)
    assert matches.schema.equals(build_arrow_schema(name))
    assert matches.count_rows() == 0


def test_a_recording_that_is_analyzed_again_replaces_its_rows(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path)
    dataset.append(joined(rows("a", "file 1", (5,)), rows("b", "file 2", (6,))))
    dataset.append(rows("a, run 1", "file 1", (8, 9)))

    assert lengths(dataset) == [("a, run 1", 8), ("a, run 1", 9), ("b", 6)]
    names = dataset.open_table("recordings").to_table().column("recording").to_pylist()
    assert sorted(names) == ["a, run 1", "b"]


def joined(*tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    return {
        name: pa.concat_tables([each[name] for each in tables if each[name].num_rows])
        for name in ("recordings", "calls")
    }


def test_a_writer_that_is_killed_before_it_commits_leaves_nothing_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = create_dataset(tmp_path)
    dataset.append(rows("a", calls=(5,)))
    with monkeypatch.context() as patch:

        def die(*_arguments: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(dataset_module, "write_manifest", die)
        with pytest.raises(KeyboardInterrupt):
            dataset.append(rows("b", calls=(6,)))
    (tmp_path / "parts" / ".writing-000009-1").mkdir()

    assert lengths(dataset) == [("a", 5)]
    dataset.append(rows("c", calls=(7,)))
    assert lengths(dataset) == [("a", 5), ("c", 7)]
    assert not (tmp_path / "parts" / ".writing-000009-1").exists()


def test_a_folder_that_no_manifest_lists_is_removed_after_readers_had_time_to_finish(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path)
    dataset.append(rows("a", "file", (5,)))
    before = {path.name for path in (tmp_path / "parts").iterdir()}
    dataset.append(rows("a", "file", (6,)))
    assert before < {path.name for path in (tmp_path / "parts").iterdir()}
    for name in before:
        os.utime(tmp_path / "parts" / name, (0, 0))
    dataset.append(rows("b", calls=(7,)))
    assert not before & {path.name for path in (tmp_path / "parts").iterdir()}
    assert lengths(dataset) == [("a", 6), ("b", 7)]


@pytest.mark.integration
def test_small_parts_are_merged_into_few_files(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path)
    expected = []
    for number in range(40):
        dataset.append(rows(f"{number:02}", calls=(number,)))
        expected.append((f"{number:02}", number))
    assert lengths(dataset) == expected
    assert len(dataset.find_files("calls")) <= 16
    dataset.merge_parts()
    assert len(dataset.find_files("calls")) == 1
    assert lengths(dataset) == expected


def test_a_full_part_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_module, "_MAX_RECORDINGS_TO_MERGE", 3)
    dataset = create_dataset(tmp_path)
    for number in range(7):
        dataset.append(rows(str(number), calls=(number,)))
    dataset.merge_parts()
    assert sorted(part.rows["recordings"] for part in dataset.read_parts()) == [1, 3, 3]
    full = {part.name for part in dataset.read_parts() if part.rows["recordings"] == 3}
    dataset.append(rows("7", calls=(7,)))
    dataset.merge_parts()
    assert full < {part.name for part in dataset.read_parts()}
    assert lengths(dataset) == [(str(number), number) for number in range(8)]


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="neither empty nor a dataset"):
        create_dataset(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(UsageError, match="is not a dataset of results"):
        open_dataset(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        create_dataset(tmp_path / "thesis.txt")


def test_a_dataset_of_a_later_version_is_refused(tmp_path: Path) -> None:
    create_dataset(tmp_path)
    (tmp_path / "tracekit-fleet.json").write_text('{"schema": "tracekit-fleet/99", "parts": []}')
    with pytest.raises(InputError, match=r"version 99, which a later tracekit wrote.*Install a later"):
        open_dataset(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "tracekit-fleet/1"}',
        '{"schema": "tracekit-fleet/x", "parts": []}',
        '{"schema": "tracekit-fleet/1", "parts": [{"name": "../../000001-aaaaaaaaaaaa", "rows": {}}]}',
        '{"schema": "tracekit-fleet/1", "parts": [{"name": "000001-aaaaaaaaaaaa", "rows": {"calls": -1}}]}',
        '{"schema": "tracekit-fleet/1", "parts": [{"name": "000001-aaaaaaaaaaaa", "rows": [1]}]}',
        '{"schema": "tracekit-fleet/1", "parts": [{"name": "000001-aaaaaaaaaaaa", "rows": {"calls": 1}}]}',
        '{"schema": "tracekit-fleet/1", "parts": [{"name": "000001-aaaaaaaaaaaa", "rows": {"recordings": 1}},'
        ' {"name": "000001-aaaaaaaaaaaa", "rows": {"recordings": 1}}]}',
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "tracekit-fleet.json").write_text(text)
    with pytest.raises(InputError, match="is damaged"):
        open_dataset(tmp_path)


def replace_calls(dataset: Dataset, calls: pa.Table) -> str:
    path = dataset.find_files("calls")[0]
    shutil.copytree(path.parent, path.parent.with_name("000099-aaaaaaaaaaaa"))
    pq.write_table(calls, path.parent.with_name("000099-aaaaaaaaaaaa") / "calls.parquet")
    marker = dataset.path / "tracekit-fleet.json"
    document = json.loads(marker.read_text())
    document["parts"][0] = {
        "name": "000099-aaaaaaaaaaaa", "rows": {"recordings": 1, "calls": calls.num_rows}
    }  # fmt: skip
    marker.write_text(json.dumps(document))
    return "000099-aaaaaaaaaaaa/calls.parquet"


def test_columns_that_an_earlier_version_did_not_write_are_null(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path)
    dataset.append(rows("a", calls=(5,)))
    replace_calls(dataset, pa.table({"recording": ["a"], "model": ["Encoder"]}))
    matches = dataset.open_table("calls").to_table(columns=["recording", "model", "length_ns"])
    assert matches.to_pylist() == [{"recording": "a", "model": "Encoder", "length_ns": None}]


def test_a_column_of_another_type_is_refused_with_the_name_of_the_part(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path)
    dataset.append(rows("a", calls=(5,)))
    name = replace_calls(dataset, pa.table({"recording": ["a"], "length_ns": ["5 ms"]}))
    with pytest.raises(InputError, match=rf"{name}: the column length_ns is string"):
        dataset.open_table("calls")


def test_a_file_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path)
    dataset.append(rows("a", calls=(5,)))
    name = replace_calls(dataset, pa.table({"recording": ["a"]}))
    (tmp_path / "parts" / name).write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=f"{name}: is not a readable Parquet file"):
        dataset.open_table("calls")
    dataset.append(rows("b", calls=(5,)))
    dataset.find_files("recordings")[0].unlink()
    with pytest.raises(InputError, match=r"recordings\.parquet: is missing"):
        dataset.open_table("recordings")
