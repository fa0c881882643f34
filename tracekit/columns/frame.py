"""The declaration of a frame: its columns, and what each output is given of them.

A column is one entry of a mapping: type, meaning, and the one function that computes its values. Frames, CSV,
Parquet, JSON, the page's table, docs and the JSON schema are made from the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import pandas as pd
import pyarrow as pa

from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.model.columns import Column
from tracekit.model.issue_codes import Reach

Rows = TypeVar("Rows")
Values: TypeAlias = Any
"""An entry per row: a Series, an array, a list, or an Arrow column of texts."""
Output: TypeAlias = Literal["frame", "CSV", "JSON", "verbose", "page"]
"""``CSV`` stands for Parquet as well; ``verbose`` is the table of ``analyze -v``."""
Kind: TypeAlias = Literal["text", "call", "number", "time", "busy", "waiting", "verdict", "part"]
"""How a cell is drawn: ``busy`` is a time with its share of the row's length; columns of the kind ``part``
that have one head are drawn in one cell."""


TABLES: tuple[Output, ...] = ("verbose", "page")
"""The tables for people."""


@frozen
class Display(Generic[Rows]):
    """How a table for people shows a column: its head, what limits it, and a note if the basis is not enough.

    A column without any known value is left out.
    """

    head: str | Callable[[Rows], str]
    kind: Kind = "text"
    part: str = ""
    note: Callable[[Rows], str] | None = None
    limits: tuple[Reach, ...] = ()
    outputs: tuple[Output, ...] = TABLES

    def get_head(self, rows: Rows) -> str:
        """Return the head of the column in a table of these rows."""
        return self.head if isinstance(self.head, str) else self.head(rows)


@frozen
class FrameColumn(Column, Generic[Rows]):
    """A column, and its values for some rows; with ``is_in_tables`` it is in the frame, in CSV and Parquet.

    ``basis`` is how its numbers are known, or the column that has it. ``json`` is the path of its values in
    an entry of the JSON document (``times.busy_ns``), "" if they are not in it; ``schema`` adds to what the
    JSON schema has of it.
    """

    values: Callable[[Rows], Values]
    basis: str = ""
    json: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    display: Display[Rows] | None = None
    is_in_tables: bool = True

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The outputs that have the column."""
        tables: tuple[Output, ...] = ("frame", "CSV") if self.is_in_tables else ()
        return (*tables, *(("JSON",) if self.json else ()), *(self.display.outputs if self.display else ()))

    def compute(self, rows: Rows) -> pd.Series[Any]:
        """Return the values in the declared type."""
        values = self.values(rows)
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            values = values.to_pandas()
        array = values.array if isinstance(values, pd.Series) else values
        return pd.Series(array, dtype=None if self.type == "category" else self.type)


@dataclass
class FrameColumns(Generic[Rows]):
    """A frame of an analysis: its columns by name, in order, and the rows from which they are computed."""

    rows: Callable[[Analysis], Rows]
    columns: Mapping[str, FrameColumn[Rows]]

    def select(self, output: Output) -> Iterator[tuple[str, FrameColumn[Rows]]]:
        """Yield the columns that an output has, with their names."""
        return ((name, column) for name, column in self.columns.items() if output in column.outputs)

    def build(self, analysis: Analysis) -> pd.DataFrame:
        """Return the frame of an analysis."""
        return self.build_from(self.rows(analysis))

    def build_from(self, rows: Rows) -> pd.DataFrame:
        """Return the frame of some rows."""
        return pd.DataFrame({name: column.compute(rows) for name, column in self.select("frame")})


def make_listed_column(
    type_: str, meaning: str, value: Callable[[Any], Any], basis: str = ""
) -> FrameColumn[Sequence[Any]]:
    """Return a column of rows that are objects: ``value`` of each."""
    return FrameColumn(type_, meaning, lambda rows: [value(row) for row in rows], basis)
