"""The cells of a result as text for people, and as plain values for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from tracekit.fleet.dataset_answer import AnswerColumn, DatasetAnswer
from tracekit.text import format_percent

_LOSSLESS = 2**53


def is_number(column: AnswerColumn, answer: DatasetAnswer) -> bool:
    """Return True for a column that is aligned to the right."""
    kind = answer.rows.column(answer.columns.index(column)).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def plain_columns(answer: DatasetAnswer) -> list[list[Any]]:
    """Return the values of each column as JSON has them; what is missing or not finite is None."""
    return [[_convert_value(value) for value in column.to_pylist()] for column in answer.rows.columns]


def _convert_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool | str | int) or value is None:
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _convert_value(part) for key, part in value.items()}
    if isinstance(value, list):
        return _convert_list(value)
    return str(value)


def _convert_list(values: list[Any]) -> Any:
    """Return a list, or the object that a map is: Arrow has maps as lists of pairs."""
    if values and all(isinstance(value, tuple) and len(value) == 2 for value in values):
        return {str(key): _convert_value(part) for key, part in values}
    return [_convert_value(value) for value in values]


def cell_text(value: Any, unit: str = "") -> str:
    """Return a plain value for people: rounded, with its unit unless the column's name has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit == "share":
        return format_percent(value, 1)
    if unit == "percent":
        return f"{value:+.1f} %"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < _LOSSLESS else f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={cell_text(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(cell_text, value))
    return str(value)


def texts(answer: DatasetAnswer) -> list[list[str]]:
    """Return the columns as texts for people; hidden characters are not yet escaped."""
    return [
        [cell_text(value, column.unit) for value in values]
        for column, values in zip(answer.columns, plain_columns(answer), strict=True)
    ]
