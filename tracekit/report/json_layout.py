"""JSON text put together from parts that are JSON already, laid out as ``json.dumps`` does it.

A document of a hundred thousand windows is written as it goes; its objects are made by filling in templates,
because ``json.dumps`` with an indent takes longer than the analysis.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pandas as pd

from tracekit.model.columns import BoolArray, IntArray
from tracekit.text import escape_json

NULL = "null"
FIELD = "%s"
"""The text of a value that is filled in later: ``object(…)`` of fields is a template for ``%``."""


@dataclass(frozen=True)
class Layout:
    """Indented by two spaces a level, or on one line."""

    is_indented: bool

    def object(self, fields: Mapping[str, str], level: int) -> str:
        """Return an object whose values are JSON text; ``level`` is the depth of its braces."""
        return self.object_of([self.member(name, value) for name, value in fields.items()], level)

    def object_of(self, members: Iterable[str], level: int) -> str:
        """Return an object of members, each made by ``member``."""
        return self._enclosed("{", members, "}", level)

    def member(self, name: str, value: str) -> str:
        """Return a member of an object; the value is JSON text."""
        return f"{quoted(name)}{': ' if self.is_indented else ':'}{value}"

    def array(self, items: Iterable[str], level: int) -> str:
        """Return an array of items that are JSON text."""
        return self._enclosed("[", items, "]", level)

    def separator(self, level: int) -> str:
        """Return what separates the items of an object or array of that depth."""
        return f",{self._line(level + 1)}"

    def template(self, names: Iterable[str], level: int) -> str:
        """Return an object with a field to fill in for each name."""
        return self.object({name.replace("%", "%%"): FIELD for name in names}, level)

    def _enclosed(self, begin: str, items: Iterable[str], end: str, level: int) -> str:
        text = self.separator(level).join(items)
        return f"{begin}{self._line(level + 1)}{text}{self._line(level)}{end}" if text else begin + end

    def _line(self, level: int) -> str:
        return f"\n{'  ' * level}" if self.is_indented else ""


def quoted(text: str) -> str:
    """Return a string as JSON that a terminal shows as it is (``escape_json``)."""
    return escape_json(encode_basestring(text))


def number(value: float) -> str:
    """Return a number as JSON."""
    return str(value) if isinstance(value, int) else json.dumps(value)


def column_texts(column: pd.Series[Any]) -> list[str]:
    """Return the values of a column as JSON; missing is null."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        texts = [*(quoted(str(name)) for name in column.cat.categories), NULL]
        return [texts[code] for code in column.cat.codes.tolist()]
    if pd.api.types.is_integer_dtype(column.dtype):
        return numbers_or_null(*amounts(column))
    return [NULL if value is None else quoted(value) for value in column.astype(object).tolist()]


def amounts(column: pd.Series[Any]) -> tuple[IntArray, BoolArray]:
    """Return a column of integers, 0 where missing, and where they are known."""
    array: Any = column.array
    return array.to_numpy(np.int64, na_value=0), ~array.isna()


def numbers_or_null(numbers: IntArray, is_known: BoolArray) -> list[str]:
    """Return integers as JSON; null where they are not known."""
    texts = list(map(str, numbers.tolist()))
    if is_known.all():
        return texts
    return [text if known else NULL for text, known in zip(texts, is_known.tolist(), strict=True)]
