"""Operations on columns that are slow in numpy and pandas: in compiled code, or equivalently in Python."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray


def _import_columns() -> Any:
    try:
        from tracekit.parsers import _columns
    except ImportError:  # installed without a compiler
        return None
    return _columns


_columns = _import_columns()
Rows = npt.NDArray[np.int32]


def find_distinct_runs(values: Rows, offsets: IntArray) -> Rows:
    """Return for each run ``values[offsets[i]:offsets[i + 1]]`` the position of the first that equals it."""
    ids = np.empty(len(offsets) - 1, np.int32)
    if _columns is not None:
        _columns.distinct_runs(np.ascontiguousarray(values), offsets, ids, secrets.randbits(63))
        return ids
    raw = values.tobytes()
    first_index: dict[bytes, int] = {}
    for index, (start, end) in enumerate(pairwise((offsets * values.itemsize).tolist())):
        ids[index] = first_index.setdefault(raw[start:end], index)
    return ids


def find_distinct_rows(columns: Sequence[npt.NDArray[Any]]) -> Rows:
    """Return for each row of ``columns`` the position of the first row that equals it."""
    ids = np.empty(len(columns[0]), np.int32)
    if _columns is not None:
        raw = [np.ascontiguousarray(column).view(np.uint8) for column in columns]
        _columns.distinct_rows(raw, ids, secrets.randbits(63))
        return ids
    first_index: dict[tuple[Any, ...], int] = {}
    for index, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        ids[index] = first_index.setdefault(row, index)
    return ids


def list_distinct(cells: Rows, slots: int) -> list[IntArray]:
    """Return each column's distinct numbers except 0, ascending; all are less than ``slots``."""
    used = np.zeros((cells.shape[1], slots), np.uint8)
    if _columns is not None:
        _columns.mark_used(np.ascontiguousarray(cells), used)
    else:
        for column, marks in enumerate(used):
            marks[cells[:, column]] = 1
    used[:, 0] = 0
    return [np.flatnonzero(marks.view(np.bool_)) for marks in used]


def take_runs(
    values: Rows, starts: IntArray, counts: IntArray, row_of: Rows, count: int
) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """Return ``row_of[value]`` for the values of one run after another, and which of ``count`` rows occur.

    A run is ``values[start:start + count]``; a row of -1 is left out of ``used``.
    """
    used = np.zeros(count, np.bool_)
    if _columns is not None:
        rows = np.empty(counts.sum(), np.int32)
        _columns.take_runs(values, starts, counts, row_of, rows, used.view(np.uint8))
        return rows, used
    # Run i begins at before[i] of the result, whose position j is values[starts[i] + j - before[i]].
    previous_count = np.cumsum(counts) - counts
    rows = row_of[values[np.repeat(starts - previous_count, counts) + np.arange(counts.sum())]]
    used[rows[rows >= 0]] = True
    return rows, used
