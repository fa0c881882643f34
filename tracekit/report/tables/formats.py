"""A generic ``Table`` as text, CSV, JSON or Parquet.

In text and CSV a thread, process, stack or composite cell is one readable string; in JSON and Parquet a
thread, process or stack keeps its parts, and every value is exact.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from tracekit.errors import UsageError
from tracekit.model.columns import NULLABLE
from tracekit.model.composite_cells import format_parts
from tracekit.model.tables import Column, Table
from tracekit.text import align, clip, escape_json, printable, spreadsheet_cell

Value: TypeAlias = Any
_TEXT_WIDTH = 60
_MAX_INT64 = 2**63 - 1
_NUMBER_KINDS = ("int", "float", "ints")
_ENTITY_KINDS = ("thread", "process", "stack")
"""Columns that hold row numbers of the table's threads, processes or stacks; -1 is null."""


def choose_columns(table: Table, names: Sequence[str]) -> tuple[Column, ...]:
    """Return the named columns in that order; all for no name. Raises ``UsageError`` for an unknown one."""
    columns = {column.mnemonic: column for column in table.columns}
    for name in names:
        if name not in columns:
            raise UsageError(
                f"'{table.schema}' has no column '{name}'; its columns are {', '.join(columns)}."
            )
    return tuple(columns[name] for name in names) if names else table.columns


def to_csv(table: Table, columns: Sequence[Column], raw: bool = False) -> str:
    """Return the table as CSV with a header; null is an empty field.

    Text is safe for terminals and spreadsheets (``spreadsheet_cell``); with ``raw`` it is exact.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.mnemonic if raw else spreadsheet_cell(column.mnemonic) for column in columns])
    cells = (_strings(table, column) if raw else _safe_strings(table, column) for column in columns)
    writer.writerows(zip(*cells, strict=True))
    return out.getvalue()


def _safe_strings(table: Table, column: Column) -> list[str]:
    strings = _strings(table, column)
    if column.kind in _NUMBER_KINDS:
        return strings
    cells = {text: spreadsheet_cell(text) for text in set(strings)}
    return [cells[text] for text in strings]


def to_text(table: Table, columns: Sequence[Column]) -> str:
    """Return the table for a terminal: aligned, long cells cut, control characters escaped."""
    cells = [[clip(printable(text), _TEXT_WIDTH) for text in _strings(table, column)] for column in columns]
    header = [printable(column.mnemonic) for column in columns]
    right = [column.kind in ("int", "float") for column in columns]
    return align(header, list(zip(*cells, strict=True)), right) + "\n"


def to_json(table: Table, columns: Sequence[Column]) -> str:
    """Return the table as a JSON object with ``schema``, ``columns`` and ``rows`` (one object per row)."""
    values = [_values(table, column) for column in columns]
    names = [column.mnemonic for column in columns]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
    described = [
        {"mnemonic": c.mnemonic, "title": c.title, "type": c.engineering_type, "kind": c.kind}
        for c in columns
    ]
    document = {"schema": table.schema, "run": table.run, "columns": described, "rows": rows}
    # json.dumps keeps every piece of the text in a list until it joins them: a table of a million rows
    # has tens of millions of pieces.
    out = io.StringIO()
    for piece in json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(document):
        out.write(piece)
    return escape_json(out.getvalue()) + "\n"


def to_parquet(table: Table, columns: Sequence[Column]) -> bytes:
    """Return the table as a Parquet file; stacks are lists of frame structs, leaf first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = []
    for column in columns:
        if column.kind in _ENTITY_KINDS:
            entities = pa.array(_entities(table, column.kind), type=_arrow_type(pa, column.kind))
            ids = table.rows[column.mnemonic].to_numpy()
            arrays.append(entities.take(pa.array(ids, mask=ids < 0)))
        elif column.kind in ("int", "float"):
            arrays.append(pa.array(table.rows[column.mnemonic]))
        elif column.kind == "ints":
            lists = _values(table, column)
            beyond = any(number > _MAX_INT64 for numbers in lists if numbers for number in numbers)
            arrays.append(pa.array(lists, type=pa.list_(pa.uint64() if beyond else pa.int64())))
        else:
            arrays.append(pa.array([text or None for text in _strings(table, column)], type=pa.string()))
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays, names=[column.mnemonic for column in columns]), sink)
    return sink.getvalue()


def _arrow_type(pa: Any, kind: str) -> Any:
    thread = [("tid", pa.int64()), ("name", pa.string()), ("pid", pa.int64()), ("process", pa.string())]
    frame = [("symbol", pa.string()), ("binary", pa.string()), ("address", pa.uint64())]
    frame += [("source_file", pa.string()), ("source_line", pa.int32()), ("inlined", pa.bool_())]
    if kind == "thread":
        return pa.struct(thread)
    return (
        pa.struct([("pid", pa.int64()), ("name", pa.string())])
        if kind == "process"
        else pa.list_(pa.struct(frame))
    )


def _entities(table: Table, kind: str) -> list[Value]:
    """Return every thread, process or stack of the table as plain data, in row order."""
    if kind == "thread":
        return _records(table.threads)
    if kind == "process":
        return _records(table.processes)
    records = _records(table.stacks.frames.drop(columns="binary_id").assign(binary=table.stacks.binary_names))
    stacks = (table.stacks.stack(stack_id).tolist() for stack_id in range(len(table.stacks)))
    return [[records[frame] for frame in stack] for stack in stacks]


def _records(frame: pd.DataFrame) -> list[dict[Any, Value]]:
    """Return the rows as plain data; a missing number (-1 in the model) is None."""
    numbers = [name for name in frame.columns if name in NULLABLE]
    records = frame.to_dict("records")
    for record in records:
        for name in numbers:
            if record[name] == -1:
                record[name] = None
    return records


def _values(table: Table, column: Column) -> list[Value]:
    """Return a column as plain data for JSON; None for null."""
    cells = table.rows[column.mnemonic]
    if column.kind in _ENTITY_KINDS:
        return _take_by_id(_entities(table, column.kind), None, cells)
    if column.kind == "parts":
        return _once_per_value(cells, _plain_parts)
    return [None if _is_null(cell) else cell for cell in cells.tolist()]


def _strings(table: Table, column: Column) -> list[str]:
    """Return a column as one string per cell; "" for null."""
    cells = table.rows[column.mnemonic]
    if column.kind == "thread":
        return _take_by_id(_thread_strings(table), "", cells)
    if column.kind == "process":
        processes = table.processes[["name", "pid"]].itertuples(index=False, name=None)
        return _take_by_id([f"{name} ({_number(pid)})" for name, pid in processes], "", cells)
    if column.kind == "stack":
        return _take_by_id(_stack_strings(table), "", cells)
    if column.kind == "parts":
        return _once_per_value(cells, format_parts)
    if column.kind == "ints":
        return _once_per_value(cells, lambda numbers: " ".join(map(str, numbers)))
    return ["" if _is_null(cell) else str(cell) for cell in cells.tolist()]


def _thread_strings(table: Table) -> list[str]:
    """Return ``Main Thread (0x1f3) (SampleApp, pid: 412)`` for each thread of the table."""
    threads = table.threads[["name", "tid", "process", "pid"]].itertuples(index=False, name=None)
    return [
        f"{name} ({f'0x{tid:x}' if tid >= 0 else 'no tid'}) ({process}, pid: {_number(pid)})"
        for name, tid, process, pid in threads
    ]


def _number(pid: int) -> str:
    return str(pid) if pid >= 0 else "unknown"


def _is_null(cell: Value) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def _take_by_id(entities: list[Any], missing: Any, ids: pd.Series[int]) -> list[Any]:
    """Return ``entities[id]`` per cell. ``missing`` is put last, where the id -1 of a null cell finds it."""
    lookup = np.empty(len(entities) + 1, dtype=object)
    lookup[:-1] = entities
    lookup[-1] = missing
    values: list[Any] = lookup[ids.to_numpy()].tolist()
    return values


def _once_per_value(cells: pd.Series[Any], render: Callable[[Any], Any]) -> list[Any]:
    """Render each distinct cell object once: equal cells of an export are one object.

    The key is ``id``, which is quicker than hashing nested tuples; the column keeps the objects alive.
    """
    rendered: dict[int, Any] = {id(None): None if render is _plain_parts else ""}
    return [
        rendered[id(cell)] if id(cell) in rendered else rendered.setdefault(id(cell), render(cell))
        for cell in cells
    ]


def _stack_strings(table: Table) -> list[str]:
    symbols = table.stacks.symbols
    return [" ← ".join(symbols[table.stacks.stack(stack_id)]) for stack_id in range(len(table.stacks))]


def _plain_parts(parts: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": kind, "value": _plain_parts(value) if isinstance(value, tuple) else value}
        for kind, value in parts
    ]
