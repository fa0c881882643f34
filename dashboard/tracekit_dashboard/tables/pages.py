"""Pages of a stored table as plain data, and whole files of what is shown."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tracekit.text import escape_spreadsheet_cell
from tracekit_dashboard.tables.row_selection import Rows
from tracekit_dashboard.tables.stored import Array, StoredTable

MAX_ROWS = 500
_EXACT = 2**53
"""JavaScript's numbers are exact up to this: larger ones are sent as texts."""
_CELL_LETTERS, _DETAIL_LETTERS, _NAME_LETTERS = 200, 20_000, 300
_MAX_FRAMES = 400
_BLOCK_ROWS = 65_536
_STACK_BLOCK_ROWS = 4_096
_MAX_WRITTEN_FRAMES = 512


def build_table_document(table: StoredTable) -> dict[str, Any]:
    """Return the description of a table: its columns and notes about it."""
    about = table.about
    return {
        "schema": table.schema[:_NAME_LETTERS],
        "rows": table.rows,
        "columns": [
            {**asdict(column), "name": column.name[:_NAME_LETTERS], "title": column.title[:_NAME_LETTERS]}
            for column in table.columns
        ],
        "has_time": table.has_time,
        "is_timed": table.is_timed,
        "hidden": [name[:_NAME_LETTERS] for name in about["hidden"]],
        "notes": [note[:1_000] for note in about["notes"]],
    }


def list_page_cells(table: StoredTable, rows: Rows, columns: Sequence[int]) -> list[list[Any]]:
    """Return the cells of some rows, row by row."""
    if not columns:
        return [[] for _ in range(len(rows))]
    cells = [_list_cells(table, rows, column, _CELL_LETTERS) for column in columns]
    return [list(row) for row in zip(*cells, strict=True)]


def _list_cells(table: StoredTable, rows: Rows, column: int, most_letters: int) -> list[Any]:
    values = table.read_array(column).take(_to_arrow_indices(rows)).to_pylist()
    return [_to_json_value(value, most_letters) for value in values]


def _to_json_value(value: Any, most_letters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= most_letters else f"{value[:most_letters]}…"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, int) and abs(value) > _EXACT else value


def build_row_document(table: StoredTable, row: int) -> dict[str, Any]:
    """Return all of one row: its cells, its time, and the frames of its stacks."""
    rows = np.array([row], np.uint32)
    cells = [_list_cells(table, rows, column, _DETAIL_LETTERS)[0] for column in range(len(table.columns))]
    stacks = {}
    for column, column_info in enumerate(table.columns):
        code = int(table.read_codes(column)[row]) if column_info.kind == "stack" else -1
        if code >= 0:
            depth = len(table.stacks[code])
            frames = table.read_stack(code, _MAX_FRAMES)
            short_frames = [[_to_json_value(part, _NAME_LETTERS) for part in frame] for frame in frames]
            stacks[str(column)] = {"frames": short_frames, "more": max(0, depth - _MAX_FRAMES)}
    return {"row": row, "cells": cells, "stacks": stacks, **describe_span(table, row)}


def describe_span(table: StoredTable, row: int) -> dict[str, Any]:
    """Return the start and end of a row as plain data; null for a row without a time."""
    if table.start[row] == np.iinfo(np.int64).max:
        return {"start_ns": None, "end_ns": None}
    return {"start_ns": int(table.start[row]), "end_ns": int(table.end[row])}


def iter_csv_pieces(table: StoredTable, rows: Rows, columns: Sequence[int]) -> Iterator[bytes]:
    """Yield rows as CSV, safe for spreadsheets; a stack is its frames, leaf first."""
    import pyarrow as pa
    import pyarrow.csv

    options = pa.csv.WriteOptions(include_header=False)
    names = [escape_spreadsheet_cell(table.columns[column].name) for column in columns]
    header = pa.table([pa.array([name]) for name in names], names=[str(n) for n in range(len(names))])
    for block in (header, *_iter_blocks(table, rows, columns, is_safe=True)):
        out = io.BytesIO()
        pa.csv.write_csv(block, out, options)
        yield out.getvalue()


def write_parquet(table: StoredTable, rows: Rows, columns: Sequence[int], out: IO[bytes]) -> None:
    """Write rows as a Parquet file with every value exact."""
    import pyarrow.parquet

    blocks = _iter_blocks(table, rows, columns, is_safe=False)
    first_block = next(blocks)
    with pyarrow.parquet.ParquetWriter(out, first_block.schema) as writer:
        writer.write_table(first_block)
        for block in blocks:
            writer.write_table(block)


def _iter_blocks(table: StoredTable, rows: Rows, columns: Sequence[int], is_safe: bool) -> Iterator[Array]:
    """Yield the rows in blocks, at least one; ``is_safe`` makes texts fit for spreadsheets."""
    import pyarrow as pa

    has_stack = any(table.columns[column].kind == "stack" for column in columns)
    size = _STACK_BLOCK_ROWS if has_stack else _BLOCK_ROWS
    names = _make_distinct([table.columns[column].name for column in columns])
    for begin in range(0, max(1, len(rows)), size):
        block = rows[begin : begin + size]
        arrays = [_export_column(table, block, column, is_safe) for column in columns]
        yield pa.table(arrays, names=names)


def _make_distinct(names: Sequence[str]) -> list[str]:
    return [f"{name}#{place}" if name in names[:place] else name for place, name in enumerate(names)]


def _export_column(table: StoredTable, rows: Rows, column: int, is_safe: bool) -> Array:
    import pyarrow as pa

    taken = table.read_array(column).take(_to_arrow_indices(rows))
    if not table.is_text(column):
        return taken
    if table.columns[column].kind == "stack":
        codes = table.read_codes(column)[rows].tolist()
        texts = {code: _format_stack(table, code) for code in set(codes)}
        values = [texts[code] for code in codes]
    else:
        values = taken.to_pylist()
    if is_safe:
        safe = {text: None if text is None else escape_spreadsheet_cell(text) for text in set(values)}
        values = [safe[text] for text in values]
    return pa.array(values, pa.large_string())


def _format_stack(table: StoredTable, code: int) -> str | None:
    if code < 0:
        return None
    frames = table.read_stack(code, _MAX_WRITTEN_FRAMES)
    left_out = len(table.stacks[code]) - len(frames)
    text = " ← ".join(frame[0] or "" for frame in frames)
    return f"{text} ← … {left_out} more" if left_out else text


def _to_arrow_indices(rows: npt.NDArray[np.uint32]) -> Array:
    import pyarrow as pa

    return pa.array(rows)
