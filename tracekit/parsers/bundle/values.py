"""A column's stored values → a ``Table`` column of the right kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracekit.model.tables import ColumnKind
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.parts import PartsReader, fixed_point
from tracekit.parsers.bundle.store import RawColumn
from tracekit.parsers.bundle.types import Form
from tracekit.parsers.bundle.uniquing import Uniquing
from tracekit.parsers.types import KIND_OF_TYPE

_FIXED_STRINGS = 14
_MOST_INT64 = 2**63 - 1


@dataclass(frozen=True)
class Values:
    """A decoded column; ``tag`` replaces the declared type where the cells tell it (``any``)."""

    kind: ColumnKind
    data: Any
    tag: str = ""


class ValueReader:
    """Decodes the columns that hold values of their own: no thread, process or stack."""

    def __init__(self, uniquing: Uniquing, parts: PartsReader) -> None:
        self._uniquing = uniquing
        self._parts = parts

    def read_unconfirmed(self, column: RawColumn, form: Form, tag: str) -> Values | None:
        """Return a column whose form no export has confirmed; None when its values do not fit that form.

        Numbers below 14 fit a text column only by chance: these strings are the same in every recording.
        """
        if form is Form.TEXT and (column.raw[~column.missing] < _FIXED_STRINGS).all():
            return None
        try:
            return self.read(column, form, tag)
        except DamagedFileError:
            return None

    def read(self, column: RawColumn, form: Form, tag: str) -> Values:
        """Return the column as ``Table`` wants it. Raises ``DamagedFileError``."""
        if form is Form.UNKNOWN and column.missing.all():
            return _nothing(len(column.raw), KIND_OF_TYPE.get(tag, "text"))
        if form is Form.FIXED:
            return self._fixed(column)
        if form in (Form.TEXT, Form.THREAD_NAME):
            return self._text(column, form)
        if form is Form.INTEGERS:
            return Values("ints", self._lists(column))
        if form in (Form.ANY, Form.PARTS):
            self._parts.prepare(np.unique(column.raw[~column.missing]).astype(np.int64))
        if form is Form.ANY:
            return self._any(column)
        readers: dict[Form, Callable[[int], Any]] = {
            Form.PARTS: self._parts.read,
            Form.UUID: self._parts.uuid,
            Form.LOCATION: self._parts.location,
        }
        if form in readers:
            return Values("parts", self._each(column, readers[form]))
        return Values("int", integers(column))

    def _fixed(self, column: RawColumn) -> Values:
        unique, inverse = np.unique(column.raw, return_inverse=True)
        values = np.array([fixed_point(raw) for raw in unique.tolist()], np.float64)[inverse]
        return Values("float", np.where(column.missing, np.nan, values))

    def _text(self, column: RawColumn, form: Form) -> Values:
        raw = column.raw >> np.uint64(32) if form is Form.THREAD_NAME else column.raw
        places, unique = pd.factorize(raw)
        held = np.zeros(len(unique), bool)
        held[places[~column.missing]] = True
        texts = [
            self._uniquing.string(number) if present else None
            for number, present in zip(unique.tolist(), held.tolist(), strict=True)
        ]
        categories = list(dict.fromkeys(text for text in texts if text is not None))
        code = {text: at for at, text in enumerate(categories)}
        codes = np.array([-1 if text is None else code[text] for text in texts], np.int32)[places]
        codes[column.missing] = -1
        return Values("text", pd.Categorical.from_codes(codes, categories=pd.Index(categories, dtype="str")))

    def _each(self, column: RawColumn, read: Callable[[int], Any]) -> pd.Series[Any]:
        """Decode each distinct value once; equal cells become one object."""
        unique, inverse = np.unique(column.raw, return_inverse=True)
        missing = np.unique(column.raw[column.missing])
        decoded = np.empty(len(unique), dtype=object)
        decoded[:] = [None if raw in missing else read(raw) for raw in unique.tolist()]
        return pd.Series(decoded[inverse], dtype=object)

    def _lists(self, column: RawColumn) -> pd.Series[Any]:
        known, inverse = np.unique(column.raw[~column.missing].astype(np.int64), return_inverse=True)
        held = np.empty(len(known), dtype=object)
        held[:] = self._uniquing.lists.tuples(known)
        cells = np.full(len(column.raw), None, dtype=object)
        cells[~column.missing] = held[inverse]
        return pd.Series(cells, dtype=object)

    def _any(self, column: RawColumn) -> Values:
        """A value with its type beside it: a column of numbers, of text, or of composite values."""
        cells = self._each(column, self._parts.read)
        held = [cell for cell in cells if cell is not None]
        tags = {tag for cell in held for tag, _ in cell}
        tag = tags.pop() if len(tags) == 1 else ""
        if any(len(cell) != 1 or isinstance(cell[0][1], tuple) for cell in held):
            return Values("parts", cells, tag)
        values = [None if cell is None else cell[0][1] for cell in cells]
        if held and all(isinstance(cell[0][1], int) for cell in held):
            missing = np.array([value is None for value in values], bool)
            numbers = np.array([value or 0 for value in values], np.uint64)
            return Values("int", integers(RawColumn(numbers, missing)), tag)
        texts = [None if value is None else str(value) for value in values]
        return Values("text", pd.Categorical(pd.Series(texts, dtype="str")), tag)


def integers(column: RawColumn) -> pd.arrays.IntegerArray:
    """Return exact integers, unsigned only where a value is beyond 2^63-1."""
    values = np.where(column.missing, 0, column.raw).astype(np.uint64)
    beyond = len(values) and int(values.max()) > _MOST_INT64
    return pd.arrays.IntegerArray(values if beyond else values.astype(np.int64), column.missing.copy())


def _nothing(rows: int, kind: ColumnKind) -> Values:
    missing = np.ones(rows, bool)
    if kind == "int":
        return Values(kind, integers(RawColumn(np.zeros(rows, np.uint64), missing)))
    if kind == "float":
        return Values(kind, np.full(rows, np.nan))
    if kind == "text":
        return Values(
            kind, pd.Categorical.from_codes(np.full(rows, -1), categories=pd.Index([], dtype="str"))
        )
    if kind in ("parts", "ints"):
        return Values(kind, pd.Series([None] * rows, dtype=object))
    return Values(kind, np.full(rows, -1, np.int32))
