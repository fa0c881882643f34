"""The typical call of each model, and how every other call differs from it, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tracekit.analysis.budget.budget import BudgetSums
from tracekit.analysis.budget.parts import EXECUTING, BudgetPart
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import Basis

FEWEST_CALLS = 3
"""A model with fewer calls has no typical one."""
_NOTABLE_SHARE, _NOTABLE_PART = 0.05, 0.25
"""Choices: a difference of less of the typical length, or of one part by less of it, is not worth a look."""
_ABOUT_ALIKE = 0.75
"""A choice: a part that differs by so much of the most may be named before one that is known less well."""
_WORK = frozenset({*EXECUTING.values(), BudgetPart.OTHER_PROCESS, BudgetPart.OTHER_CALL})
"""Parts that contested work may belong to."""


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
    main_parts: IntArray
    """The position of the part that grew most in each longer call, or shrank most in a shorter one; in other
    calls that are different, of the one that differs most. -1 in all that are not, and where no part is known
    to differ. Of parts that differ about alike it is the one whose time is known best."""
    main_ns: IntArray
    """The least difference of that part: less than ``part_ns`` where contested work may be the rest."""

    @property
    def is_notable(self) -> BoolArray:
        """Mask of the calls that differ from the typical one by more than calls of their model vary."""
        return self.is_longer | self.is_shorter | (self.main_parts >= 0)


def compare_with_typical(
    groups: Sequence[CallGroup], lengths: IntArray, is_comparable: BoolArray, sums: BudgetSums
) -> Differences:
    """Return the difference of each call to the typical one among the comparable calls of its group.

    The typical call is a call of the recording, so that the differences of its parts sum to that of the
    length: of the half of the calls whose lengths are closest together, the one whose parts are closest to
    the median of each part; one without contested time, if there is one.
    """
    typical = np.full(len(lengths), -1, np.int64)
    spread = np.zeros(len(lengths), np.int64)
    contested = sums.sum_part(BudgetPart.CONTESTED)
    for group in groups:
        rows = group.rows[is_comparable[group.rows]]
        if len(rows) < FEWEST_CALLS:
            continue
        typical[group.rows] = rows[_find_typical(lengths[rows], sums.by_part[rows], contested[rows])]
        spread[group.rows] = _measure_spread(lengths[rows])
    has_typical = typical >= 0
    difference = np.where(has_typical, lengths - lengths[typical], 0)
    by_part = np.where(has_typical[:, None], sums.by_part - sums.by_part[typical], 0)
    length = np.where(has_typical, lengths[typical] if len(lengths) else lengths, 0)
    limit = np.maximum(spread, _NOTABLE_SHARE * length)
    differs = np.abs(by_part).max(axis=1, initial=0) > _NOTABLE_PART * length
    sign = np.sign(difference) * (np.abs(difference) > limit)
    main, main_ns = np.full(len(lengths), -1, np.int64), np.zeros(len(lengths), np.int64)
    rows = np.flatnonzero((sign != 0) | (differs & has_typical))
    main[rows], main_ns[rows] = _find_main_parts(sums, by_part[rows], sign[rows])
    return Differences(
        typical,
        difference,
        sums.parts,
        by_part,
        sign > 0,
        sign < 0,
        differs & has_typical,
        main,
        main_ns,
    )


def _find_main_parts(sums: BudgetSums, by_part: IntArray, sign: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each call the position of the part that explains most of its difference, and how much.

    ``sign`` is 1 for longer calls, -1 for shorter ones: their parts that grew, or shrank, count. The position
    is -1 where no part is known to.
    """
    if not by_part.size:
        return np.full(len(by_part), -1, np.int64), np.zeros(len(by_part), np.int64)
    clear = _exclude_contested(sums.parts, by_part)
    amount = np.where(sign[:, None] == 0, np.abs(clear), clear * sign[:, None])
    most = amount.max(axis=1, keepdims=True)
    ranks = np.where(amount >= _ABOUT_ALIKE * most, sums.basis_ranks, len(Basis) + 1)
    main = np.where(ranks == ranks.min(axis=1, keepdims=True), amount, -1).argmax(axis=1)
    is_known = most[:, 0] > 0
    amount_ns = clear[np.arange(len(main)), main]
    return np.where(is_known, main, -1), np.where(is_known, amount_ns, 0)


def _exclude_contested(parts: tuple[BudgetPart, ...], by_part: IntArray) -> IntArray:
    """Return the differences without work that one of two calls has for certain, and the other may have."""
    if BudgetPart.CONTESTED not in parts:
        return by_part
    contested = by_part[:, [parts.index(BudgetPart.CONTESTED)]]
    is_work = np.array([part in _WORK for part in parts])
    shared = np.minimum(np.abs(contested), np.abs(by_part))
    is_opposite = np.sign(contested) == -np.sign(by_part)
    return by_part - np.where(is_work & is_opposite, np.sign(by_part) * shared, 0)


def _find_typical(lengths: IntArray, by_part: IntArray, contested_ns: IntArray) -> int:
    is_contested = contested_ns > 0
    order = np.lexsort((is_contested, lengths))
    begin, count, _ = _find_densest_half(lengths[order])
    alike = order[begin : begin + count]
    distance = np.abs(by_part[alike] - np.median(by_part[alike], axis=0)).sum(axis=1)
    return int(alike[np.lexsort((distance, is_contested[alike]))[0]])


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
