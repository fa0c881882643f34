"""Work on columns for which numpy and pandas have no quick way: compiled, and the same in Python."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from tracekit.model import IntArray


def _import() -> Any:
    try:
        from tracekit.parsers import _columns
    except ImportError:  # installed without a compiler
        return None
    return _columns


_columns = _import()
Rows = npt.NDArray[np.int32]


def distinct_runs(values: Rows, offsets: IntArray) -> Rows:
    """Return for each run ``values[offsets[i]:offsets[i + 1]]`` the position of the first that equals it."""
    ids = np.empty(len(offsets) - 1, np.int32)
    if _columns is not None:
        _columns.distinct_runs(np.ascontiguousarray(values), offsets, ids, secrets.randbits(63))
        return ids
    raw = values.tobytes()
    first: dict[bytes, int] = {}
    for at, (start, end) in enumerate(pairwise((offsets * values.itemsize).tolist())):
        ids[at] = first.setdefault(raw[start:end], at)
    return ids


def distinct_rows(columns: Sequence[npt.NDArray[Any]]) -> Rows:
    """Return for each row of ``columns`` the position of the first row that equals it."""
    ids = np.empty(len(columns[0]), np.int32)
    if _columns is not None:
        raw = [np.ascontiguousarray(column).view(np.uint8) for column in columns]
        _columns.distinct_rows(raw, ids, secrets.randbits(63))
        return ids
    first: dict[tuple[Any, ...], int] = {}
    for at, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        ids[at] = first.setdefault(row, at)
    return ids


def take_texts(texts: Sequence[str], picks: Rows) -> Any:
    """Return ``texts[pick]`` for each pick as a column of ``str``, without memory beyond that."""
    if _columns is None:
        return pd.array(list(texts), dtype="str").take(picks)
    encoded = [text.encode() for text in texts]
    lengths = np.array([len(text) for text in encoded], np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    offsets = np.zeros(len(picks) + 1, np.int64)
    np.cumsum(lengths[picks], out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    _columns.take_runs(np.frombuffer(b"".join(encoded), np.uint8), ends, picks, offsets, data)
    buffers = [pa.py_buffer(offsets), pa.py_buffer(data)]
    return pd.array(pa.LargeStringArray.from_buffers(len(picks), *buffers), dtype="str")
