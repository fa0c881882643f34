"""Results as text: a table that fits, else the values of all rows above it, else a block per row."""

from __future__ import annotations

import pyarrow as pa

from tracekit.fleet.dataset_answer import AnswerColumn, DatasetAnswer
from tracekit.report.fleet.text import to_text

COLUMNS = tuple(map(AnswerColumn, ("app", "device", "build", "calls")))
ROWS = pa.table(
    {
        "app": ["App", "App"],
        "device": ["iPhone", "iPad"],
        "build": ["", ""],
        "calls": [12, 3],
    }
)


def test_a_table_that_fits_has_all_columns() -> None:
    lines = to_text(DatasetAnswer("", COLUMNS, ROWS), 80).splitlines()
    assert lines[0].split() == ["app", "device", "build", "calls"]
    assert [line.split() for line in lines[1:]] == [["App", "iPhone", "12"], ["App", "iPad", "3"]]


def test_what_all_rows_share_stands_above_a_table_that_would_be_too_wide() -> None:
    lines = to_text(DatasetAnswer("", COLUMNS, ROWS), 20).splitlines()
    assert " ".join(" ".join(lines[: lines.index("")]).split()) == "In all rows: app: App, build: empty."
    assert [line.split() for line in lines[lines.index("") + 1 :]] == [
        ["device", "calls"],
        ["iPhone", "12"],
        ["iPad", "3"],
    ]


def test_rows_that_fit_in_no_table_are_blocks() -> None:
    text = to_text(DatasetAnswer("", COLUMNS, ROWS.slice(0, 1)), 16)
    assert text.splitlines() == ["app     App", "device  iPhone", "build", "calls   12"]
