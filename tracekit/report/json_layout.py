"""JSON text put together from parts that are JSON already, laid out as ``json.dumps`` does it.

A document of a hundred thousand windows is written as it goes, and its objects are columns of texts that are
joined: ``json.dumps`` with an indent takes longer than the analysis.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pandas as pd

from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.report.wording.texts import (
    Texts,
    digits,
    join_by_row,
    joined,
    picked,
    rewritten,
    texts_of,
    where,
)
from tracekit.text import escape_json

NULL = "null"
_MAY_NEED_ESCAPES = r"[^ !#-\[\]-~→∥µ…–]|##"
"""Characters that need escaping, and the sign of a CI's commands."""


@frozen
class Layout:
    """Indented by two spaces a level, or on one line."""

    is_indented: bool

    def object(self, fields: Mapping[str, str], level: int) -> str:
        """Return an object whose values are JSON text; ``level`` is the depth of its braces."""
        return self._enclose("{", (self.member(name, value) for name, value in fields.items()), "}", level)

    def objects(
        self, fields: Mapping[str, Texts | str], level: int, prefix: Texts | str = "", suffix: str = ""
    ) -> Texts:
        """Return an object per row, of which the values are JSON text, between ``prefix`` and ``suffix``."""
        # All at once: each step that adds to a text copies it.
        parts = [prefix]
        opening = f"{{{self._begin_line(level + 1)}"
        for name, value in fields.items():
            parts += [opening + self.member(name, ""), value]
            opening = self.separator(level)
        return joined(*parts, f"{self._begin_line(level)}}}{suffix}")

    def objects_of(self, members: Texts, edges: IntArray, level: int) -> Texts:
        """Return an object per row, of the members from ``edges[row]`` up to ``edges[row + 1]``."""
        return self._enclose_by_row("{", members, edges, "}", level)

    def member(self, name: str, value: str) -> str:
        """Return a member of an object; the value is JSON text."""
        return f"{quoted(name)}{': ' if self.is_indented else ':'}{value}"

    def array(self, items: Iterable[str], level: int) -> str:
        """Return an array of items that are JSON text."""
        return self._enclose("[", items, "]", level)

    def arrays(self, items: Texts, edges: IntArray, level: int) -> Texts:
        """Return an array per row, of the items from ``edges[row]`` up to ``edges[row + 1]``."""
        return self._enclose_by_row("[", items, edges, "]", level)

    def separator(self, level: int) -> str:
        """Return what separates the items of an object or array of that depth."""
        return f",{self._begin_line(level + 1)}"

    def _enclose(self, begin: str, items: Iterable[str], end: str, level: int) -> str:
        text = self.separator(level).join(items)
        return (
            f"{begin}{self._begin_line(level + 1)}{text}{self._begin_line(level)}{end}"
            if text
            else begin + end
        )

    def _enclose_by_row(self, begin: str, items: Texts, edges: IntArray, end: str, level: int) -> Texts:
        text = join_by_row(items, edges, self.separator(level))
        enclosed = joined(begin + self._begin_line(level + 1), text, self._begin_line(level) + end)
        has_items = np.diff(edges) > 0
        return enclosed if has_items.all() else where(has_items, enclosed, begin + end)

    def _begin_line(self, level: int) -> str:
        return f"\n{'  ' * level}" if self.is_indented else ""


def quoted(text: str) -> str:
    """Return a string as JSON that a terminal shows as it is (``escape_json``)."""
    return escape_json(encode_basestring(text))


def quoted_texts(texts: Texts) -> Texts:
    """Return ``quoted`` of each text; null where it is missing."""
    escaped = rewritten(texts, _MAY_NEED_ESCAPES, lambda text: quoted(text)[1:-1])
    return or_null(joined('"', escaped, '"'))


def or_null(texts: Texts) -> Texts:
    """Return JSON texts; null where one is missing."""
    return texts.fill_null(NULL) if texts.null_count else texts


def number(value: float) -> str:
    """Return a number as JSON."""
    return str(value) if isinstance(value, int) else json.dumps(value)


def column_texts(column: pd.Series[Any] | Texts) -> Texts:
    """Return the values of a column, a Series or texts of Arrow, as JSON; missing is null."""
    if not isinstance(column, pd.Series):
        return quoted_texts(column)
    if column.dtype == bool:
        return where(column.to_numpy(), "true", "false")
    if isinstance(column.dtype, pd.CategoricalDtype):
        texts = [quoted(str(name)) for name in column.cat.categories]
        return or_null(picked(column.cat.codes.to_numpy(), texts))
    if pd.api.types.is_integer_dtype(column.dtype):
        return numbers_or_null(*amounts(column))
    return quoted_texts(texts_of(column.astype(object).tolist()))


def amounts(column: pd.Series[Any]) -> tuple[IntArray, BoolArray]:
    """Return a column of integers, 0 where missing, and where they are known."""
    array: Any = column.array
    return array.to_numpy(np.int64, na_value=0), ~array.isna()


def numbers_or_null(numbers: IntArray, is_known: BoolArray) -> Texts:
    """Return integers as JSON; null where they are not known."""
    texts = digits(numbers)
    return texts if is_known.all() else where(is_known, texts, NULL)
