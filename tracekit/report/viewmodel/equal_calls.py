"""Calls that are equal for a reader: a table can show them as one row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import group_codes
from tracekit.analysis.result import Analysis
from tracekit.model.columns import IntArray
from tracekit.report import wording


def fold_equal_calls(analysis: Analysis) -> IntArray:
    """Return for each call the first of the equal calls in a row that it belongs to; itself if there is none.

    Neighbours of one copy of a model are equal if one reason gives both the same verdict, and neither differs
    from the typical call by more than calls of the model vary. Calls of other models may lie between them.
    """
    count = len(analysis.window_rows)
    rows = np.arange(count)
    if not count:
        return rows
    model = wording.call_names(analysis).group
    verdicts = analysis.verdicts.block()
    reasons = pd.factorize(wording.verdict_reasons(verdicts).to_pandas())[0]
    copies = analysis.window_rows["copy"].to_numpy()
    kind = group_codes(
        np.array(verdicts.names, object), reasons, copies, np.where(analysis.differences.is_notable, rows, -1)
    )
    order = np.argsort(model, kind="stable")
    begins = np.append(True, (np.diff(model[order]) != 0) | (np.diff(kind[order]) != 0))
    first = np.empty(count, np.int64)
    first[order] = order[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    return first
