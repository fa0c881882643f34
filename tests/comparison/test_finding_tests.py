"""The exact test of the runs that have a finding: against scipy, and the rate of marks without a difference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tracekit.comparison.finding_tests import compute_p, mark_different
from tracekit.comparison.result import FindingSide


@pytest.mark.parametrize(
    ("base", "new", "runs"), [(0, 3, 3), (0, 2, 2), (1, 3, 3), (0, 4, 5), (0, 3, 5), (0, 3, 4), (2, 8, 10)]
)
def test_equal_sides_have_the_p_of_scipy(base: int, new: int, runs: int) -> None:
    table = [[base, new], [runs - base, runs - new]]
    assert compute_p(base, runs, new, runs) == pytest.approx(
        stats.boschloo_exact(table, n=64).pvalue, abs=2e-4
    )


@pytest.mark.parametrize(
    ("base", "base_runs", "new", "new_runs"), [(0, 1, 5, 5), (0, 2, 5, 5), (1, 3, 7, 9), (0, 40, 6, 40)]
)
def test_no_share_of_runs_has_a_larger_chance(base: int, base_runs: int, new: int, new_runs: int) -> None:
    """Drawn pairs of counts, of runs with the finding in a share, have a p as small in no more than p."""
    limit = compute_p(base, base_runs, new, new_runs)
    rng = np.random.default_rng(7)
    for share in (0.05, 0.2, 0.5, 0.8):
        drawn = zip(rng.binomial(base_runs, share, 2000), rng.binomial(new_runs, share, 2000), strict=True)
        p_values = [compute_p(int(count), base_runs, int(new_count), new_runs) for count, new_count in drawn]
        error = np.sqrt(limit * (1 - limit) / 2000)
        assert np.mean(np.array(p_values) <= limit * (1 + 1e-9)) <= limit + 4 * error + 1e-9


def sides(*counts: tuple[int, int, int]) -> list[tuple[FindingSide, FindingSide]]:
    """Return BASE and NEW of findings: runs of a side, those of BASE that have it, those of NEW."""
    return [(FindingSide(runs, base), FindingSide(runs, new)) for runs, base, new in counts]


@pytest.mark.parametrize(
    ("counts", "marked"),
    [
        ([(1, 0, 1)], [False]),
        ([(2, 0, 2)], [False]),
        ([(3, 0, 3)], [True]),
        ([(3, 1, 3)], [False]),
        ([(5, 0, 4)], [True]),
        ([(5, 0, 3)], [False]),
        # Two that come together do not weaken each new_count; nor do findings that could show no difference.
        ([(3, 0, 3), (3, 3, 0)], [True, True]),
        ([(3, 0, 3), (3, 3, 3), (3, 0, 1)], [True, False, False]),
        # Of two that could differ, one alone needs half of the 5 %.
        ([(3, 0, 3), (3, 1, 2)], [False, False]),
        ([(10, 0, 9), (10, 4, 5)], [True, False]),
    ],
)
def test_findings_are_marked(counts: list[tuple[int, int, int]], marked: list[bool]) -> None:
    assert mark_different(sides(*counts)) == marked


@pytest.mark.parametrize("runs", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("findings", [1, 3])
@pytest.mark.parametrize("share", [0.18, 0.5])
def test_at_most_one_comparison_in_twenty_has_a_mark_by_chance(
    runs: int, findings: int, share: float
) -> None:
    counts = np.random.default_rng(4).binomial(runs, share, (1000, findings, 2)).tolist()
    marked = sum(any(mark_different(sides(*((runs, a, b) for a, b in pairs)))) for pairs in counts)
    assert marked <= 50 + 3 * np.sqrt(50)
