"""The rows of a table that a page shows: filters, a range of time, an order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.errors import UsageError
from tracekit_dashboard.tables.stored import Bools, StoredTable

Rows = npt.NDArray[np.uint32]
_NUMBER = r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,3})?|0x[0-9a-f]{1,16})\s*([a-zµμ%/]*)"
_BOUND = re.compile(rf"(<=|>=|=|<|>|≤|≥)?\s*{_NUMBER}", re.IGNORECASE)
_BETWEEN = re.compile(rf"{_NUMBER}\s*(?:\.\.|–|…)\s*{_NUMBER}", re.IGNORECASE)
_TIME_UNITS = {"ns": 1, "µs": 10**3, "μs": 10**3, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
_SIZE_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_ABSENT = ("none", "null", "empty")
_FAR = 2**64


@dataclass(frozen=True)
class RowQuery:
    """A page's choice of rows.

    ``text`` holds words that all occur in a row; ``where`` pairs a column with its condition. ``sort`` is a
    column and True for descending, or None for the order of the recording. ``from_ns`` and ``to_ns`` bound
    the rows' time.
    """

    text: str = ""
    where: tuple[tuple[int, str], ...] = ()
    sort: tuple[int, bool] | None = None
    from_ns: int | None = None
    to_ns: int | None = None


def find_matching(table: StoredTable, query: RowQuery) -> Bools | None:
    """Return the rows that match text and conditions, None for all; raises ``UsageError``."""
    masks = [_find_word(table, word) for word in query.text.casefold().split()]
    masks += [_find_by_condition(table, column, text) for column, text in query.where if text.strip()]
    return np.logical_and.reduce(masks) if masks else None


def find_in_range(table: StoredTable, from_ns: int, to_ns: int) -> Bools:
    """Return the rows that overlap [from_ns, to_ns); rows without a length count if they lie in it."""
    starts, ends = table.start, table.end
    # An interval that ends exactly where the range begins has no time in it.
    mask: Bools = (starts < to_ns) & ((ends > from_ns) | (starts >= from_ns))
    return mask


def _find_word(table: StoredTable, word: str) -> Bools:
    """Return the rows in which a word occurs: in a text, in a frame of a stack, or as a whole number."""
    mask = np.zeros(table.rows, np.bool_)
    number = int(word) if re.fullmatch(r"-?[0-9]{1,18}", word) else None
    if re.fullmatch(r"0x[0-9a-f]{1,15}", word):
        number = int(word, 16)
    for column, column_info in enumerate(table.columns):
        if column_info.kind == "stack":
            mask |= table.match_codes(column, table.match_stacks(lambda text: word in text.casefold()))
        elif table.is_text(column):
            mask |= table.match_texts(column, lambda text: word in text.casefold())
        elif number is not None:
            values, present = table.read_numbers(column)
            mask |= present & (values == number)
    return mask


def _find_by_condition(table: StoredTable, column: int, text: str) -> Bools:
    text = text.strip()
    column_info = table.columns[column]
    if text.casefold() in _ABSENT:
        present = table.read_codes(column) >= 0 if table.is_text(column) else table.read_numbers(column)[1]
        return ~present
    if not table.is_text(column):
        return _find_by_number(table, column, text)
    negated = text.startswith("!")
    words = text[1:].strip() if negated else text
    exact = words.startswith("=")
    sought = words[1:].strip().casefold() if exact else words.casefold()

    def matches(cell: str) -> bool:
        return cell.casefold() == sought if exact else sought in cell.casefold()

    if column_info.kind == "stack" and not exact:
        mask = table.match_codes(column, table.match_stacks(matches))
    else:
        mask = table.match_texts(column, matches)
    return ~mask if negated else mask


def _find_by_number(table: StoredTable, column: int, text: str) -> Bools:
    shape, unit = table.columns[column].shape, table.columns[column].unit
    values, present = table.read_numbers(column)
    if range_match := _BETWEEN.fullmatch(text):
        low_unit = range_match[2] or range_match[4]  # 1..5 ms
        low, high = (
            _parse_amount(range_match[1], low_unit, shape, unit),
            _parse_amount(range_match[3], range_match[4], shape, unit),
        )
        return present & _compare(values, ">=", low) & _compare(values, "<=", high)
    bound_match = _BOUND.fullmatch(text)
    if bound_match is None:
        raise UsageError(
            f"'{text[:60]}' is no condition for {table.columns[column].title[:60]}, a column of numbers:"
            f" write {_give_example(shape)}, or none."
        )
    return present & _compare(
        values, bound_match[1] or "=", _parse_amount(bound_match[2], bound_match[3], shape, unit)
    )


def _give_example(shape: str) -> str:
    examples = {
        "time": ">= 1.5 s, 100..200 ms",
        "duration": "> 5 ms, 1..2 ms",
        "size": "> 4 kB",
        "hex": "0x1f",
        "boolean": "1 or 0",
    }
    return examples.get(shape, "> 5, 1..10, = 3")


def _parse_amount(digits: str, unit: str, shape: str, shown_unit: str) -> int | float:
    plain = digits.lower()
    value: int | float
    if plain.startswith("0x"):
        value = int(plain, 16)
    else:
        value = int(plain) if re.fullmatch(r"[+-]?[0-9]+", plain) else float(plain)
    unit = unit.lower()
    if shape in ("time", "duration"):
        if unit and unit not in _TIME_UNITS:
            raise UsageError(f"'{unit}' is no unit of time: write ns, µs, ms or s.")
        factor = _TIME_UNITS[unit or ("s" if shape == "time" else "ns")]
        return value * factor if isinstance(value, int) else round(value * factor, 3)
    if shape == "size" and unit.removesuffix("/s") in _SIZE_UNITS:
        return value * _SIZE_UNITS[unit.removesuffix("/s")]
    if unit and unit != shown_unit.lower():
        has = f": it has {shown_unit}" if shown_unit else ", whose numbers have none"
        raise UsageError(f"'{unit}' is no unit of this column{has}.")
    return value


_OPERATIONS: dict[str, Callable[..., Bools]] = {
    "<": np.less,
    "<=": np.less_equal,
    "≤": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "≥": np.greater_equal,
    "=": np.equal,
}


def _compare(values: npt.NDArray[Any], operation: str, amount: float) -> Bools:
    """Compare exactly: numpy would compare integers of 64 bits with a fraction as floats."""
    if isinstance(amount, float) and amount.is_integer() and abs(amount) < _FAR:
        amount = int(amount)
    if isinstance(amount, int) and values.dtype.kind in "iu":
        bounds = np.iinfo(values.dtype)
        if not bounds.min <= amount <= bounds.max:  # beyond every value that the column can hold
            is_above = operation in ("<", "<=", "≤") if amount > 0 else operation in (">", ">=", "≥")
            return np.full(len(values), is_above, np.bool_)
        amount = values.dtype.type(amount)
    return _OPERATIONS[operation](values, amount)
