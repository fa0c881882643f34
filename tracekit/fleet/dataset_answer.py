"""The result of a question: rows, and what their columns are."""

from __future__ import annotations

from dataclasses import field

import pyarrow as pa

from tracekit.frozen import frozen


@frozen
class AnswerColumn:
    """A column of a result. The unit is ms, mJ, share (of 1), percent, or empty for counts and text."""

    name: str
    meaning: str = ""
    unit: str = ""


@frozen
class DatasetAnswer:
    """Rows with their columns, in order. ``notes`` are sentences about all of them."""

    title: str
    columns: tuple[AnswerColumn, ...]
    rows: pa.Table
    notes: tuple[str, ...] = ()
    parameters: dict[str, str | int | float] = field(default_factory=dict)


def describe_query_result(sql: str, rows: pa.Table) -> DatasetAnswer:
    """Return the result of a query, whose columns are described by their names alone."""
    return DatasetAnswer(sql, tuple(AnswerColumn(name) for name in rows.column_names), rows)
