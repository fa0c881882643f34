"""Writing a table to the disk, by a worker; ``stored`` opens it.

::

    tables/  contents.json     every table of the recording: see ``contents``
             1-7/              the seventh table of run 1; it appears whole, by renaming
                 about.json    columns, times, notes
                 rows.arrow    one record batch, uncompressed, so that it is mapped into memory as it is
                 stacks.arrow  frame numbers of each stack, leaf first
                 frames.arrow  symbol, binary and address of each frame

Texts, threads, processes and stacks are dictionaries: a search and an order look at each distinct text once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tracekit.model.composite_cells import format_parts
from tracekit.model.tables import Column, Table
from tracekit.redact.private_cells import hide_private
from tracekit.text import format_size
from tracekit_dashboard.errors import TooLarge
from tracekit_dashboard.tables.table_columns import describe_column, find_row_spans
from tracekit_dashboard.tables.table_files import ABOUT, FORMAT, FRAMES, ROWS, STACKS

_NUMBER_BYTES, _CODE_BYTES, _TIME_BYTES = 9, 5, 16
_MAX_NOTES = 20


def store_table(folder: Path, table: Table, most_bytes: int) -> None:
    """Write a table without its private texts into a new folder.

    Raises ``TooLarge`` before anything is written if it would take more than ``most_bytes``.
    """
    import pyarrow as pa

    table, hidden = hide_private(replace(table, rows=table.rows.reset_index(drop=True)))
    _require_room(table, most_bytes)
    spans = find_row_spans(table)
    arrays = [_build_array(table, column) for column in table.columns]
    if sum(array.nbytes for array in arrays) > most_bytes:
        raise _make_too_large_error(table, sum(array.nbytes for array in arrays), most_bytes)
    missing = ~spans.has_start
    arrays += [pa.array(values, mask=missing) for values in (spans.start_ns, spans.end_ns)]
    folder.mkdir(mode=0o700)
    # Columns are numbered: their names are the recording's, may repeat, and stand in the description.
    names = [*(f"c{number}" for number in range(len(table.columns))), "start", "end"]
    _write_batch(folder / ROWS, pa.record_batch(arrays, names=names))
    is_stacked = any(column.kind == "stack" for column in table.columns)
    if is_stacked:
        _write_stacks(folder, table)
    about = {
        "format": FORMAT,
        "schema": table.schema,
        "run": table.run,
        "rows": len(table),
        "columns": [asdict(describe_column(column, table.rows[column.mnemonic])) for column in table.columns],
        "has_time": bool(spans.has_start.any()),
        "is_timed": spans.is_timed,
        "hidden": list(hidden),
        "notes": list(spans.notes[:_MAX_NOTES]),
        "has_stacks": is_stacked,
    }
    with (folder / ABOUT).open("wb") as file:
        file.write(json.dumps(about).encode("ascii"))
        file.flush()
        os.fsync(file.fileno())


def _require_room(table: Table, most_bytes: int) -> None:
    sizes = (_NUMBER_BYTES if column.kind in ("int", "float") else _CODE_BYTES for column in table.columns)
    size_bytes = len(table) * (sum(sizes) + _TIME_BYTES)
    if size_bytes > most_bytes:
        raise _make_too_large_error(table, size_bytes, most_bytes)


def _make_too_large_error(table: Table, size_bytes: int, most_bytes: int) -> TooLarge:
    return TooLarge(
        f"This table has {len(table):,} rows of {len(table.columns)} columns, {format_size(size_bytes)}:"
        f" more than the {format_size(most_bytes)} that the dashboard stores of one table. On the command"
        " line, tracekit tables with --schema and -o FILE.parquet writes it to a file."
    )


def _write_batch(path: Path, batch: Any) -> None:
    import pyarrow as pa

    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def _build_array(table: Table, column: Column) -> Any:
    """Return a column as an Arrow array: numbers as they are, all else as codes of texts."""
    import pyarrow as pa

    cells = table.rows[column.mnemonic]
    match column.kind:
        case "int":
            return _build_number_array(cells)
        case "float":
            return pa.array(cells.to_numpy(np.float64, na_value=np.nan), from_pandas=True)
        case "text":
            texts = cells.astype("category").cat
            return _build_coded_array(texts.codes.to_numpy(), texts.categories.tolist())
        case "thread" | "process" | "stack":
            return _build_coded_array(cells.to_numpy(), _list_entity_texts(table, column.kind))
    codes, distinct = pd.factorize(cells)
    if column.kind == "parts":
        return _build_coded_array(codes, [format_parts(parts) for parts in distinct])
    return _build_coded_array(codes, [" ".join(map(str, numbers)) for numbers in distinct])


def _build_number_array(cells: pd.Series[Any]) -> Any:
    import pyarrow as pa

    if cells.dtype != object:
        return pa.array(cells)
    # Numbers below 0 beside some beyond 2^63 fit no integer of 64 bits.
    codes, distinct = pd.factorize(cells)
    return _build_coded_array(codes, [str(number) for number in distinct])


def _list_entity_texts(table: Table, kind: str) -> list[str]:
    if kind == "thread":
        return [
            f"{name} ({f'0x{tid:x}' if tid >= 0 else 'no tid'}) · {process} ({pid if pid >= 0 else '?'})"
            for name, tid, process, pid in table.threads[["name", "tid", "process", "pid"]].itertuples(
                index=False, name=None
            )
        ]
    if kind == "process":
        rows = table.processes[["name", "pid"]].itertuples(index=False, name=None)
        return [f"{name} ({pid if pid >= 0 else '?'})" for name, pid in rows]
    stacks = table.stacks
    leaves = np.append(stacks.frame_ids, 0)[np.minimum(stacks.offsets[:-1], len(stacks.frame_ids))]
    is_empty = np.diff(stacks.offsets) == 0
    symbols = np.append(stacks.symbols, "") if len(stacks.frames) else np.array([""], object)
    return ["" if empty else str(symbols[leaf]) for leaf, empty in zip(leaves, is_empty, strict=True)]


def _build_coded_array(codes: Any, texts: Sequence[object]) -> Any:
    """Return codes of texts, -1 for null. Equal texts keep their codes: threads of one name are several."""
    import pyarrow as pa

    codes = np.asarray(codes).astype(np.int32)
    indices = pa.array(codes, mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(_make_encodable(texts), type=pa.large_string()))


def _make_encodable(texts: Sequence[object]) -> list[str]:
    """Return the texts, with halves of surrogate pairs, which have no encoding, as their codes."""
    return [str(text).encode("utf-8", "backslashreplace").decode() for text in texts]


def _write_stacks(folder: Path, table: Table) -> None:
    import pyarrow as pa

    stacks = table.stacks
    frames = pa.ListArray.from_arrays(pa.array(stacks.offsets.astype(np.int32)), pa.array(stacks.frame_ids))
    _write_batch(folder / STACKS, pa.record_batch([frames], names=["frames"]))
    binary_codes, binaries = pd.factorize(pd.Series(stacks.binary_names, dtype=object))
    arrays = [
        _build_coded_array(stacks.symbol_codes, stacks.symbol_names.tolist()),
        _build_coded_array(binary_codes, binaries.tolist()),
        pa.array(stacks.frames["address"].to_numpy(np.uint64)),
    ]
    _write_batch(folder / FRAMES, pa.record_batch(arrays, names=["symbol", "binary", "address"]))
