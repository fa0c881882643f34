"""Rules: what decides between several calls that may own a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from tracekit.analysis.engines.codes import group_codes
from tracekit.analysis.ownership.calls import Calls
from tracekit.analysis.ownership.owners import Reason
from tracekit.analysis.ownership.pairs import Pairs
from tracekit.analysis.ownership.rows import Rows
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.model.columns import BoolArray
from tracekit.model.vocabulary import ENGINE_CODE, SERVING, Engine

_DOMINANCE_FACTOR = 3
"""Of calls that a row reaches beyond, one owns it with so many times the row's time in any other: a
choice."""
_MIN_ROWS_ALONE = 3
"""So many rows of a label show which calls it is of: a choice."""
_MIN_OTHER_SAMPLES = 3
"""Heuristic: minimum samples of other engines, with none of this one, that rules out chance."""


class Rules:
    """The rules of one assignment: each marks the pairs of rows that it decides on."""

    def __init__(self, rows: Rows, calls: Calls, submitters: Submitters) -> None:
        self._rows, self._calls, self._submitters = rows, calls, submitters
        self._group = group_codes(calls.model, calls.thread, calls.pid) if len(calls) else calls.model
        # The last entry is of rows whose label is the same for all models.
        self._decided = np.zeros(rows.labels + 1, np.int64)
        self._least_group, self._most_group = np.full((2, rows.labels + 1), [[len(calls)], [-1]])

    @property
    def in_order(self) -> tuple[tuple[Callable[[Pairs], BoolArray], Reason], ...]:
        """The rules, the strongest evidence first, and the reason that each gives."""
        return (
            (self._mark_nested, Reason.CONTAINED),
            (self._mark_longest, Reason.MOST),
            (self._mark_submitted, Reason.SUBMITTED),
            (self._mark_learned, Reason.LABEL_ALONE),
            (self._mark_only_seen, Reason.ENGINE_SEEN),
        )

    def count_labels(self, pairs: Pairs) -> None:
        """Count the rows of each label that are of calls of each model and thread."""
        label, group = self._rows.label[pairs.row], self._group[pairs.call]
        np.add.at(self._decided, label, 1)
        np.minimum.at(self._least_group, label, group)
        np.maximum.at(self._most_group, label, group)

    def mark_near(self, pairs: Pairs) -> BoolArray:
        """Mark the calls with a stack of the row's engine near the row's start, and near no other row's."""
        mask: BoolArray = self.may_begin(pairs)
        if len(pairs):
            mask &= self.is_apart[pairs.row]
        return mask

    def may_begin(self, pairs: Pairs) -> BoolArray:
        """Mark the calls with a stack of the row's engine near the row's start."""
        is_near = np.zeros(len(pairs), bool)
        for engine in SERVING:
            positions = np.flatnonzero(self._rows.engine[pairs.row] == ENGINE_CODE[engine])
            window = self._calls.window[pairs.call[positions]]
            is_near[positions] = self._submitters.mark_near(
                engine, window, self._rows.starts[pairs.row[positions]]
            )
        return is_near

    def mark_showing(self, pairs: Pairs) -> tuple[BoolArray, BoolArray]:
        """Mark the calls whose stacks or log show the row's engine, and those that show others alone."""
        shows_engine, elsewhere = np.zeros((2, len(pairs)), bool)
        for engine in SERVING:
            positions = np.flatnonzero(self._rows.engine[pairs.row] == ENGINE_CODE[engine])
            call = pairs.call[positions]
            window = self._calls.window[call]
            shows_engine[positions] = self._submitters.count_samples(engine)[window] > 0
            if engine is Engine.ANE:
                shows_engine[positions] |= self._calls.logged[call] > 0
            elsewhere[positions] = self._submitters.count_other_samples(engine)[window] >= _MIN_OTHER_SAMPLES
        return shows_engine, elsewhere & ~shows_engine

    def _mark_nested(self, pairs: Pairs) -> BoolArray:
        """Mark the calls around a row that are all of one thread: they nest, so the row has one owner."""
        thread = self._calls.thread[pairs.call]
        differs = (thread != pairs.take_row_first(thread)) | (thread < 0)
        mask: BoolArray = pairs.is_contained & (pairs.sum_per_row(differs) == 0)
        return mask

    def _mark_longest(self, pairs: Pairs) -> BoolArray:
        """Mark the call that most of a row lies in, of rows that no call contains.

        It is also the one that the row begins in, or has many times as much of it as any other.
        """
        start = self._rows.starts[pairs.row]
        begins = (self._calls.starts[pairs.call] <= start) & (start < self._calls.ends[pairs.call])
        longest_ns = pairs.find_row_maximum(pairs.shared)
        rivals = pairs.sum_per_row(_DOMINANCE_FACTOR * pairs.shared > longest_ns)
        is_chosen = (pairs.shared == longest_ns) & ((rivals == 1) | pairs.mark_only(begins))
        mask: BoolArray = pairs.mark_only(is_chosen) & ~pairs.is_contained
        return mask

    def _mark_learned(self, pairs: Pairs) -> BoolArray:
        """Mark the only call of a row that is of the model and thread of all decided rows of its label."""
        label = self._rows.label[pairs.row]
        is_known = (self._decided >= _MIN_ROWS_ALONE) & (self._least_group == self._most_group)
        is_known[-1] = False
        return pairs.mark_only(is_known[label] & (self._group[pairs.call] == self._least_group[label]))

    def _mark_submitted(self, pairs: Pairs) -> BoolArray:
        """Mark the only call of a row that has a sample of the engine near the row's start."""
        return pairs.mark_only(self.mark_near(pairs))

    def _mark_only_seen(self, pairs: Pairs) -> BoolArray:
        """Mark the only call of a row that shows the engine, where the others show where they worked.

        Of rows that name no process, it has no more than samples of the engine: each shows one row's start.
        """
        shows_engine, elsewhere = self.mark_showing(pairs)
        mask: BoolArray = pairs.mark_only(shows_engine) & (pairs.sum_per_row(~shows_engine & ~elsewhere) == 0)
        open_pairs = mask & self._rows.is_open[pairs.row]
        call = pairs.call[open_pairs]
        samples = (
            self._submitters.count_samples(Engine.ANE)[self._calls.window[call]] + self._calls.logged[call]
        )
        mask[open_pairs] = np.bincount(call, minlength=len(self._calls))[call] <= samples
        return mask

    @cached_property
    def is_apart(self) -> BoolArray:
        """Marks the rows that begin so far from others of their engine that a sample shows which it is of."""
        rows = self._rows
        apart = np.ones(len(rows), bool)
        for engine in SERVING:
            engine_rows = np.flatnonzero(rows.is_work & (rows.engine == ENGINE_CODE[engine]))
            # A row may be in the table twice.
            starts = np.unique(
                np.stack([rows.starts[engine_rows], rows.ends[engine_rows], rows.label[engine_rows]]), axis=1
            )[0]
            is_far = np.diff(starts) > 2 * self._submitters.near_ns
            is_isolated = np.append(True, is_far) & np.append(is_far, True) if len(starts) else is_far
            apart[engine_rows] = is_isolated[np.searchsorted(starts, rows.starts[engine_rows])]
        return apart
