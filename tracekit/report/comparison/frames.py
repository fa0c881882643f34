"""A comparison as a frame: one row per metric of each group of windows."""

from __future__ import annotations

import pandas as pd

from tracekit.comparison.result import Comparison, Difference

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
    "basis",
    "judgement",
)


def comparison_frame(comparison: Comparison) -> pd.DataFrame:
    """Return every difference; ``low`` and ``high`` are the 95 % interval, NaN where there are too few."""
    rows = [
        (group.kind, group.name, group.source, *_cells(row))
        for group in comparison.groups
        for row in comparison.rows(group)
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(
        dict.fromkeys(("base", "new", "difference", "relative", "low", "high"), "float64")
    )


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
        basis,
        row.judgement,
    )
