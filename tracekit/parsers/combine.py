"""Building blocks of a ``Table`` that the readers share.

Distinct entities and their rows; unique stacks; and the joining of tables of several documents, each of which
numbers its threads, processes and stacks from 0:

    document A   threads [main, worker]    rows 0 1 1
    document B   threads [worker, audio]   rows 1 0          row maps: A [0 1], B [1 2]
    joined       threads [main, worker, audio]               rows 0 1 1 2 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import union_categoricals

from tracekit.errors import TracekitError
from tracekit.model.columns import BINARIES, FRAMES, Columns, IntArray
from tracekit.model.tables import Column, StackTable, Table
from tracekit.parsers.compiled import find_distinct_runs

Rows = npt.NDArray[np.int32]


def find_distinct_records(records: Sequence[tuple[Any, ...]], columns: Columns) -> tuple[pd.DataFrame, Rows]:
    """Return the distinct records as a frame of ``columns``, and the row of each record."""
    rows: dict[tuple[Any, ...], int] = {}
    ids = np.array([rows.setdefault(record, len(rows)) for record in records], np.int32)
    frame = pd.DataFrame(list(rows), columns=list(columns.required)).astype(dict(columns.required))
    return columns.check(frame, "threads and processes"), ids


def find_rows(sorted_keys: IntArray, rows: Rows, cells: IntArray, present: npt.NDArray[np.bool_]) -> Rows:
    """Return the row of each cell, ``rows[i]`` for ``sorted_keys[i]``; -1 where ``present`` is false."""
    row_of_cell = np.full(len(cells), -1, np.int32)
    row_of_cell[present] = rows[np.searchsorted(sorted_keys, cells[present])]
    return row_of_cell


def make_unused_mnemonic(mnemonic: str, used: dict[str, Any]) -> str:
    """Return the mnemonic, with a number appended if it is in use.

    No schema seen so far has two columns of one mnemonic; if one does, both are read.
    """
    name, number = mnemonic, 2
    while name in used:
        name, number = f"{mnemonic}#{number}", number + 1
    return name


def join_tables(tables: Sequence[Table]) -> Table:
    """Return tables of one schema as one, with their rows concatenated; ids refer to the joined entities.

    Columns that only some tables have are null for the others.
    """
    if len(tables) == 1:
        return tables[0]
    threads, thread_rows = join_distinct([table.threads for table in tables])
    processes, process_rows = join_distinct([table.processes for table in tables])
    stacks, stack_rows = join_stacks([table.stacks for table in tables])
    # Each table numbers its own entities. The joined ones are distinct by value, and each table's ids are
    # replaced:
    #   table 0   threads  T1 T2      rows → 0 1
    #   table 1   threads  T2 T3      rows → 1 2       joined T1 T2 T3
    maps = {"thread": thread_rows, "process": process_rows, "stack": stack_rows}
    pieces = []
    for number, table in enumerate(tables):
        remapped = {
            column.mnemonic: map_ids(maps[column.kind][number], table.rows[column.mnemonic])
            for column in table.columns
            if column.kind in maps
        }
        pieces.append(table.rows.assign(**remapped))
    columns = _join_columns(tables)
    rows = pd.concat(pieces, ignore_index=True)
    for column in columns.values():
        if column.kind == "text":
            rows[column.mnemonic] = rows[column.mnemonic].astype("category")
        elif column.kind in maps:
            rows[column.mnemonic] = rows[column.mnemonic].fillna(-1).astype(np.int32)
    return replace(
        tables[0],
        columns=tuple(columns.values()),
        rows=rows[list(columns)],
        threads=threads,
        processes=processes,
        stacks=stacks,
        core_types={core: kind for table in tables for core, kind in table.core_types.items()},
    )


def _join_columns(tables: Sequence[Table]) -> dict[str, Column]:
    """Return the columns of all tables; raise ``TracekitError`` for one with entities in some tables only."""
    columns = {column.mnemonic: column for table in tables for column in table.columns}
    for column in (column for table in tables for column in table.columns):
        kinds = {column.kind, columns[column.mnemonic].kind}
        if len(kinds) > 1 and kinds & {"thread", "process", "stack"}:
            raise TracekitError(
                f"The tables '{tables[0].schema}' cannot be joined: their columns '{column.mnemonic}' hold"
                f" different kinds of values ({' and '.join(sorted(kinds))})."
            )
    return columns


def map_ids(row_map: Rows, ids: pd.Series[int]) -> Rows:
    """Return the new row of each id, ``row_map[id]``; -1 stays -1."""
    # An appended -1 is the element that index -1 selects.
    mapped: Rows = np.append(row_map, np.int32(-1))[ids.to_numpy()]
    return mapped


def join_distinct(frames: Sequence[pd.DataFrame]) -> tuple[pd.DataFrame, list[Rows]]:
    """Return the distinct rows of all frames, and for each frame the new row of each of its rows."""
    all_rows = pd.DataFrame(
        {
            name: union_categoricals([frame[name] for frame in frames])
            if column.dtype == "category"
            else pd.concat([frame[name] for frame in frames], ignore_index=True)
            for name, column in frames[0].items()
        }
    )
    group = (
        all_rows.groupby(list(all_rows.columns), sort=False, dropna=False)
        .ngroup()
        .to_numpy()
        .astype(np.int32)
    )
    distinct = all_rows.drop_duplicates(ignore_index=True).astype(dict(all_rows.dtypes))
    ends = np.cumsum([len(frame) for frame in frames])[:-1]
    return distinct, list(np.split(group, ends))


def join_stacks(tables: Sequence[StackTable]) -> tuple[StackTable, list[Rows]]:
    """Return the distinct stacks of all tables, and for each table the new row of each of its stacks."""
    binaries, binary_rows = join_distinct([_select_columns(table.binaries, BINARIES) for table in tables])
    frames, frame_rows = join_distinct(
        [
            _select_columns(t.frames, FRAMES).assign(binary_id=map_ids(rows, t.frames["binary_id"]))
            for t, rows in zip(tables, binary_rows, strict=True)
        ]
    )
    counts = np.concatenate([np.diff(table.offsets) for table in tables])
    # Frames are renumbered first, so that equal stacks of different tables become equal runs of frame ids.
    new_ids = [rows[table.frame_ids] for table, rows in zip(tables, frame_rows, strict=True)]
    stacks, ids = merge_stacks(counts, np.concatenate(new_ids).astype(np.int32), frames, binaries)
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return stacks, list(np.split(ids, ends))


def merge_stacks(
    counts: IntArray, frame_ids: npt.NDArray[np.int32], frames: pd.DataFrame, binaries: pd.DataFrame
) -> tuple[StackTable, npt.NDArray[np.int32]]:
    """Merge stacks of equal frames; return them, and for each stack its row among them.

    ``counts`` is the depth of each stack, ``frame_ids`` their rows of ``frames``, one stack after another.
    A recording may number the same stack several times.
    """
    #   stacks     a  b  a  c          first = [0 1 0 3]: the first stack that is equal to each
    #   is_first   1  1  0  1          rows of the merged stacks: [0 1 . 2]
    #   result     rows[first] = [0 1 0 2]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    first_equal = find_distinct_runs(frame_ids, offsets)
    is_first = first_equal == np.arange(len(first_equal))
    rows = (np.cumsum(is_first) - 1).astype(np.int32)
    if is_first.all():
        return StackTable(offsets, frame_ids, frames, binaries), rows
    merged_ids = frame_ids[np.repeat(is_first, counts)]
    merged_offsets = np.concatenate([[0], np.cumsum(counts[is_first])]).astype(np.int64)
    return StackTable(merged_offsets, merged_ids, frames, binaries), rows[first_equal]


def join_stack_pairs(stacks: StackTable, upper: Rows, lower: Rows) -> tuple[StackTable, Rows]:
    """Append each ``lower`` stack (the callers) to its ``upper`` one; return the stacks, and a row per pair.

    Used where a recording keeps kernel and user stacks in two columns. -1 on both sides stays -1.
    """
    # A pair of stacks is joined once, however many rows have it.
    pairs, inverse = np.unique(np.stack([upper, lower], axis=1), axis=0, return_inverse=True)
    pieces: list[Rows] = []
    ids = np.full(len(pairs), -1, np.int32)
    for pair, (leaf_side, root_side) in enumerate(pairs.tolist()):
        if leaf_side < 0 and root_side < 0:
            continue
        ids[pair] = len(pieces)
        pieces.append(np.concatenate([stacks.stack(side) for side in (leaf_side, root_side) if side >= 0]))
    offsets = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
    frame_ids = np.concatenate(pieces).astype(np.int32) if pieces else np.zeros(0, np.int32)
    paired = StackTable(offsets, frame_ids, stacks.frames, stacks.binaries)
    unique, (rows,) = join_stacks([paired])
    return unique, map_ids(rows, pd.Series(ids[inverse.reshape(-1)]))


def _select_columns(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    return frame[list(columns.required)]
