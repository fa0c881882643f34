"""Start and end of the rows of a text's table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.model.columns import IntArray
from tracekit.model.tables import Table
from tracekit.parsers.tables.row_times import is_time


def read_spans(table: Table) -> tuple[IntArray, IntArray]:
    """Return the start and the end of each row; without a duration the two are equal."""
    name = next((c.mnemonic for c in table.columns if c.kind == "int" and is_time(c)), None)
    if name is None:
        nothing = np.zeros(len(table), np.int64)
        return nothing, nothing
    starts = _read_numbers(table.rows[name])
    durations = (
        _read_numbers(table.rows["duration"]) if "duration" in table.rows else np.zeros(len(table), np.int64)
    )
    return starts, starts + durations


def _read_numbers(column: pd.Series) -> IntArray:
    numbers: IntArray = column.fillna(0).to_numpy(np.int64)
    return numbers
