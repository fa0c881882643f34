"""Candidates: the calls that may own each interval, by time, process and loaded copy."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.ownership.calls import UNKNOWN, Calls
from tracekit.analysis.ownership.pairs import Pairs
from tracekit.analysis.ownership.pools import CallPools
from tracekit.analysis.ownership.rows import Rows
from tracekit.model.columns import IntArray

_MIN_SHARE_DIVISOR = 20
"""A row that shares less than 1/20 of its length and of the call's with a call touches it, and is no work of
it: a choice."""
_PROTRUSION_DIVISOR = 10
_CLOCK_TOLERANCE_NS = 1_000_000
"""A row of 1/10 of its length outside of a call, and of a millisecond at most, lies in it: two tables'
clocks differ."""


class Candidates:
    """The calls that may own rows; ``pids`` are the processes that the analysis is about, none is any."""

    def __init__(self, rows: Rows, calls: Calls, pids: frozenset[int]) -> None:
        self._rows, self._calls, self._pids = rows, calls, pids
        numbers = np.arange(len(calls))
        needs_every = bool((rows.is_nameless & rows.is_work & ~rows.is_other).any())
        self._pools = CallPools(
            np.append(calls.model, np.full(len(numbers) * needs_every, len(calls.models))),
            np.tile(numbers, 1 + needs_every),
            calls.starts,
            calls.ends,
        )
        self.crowded = np.zeros(len(rows), bool)
        """Marks the rows of more calls than are listed."""

    def of(self, row_numbers: IntArray, pool: IntArray) -> Pairs:
        """Return the calls whose time, process and pool fit these rows, without those that they touch."""
        rows, calls = self._rows, self._calls
        candidates = self._pools.pairs(pool, rows.starts[row_numbers], rows.ends[row_numbers])
        self.crowded[row_numbers[candidates.crowded]] = True
        row, call = row_numbers[candidates.row], candidates.call
        row_pid, call_pid = rows.pid[row], calls.pid[call]
        fits = (row_pid < 0) | (row_pid == call_pid)
        fits |= (call_pid < 0) & (np.isin(row_pid, sorted(self._pids)) | (not self._pids))
        # If only a call's work on the Neural Engine is known, other work needs the model's name.
        is_same = rows.is_open[row] | ((rows.pool[row] == calls.model[call]) & ~rows.is_nameless[row])
        fits &= ~calls.is_of_engine[call] | (call_pid >= 0) | is_same
        row_copy, call_copy = rows.copy[row], calls.copy[call]
        fits &= (row_copy == call_copy) | (row_copy == UNKNOWN) | (call_copy == UNKNOWN)
        shared_start = np.maximum(rows.starts[row], calls.starts[call])
        shared = np.minimum(rows.ends[row], calls.ends[call]) - shared_start
        length, call_length = rows.ends[row] - rows.starts[row], calls.ends[call] - calls.starts[call]
        fits &= (shared >= length // _MIN_SHARE_DIVISOR) | (shared >= call_length // _MIN_SHARE_DIVISOR)
        outside_ns = length - shared
        is_contained = outside_ns <= np.minimum(length // _PROTRUSION_DIVISOR, _CLOCK_TOLERANCE_NS)
        return Pairs(
            row, call, shared, is_contained, outside_ns <= _CLOCK_TOLERANCE_NS, 2 * shared > length
        ).select(fits)
