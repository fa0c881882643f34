"""Owners: who each interval of an engine's table is assigned to, and by what evidence."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray


class Owner(StrEnum):
    """Whose work an interval is."""

    CALL = "call"
    PROCESS = "process"  # the analysis' own, in no call: a load, a warm-up, another API
    OTHER = "other process"
    CONTESTED = "contested"  # several owners fit


class Reason(StrEnum):
    """The evidence that decided, the strongest kinds first."""

    NAMED_PROCESS = "named process"  # the row, its twin in another table or the log names the process
    LABEL = "label"  # it names a model that is none of the target's
    CONTAINED = "contained"  # it lies in one call only
    MOST = "most of it"  # it reaches beyond the call that most of it lies in
    LABEL_ALONE = "label alone"  # every other row of its label is of calls of one model and thread
    SUBMITTED = "submitted"  # a stack hands over work where the interval begins
    ENGINE_SEEN = "engine seen"  # of the calls around it, one alone shows the engine on its stacks
    OUTSIDE = "outside"  # it lies in no call
    SEVERAL_CALLS = "several calls"  # it fits several calls
    SECOND_USER = "second user"  # rows or stacks show that another owner uses the engine as well
    DOUBTFUL = "doubtful"  # what a call shows meanwhile, its edges or another thread's calls leave doubt
    NO_SUBMITTER = "no submitter"  # no stack shows that the call's process used the engine for this label


OWNERS, REASONS = tuple(Owner), tuple(Reason)
OWNER_CODE = {owner: code for code, owner in enumerate(OWNERS)}
REASON_CODE = {reason: code for code, reason in enumerate(REASONS)}


@frozen(eq=False)
class Assignment:
    """The owner of each interval, as codes in ``OWNERS`` and ``REASONS``; -1 for rows that report no work.

    ``owned_row`` and ``owned_call`` are the intervals of calls: several for one interval only where calls of
    one thread nest. ``contested_row`` and ``contested_call`` are the calls that may own a contested interval;
    ``crowded`` marks intervals of more calls than are listed, and ``doubted`` those that name a model which
    another process has as well.
    """

    owner: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    owned_row: IntArray
    owned_call: IntArray
    contested_row: IntArray
    contested_call: IntArray
    crowded: BoolArray
    doubted: BoolArray

    def without_calls(self) -> Assignment:
        """Return the owners without the calls that own the intervals."""
        nothing = np.zeros(0, np.int64)
        return replace(
            self, owned_row=nothing, owned_call=nothing, contested_row=nothing, contested_call=nothing
        )

    def is_owner(self, owner: Owner) -> BoolArray:
        """Mark the intervals with this owner."""
        mask: BoolArray = self.owner == OWNER_CODE[owner]
        return mask

    def has_reason(self, *reasons: Reason) -> BoolArray:
        """Mark the intervals that one of these reasons decided."""
        mask: BoolArray = np.isin(self.reason, [REASON_CODE[reason] for reason in reasons])
        return mask
