"""The budgets of the calls of each model, summed, with the median of each part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracekit.analysis.budget.budget import BudgetSums
from tracekit.analysis.budget.parts import BudgetKind
from tracekit.analysis.budget.typical import CallGroup
from tracekit.frozen import frozen


@frozen
class PartTotal:
    """One part of the calls of a group: ``position`` is the group's, ``calls`` those that have time of it.

    ``total_ns`` and ``overlap_ns`` are sums over all calls of the group, ``median_ns`` the median of all.
    """

    position: int
    kind: BudgetKind
    calls: int
    total_ns: int
    overlap_ns: int
    median_ns: int


def sum_by_group(groups: Sequence[CallGroup], sums: BudgetSums) -> Iterator[PartTotal]:
    """Yield the parts that the calls of each group have, in order of precedence."""
    for position, group in enumerate(groups):
        durations, overlaps = sums.duration_ns[group.rows], sums.overlap_ns[group.rows]
        for column, kind in enumerate(sums.kinds):
            duration = durations[:, column]
            calls = int(np.count_nonzero(duration))
            if calls:
                yield PartTotal(
                    position,
                    kind,
                    calls,
                    sum(duration.tolist()),  # whole numbers of Python: hostile lengths may not fit 64 bits
                    sum(overlaps[:, column].tolist()),
                    int(np.percentile(duration, 50, method="inverted_cdf")),
                )
