"""Packs: the tables that were written are read back."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documents_support import without_commands
from pack_support import INFO, LOST, TABLE, assert_equal, in_memory, packed, read_all

from tracekit import analyze
from tracekit.detect import open_source
from tracekit.errors import InputError
from tracekit.load import trace_of
from tracekit.model.tables import StackTable, TableInfo
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.in_memory import UnreadableTables, read_into_memory
from tracekit.parsers.pack.format import MANIFEST
from tracekit.parsers.pack.pack_writer import write_pack
from tracekit.report.analysis.json import to_dict

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
RECORDINGS = sorted(
    str(path.parent / "recording.trace" if (path.parent / "recording.trace").exists() else path.parent)
    for path in SAMPLES.glob("*/truth.json")
)


def test_every_kind_of_cell_comes_back_as_it_was(tmp_path: Path) -> None:
    empty = replace(TABLE, rows=TABLE.rows.head(0))
    none = replace(TABLE, columns=(), rows=pd.DataFrame(index=pd.RangeIndex(2)), stacks=StackTable.empty())
    tables = [TABLE, empty, none]
    for table, read_table in zip(tables, read_all(packed(tmp_path, in_memory(*tables))), strict=True):
        assert_equal(table, read_table)


def test_equal_composite_cells_stay_one_object(tmp_path: Path) -> None:
    twice = replace(TABLE, rows=TABLE.rows.iloc[[0, 0]].reset_index(drop=True))
    (table,) = read_all(packed(tmp_path, in_memory(twice)))
    assert table.rows["label"].iloc[0] is table.rows["label"].iloc[1]


def test_run_info_is_read_back(tmp_path: Path) -> None:
    source = open_source(packed(tmp_path, in_memory(TABLE)))
    (run,) = source.toc()
    assert run.info == replace(INFO, name="X.tracekit.zip", kind="pack")
    assert run.tables == in_memory(TABLE).runs[0].tables
    assert run.pids == {1, 7}
    assert source.issues() == source.issues(1) == (LOST,)
    assert source.has_toc


def test_the_same_tables_give_the_same_bytes() -> None:
    assert write_pack(in_memory(TABLE), "0.1") == write_pack(in_memory(TABLE), "0.1")


def test_stacks_that_tables_share_are_stored_once(tmp_path: Path) -> None:
    path = packed(tmp_path, in_memory(TABLE, replace(TABLE, schema="cpu-profile")))
    first, second = read_all(path)
    assert first.stacks is second.stacks
    with zipfile.ZipFile(path) as archive:
        assert len(json.loads(archive.read(MANIFEST))["stacks"]) == 1
        assert archive.namelist()[0] == MANIFEST


@pytest.mark.integration
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: Path(path).parent.name + Path(path).name)
def test_a_recording_and_its_pack_agree(recording: str, tmp_path: Path) -> None:
    source = open_source(recording)
    source_in_memory = read_into_memory(source)
    path = packed(tmp_path, source_in_memory)
    pack = open_source(path)
    for (run, schema), tables in source_in_memory.contents.items():
        for table, read_table in zip(tables, pack.tables(schema, run), strict=True):
            assert_equal(table, read_table)
    documents = [to_dict(analyze(trace_of(source))) for source in (open_source(recording), open_source(path))]
    kinds = [document["input"].pop("kind") for document in documents]
    names = [document["input"].pop("name") for document in documents]
    assert without_commands(documents[0]) == without_commands(documents[1])
    assert kinds[1] == "pack"
    assert names[1] == "X.tracekit.zip"


def test_a_pack_of_a_pack_is_the_same_pack(tmp_path: Path) -> None:
    path = packed(tmp_path, in_memory(TABLE))
    assert write_pack(read_into_memory(open_source(path)), "0.1") == Path(path).read_bytes()


def test_a_table_that_could_not_be_read_stays_an_error_and_an_issue(tmp_path: Path) -> None:
    broken = {
        (1, "time-sample"): UnreadableTables("'time-sample' cannot be read: bulkstore is cut off.", "Try X.")
    }
    source = open_source(packed(tmp_path, in_memory(TABLE, unreadable=broken)))
    (issue,) = source.issues(1)[1:]
    assert (issue.code, issue.message) == (
        "table-unreadable",
        "'time-sample' cannot be read: bulkstore is cut off",
    )
    with pytest.raises(InputError, match=r"X.tracekit.zip: 'time-sample' cannot be read: .* Try X\."):
        list(source.tables("time-sample"))
    assert source.issues(1) == (LOST,)  # the error has reported it already


class _Broken:
    name, has_toc = "X.trace", True

    def toc(self) -> tuple[RunInfo, ...]:
        return in_memory(TABLE, replace(TABLE, schema="cpu-profile")).runs

    def tables(self, schema: str, run: int = 1) -> Any:
        if schema in self.broken:
            raise InputError("X.trace", f"'{schema}' is cut off.")
        yield TABLE

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        return ()

    def __init__(self, *broken: str) -> None:
        self.broken = broken


def test_readable_tables_are_kept_in_memory() -> None:
    source = read_into_memory(_Broken("cpu-profile"))
    assert list(source.contents) == [(1, "time-profile")]
    assert source.unreadable == {(1, "cpu-profile"): UnreadableTables("'cpu-profile' is cut off.")}


def test_without_a_readable_table_the_first_error_is_raised() -> None:
    with pytest.raises(InputError, match="'time-profile' is cut off"):
        read_into_memory(_Broken("time-profile", "cpu-profile"))


def test_tables_that_are_not_packed_are_not_here(tmp_path: Path) -> None:
    runs = (
        replace(
            in_memory(TABLE).runs[0],
            tables=(TableInfo("time-profile", row_count=3), TableInfo("odd", row_count=4)),
        ),
    )
    source = read_into_memory(replace(in_memory(TABLE), runs=runs))
    assert [table.row_count for table in source.runs[0].tables] == [3, None]
