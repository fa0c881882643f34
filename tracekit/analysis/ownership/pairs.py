"""Pairs: intervals and calls that may own them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray


@frozen(eq=False)
class Pairs:
    """Rows and calls that may be their owners, in order of the row; ``shared`` is the time in common.

    ``is_contained`` marks the pairs of which the row lies in the call, ``is_near`` those of which it does but
    for what clocks differ, ``is_most`` those of which most of it does.
    """

    row: IntArray
    call: IntArray
    shared: IntArray
    is_contained: BoolArray
    is_near: BoolArray
    is_most: BoolArray

    def __len__(self) -> int:
        return len(self.row)

    def select(self, selection: BoolArray | IntArray) -> Pairs:
        """Return the marked pairs, or those at positions in increasing order."""
        row, call, shared = (column[selection] for column in (self.row, self.call, self.shared))
        flags = (column[selection] for column in (self.is_contained, self.is_near, self.is_most))
        return Pairs(row, call, shared, *flags)

    def narrow(self) -> Pairs:
        """Return the calls that contain each row, or may; of a row that none contains, all of its calls."""
        contains = self.is_contained | (self.is_near & self.is_most)
        return self.select(contains | (self.sum_per_row(self.is_contained) == 0))

    def sum_per_row(self, amounts: npt.NDArray[Any]) -> IntArray:
        """Return for each pair the sum of the amounts of its row's pairs."""
        total: IntArray = np.bincount(self._group, amounts).astype(np.int64)[self._group]
        return total

    def find_row_maximum(self, amounts: IntArray) -> IntArray:
        """Return for each pair the largest amount of its row's pairs."""
        if not len(self):
            return amounts
        largest: IntArray = np.maximum.reduceat(amounts, self._firsts)[self._group]
        return largest

    def take_row_first(self, values: IntArray) -> IntArray:
        """Return for each pair the value of its row's first pair."""
        return values[self._firsts][self._group]

    def mark_only(self, mask: BoolArray) -> BoolArray:
        """Mark the marked pairs of rows that have no other marked pair."""
        is_only: BoolArray = mask & (self.sum_per_row(mask) == 1)
        return is_only

    @property
    def is_alone(self) -> BoolArray:
        """Marks the pairs that are the only one of their row."""
        mask: BoolArray = self._opens & np.append(self._opens[1:], True)[: len(self)]
        return mask

    @cached_property
    def _opens(self) -> BoolArray:
        """Marks the first pair of each row."""
        return np.append(True, self.row[1:] != self.row[:-1])[: len(self)]

    @cached_property
    def _firsts(self) -> IntArray:
        return np.flatnonzero(self._opens)

    @cached_property
    def _group(self) -> IntArray:
        """The rows that have pairs, numbered from 0 on."""
        return np.cumsum(self._opens) - 1
