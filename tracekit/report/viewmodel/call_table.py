"""The page's table of calls: heads, kinds, notes, marks and values of the columns that have any value."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tracekit.columns.call_rows import CallRows
from tracekit.columns.calls import CALL_COLUMNS
from tracekit.report.viewmodel.limits import Footnotes


def build_page_columns(
    rows: CallRows, notes: Footnotes
) -> tuple[list[dict[str, Any]], dict[str, pd.Series[Any]]]:
    """Return the columns in order, and the values by name.

    ``key`` is the name of a column's values; one of the kind ``part`` has several: ``parts``.
    """
    columns: dict[str, dict[str, Any]] = {}
    series: dict[str, pd.Series[Any]] = {}
    for name, column in CALL_COLUMNS.select("page"):
        display, values = column.display, column.compute(rows)
        if display is None or not values.notna().any():
            continue
        series[name] = values
        head = display.get_head(rows)
        cell = head if display.kind == "part" else name
        if cell not in columns:
            note = display.note(rows) if display.note else column.basis
            if display.kind != "part":  # which has several columns
                note = f"{column.meaning} ({note})" if note else column.meaning
            columns[cell] = {"key": name, "head": head, "kind": display.kind, "note": note}
            marks = notes.marks(*display.limits, rows=len(rows))
            if marks.numbers:
                by_row = {str(row): marks.of(row) for row in marks.rows}
                columns[cell]["marks"] = {"head": marks.head, "rows": by_row}
        if display.kind == "part":
            columns[cell].setdefault("parts", {})[display.part] = name
    return list(columns.values()), series
