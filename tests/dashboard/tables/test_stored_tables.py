"""Tables on the disk: what is stored, selected, sorted, written and drawn, against the rows that were put in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from table_support import rows_of, tables_of

from tracekit.errors import UsageError
from tracekit.model.columns import PROCESSES, THREADS
from tracekit.model.tables import Column, StackTable, Table
from tracekit_dashboard.errors import NotFound, TooLarge
from tracekit_dashboard.tables.cache import TableCache
from tracekit_dashboard.tables.pages import (
    build_row_document,
    build_table_document,
    iter_csv_pieces,
    list_page_cells,
    write_parquet,
)
from tracekit_dashboard.tables.row_lanes import LaneChoice, build_lane_document, list_members
from tracekit_dashboard.tables.row_selection import RowQuery, find_matching
from tracekit_dashboard.tables.stored import StoredTable
from tracekit_dashboard.tables.storing import store_table
from tracekit_dashboard.tables.table_files import ABOUT

MS = 1_000_000
ROOM = 1 << 30
COLUMNS = {
    "start": "start-time",
    "duration": "duration",
    "name": "string",
    "thread": "thread",
    "bytes": "size-in-bytes",
    "id": "uint64",
    "load": "percent",
}
MAIN = (0x1F3, "Main Thread", 412, "SampleApp")
WORKER = (0x5A3A, "worker", 412, "SampleApp")
HOSTILE = "<img src=x onerror=alert(1)>\u202e=1+1"
ROWS: list[tuple[Any, ...]] = [
    (30 * MS, 2 * MS, "decode", WORKER, 4_096, 7, 1.5),
    (10 * MS, 5 * MS, "Encode", MAIN, None, 2**64 - 1, None),
    (20 * MS, None, HOSTILE, MAIN, 12, 0, 99.5),
    (None, 1 * MS, None, None, 9, 8, 3.0),
    (20 * MS, 100, "x" * 100_000, WORKER, 12, 2**53 + 1, 0.25),
]
Stored = Callable[..., StoredTable]


def table_from(schema: str, columns: dict[str, str], rows: list[tuple[Any, ...]]) -> Table:
    (table,) = tables_of(rows_of(schema, columns, *rows))(schema)
    return table


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    """Stores a table and opens it."""
    cache = TableCache()

    def store(table: Table | None = None, name: str = "1-1") -> StoredTable:
        store_table(tmp_path / name, table_from("app-work", COLUMNS, ROWS) if table is None else table, ROOM)
        return cache.find_table(tmp_path / name)

    return store


def rows_for(table: StoredTable, **query: Any) -> list[int]:
    return TableCache().select_rows(table, RowQuery(**query)).rows.tolist()


def numbered(table: StoredTable, name: str) -> int:
    return [column.name for column in table.columns].index(name)


def test_a_page_has_every_value_as_plain_data(stored: Stored) -> None:
    table = stored()
    cells = list_page_cells(table, np.arange(5, dtype=np.uint32), range(7))
    json.dumps(cells, allow_nan=False)
    assert cells[0] == [30 * MS, 2 * MS, "decode", "worker (0x5a3a) · SampleApp (412)", 4_096, 7, 1.5]
    assert cells[1][4:] == [None, str(2**64 - 1), None]  # beyond 2^53, a browser needs the digits
    assert cells[4][5] == str(2**53 + 1)
    assert cells[2][1:3] == [None, HOSTILE]
    assert cells[3][:4] == [None, 1 * MS, None, None]
    assert len(cells[4][2]) == 201  # a hundred thousand letters are cut
    assert len(build_row_document(table, 4)["cells"][2]) == 20_001


def test_headings_have_units_and_shapes(stored: Stored) -> None:
    columns = build_table_document(stored())["columns"]
    assert [(column["shape"], column["unit"]) for column in columns] == [
        ("time", "s"),
        ("duration", "ms"),
        ("text", ""),
        ("text", ""),
        ("size", "B"),
        ("number", ""),
        ("number", "%"),
    ]
    assert [column["name"] for column in columns if column["is_value"]] == ["duration", "bytes", "id", "load"]


@pytest.mark.parametrize(
    ("column", "ascending"),
    [
        ("start", [1, 2, 4, 0, 3]),
        ("name", [2, 0, 1, 4, 3]),
        ("bytes", [3, 2, 4, 0, 1]),
        ("id", [2, 0, 3, 4, 1]),
    ],
)
def test_an_order_is_stable_and_nulls_come_last(stored: Stored, column: str, ascending: list[int]) -> None:
    table = stored()
    number = numbered(table, column)
    assert rows_for(table, sort=(number, False)) == ascending
    values = [ROWS[row][number] for row in ascending]
    nulls = [row for row, value in zip(ascending, values, strict=True) if value is None]
    descending = rows_for(table, sort=(number, True))
    assert descending[len(ascending) - len(nulls) :] == nulls
    if column == "start":
        assert descending == [0, 2, 4, 1, 3]  # equal rows keep their order


@pytest.mark.parametrize(
    ("column", "condition", "rows"),
    [
        ("duration", ">= 2 ms", [0, 1]),
        ("duration", "50..200 ns", [4]),
        ("duration", "none", [2]),
        ("start", "20 ms..0.03 s", [0, 2, 4]),
        ("bytes", "> 4 kB", [0]),
        ("bytes", "= 12", [2, 4]),
        ("id", "18446744073709551615", [1]),
        ("id", "> 18446744073709551616", []),
        ("id", f"> {2**53}", [1, 4]),
        ("load", "< 1.5", [4]),
        ("name", "CODE", [0, 1]),
        ("name", "=encode", [1]),
        ("name", "!code", [2, 3, 4]),
        ("name", "<img", [2]),
        ("thread", "main", [1, 2]),
    ],
)
def test_a_condition_of_a_column(stored: Stored, column: str, condition: str, rows: list[int]) -> None:
    table = stored()
    assert rows_for(table, where=((numbered(table, column), condition),)) == rows


@pytest.mark.parametrize(
    ("column", "condition", "sentence"),
    [
        ("duration", "long", "no condition for"),
        ("duration", "> 5 kg", "no unit of time"),
        ("load", "> 5 ms", "it has %"),
    ],
)
def test_a_condition_that_is_not_understood_is_refused(
    stored: Stored, column: str, condition: str, sentence: str
) -> None:
    table = stored()
    with pytest.raises(UsageError, match=sentence):
        find_matching(table, RowQuery(where=((numbered(table, column), condition),)))


def test_the_search_takes_words_of_any_column_and_whole_numbers(stored: Stored) -> None:
    table = stored()
    assert rows_for(table, text="worker DECODE") == [0]
    assert rows_for(table, text="4096") == [0]
    assert rows_for(table, text="0x1f3") == [1, 2]
    assert rows_for(table, text="nothing has this") == []


def test_a_range_of_time_takes_the_rows_that_touch_it(stored: Stored) -> None:
    table = stored()
    assert rows_for(table, from_ns=14 * MS, to_ns=20 * MS) == [1]  # from its middle to just before the next
    assert rows_for(table, from_ns=15 * MS, to_ns=21 * MS) == [2, 4]  # row 1 ends where the range begins
    assert rows_for(table, from_ns=31 * MS, to_ns=40 * MS, sort=(0, True)) == [0, 2]  # row 2 was never closed
    selected = TableCache().select_rows(table, RowQuery(text="worker", from_ns=0, to_ns=21 * MS))
    assert (selected.matching, selected.rows.tolist()) == (2, [4])


def test_files_have_what_is_shown_and_csv_is_safe(stored: Stored) -> None:
    import pyarrow.parquet

    table = stored()
    rows = np.array([2, 1], np.uint32)
    text = b"".join(iter_csv_pieces(table, rows, [2, 0, 5])).decode()
    assert list(csv.reader(io.StringIO(text))) == [
        ["name", "start", "id"],
        ["<img src=x onerror=alert(1)>\\u202e=1+1", str(20 * MS), "0"],
        ["Encode", str(10 * MS), str(2**64 - 1)],
    ]
    out = io.BytesIO()
    write_parquet(table, rows, [2, 0, 5], out)
    out.seek(0)
    assert pyarrow.parquet.read_table(out).to_pydict() == {
        "name": [HOSTILE, "Encode"],
        "start": [20 * MS, 10 * MS],
        "id": [0, 2**64 - 1],
    }


def test_formulas_stay_texts_in_csv(stored: Stored) -> None:
    table = stored(table_from("notes", {"time": "event-time", "note": "string"}, [(1, "=HYPERLINK(1)")]))
    assert b'"\'=HYPERLINK(1)"' in b"".join(iter_csv_pieces(table, np.array([0], np.uint32), [1]))


def test_private_text_is_not_stored(stored: Stored, tmp_path: Path) -> None:
    columns = {"start": "start-time", "duration": "duration", "prompt": "string"}
    table = stored(table_from("ModelInferenceTable", columns, [(1, 2, "the secret plan")]))
    assert build_table_document(table)["hidden"] == ["prompt"]
    assert list_page_cells(table, np.array([0], np.uint32), [2]) == [["<private, 15 characters>"]]
    assert not any(b"secret" in file.read_bytes() for file in (tmp_path / "1-1").iterdir())


def test_tables_without_rows_or_times_can_be_opened_and_not_drawn(stored: Stored) -> None:
    empty = stored(table_from("quiet", {"start": "start-time", "duration": "duration"}, []))
    assert (empty.rows, empty.has_time, rows_for(empty, sort=(0, True))) == (0, False, [])
    timeless = stored(table_from("names", {"name": "string"}, [("a",), ("b",)]), "1-2")
    assert not build_table_document(timeless)["has_time"]
    assert rows_for(timeless, from_ns=0, to_ns=10) == []
    with pytest.raises(UsageError, match="no time"):
        TableCache().find_lane(timeless, LaneChoice())


def test_a_table_larger_than_the_bound_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    table = table_from("app-work", COLUMNS, ROWS)
    with pytest.raises(TooLarge, match=r"5 rows of 7 columns.*tracekit tables with --schema"):
        store_table(tmp_path / "1-1", table, 100)
    assert not list(tmp_path.iterdir())


def test_a_damaged_table_is_no_crash(stored: Stored) -> None:
    table = stored()
    (table.folder / ABOUT).write_text("{}")
    with pytest.raises(NotFound, match="Read it again"):
        TableCache().find_table(table.folder)


def test_a_stack_has_its_frames_and_is_found_by_any_of_them(stored: Stored) -> None:
    stacks = StackTable.from_stacks([[("libA", "leaf"), ("App", "main")], [("App", "other")]])
    columns = (
        Column("time", "Time", "sample-time", "int"),
        Column("stack", "Backtrace", "backtrace", "stack"),
    )
    rows = pd.DataFrame({"time": pd.array([1, 2, 3], "Int64"), "stack": np.array([0, 1, -1], np.int32)})
    table = stored(Table("samples", columns, rows, THREADS.empty(), PROCESSES.empty(), stacks))
    assert list_page_cells(table, np.arange(3, dtype=np.uint32), [1]) == [["leaf"], ["other"], [None]]
    assert build_row_document(table, 0)["stacks"]["1"] == {
        "frames": [["leaf", "libA", None], ["main", "App", None]],
        "more": 0,
    }
    assert rows_for(table, where=((1, "main"),)) == [0]
    assert b"leaf \xe2\x86\x90 main" in b"".join(iter_csv_pieces(table, np.array([0], np.uint32), [1]))


def lane_of(table: StoredTable, from_ns: int, to_ns: int, pixels: int = 100, **choice: Any) -> dict[str, Any]:
    chosen = LaneChoice(**choice)
    return build_lane_document(table, chosen, TableCache().find_lane(table, chosen), from_ns, to_ns, pixels)


def test_a_lane_has_its_rows_as_marks_in_lines_without_overlap(stored: Stored) -> None:
    lane = lane_of(stored(), 0, 100 * MS)
    assert lane["row"] == [1, 2, 4, 0]
    assert lane["start"] == [10 * MS, 20 * MS, 20 * MS, 30 * MS]
    assert lane["end"] == [15 * MS, None, 20 * MS + 100, 32 * MS]  # null is open at the end of the recording
    assert lane["line"] == [0, 0, 1, 1]
    assert [lane["labels"][label][0][:6] for label in lane["label"]] == [
        "Encode",
        "<img s",
        "xxxxxx",
        "decode",
    ]
    assert lane_of(stored(name="1-2"), 0, 12 * MS)["row"] == [1]


def test_a_lane_can_be_of_one_thread_and_of_values(stored: Stored) -> None:
    table = stored()
    thread = numbered(table, "thread")
    found = list_members(table, thread)
    assert [(text, rows) for _, text, rows in found["members"]] == [
        ("worker (0x5a3a) · SampleApp (412)", 2),
        ("Main Thread (0x1f3) · SampleApp (412)", 2),
    ]
    main = found["members"][1][0]
    assert lane_of(table, 0, 100 * MS, group=thread, member=main)["row"] == [1, 2]
    values = lane_of(table, 25 * MS, 100 * MS, value=numbered(table, "load"))
    assert (values["time"], values["value"]) == (
        [20 * MS, 30 * MS],
        [0.25, 1.5],
    )  # one before it holds at its begin
    assert (values["low"], values["high"]) == (0.25, 99.5)


def test_a_million_rows_are_a_bounded_number_of_marks(stored: Stored) -> None:
    count = 1_000_000
    start = np.arange(count, dtype=np.int64) * 1_000
    columns = (
        Column("start", "Start", "start-time", "int"),
        Column("duration", "Duration", "duration", "int"),
        Column("load", "Load", "percent", "float"),
    )
    load = np.where(
        start == 777_000, np.nan, np.where(start == 5_000, np.inf, (start // 1_000 % 1_000).astype(float))
    )
    rows = pd.DataFrame(
        {"start": pd.array(start, "Int64"), "duration": pd.array([500] * count, "Int64"), "load": load}
    )
    table = stored(Table("many", columns, rows, THREADS.empty(), PROCESSES.empty(), StackTable.empty()))
    lane = lane_of(table, 0, count * 1_000, 1_000)
    assert len(lane["row"]) == 1_000
    assert sum(lane["count"]) == count
    values = lane_of(table, 0, count * 1_000, 1_000, value=2)
    assert len(values["time"]) == 1_000
    assert (min(values["least"]), max(values["most"]), sum(values["count"])) == (0, 999, count - 2)
    json.dumps([lane, values], allow_nan=False)


def test_names_of_columns_may_repeat_and_be_hostile(stored: Stored) -> None:
    table = table_from("odd", {"time": "event-time", "a": "string"}, [(1, "b")])
    renamed = replace(table.columns[1], title="<b>" + "t" * 100_000)
    shown = build_table_document(stored(replace(table, columns=(table.columns[0], renamed))))["columns"][1]
    assert (shown["title"][:4], len(shown["title"])) == ("<b>t", 300)
