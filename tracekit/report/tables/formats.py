"""A generic ``Table`` as text, CSV, JSON or Parquet.

In text and CSV a thread, process, stack or composite cell is one readable string; in JSON and Parquet a
thread, process or stack keeps its parts, and every value is exact. All but text are written in blocks of
rows: what is prepared for a whole table are its threads, processes and stacks.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, TypeAlias

import numpy as np
import pandas as pd

from tracekit.errors import UsageError
from tracekit.model.columns import NULLABLE
from tracekit.model.composite_cells import format_parts
from tracekit.model.tables import Column, Table
from tracekit.text import align, clip, escape_json, escape_spreadsheet_cell, printable

Value: TypeAlias = Any
_Cells: TypeAlias = "pd.Series[Any]"
_TEXT_WIDTH = 60
_BLOCK_ROWS = 4_096
_ROW_GROUP_ROWS, _ROW_GROUP_FRAMES = 65_536, 4_000_000
_MAX_INT64 = 2**63 - 1
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


def csv_pieces(table: Table, columns: Sequence[Column], raw: bool = False) -> Iterator[str]:
    """Yield the table as CSV with a header; null is an empty field.

    Text is safe for terminals and spreadsheets (``spreadsheet_cell``); with ``raw`` it is exact.
    """
    rewrite = str if raw else escape_spreadsheet_cell
    yield _write_csv_lines([[rewrite(column.mnemonic) for column in columns]])
    strings = [_get_string_converter(table, column, rewrite) for column in columns]
    for rows in _iter_blocks(table, _BLOCK_ROWS):
        cells = (of(rows[column.mnemonic]) for of, column in zip(strings, columns, strict=True))
        yield _write_csv_lines(zip(*cells, strict=True))


def _write_csv_lines(rows: Iterable[Iterable[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _iter_blocks(table: Table, size: int) -> Iterator[pd.DataFrame]:
    for start in range(0, len(table), size):
        yield table.rows.iloc[start : start + size]


def to_text(table: Table, columns: Sequence[Column]) -> str:
    """Return the table for a terminal: aligned, long cells cut, control characters escaped."""
    strings = [_get_string_converter(table, column)(table.rows[column.mnemonic]) for column in columns]
    cells = [[clip(printable(text), _TEXT_WIDTH) for text in texts] for texts in strings]
    header = [printable(column.mnemonic) for column in columns]
    right = [column.kind in ("int", "float") for column in columns]
    return align(header, list(zip(*cells, strict=True)), right) + "\n"


def json_pieces(table: Table, columns: Sequence[Column]) -> Iterator[str]:
    """Yield the table as a JSON object with ``schema``, ``columns`` and ``rows`` (one object per row)."""
    described = [
        {"mnemonic": c.mnemonic, "title": c.title, "type": c.engineering_type, "kind": c.kind}
        for c in columns
    ]
    document = {"schema": table.schema, "run": table.run, "columns": described, "rows": []}
    around = _write_json(document)
    if not len(table):
        yield f"{around}\n"
        return
    yield around.removesuffix("]\n}")
    values = [_get_value_converter(table, column) for column in columns]
    names = [column.mnemonic for column in columns]
    separator = ""
    for block in _iter_blocks(table, _BLOCK_ROWS):
        cells = (of(block[name]) for of, name in zip(values, names, strict=True))
        rows = [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]
        # Within an object, so that the rows have the depth that they have in the document.
        yield separator + _write_json({"": rows}).removeprefix('{\n "": [').removesuffix("\n ]\n}")
        separator = ","
    yield "\n ]\n}\n"


def _write_json(document: Value) -> str:
    return escape_json(json.dumps(document, ensure_ascii=False, indent=1))


def write_parquet(table: Table, columns: Sequence[Column], out: IO[bytes]) -> None:
    """Write the table as a Parquet file; stacks are lists of frame structs, leaf first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [_get_arrow_converter(pa, table, column) for column in columns]
    names = [column.mnemonic for column in columns]

    def arrow_table(rows: pd.DataFrame) -> Any:
        return pa.table([of(rows[name]) for of, name in zip(arrays, names, strict=True)], names=names)

    size = _ROW_GROUP_ROWS
    if any(column.kind == "stack" for column in columns):
        deepest = int(np.diff(table.stacks.offsets).max(initial=1))
        size = min(size, max(1, _ROW_GROUP_FRAMES // max(1, deepest)))
    with pq.ParquetWriter(out, arrow_table(table.rows.iloc[:0]).schema) as writer:
        for rows in _iter_blocks(table, size):
            writer.write_table(arrow_table(rows))


def _get_arrow_converter(pa: Any, table: Table, column: Column) -> Callable[[_Cells], Any]:
    """Return the function that makes an Arrow array of cells of a column."""
    if column.kind in _ENTITY_KINDS:
        entities = pa.array(_list_entities(table, column.kind), type=_find_arrow_type(pa, column.kind))

        def taken(cells: _Cells) -> Any:
            ids = cells.to_numpy()
            return entities.take(pa.array(ids, mask=ids < 0))

        return taken
    if column.kind in ("int", "float"):
        to_array: Callable[[_Cells], Any] = pa.array
        return to_array
    if column.kind == "ints":
        lists = table.rows[column.mnemonic]
        beyond = any(number > _MAX_INT64 for numbers in lists if numbers for number in numbers)
        list_type = pa.list_(pa.uint64() if beyond else pa.int64())
        plain = _get_value_converter(table, column)
        return lambda cells: pa.array(plain(cells), type=list_type)
    strings = _get_string_converter(table, column)
    return lambda cells: pa.array([text or None for text in strings(cells)], type=pa.string())


def _find_arrow_type(pa: Any, kind: str) -> Any:
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


def _list_entities(table: Table, kind: str) -> list[Value]:
    """Return every thread, process or stack of the table as plain data, in row order."""
    if kind == "thread":
        return _list_records(table.threads)
    if kind == "process":
        return _list_records(table.processes)
    records = _list_records(
        table.stacks.frames.drop(columns="binary_id").assign(binary=table.stacks.binary_names)
    )
    stacks = (table.stacks.stack(stack_id).tolist() for stack_id in range(len(table.stacks)))
    return [[records[frame] for frame in stack] for stack in stacks]


def _list_records(frame: pd.DataFrame) -> list[dict[Any, Value]]:
    """Return the rows as plain data; a missing number (-1 in the model) is None."""
    numbers = [name for name in frame.columns if name in NULLABLE]
    records = frame.to_dict("records")
    for record in records:
        for name in numbers:
            if record[name] == -1:
                record[name] = None
    return records


def _get_value_converter(table: Table, column: Column) -> Callable[[_Cells], list[Value]]:
    """Return the function that makes cells of a column plain data for JSON; None for null."""
    if column.kind in _ENTITY_KINDS:
        return _get_lookup(_list_entities(table, column.kind), None)
    if column.kind == "parts":
        return lambda cells: _convert_each_value(cells, _list_parts, None)
    return lambda cells: [None if _is_null(cell) else cell for cell in cells.tolist()]


def _get_string_converter(
    table: Table, column: Column, rewrite: Callable[[str], str] = str
) -> Callable[[_Cells], list[str]]:
    """Return the function that makes cells of a column strings, ``rewrite`` any text; "" for null."""
    match column.kind:
        case "thread":
            return _get_lookup(list(map(rewrite, _describe_threads(table))), "")
        case "process":
            processes = table.processes[["name", "pid"]].itertuples(index=False, name=None)
            return _get_lookup([rewrite(f"{name} ({_format_pid(pid)})") for name, pid in processes], "")
        case "stack":
            return _get_lookup(list(map(rewrite, _describe_stacks(table))), "")
        case "parts":
            return lambda cells: _convert_each_value(cells, lambda parts: rewrite(format_parts(parts)), "")
        case "ints":
            return lambda cells: _convert_each_value(cells, lambda numbers: " ".join(map(str, numbers)), "")
        case "int" | "float":
            return _convert_to_strings
        case _:
            return lambda cells: _convert_each_text(_convert_to_strings(cells), rewrite)


def _convert_to_strings(cells: _Cells) -> list[str]:
    return ["" if _is_null(cell) else str(cell) for cell in cells.tolist()]


def _convert_each_text(texts: list[str], rewrite: Callable[[str], str]) -> list[str]:
    rewritten = {text: rewrite(text) for text in set(texts)}
    return [rewritten[text] for text in texts]


def _describe_threads(table: Table) -> list[str]:
    """Return ``Main Thread (0x1f3) (SampleApp, pid: 412)`` for each thread of the table."""
    threads = table.threads[["name", "tid", "process", "pid"]].itertuples(index=False, name=None)
    return [
        f"{name} ({f'0x{tid:x}' if tid >= 0 else 'no tid'}) ({process}, pid: {_format_pid(pid)})"
        for name, tid, process, pid in threads
    ]


def _format_pid(pid: int) -> str:
    return str(pid) if pid >= 0 else "unknown"


def _is_null(cell: Value) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def _get_lookup(entities: list[Any], missing: Any) -> Callable[[_Cells], list[Any]]:
    """Return the function that takes ``entities[id]`` per cell.

    ``missing`` is put last, where the id -1 of a null cell finds it.
    """
    lookup = np.empty(len(entities) + 1, dtype=object)
    lookup[:-1] = entities
    lookup[-1] = missing
    return lambda cells: lookup[cells.to_numpy()].tolist()


def _convert_each_value(cells: _Cells, render: Callable[[Any], Any], null: Any) -> list[Any]:
    """Render each distinct cell object once: equal cells of an export are one object.

    The key is ``id``, which is quicker than hashing nested tuples; the column keeps the objects alive.
    """
    rendered: dict[int, Any] = {id(None): null}
    return [
        rendered[id(cell)] if id(cell) in rendered else rendered.setdefault(id(cell), render(cell))
        for cell in cells
    ]


def _describe_stacks(table: Table) -> list[str]:
    symbols = table.stacks.symbols
    return [" ← ".join(symbols[table.stacks.stack(stack_id)]) for stack_id in range(len(table.stacks))]


def _list_parts(parts: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": kind, "value": _list_parts(value) if isinstance(value, tuple) else value}
        for kind, value in parts
    ]
