"""The parts in which two groups of calls differ: explained where they do, and hardly ever where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.findings.group_parts import find_different_parts
from tracekit.analysis.findings.series import FloatArray, mark_longer_group

PARTS = (BudgetPart.ANE, BudgetPart.COPY, BudgetPart.RUNTIME, BudgetPart.IDLE)
RUNS = 200


def resemble(rng: np.random.Generator, count: int, correlation: float) -> FloatArray:
    """Return standard normal values, each of which resembles the last."""
    values = rng.standard_normal(count)
    for row in range(1, count):
        values[row] = correlation * values[row - 1] + np.sqrt(1 - correlation**2) * values[row]
    return values


@pytest.mark.integration
@pytest.mark.parametrize(
    ("count", "correlation"), [(20, 0), (20, 0.5), (60, 0), (60, 0.5), (200, 0.5), (200, 0.9)]
)
@pytest.mark.parametrize("is_step", [True, False])
def test_other_parts_differ_in_at_most_5_percent(count: int, correlation: float, is_step: bool) -> None:
    """The Neural Engine alone makes the longer group; three other parts vary by chance."""
    rng = np.random.default_rng(11)
    alarms = explained = marked = 0
    for _ in range(RUNS):
        is_slow = np.arange(count) >= count // 2 if is_step else rng.random(count) < 0.3
        times = [
            10e6 * (1 + 0.03 * resemble(rng, count, correlation)) + 8e6 * is_slow,
            2e6 * np.exp(0.2 * resemble(rng, count, correlation)),
            1e6 * np.exp(0.3 * resemble(rng, count, correlation)),
            np.where(rng.random(count) < 0.1, 3e6, 0),
        ]
        part_ns = np.stack(times, axis=1).astype(np.int64)
        is_long = mark_longer_group(np.log(part_ns.sum(axis=1)))
        if is_long is None:
            continue
        marked += 1
        different = {part.part for part in find_different_parts(is_long, PARTS, part_ns)}
        explained += BudgetPart.ANE in different
        alarms += bool(different - {BudgetPart.ANE})
    assert marked > RUNS / 2
    assert alarms <= 0.05 * marked
    assert explained >= 0.98 * marked


def test_a_part_that_shrinks_is_negative_and_comes_last() -> None:
    is_long = np.array([False, True] * 20)
    part_ns = np.stack([np.where(is_long, 30, 10), np.where(is_long, 5, 15)], axis=1) * 1_000_000
    part_ns[::4] += 1000
    different = find_different_parts(is_long, (BudgetPart.COPY, BudgetPart.ANE), part_ns)
    assert [(part.part, round(part.difference_ns, -5)) for part in different] == [
        ("copy", 20_000_000),
        ("ANE", -10_000_000),
    ]


def test_no_part_differs_where_all_are_alike() -> None:
    part_ns = np.full((40, 1), 5_000_000)
    assert find_different_parts(np.array([False, True] * 20), (BudgetPart.ANE,), part_ns) == ()


@pytest.mark.integration
def test_parts_of_independent_calls_agree_with_welchs_and_a_permutation_test() -> None:
    """A listed part is one that both tests of independent values find, and what they find beyond doubt is listed."""
    rng = np.random.default_rng(5)
    listed = sure = missed = 0
    for _ in range(150):
        count = int(rng.integers(24, 200))
        is_long = rng.random(count) < rng.uniform(0.25, 0.75)
        growth = np.array([8, rng.uniform(0, 3), 0.0]) * 1e6
        part_ns = (10e6 + growth * is_long[:, None] + rng.standard_normal((count, 3)) * 1e6).astype(np.int64)
        different = {part.part for part in find_different_parts(is_long, PARTS[:3], part_ns)}
        for part, times in zip(PARTS[:3], part_ns.T, strict=True):
            probability = stats.ttest_ind(times[is_long], times[~is_long], equal_var=False).pvalue
            if part in different:
                listed += 1
                assert probability < 0.05 / 3
            sure += probability < 1e-9
            missed += probability < 1e-9 and part not in different
    assert listed > 200
    assert sure > 150
    assert missed <= 0.02 * sure
    shares = stats.permutation_test(
        (part_ns[is_long, 0], part_ns[~is_long, 0]),
        lambda first, second, axis: first.mean(axis) - second.mean(axis),
        n_resamples=999,
        vectorized=True,
        rng=1,
    )
    assert (PARTS[0] in different, shares.pvalue) == (True, pytest.approx(0.002, abs=0.001))
