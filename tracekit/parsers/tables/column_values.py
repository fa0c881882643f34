"""Columns of a ``Table`` as arrays for the model.

Samples are read strictly (``read_numbers``): a wrong number is an error, because every result rests on
them. All other tables are read leniently (``extract_…``): other Xcode versions leave columns out, or type
them otherwise, so whatever is missing or of another kind becomes an unknown value. These tables are
additional evidence, and a part of them is better than nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.model.columns import Columns, IntArray
from tracekit.model.composite_cells import format_parts
from tracekit.model.tables import Column, Table
from tracekit.model.trace import Issue
from tracekit.text import plural

Mask: TypeAlias = npt.NDArray[np.bool_]

_MAX_INT64 = 2**63 - 1
_MAX_SMALL = 2**15
_MAX_STRICT = 2**62
"""Nanoseconds of 146 years: a larger number is damage, and the sum of smaller ones must fit int64 as well."""

_DAMAGED = "The recording, or its export, is damaged: export or record it again."


@frozen
class TextColumn:
    """A column of text: row ``i`` is ``words[codes[i]]``; "" for null. Words may repeat or be unused."""

    codes: IntArray
    words: tuple[str, ...]

    @classmethod
    def repeat(cls, word: str, rows: int) -> TextColumn:
        """Return ``rows`` times the same word."""
        return cls(np.zeros(rows, np.int64), (word,))

    def take(self, rows: IntArray) -> TextColumn:
        """Return the texts of some rows."""
        return TextColumn(self.codes[rows], self.words)

    def map(self, function: Callable[[str], str]) -> TextColumn:
        """Return these texts with each word replaced; ``function`` is called once per word, not per row."""
        return TextColumn(self.codes, tuple(map(function, self.words)))

    def compute(self, function: Callable[[str], Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a value per row; ``function`` is called once per word."""
        values: npt.NDArray[Any] = np.array([function(word) for word in self.words], dtype)[self.codes]
        return values

    def fill_empty(self, replacement: TextColumn) -> TextColumn:
        """Return these texts, and those of ``replacement`` where these are empty."""
        empty = self.compute(lambda word: not word, np.bool_)
        # The result has the words of both; codes of the second start after those of the first.
        codes = np.where(empty, replacement.codes + len(self.words), self.codes)
        return TextColumn(codes, (*self.words, *replacement.words))

    def list_used(self) -> list[str]:
        """Return the distinct words that rows have, in the order of the words."""
        is_used_word = np.bincount(self.codes, minlength=len(self.words)) > 0
        return list(
            dict.fromkeys(word for word, is_used in zip(self.words, is_used_word, strict=True) if is_used)
        )

    def to_category(self) -> pd.Categorical:
        """Return a categorical of the distinct words that rows have."""
        words = self.list_used()
        code_of = {word: position for position, word in enumerate(words)}
        codes = np.array([code_of.get(word, -1) for word in self.words], np.int64)[self.codes]
        return pd.Categorical.from_codes(codes, categories=pd.Index(words, dtype="str"))

    def to_strings(self) -> pd.Series[str]:
        """Return the rows' texts as plain strings."""
        return pd.Series(pd.array(list(self.words), dtype="str").take(self.codes))


def find_column(table: Table, names: Sequence[str]) -> Column | None:
    """Return the column of the first of these mnemonics that the table has."""
    columns = {column.mnemonic: column for column in table.columns}
    return next((columns[name] for name in names if name in columns), None)


def extract_texts(table: Table, *names: str) -> TextColumn:
    """Return the first of these columns as text; numbers and composite cells are formatted."""
    column = find_column(table, names)
    if column is None or column.kind in ("thread", "process", "stack"):
        return TextColumn.repeat("", len(table))
    values = table.rows[column.mnemonic]
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, words = values.cat.codes.to_numpy(np.int64), [str(word) for word in values.cat.categories]
    elif values.dtype == object:
        # Equal cells of an export are one object: its id is a quicker key than a nested tuple. ``cells``
        # keeps the objects alive, without which an id could be used again.
        cells = values.tolist()
        codes, distinct = pd.factorize(np.fromiter(map(id, cells), np.int64, len(cells)))
        # The first row of each distinct cell: written in reverse, the first row is written last.
        firsts = np.zeros(len(distinct), np.int64)
        firsts[codes[::-1]] = np.arange(len(cells))[::-1]
        to_text = _format_parts if column.kind == "parts" else _format_cell
        words = [to_text(cells[row]) for row in firsts.tolist()]
    else:
        codes, numbers = pd.factorize(values)
        words = [str(number) for number in numbers]
    return TextColumn(np.where(codes < 0, len(words), codes).astype(np.int64), (*words, ""))


def _format_parts(cell: Any) -> str:
    return format_parts(cell) if isinstance(cell, tuple) else _format_cell(cell)


def _format_cell(cell: Any) -> str:
    if isinstance(cell, tuple):
        return " ".join(map(str, cell))
    return "" if cell is None or cell is pd.NA else str(cell)


def extract_numbers(table: Table, *names: str) -> tuple[IntArray, Mask]:
    """Return the first of these columns as int64, and where it holds a number; 0 where it does not.

    Larger numbers are cut to the largest int64.
    """
    column = find_column(table, names)
    if column is None or column.kind in ("thread", "process", "stack"):
        return np.zeros(len(table), np.int64), np.zeros(len(table), bool)
    return _convert_numbers(table.rows[column.mnemonic])


def _convert_numbers(values: pd.Series[Any]) -> tuple[IntArray, Mask]:
    if pd.api.types.is_integer_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype):
        is_number = values.notna().to_numpy(bool)
        unsigned = str(values.dtype).lower().startswith("u")
        exact = values.fillna(0).to_numpy(np.uint64 if unsigned else np.int64)
        return (np.minimum(exact, np.uint64(_MAX_INT64)) if unsigned else exact).astype(np.int64), is_number
    if pd.api.types.is_float_dtype(values.dtype):
        plain = values.to_numpy(np.float64, na_value=np.nan)
        is_number = np.isfinite(plain)
        # A float beyond int64 has no defined integer, and 2^63 does not fit int64: 2^62 does, and is as
        # much out of range.
        return np.clip(np.where(is_number, plain, 0), -(2.0**62), 2.0**62).astype(np.int64), is_number
    if values.dtype == object:  # a column with numbers below 0 and beyond 2^63
        cells = values.tolist()
        is_number = np.array([isinstance(cell, int) for cell in cells], bool)
        cut = [max(-_MAX_INT64, min(cell, _MAX_INT64)) if isinstance(cell, int) else 0 for cell in cells]
        return np.array(cut, np.int64), is_number
    return np.zeros(len(values), np.int64), np.zeros(len(values), bool)


def extract_floats(table: Table, *names: str) -> npt.NDArray[np.float64]:
    """Return the first of these columns as float64; NaN where it does not hold a number."""
    column = find_column(table, names)
    if column is None or not pd.api.types.is_numeric_dtype(table.rows[column.mnemonic].dtype):
        return np.full(len(table), np.nan)
    values: npt.NDArray[np.float64] = table.rows[column.mnemonic].to_numpy(np.float64, na_value=np.nan)
    return values


def extract_words(table: Table, *names: str) -> npt.NDArray[np.uint64]:
    """Return the first of these columns as 64-bit words, 2^64-1 for null: identifiers, not amounts."""
    column = find_column(table, names)
    none = np.uint64(2**64 - 1)
    if column is None or not len(table):
        return np.full(len(table), none, np.uint64)
    values = table.rows[column.mnemonic]
    if str(values.dtype).lower() == "uint64":
        return np.where(values.isna(), none, values.fillna(0).to_numpy(np.uint64))
    if values.dtype == object:
        cells = [cell % 2**64 if isinstance(cell, int) else 2**64 - 1 for cell in values.tolist()]
        return np.array(cells, np.uint64)
    numbers, is_number = extract_numbers(table, column.mnemonic)
    return np.where(is_number, numbers.astype(np.uint64), none)


def extract_small_numbers(table: Table, *names: str, missing: int) -> npt.NDArray[np.int16]:
    """Return the first of these columns as int16; ``missing`` unless the cell is a number from 0 to 32767."""
    numbers, is_number = extract_numbers(table, *names)
    return np.where(is_number & (numbers >= 0) & (numbers < _MAX_SMALL), numbers, missing).astype(np.int16)


def extract_entity_numbers(table: Table, kind: str, number: str, *names: str) -> IntArray:
    """Return the tid or pid of the threads or processes in the first of these columns; -1 for none."""
    column = find_column(table, names)
    if column is None or column.kind != kind:
        return np.full(len(table), -1, np.int64)
    # The id -1 of a null cell finds the last entry, which is -1 as well.
    numbers = (table.threads if kind == "thread" else table.processes)[number].to_numpy(np.int64)
    values: IntArray = np.append(numbers, -1)[table.rows[column.mnemonic].to_numpy(np.int64)]
    return values


def extract_pids(table: Table) -> IntArray:
    """Return the process of each row, else that of its thread, else the number in a column of pids; or -1."""
    # From the most specific to the least: a row's process, the process of its thread, a plain number.
    pid = extract_entity_numbers(table, "process", "pid", "process")
    for names in (("thread",), ("start-thread",)):
        if (pid < 0).any():
            pid = np.where(pid < 0, extract_entity_numbers(table, "thread", "pid", *names), pid)
    numbers, is_number = extract_numbers(table, "pid")
    return np.where((pid < 0) & is_number & (numbers >= 0), numbers, pid)


def join_rows(frames: Sequence[pd.DataFrame], columns: Columns) -> pd.DataFrame:
    """Return frames of the same columns as one; their categories are joined."""
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return columns.empty()
    if len(filled) == 1:
        return filled[0].reset_index(drop=True)
    columns_by_name: dict[str, Any] = {}
    for name in filled[0].columns:
        series = [frame[name] for frame in filled]
        is_category = isinstance(series[0].dtype, pd.CategoricalDtype)
        columns_by_name[name] = (
            pd.api.types.union_categoricals(series) if is_category else pd.concat(series).to_numpy()
        )
    frame = pd.DataFrame(columns_by_name)
    return frame.astype({name: dtype for name, dtype in columns.required.items() if dtype == "str"})


def sort_rows(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the rows sorted by these columns, of which the first has priority; equal rows stay in order."""
    keys = [frame[name].to_numpy() for name in reversed(names)]
    order = np.lexsort(keys)
    if (order[1:] > order[:-1]).all():
        return frame.reset_index(drop=True)
    return frame.take(order).reset_index(drop=True)


def number_rows(arrays: Sequence[npt.NDArray[Any]]) -> IntArray:
    """Return one number per row, equal where the rows are equal in every array."""
    # After each column, the pairs (key so far, next value) are numbered consecutively: keys stay below the
    # number of rows, so the product with the next column's count does not overflow.
    #   columns   a a b a │ 7 8 7 7        keys after a: 0 0 1 0      after both: 0 1 2 0
    key = np.zeros(len(arrays[0]), np.int64)
    for values in arrays:
        codes, distinct = pd.factorize(values)
        key = pd.factorize(key * (len(distinct) + 1) + codes)[0].astype(np.int64)
    return key


def read_numbers(
    name: str, table: Table, mnemonic: str, missing: int | None, issues: list[Issue]
) -> IntArray:
    """Return a column as int64: each value, and the sum of all, is from 0 to 2^62.

    ``missing`` replaces null and an absent column, with a warning in ``issues``; None makes null an error.
    Raises ``InputError`` of the input ``name`` with the first wrong row.
    """
    what = f"column '{mnemonic}' of '{table.schema}'"
    if mnemonic not in table.rows.columns:
        if missing is None:
            raise InputError(name, f"'{table.schema}' has no column '{mnemonic}'.", _DAMAGED)
        return np.full(len(table.rows), missing, np.int64)
    column = table.rows[mnemonic]
    null = column.isna().to_numpy()
    if not pd.api.types.is_integer_dtype(column.dtype):
        _refuse_rows(name, what, ~null, "holds a value that is not a whole number")
        column = pd.Series(pd.array([pd.NA] * len(column), dtype="Int64"))
    _refuse_rows(name, what, (column < 0).fillna(False).to_numpy(bool), "is negative")
    _refuse_rows(name, what, (column > _MAX_STRICT).fillna(False).to_numpy(bool), "is too large")
    if missing is None:
        _refuse_rows(name, what, null, "is missing")
    elif null.any():
        gaps = int(null.sum())
        text = f"{plural(gaps, 'row')} of '{table.schema}' without '{mnemonic}': {missing} is used"
        issues.append(Issue("warning", "null-values", text, gaps))
    values: IntArray = column.fillna(missing or 0).to_numpy(np.int64)
    # In floats, because the sum of int64 values could wrap around and pass the test.
    if float(values.sum(dtype=np.float64)) > _MAX_STRICT and mnemonic != "time":
        raise InputError(name, f"{what}: the sum is too large.", _DAMAGED)
    return values


def _refuse_rows(
    name: str, what: str, wrong: np.ndarray[tuple[int], np.dtype[np.bool_]], problem: str
) -> None:
    if wrong.any():
        raise InputError(name, f"{what} {problem} in row {int(np.argmax(wrong)) + 1}.", _DAMAGED)
