"""Tables as CSV and Parquet."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from export_support import AWKWARD, HOSTILE, RECORDINGS, awkward, two_windows, window, with_names, written
from sample_recordings import sample_analysis
from trace_support import ANE, trace_of

from tracekit import Analysis, analyze
from tracekit.cli.export import _TABLES
from tracekit.export import flat_tables
from tracekit.export.flat_tables import TABLES, write_csv, write_parquet

pytestmark = pytest.mark.integration


def rows(analysis: Analysis, table: str = "samples") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(write_csv, analysis, table=table).decode(), newline="")))


def parquet(analysis: Analysis, table: str = "samples") -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(written(write_parquet, analysis, table=table)))


def test_samples() -> None:
    records = rows(two_windows())
    assert records[1] == {
        "time_ns": "10000000",
        "weight_ns": "1000000",
        "process": "App7",
        "pid": "7",
        "thread": "main",
        "tid": "1",
        "core": "",
        "state": "Running",
        "engine": "ANE",
        "phase": "dispatch",
        "window_id": "0",
        "leaf": "ANEServices`H11ANEProgramProcessRequestDirect",
        "deciding_frame": "ANEServices`H11ANEProgramProcessRequestDirect",
        "stack_id": "1",
    }
    assert [(row["engine"], row["window_id"], row["weight_ns"], row["leaf"]) for row in records[2:]] == [
        ("ANE", "0", "2000000", "libsystem_kernel.dylib`semaphore_wait_trap"),
        ("CPU", "1", "3000000", "libBNNS.dylib`BNNSFilterApply"),
        ("UNKNOWN", "1", "5000000", ""),
    ]
    assert records[2]["deciding_frame"] == "ANEServices`H11ANEProgramProcessRequestDirect"


@pytest.mark.parametrize("table", TABLES)
def test_missing_numbers_are_empty_and_never_minus_one(table: str) -> None:
    analysis = two_windows()
    nullable = {"pid", "tid", "core", "stack_id", "window_id", "command_buffer"}
    assert not any(row[name] == "-1" for row in rows(analysis, table) for name in nullable & row.keys())
    columns = parquet(analysis, table)
    assert not any((columns[name] == -1).any() for name in nullable & set(columns))


def test_windows() -> None:
    records = rows(two_windows(), "windows")
    assert [(row["label"], row["start_ns"], row["verdict"], row["thread"]) for row in records] == [
        ("a", "10000000", "ANE", ""),
        ("b", "20000000", "CPU", ""),
    ]
    assert records[0]["why"].startswith("ANE")


def test_the_command_offers_every_table() -> None:
    assert tuple(TABLES) == _TABLES


@pytest.mark.integration
@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("table", TABLES)
def test_parquet_keeps_rows_values_and_types(name: str, table: str) -> None:
    analysis = sample_analysis(name)
    made, back = next(TABLES[table](analysis).iter_blocks(1 << 30)), parquet(analysis, table)
    assert len(back) == len(made)
    for column, dtype in made.dtypes.items():
        pd.testing.assert_series_equal(
            back[column].astype(dtype), made[column].reset_index(drop=True), check_categorical=False
        )
    if table == "samples":
        unit = "weight_ns" if analysis.trace.weight_unit == "ns" else analysis.trace.weight_unit
        assert back[unit].sum() == analysis.trace.weights.sum()
        assert isinstance(back["engine"].dtype, pd.CategoricalDtype)


@pytest.mark.parametrize("table", TABLES)
def test_blocks_of_rows_give_the_same_table(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = two_windows()
    whole_csv, whole = written(write_csv, analysis, table=table), parquet(analysis, table)
    monkeypatch.setattr(flat_tables, "_CSV_ROWS", 2)
    monkeypatch.setattr(flat_tables, "_ROW_GROUP_ROWS", 2)
    assert written(write_csv, analysis, table=table) == whole_csv
    pd.testing.assert_frame_equal(parquet(analysis, table), whole)


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("table", TABLES)
def test_awkward_traces_give_valid_tables(name: str, table: str) -> None:
    analysis = awkward()[name]
    count = TABLES[table](analysis).row_count
    assert len(parquet(analysis, table)) == count
    records = rows(analysis, table)
    assert len(records) == count
    assert all(None not in row and None not in row.values() for row in records)


def test_csv_spells_control_characters_out_and_parquet_keeps_them() -> None:
    assert rows(awkward()["hostile"])[0]["thread"] == "</script>;\\n\\x1b[31m\\u202e\\x00 7"
    assert parquet(awkward()["hostile"])["thread"][0] == HOSTILE


def test_raw_csv_is_exact() -> None:
    text = written(write_csv, awkward()["hostile"], raw=True).decode()
    assert next(csv.DictReader(io.StringIO(text, newline="")))["thread"] == HOSTILE


@pytest.mark.parametrize("text", ["=cmd()", "+1+1", "-[NSView drawRect:]", "@SUM(A1)", " =1"])
def test_a_spreadsheet_sees_no_formula(text: str) -> None:
    analysis = analyze(with_names(trace_of([(0.0, "main", ANE)]), text), windows=[window(0, 1, text)])
    for table in TABLES:
        for row in rows(analysis, table):
            assert not any(value.startswith(("=", "+", "@", "\t", "-[")) for value in row.values())
    assert rows(analysis)[0]["thread"].startswith("'")


def test_counters_stand_beside_their_samples() -> None:
    analysis = sample_analysis("counters-bnns-macos15")
    for event in analysis.trace.counters:
        assert parquet(analysis)[f"counter {event}"].tolist() == analysis.trace.counters[event].tolist()
    assert len(analysis.trace.counters.columns) > 0
