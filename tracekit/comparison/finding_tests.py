"""Whether the runs of two sides differ in a finding: an exact test, held together over all findings.

Runs with a finding are counted on each side. With three runs a side, Fisher's exact test cannot show any
difference (0.1 for all against none), because it holds the total fixed. Boschloo's test (1970) takes Fisher's
p as its statistic and the largest chance of it over all shares of runs that the finding may have in truth:
0.031 for three against none of three, 0.125 for two of two. One run a side never shows one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from tracekit.comparison.result import FindingSide

_ALPHA = 0.05
_SHARES = np.linspace(0, 1, 201)[1:-1]
_MOST_RUNS = 60
"""Of both sides; counts of more runs are tested by Fisher's p, close to Boschloo's then, and larger."""


def mark_different(sides: Sequence[tuple[FindingSide, FindingSide]]) -> list[bool]:
    """Mark the findings that more runs of one side have than chance gives, all of them together at 5 %.

    Findings whose total is so low, or so high, that no division between the sides could show a difference are
    not counted (Tarone 1990). Of the rest, all are marked whose p is no larger than the 5 % divided by the
    number of those with a larger one, and one (Hochberg 1988): findings that come and go together do not
    weaken each other.
    """
    counts = [(base.found, base.runs, new.found, new.runs) for base, new in sides]
    testable = [number for number, count in enumerate(counts) if _find_smallest_p(*count) <= _ALPHA]
    p_values = {number: compute_p(*counts[number]) for number in testable}
    marked = [False] * len(counts)
    for rank, number in enumerate(sorted(testable, key=lambda number: -p_values[number]), start=1):
        if p_values[number] <= _ALPHA / rank:
            for other in testable:
                marked[other] = p_values[other] <= p_values[number]
            break
    return marked


@cache
def compute_p(base: int, base_runs: int, new: int, new_runs: int) -> float:
    """Return the two-sided p of ``base`` of ``base_runs`` against ``new`` of ``new_runs``."""
    observed = _compute_fisher(base, base_runs, new, new_runs)
    if base_runs + new_runs > _MOST_RUNS:
        return observed
    chance = np.zeros(len(_SHARES))
    for count in range(base_runs + 1):
        for other in range(new_runs + 1):
            if _compute_fisher(count, base_runs, other, new_runs) <= observed * (1 + 1e-9):
                ways = math.comb(base_runs, count) * math.comb(new_runs, other)
                have, lack = count + other, base_runs + new_runs - count - other
                chance += ways * _SHARES**have * (1 - _SHARES) ** lack
    return min(1.0, float(chance.max()))


@cache
def _compute_fisher(base: int, base_runs: int, new: int, new_runs: int) -> float:
    """Return the chance of this division of the total between the sides, or of a rarer one."""
    total = base + new
    ways = [
        math.comb(base_runs, count) * math.comb(new_runs, total - count)
        for count in range(max(0, total - new_runs), min(total, base_runs) + 1)
    ]
    limit = math.comb(base_runs, base) * math.comb(new_runs, new)
    return sum(way for way in ways if way <= limit) / sum(ways)


def _find_smallest_p(base: int, base_runs: int, new: int, new_runs: int) -> float:
    """Return the smallest p of any division of the total between the sides."""
    total = base + new
    least, most = max(0, total - new_runs), min(total, base_runs)
    return min(compute_p(count, base_runs, total - count, new_runs) for count in (least, most))
