"""A comparison as a frame: one row per metric of each group of windows."""

from __future__ import annotations

import pandas as pd

from tracekit.comparison.result import Comparison, Difference
from tracekit.report.comparison import wording as words

_COLUMNS = (
    "group",
    "name",
    "source",
    "metric",
    "unit",
    "base",
    "new",
    "difference",
    "relative",
    "low",
    "high",
    "relative_low",
    "relative_high",
    "tested",
    "basis",
    "judgement",
    "reason",
)
_NUMBERS = ("base", "new", "difference", "relative", "low", "high", "relative_low", "relative_high")


def comparison_frame(comparison: Comparison) -> pd.DataFrame:
    """Return every difference; ``low`` and ``high`` are the 95 % interval, ``<NA>`` where there are too few.

    ``reason`` is given where a side has no number, where the two cannot be compared, and where one covers
    only some windows.
    """
    rows = [
        (group.kind, group.name, group.source, *_cells(row))
        for group in comparison.groups
        for row in comparison.rows(group)
    ]
    dtypes = {name: "Float64" if name in _NUMBERS else "str" for name in _COLUMNS}
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes)


def _cells(row: Difference) -> tuple[object, ...]:
    basis = ", ".join(sorted({side.basis for side in (row.base, row.new) if side.basis}))
    return (
        row.metric,
        row.unit,
        row.base.value,
        row.new.value,
        row.difference,
        row.ratio,
        row.low,
        row.high,
        row.relative_low,
        row.relative_high,
        row.tested,
        basis,
        row.judgement,
        words.reason(row) or None,
    )
