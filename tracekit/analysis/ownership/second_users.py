"""Second users: other processes with a model of the same name as one of the app's.

The Neural Engine's rows name no process. A label that names a model of the app is the app's, unless the
recording refutes it: such a label on rows outside of the model's calls shows that another process has a model
of that name.
"""

from __future__ import annotations

import numpy as np

from tracekit.analysis.ownership.calls import Calls
from tracekit.analysis.ownership.pairs import Pairs
from tracekit.analysis.ownership.rows import Rows
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Engine


class SecondUsers:
    """What rows and stacks show of other processes with models of the same names."""

    def __init__(self, rows: Rows, calls: Calls, submitters: Submitters) -> None:
        self._rows, self._calls, self._submitters = rows, calls, submitters

    def doubted(self, pairs: Pairs, crowded: BoolArray) -> BoolArray:
        """Mark the open rows of models that another process has as well.

        It has if a row of the model's name lies between the model's calls, mostly in none of them, and no
        stack of the process shows a call that the tables lack; or if a stack of another process hands over
        work where a row begins, and no stack of the row's call.
        """
        rows, calls = self._rows, self._calls
        doubted = np.zeros(len(rows), bool)
        named = np.flatnonzero(rows.is_open & ~rows.is_nameless & (rows.pool >= 0))
        if not len(named):
            return doubted
        pool_count = len(calls.models) + 1
        first, last = np.full(pool_count, np.iinfo(np.int64).max), np.full(pool_count, -1)
        pid = np.full(pool_count, -1)
        np.minimum.at(first, calls.model, calls.starts)
        np.maximum.at(last, calls.model, calls.ends)
        pid[calls.model] = calls.pid
        has_pair = np.zeros(len(rows), bool)
        has_pair[pairs.row] = True
        pool = rows.pool[named]
        between = (rows.starts[named] >= first[pool]) & (rows.ends[named] <= last[pool])
        shared = np.bincount(pairs.row, pairs.shared, minlength=len(rows)).astype(np.int64)
        length = rows.ends - rows.starts
        is_outside = (2 * shared < length) & ~crowded
        # Where most rows reach far beyond their calls, the clocks of the two tables may be the reason.
        inside, beyond = (
            np.bincount(pool[marked[named]], minlength=pool_count)
            for marked in (2 * shared >= length, is_outside & has_pair)
        )
        is_odd = is_outside & (~has_pair | np.append(beyond <= inside, False)[rows.pool])
        outside = named[is_odd[named] & (between | self._comes_twice(named, is_odd[named] & ~between))]
        is_submitted = self._submitters.by_process(Engine.ANE, pid[rows.pool[outside]], rows.starts[outside])
        proven = np.zeros(pool_count, bool)
        proven[rows.pool[outside[~is_submitted]]] = True
        doubted[named] = proven[pool]
        doubted[named[self.submitted_elsewhere(named, pid[pool])]] = True
        return doubted

    def submitted_elsewhere(self, chosen: IntArray, pid: IntArray) -> BoolArray:
        """Mark rows at whose start a stack of another process hands over work, unless to a row of its own."""
        rows, near_ns = self._rows, self._submitters.near_ns
        starts = rows.starts[chosen]
        is_elsewhere = self._submitters.elsewhere(Engine.ANE, pid, starts) & (pid >= 0)
        other_starts = np.sort(rows.starts[rows.is_work & rows.is_other])
        if not len(other_starts) or not is_elsewhere.any():
            return is_elsewhere
        first, last = (np.searchsorted(other_starts, starts + shift) for shift in (-near_ns, near_ns + 1))
        alone: BoolArray = is_elsewhere & (last == first)
        return alone

    def _comes_twice(self, chosen: IntArray, marked: BoolArray) -> BoolArray:
        """Mark rows before the first call or after the last whose label comes twice there.

        The recording cuts one call at each end, and a call has one row of a label.
        """
        label = self._rows.label[chosen]
        counts = np.bincount(label[marked & (label >= 0)], minlength=int(label.max(initial=0)) + 1)
        twice: BoolArray = marked & (label >= 0) & (np.append(counts, 0)[label] > 1)
        return twice
