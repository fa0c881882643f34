"""The typical call of each model, and how every other call differs from it, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from tracekit.analysis.budget.budget import BudgetSums
from tracekit.analysis.budget.parts import BudgetPart
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray

FEWEST_CALLS = 3
"""A model with fewer calls has no typical one."""
_NOTABLE_SHARE, _NOTABLE_PART = 0.05, 0.25
"""Choices: a difference of less of the typical length, or of one part by less of it, is not worth a look."""


class CallGroup(Protocol):
    """Calls of one model."""

    @property
    def rows(self) -> IntArray:
        """The rows of the calls, in order of time."""


@frozen(eq=False)
class Differences:
    """How each call differs from the typical one of its model: arrays, row-aligned to the calls.

    ``typical`` is the row of that call, -1 where there is none. ``length_ns`` is 0 there, and so are the
    differences of all parts (``part_ns``: a row per call, a column for each of ``parts``), which sum to it.
    ``is_longer`` and ``is_shorter`` mark the calls whose length differs by more than calls of the model vary,
    ``is_different`` those whose parts do: a call of the same length may have run elsewhere.
    """

    typical: IntArray
    length_ns: IntArray
    parts: tuple[BudgetPart, ...]
    part_ns: IntArray
    is_longer: BoolArray
    is_shorter: BoolArray
    is_different: BoolArray

    @cached_property
    def main_parts(self) -> IntArray:
        """The position of the part that grew most in each longer call, or shrank most in a shorter one.

        In other calls that are different it is the part that differs most; -1 in all that are not.
        """
        if not self.parts:
            return np.full(len(self.typical), -1, np.int64)
        sign = self.is_longer.astype(np.int64) - self.is_shorter
        amount = np.where(sign[:, None] == 0, np.abs(self.part_ns), self.part_ns * sign[:, None])
        has_cause = self.is_longer | self.is_shorter | self.is_different
        return np.where(has_cause, amount.argmax(axis=1), -1)


def compare_with_typical(
    groups: Sequence[CallGroup], lengths: IntArray, is_comparable: BoolArray, sums: BudgetSums
) -> Differences:
    """Return the difference of each call to the typical one among the comparable calls of its group.

    The typical call is a call of the recording, so that the differences of its parts sum to that of the
    length: of the half of the calls whose lengths are closest together, the one whose parts are closest to
    the median of each part.
    """
    typical = np.full(len(lengths), -1, np.int64)
    spread = np.zeros(len(lengths), np.int64)
    for group in groups:
        rows = group.rows[is_comparable[group.rows]]
        if len(rows) < FEWEST_CALLS:
            continue
        typical[group.rows] = _find_typical(rows, lengths[rows], sums.by_part[rows])
        spread[group.rows] = _measure_spread(lengths[rows])
    has_typical = typical >= 0
    difference = np.where(has_typical, lengths - lengths[typical], 0)
    by_part = np.where(has_typical[:, None], sums.by_part - sums.by_part[typical], 0)
    length = np.where(has_typical, lengths[typical] if len(lengths) else lengths, 0)
    limit = np.maximum(spread, _NOTABLE_SHARE * length)
    differs = np.abs(by_part).max(axis=1, initial=0) > _NOTABLE_PART * length
    return Differences(
        typical,
        difference,
        sums.parts,
        by_part,
        difference > limit,
        -difference > limit,
        differs & has_typical,
    )


def _find_typical(rows: IntArray, lengths: IntArray, by_part: IntArray) -> int:
    order = np.argsort(lengths, kind="stable")
    begin, count, _ = _find_densest_half(lengths[order])
    alike = order[begin : begin + count]
    distance = np.abs(by_part[alike] - np.median(by_part[alike], axis=0)).sum(axis=1)
    return int(rows[alike[distance.argmin()]])


def _measure_spread(lengths: IntArray) -> int:
    """Return the width of the shortest range that holds half of the lengths: a second kind adds nothing."""
    return _find_densest_half(np.sort(lengths))[2]


def _find_densest_half(ordered: IntArray) -> tuple[int, int, int]:
    """Return where the shortest range with half of the lengths begins, how many it has, and its width.

    Of ranges of one width it is the one of the shortest lengths: calls that are slow differ from it.
    """
    count = (len(ordered) + 1) // 2
    widths = ordered[count - 1 :] - ordered[: len(ordered) - count + 1]
    begin = int(widths.argmin())
    return begin, count, int(widths[begin])
