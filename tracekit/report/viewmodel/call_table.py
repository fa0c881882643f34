"""The page's table of calls: heads, kinds, notes, marks and values of the columns that have any value."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tracekit.columns.call_rows import CallRows
from tracekit.columns.calls import CALL_COLUMNS
from tracekit.report.viewmodel.limits import Footnotes


def page_columns(rows: CallRows, notes: Footnotes) -> tuple[list[dict[str, Any]], dict[str, pd.Series[Any]]]:
    """Return the columns in order, and the values by name.

    ``key`` is the name of a column's values; one of the kind ``part`` has several: ``parts``.
    """
    columns: dict[str, dict[str, Any]] = {}
    series: dict[str, pd.Series[Any]] = {}
    for name, column in CALL_COLUMNS.for_output("page"):
        shown, values = column.shown, column.series(rows)
        if shown is None or not values.notna().any():
            continue
        series[name] = values
        head = shown.head_of(rows)
        if head not in columns:
            note = shown.note(rows) if shown.note else column.basis
            columns[head] = {"key": name, "head": head, "kind": shown.kind, "note": note}
            marks = notes.marks(*shown.limits, rows=len(rows))
            if marks.numbers:
                by_row = {str(row): marks.of(row) for row in marks.rows}
                columns[head]["marks"] = {"head": marks.head, "rows": by_row}
        if shown.kind == "part":
            columns[head].setdefault("parts", {})[shown.part] = name
    return list(columns.values()), series
