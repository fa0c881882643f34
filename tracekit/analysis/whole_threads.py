"""Threads that have several rows: spindump has a heading for each queue on which a thread worked."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.engines import codes
from tracekit.model.columns import BoolArray, IntArray


class WholeThreads:
    """The threads of a trace: rows of ``Trace.threads`` with one id in one process are one thread.

    Rows without an id are a thread each, and so is what has no row, whose values come last.
    """

    def __init__(self, threads: pd.DataFrame) -> None:
        tid = threads["tid"].to_numpy(np.int64)
        tid = np.where(tid < 0, -2 - np.arange(len(tid)), tid)
        columns = (threads["pid"].tolist(), threads["process"].tolist(), tid.tolist())
        keys = [*zip(*columns, strict=True), (-1, "", -1)]
        self._numbers: IntArray = pd.factorize(pd.MultiIndex.from_tuples(keys))[0].astype(np.int64)

    def sum_per_thread(self, amounts: IntArray) -> IntArray:
        """Return, for each row, the sum of the amounts of all rows of its thread."""
        return codes.sum_by_code(self._numbers, amounts, len(self._numbers))[self._numbers]

    def mark_first_rows(self, mask: BoolArray) -> BoolArray:
        """Return the marks with the first marked row of each thread alone."""
        rows = np.flatnonzero(mask)
        is_first = np.zeros(len(mask), bool)
        is_first[rows[np.unique(self._numbers[rows], return_index=True)[1]]] = True
        return is_first
