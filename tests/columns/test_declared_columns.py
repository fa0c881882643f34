"""The columns of frames: declared once, and the same in every output."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from export_support import two_windows, written

from docs.generators.columns import ANALYSIS_FIELDS, TRACE_FRAMES, add_columns, format_frame
from docs.generators.write_files import render_files
from tracekit.columns.call_rows import CallRows
from tracekit.columns.calls import CALL_COLUMNS
from tracekit.columns.frame import Display, FrameColumn
from tracekit.columns.frames import FRAMES
from tracekit.export.flat_tables import write_csv, write_parquet
from tracekit.model import columns
from tracekit.report.analysis.json import to_dict
from tracekit.report.viewmodel.call_table import build_page_columns
from tracekit.report.viewmodel.limits import Footnotes

pytestmark = pytest.mark.slow


def csv_rows(table: str) -> list[dict[str, str]]:
    text = written(write_csv, two_windows(), table=table).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_schema_and_skill_are_made_from_the_declarations() -> None:
    for path, text in render_files().items():
        assert path.read_text("utf-8") == text, f"{path.name} differs from the declarations: run make columns"


def test_docs_have_every_frame_of_the_model() -> None:
    declared = {name: value for name, value in vars(columns).items() if isinstance(value, columns.Columns)}
    documented = [*TRACE_FRAMES.values(), *ANALYSIS_FIELDS.values()]
    assert [name for name, value in declared.items() if value not in documented] == ["PROCESSES"]


def test_a_new_column_of_a_call_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    twice: FrameColumn[CallRows] = FrameColumn(
        "int64",
        "twice the length",
        lambda rows: 2 * (rows.windows["end_ns"] - rows.windows["start_ns"]),
        "measured",
        json="times.twice_ns",
        display=Display("Twice", "time"),
    )
    monkeypatch.setattr(CALL_COLUMNS, "columns", {**CALL_COLUMNS.columns, "twice_ns": twice})
    analysis = two_windows()
    expected = [10_000_000, 8_000_000]
    assert analysis.to_frame("windows")["twice_ns"].tolist() == expected
    assert [row["twice_ns"] for row in csv_rows("windows")] == ["10000000", "8000000"]
    assert [window["times"]["twice_ns"] for window in to_dict(analysis)["windows"]] == expected
    page, values = build_page_columns(CallRows(analysis), Footnotes(analysis))
    assert page[-1] == {
        "key": "twice_ns",
        "head": "Twice",
        "kind": "time",
        "note": "twice the length (measured)",
    }
    assert values["twice_ns"].tolist() == expected
    assert "twice_ns" in dict(CALL_COLUMNS.select("verbose"))
    line = "| `twice_ns` | int64 | ns | measured | twice the length | JSON `times.twice_ns`, `-v`, page |"
    assert format_frame(CALL_COLUMNS).splitlines()[-1] == line
    item: dict[str, Any] = {"properties": {}, "required": []}
    add_columns(item)
    times = item["properties"]["times"]
    assert times["properties"]["twice_ns"] == {"type": "integer", "description": "measured: twice the length"}
    assert "twice_ns" in times["required"]


@pytest.mark.parametrize("table", ["windows", "attribution"])
def test_csv_parquet_and_the_frame_have_the_same_columns(table: str) -> None:
    names = list(two_windows().to_frame(table))
    assert list(csv_rows(table)[0]) == names
    assert list(pd.read_parquet(io.BytesIO(written(write_parquet, two_windows(), table=table)))) == names


@pytest.mark.parametrize("name", FRAMES)
def test_frames_have_the_declared_types(name: str) -> None:
    dtypes = two_windows().to_frame(name).dtypes
    declared = {column: entry.type for column, entry in FRAMES[name].select("frame")}
    assert {column: str(dtype) for column, dtype in dtypes.items()} == declared


def test_a_column_without_a_known_value_is_not_on_the_page() -> None:
    analysis = two_windows()
    heads = [column["head"] for column in build_page_columns(CallRows(analysis), Footnotes(analysis))[0]]
    assert heads == ["Range", "Name", "Start", "Length", "Verdict", "Waiting for ANE", "Host samples", "Why"]


def test_a_block_of_calls_has_the_rows_of_the_whole_frame() -> None:
    analysis = two_windows()
    whole = analysis.to_frame("windows")
    for row in range(2):
        block = CALL_COLUMNS.build_from(CallRows(analysis, row, row + 1))
        assert json.loads(block.to_json(orient="records")) == [
            json.loads(whole.to_json(orient="records"))[row]
        ]


def test_an_input_without_samples_has_no_zero_of_samples() -> None:
    analysis = two_windows()
    without = replace(analysis, trace=replace(analysis.trace, samples_source=""))
    assert analysis.windows["ANE_samples"].tolist() == [2, 0]
    assert without.to_frame("windows")["ANE_samples"].isna().all()
