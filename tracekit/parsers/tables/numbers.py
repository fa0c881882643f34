"""Number columns of a table, checked where they enter the model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.errors import InputError
from tracekit.model.columns import IntArray
from tracekit.model.tables import Table
from tracekit.model.trace import Issue

_MOST = 2**62
"""Nanoseconds of 146 years: a number beyond it is damage, and sums of what is below must fit as well."""

_AGAIN = "The recording, or its export, is damaged: export or record it again."


def read_numbers(
    name: str, table: Table, mnemonic: str, missing: int | None, issues: list[Issue]
) -> IntArray:
    """Return a column as int64, each from 0 to 2^62, and their sum as well.

    ``missing`` stands in for null and for an absent column, with a warning in ``issues``; None makes null an
    error. Raises ``InputError`` of the input ``name`` with the first row that is wrong.
    """
    what = f"column '{mnemonic}' of '{table.schema}'"
    if mnemonic not in table.rows.columns:
        if missing is None:
            raise InputError(name, f"'{table.schema}' has no column '{mnemonic}'.", _AGAIN)
        return np.full(len(table.rows), missing, np.int64)
    column = table.rows[mnemonic]
    null = column.isna().to_numpy()
    if not pd.api.types.is_integer_dtype(column.dtype):
        _refuse(name, what, ~null, "holds something else than a whole number")
        column = pd.Series(pd.array([pd.NA] * len(column), dtype="Int64"))
    _refuse(name, what, (column < 0).fillna(False).to_numpy(bool), "is negative")
    _refuse(name, what, (column > _MOST).fillna(False).to_numpy(bool), "is beyond reason")
    if missing is None:
        _refuse(name, what, null, "is missing")
    elif null.any():
        gaps = int(null.sum())
        text = f"{gaps} rows of '{table.schema}' have no '{mnemonic}'; {missing} is used"
        issues.append(Issue("warning", "null-values", text, gaps))
    values: IntArray = column.fillna(missing or 0).to_numpy(np.int64)
    if float(values.sum(dtype=np.float64)) > _MOST and mnemonic != "time":
        raise InputError(name, f"{what}: the sum is beyond reason.", _AGAIN)
    return values


def _refuse(name: str, what: str, wrong: np.ndarray[tuple[int], np.dtype[np.bool_]], problem: str) -> None:
    if wrong.any():
        raise InputError(name, f"{what} {problem} in row {int(np.argmax(wrong)) + 1}.", _AGAIN)
