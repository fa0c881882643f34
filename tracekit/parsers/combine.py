"""Joins tables and stacks of several documents: each has its own thread, process and stack rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import union_categoricals

from tracekit.errors import TracekitError
from tracekit.model.columns import BINARIES, FRAMES, Columns, IntArray
from tracekit.model.tables import Column, StackTable, Table
from tracekit.parsers.compiled import distinct_runs

Rows = npt.NDArray[np.int32]


def concat_tables(tables: Sequence[Table]) -> Table:
    """Return tables of one schema as one, rows in the given order; entity columns point into joined entities.

    Columns that only some tables have are null for the others.
    """
    if len(tables) == 1:
        return tables[0]
    threads, thread_rows = concat_distinct([table.threads for table in tables])
    processes, process_rows = concat_distinct([table.processes for table in tables])
    stacks, stack_rows = concat_stacks([table.stacks for table in tables])
    maps = {"thread": thread_rows, "process": process_rows, "stack": stack_rows}
    parts = []
    for at, table in enumerate(tables):
        moved = {
            c.mnemonic: remap(maps[c.kind][at], table.rows[c.mnemonic])
            for c in table.columns
            if c.kind in maps
        }
        parts.append(table.rows.assign(**moved))
    columns = _joined_columns(tables)
    rows = pd.concat(parts, ignore_index=True)
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


def _joined_columns(tables: Sequence[Table]) -> dict[str, Column]:
    """Return the columns of all tables; raise ``TracekitError`` for one that holds entities in some only."""
    columns = {column.mnemonic: column for table in tables for column in table.columns}
    for column in (column for table in tables for column in table.columns):
        kinds = {column.kind, columns[column.mnemonic].kind}
        if len(kinds) > 1 and kinds & {"thread", "process", "stack"}:
            held = " and ".join(sorted(kinds))
            raise TracekitError(
                f"'{tables[0].schema}' comes in tables whose columns '{column.mnemonic}' hold different"
                f" things ({held}): they cannot be put together."
            )
    return columns


def remap(row_map: Rows, ids: pd.Series[int]) -> Rows:
    """Return ``ids`` moved through ``row_map``; -1 stays -1."""
    mapped: Rows = np.append(row_map, np.int32(-1))[ids.to_numpy()]
    return mapped


def concat_distinct(frames: Sequence[pd.DataFrame]) -> tuple[pd.DataFrame, list[Rows]]:
    """Return the distinct rows of all frames, and for each frame the new row of each of its rows."""
    every = pd.DataFrame(
        {
            name: union_categoricals([frame[name] for frame in frames])
            if column.dtype == "category"
            else pd.concat([frame[name] for frame in frames], ignore_index=True)
            for name, column in frames[0].items()
        }
    )
    group = every.groupby(list(every.columns), sort=False, dropna=False).ngroup().to_numpy().astype(np.int32)
    distinct = every.drop_duplicates(ignore_index=True).astype(dict(every.dtypes))
    ends = np.cumsum([len(frame) for frame in frames])[:-1]
    return distinct, list(np.split(group, ends))


def concat_stacks(tables: Sequence[StackTable]) -> tuple[StackTable, list[Rows]]:
    """Return the distinct stacks of all tables, and for each table the new row of each of its stacks."""
    binaries, binary_rows = concat_distinct([_typed(table.binaries, BINARIES) for table in tables])
    frames, frame_rows = concat_distinct(
        [
            _typed(t.frames, FRAMES).assign(binary_id=remap(rows, t.frames["binary_id"]))
            for t, rows in zip(tables, binary_rows, strict=True)
        ]
    )
    counts = np.concatenate([np.diff(table.offsets) for table in tables])
    moved = [rows[table.frame_ids] for table, rows in zip(tables, frame_rows, strict=True)]
    stacks, ids = unique_stacks(counts, np.concatenate(moved).astype(np.int32), frames, binaries)
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return stacks, list(np.split(ids, ends))


def unique_stacks(
    counts: IntArray, frame_ids: npt.NDArray[np.int32], frames: pd.DataFrame, binaries: pd.DataFrame
) -> tuple[StackTable, npt.NDArray[np.int32]]:
    """Merge stacks of equal frames; return them, and the row of each of the given ones.

    ``counts`` is the depth of each stack, ``frame_ids`` their rows of ``frames``, one stack after another.
    A recording numbers one stack several times.
    """
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    first = distinct_runs(frame_ids, offsets)
    is_first = first == np.arange(len(first))
    rows = (np.cumsum(is_first) - 1).astype(np.int32)
    if is_first.all():
        return StackTable(offsets, frame_ids, frames, binaries), rows
    merged = frame_ids[np.repeat(is_first, counts)]
    kept = np.concatenate([[0], np.cumsum(counts[is_first])]).astype(np.int64)
    return StackTable(kept, merged, frames, binaries), rows[first]


def stack_pairs(stacks: StackTable, upper: Rows, lower: Rows) -> tuple[StackTable, Rows]:
    """Put each ``lower`` stack (the callers) behind its ``upper`` one; return the stacks, one row per pair.

    Used where a recording keeps kernel and user stacks in two columns. -1 on both sides stays -1.
    """
    pairs, inverse = np.unique(np.stack([upper, lower], axis=1), axis=0, return_inverse=True)
    pieces: list[Rows] = []
    ids = np.full(len(pairs), -1, np.int32)
    for at, (leaf_side, root_side) in enumerate(pairs.tolist()):
        if leaf_side < 0 and root_side < 0:
            continue
        ids[at] = len(pieces)
        pieces.append(np.concatenate([stacks.stack(side) for side in (leaf_side, root_side) if side >= 0]))
    offsets = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
    frame_ids = np.concatenate(pieces).astype(np.int32) if pieces else np.zeros(0, np.int32)
    paired = StackTable(offsets, frame_ids, stacks.frames, stacks.binaries)
    unique, (rows,) = concat_stacks([paired])
    return unique, remap(rows, pd.Series(ids[inverse.reshape(-1)]))


def _typed(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    return frame[list(columns.required)]
