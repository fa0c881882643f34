"""A result as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import IO, Any

from tracekit.fleet.dataset_answer import DatasetAnswer
from tracekit.report.fleet.cells import plain_columns
from tracekit.text import escape_json, escape_spreadsheet_cell


def to_csv(answer: DatasetAnswer, raw: bool = False) -> str:
    """Return CSV with a header; null is an empty field.

    Text is safe for terminals and spreadsheets (``escape_spreadsheet_cell``); with ``raw`` it is exact.
    """
    rewrite: Callable[[str], str] = str if raw else escape_spreadsheet_cell
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([rewrite(column.name) for column in answer.columns])
    columns = [[_format_field(value, rewrite) for value in values] for values in plain_columns(answer)]
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def _format_field(value: Any, rewrite: Callable[[str], str]) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return rewrite(json.dumps(value, ensure_ascii=False))
    return rewrite(str(value)) if isinstance(value, str) else str(value)


def to_json(answer: DatasetAnswer) -> str:
    """Return a JSON object: its title, parameters, columns and rows (an object per row)."""
    names = [column.name for column in answer.columns]
    document = {
        "title": answer.title,
        "parameters": answer.parameters,
        "columns": [
            {"name": column.name, "unit": column.unit, "meaning": column.meaning} for column in answer.columns
        ],
        "notes": list(answer.notes),
        "rows": [dict(zip(names, row, strict=True)) for row in zip(*plain_columns(answer), strict=True)],
    }
    return escape_json(json.dumps(document, ensure_ascii=False, indent=1)) + "\n"


def write_parquet(answer: DatasetAnswer, out: IO[bytes]) -> None:
    """Write a Parquet file; units and meanings are metadata of the columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [
        field.with_metadata({"unit": column.unit, "meaning": column.meaning})
        for field, column in zip(answer.rows.schema, answer.columns, strict=True)
    ]
    pq.write_table(pa.table(answer.rows.columns, schema=pa.schema(fields)), out)
