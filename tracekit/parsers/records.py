"""What every reader needs to turn cells into a ``Table``: distinct entities, their rows, column names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import Columns, IntArray

Rows = npt.NDArray[np.int32]


def distinct_records(records: Sequence[tuple[Any, ...]], columns: Columns) -> tuple[pd.DataFrame, Rows]:
    """Return the distinct records as a frame of ``columns``, and the row of each record."""
    rows: dict[tuple[Any, ...], int] = {}
    ids = np.array([rows.setdefault(record, len(rows)) for record in records], np.int32)
    frame = pd.DataFrame(list(rows), columns=list(columns.required)).astype(dict(columns.required))
    return columns.check(frame, "threads and processes"), ids


def take_rows(known: IntArray, rows: Rows, cells: IntArray, present: npt.NDArray[np.bool_]) -> Rows:
    """Map cells to the rows of the sorted ``known`` ones; -1 where ``present`` is false."""
    taken = np.full(len(cells), -1, np.int32)
    taken[present] = rows[np.searchsorted(known, cells[present])]
    return taken


def unused_mnemonic(mnemonic: str, taken: dict[str, Any]) -> str:
    """Two columns of one mnemonic have not been seen; should it happen, the second gets a number."""
    name, number = mnemonic, 2
    while name in taken:
        name, number = f"{mnemonic}#{number}", number + 1
    return name
