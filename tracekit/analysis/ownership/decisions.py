"""Decisions: the owner of each row, as rules find it."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.ownership.owners import OWNER_CODE, REASON_CODE, Assignment, Owner, Reason
from tracekit.analysis.ownership.pairs import Pairs
from tracekit.model.columns import BoolArray, IntArray


class Decisions:
    """The owners of rows so far; a later decision replaces an earlier one's owner and reason."""

    def __init__(self, count: int) -> None:
        self._owner, self._reason = np.full((2, count), -1, np.int8)
        none = np.zeros(0, np.int64)
        self._owned: list[tuple[IntArray, IntArray]] = [(none, none)]
        self._contested: list[tuple[IntArray, IntArray]] = [(none, none)]

    def set(self, rows: BoolArray | IntArray, owner: Owner, reason: Reason) -> None:
        """Give rows an owner other than a call."""
        self._owner[rows], self._reason[rows] = OWNER_CODE[owner], REASON_CODE[reason]

    def give(self, pairs: Pairs, mask: BoolArray, reason: Reason) -> None:
        """Give the rows of the marked pairs to their calls."""
        rows = pairs.row[mask]
        self.set(rows, Owner.CALL, reason)
        self._owned.append((rows, pairs.call[mask]))

    def contest(self, pairs: Pairs, mask: BoolArray, reason: Reason) -> None:
        """Leave the rows of the marked pairs between their calls."""
        rows = pairs.row[mask]
        self.set(rows, Owner.CONTESTED, reason)
        self._contested.append((rows, pairs.call[mask]))

    def build_assignment(self, window: IntArray, crowded: BoolArray, doubted: BoolArray) -> Assignment:
        """Return the decisions; ``window`` has the window of each call."""
        owned, contested = (
            tuple(np.concatenate(part) for part in zip(*parts, strict=True))
            for parts in (self._owned, self._contested)
        )
        return Assignment(
            self._owner,
            self._reason,
            owned[0],
            window[owned[1]],
            contested[0],
            window[contested[1]],
            crowded,
            doubted,
        )
