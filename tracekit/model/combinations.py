"""Blocks of rows and distinct combinations of columns, for data that grow with the samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import IntArray

_BLOCK_ROWS = 1 << 18
_MAX_NUMBER = 2**62


def iter_row_blocks(count: int) -> Iterator[slice]:
    """Yield slices that together cover ``count`` rows; work on one slice needs a few megabytes."""
    for begin in range(0, count, _BLOCK_ROWS):
        yield slice(begin, min(begin + _BLOCK_ROWS, count))


def find_combinations(
    columns: Sequence[npt.NDArray[np.integer[Any]]], count: int
) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Return the distinct combinations of columns of ``count`` numbers from -1, and the number of each row's.

    A combination is given as one of the rows that have it; combinations are sorted by the columns.
    """
    # One number per row, to which each column adds a digit. Where 64 bits do not suffice, the
    # numbers so far are replaced by consecutive ones first.
    key, width = np.zeros(count, np.int64), 1
    for column in columns:
        radix = int(column.max(initial=-1)) + 2
        if width * radix > _MAX_NUMBER:
            distinct, key = np.unique(key, return_inverse=True)
            width = len(distinct)
        key *= radix
        key += column
        key += 1
        width *= radix
    codes, distinct = pd.factorize(key)
    order = np.argsort(distinct)
    rank = np.empty(len(distinct), np.int32)
    rank[order] = np.arange(len(distinct))
    number = rank[codes]
    rows = np.empty(len(distinct), np.int64)
    rows[number] = np.arange(count)  # any row of a combination will do; this keeps the last one
    return rows, number
