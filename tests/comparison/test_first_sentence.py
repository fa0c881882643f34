"""The outcome of a comparison: p50, p90 and mean together, late calls, and lengths on a grid."""

from __future__ import annotations

import numpy as np
import pytest
from compare_support import recorded, row

from tracekit import Analysis, compare
from tracekit.checks.changes import check_changes
from tracekit.checks.parser import parse_change
from tracekit.comparison.estimates import Estimate
from tracekit.comparison.first_sentence import hold_family
from tracekit.comparison.result import Comparison, Difference, Value
from tracekit.comparison.rows import build_tested_row
from tracekit.report.comparison.decision import decide_outcome
from tracekit.report.comparison.headline import sentence

BODY = [10.0, 10.4, 9.6, 10.2, 9.8, 10.1, 9.9, 10.3, 9.7, 10.0]
FRAME = 1e3 / 60


def of_change(change: float) -> Estimate:
    """A difference with a standard error of 1 and a normal distribution, around 100."""
    return Estimate(100.0, 100.0 + change, change, 1.0, np.inf, "linear", "between runs")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # Normal quantiles at 1 - 4 %/k, two-sided: 2.479 for k = 3, 2.326 for 2, 2.054 for 1.
        ((2.5, 2.4, 2.1), [("higher", 3), ("higher", 2), ("higher", 1)]),
        ((2.1, 2.5, 2.4), [("higher", 1), ("higher", 3), ("higher", 2)]),
        ((2.5, 2.3, 2.2), [("higher", 3), ("within the noise", 2), ("within the noise", 2)]),
        ((2.4, 2.4, 2.4), [("within the noise", 3)] * 3),
        ((-2.5, 2.5, 0.0), [("lower", 3), ("higher", 3), ("within the noise", 1)]),
    ],
)
def test_holms_procedure_tests_what_is_left_with_more_of_the_level(
    changes: tuple[float, ...], expected: list[tuple[str, int]]
) -> None:
    value = Value(100.0, 10, 10)

    def build(number: int, level: float) -> Difference:
        return build_tested_row("p50", "ns", (value, value), of_change(changes[number]), level)

    rows = hold_family([build(number, 0.95) for number in range(len(changes))], build)
    assert [(tested.judgement, round(0.04 / (1 - tested.level))) for tested in rows] == expected


def test_the_p50_has_half_of_the_level() -> None:
    value, names = Value(100.0, 10, 10), ("p50", "p90", "mean")

    def build(number: int, level: float) -> Difference:
        return build_tested_row(names[number], "ns", (value, value), of_change(2.4), level)

    rows = hold_family([build(number, 0.95) for number in range(3)], build)
    # The p50 is tested at 98 % (2.326), the others at 99 % (2.576); these are left, at 98 % each.
    assert [tested.judgement for tested in rows] == ["higher"] * 3
    assert [tested.level for tested in rows] == pytest.approx([0.98, 0.98, 0.98])


def test_rows_without_an_interval_take_no_part() -> None:
    value = Value(100.0, 10, 10)
    too_few = Difference("p90", "ns", value, value, 1.0, None, None, "too few to tell")
    assert hold_family([too_few], lambda *_: pytest.fail("not tested")) == [too_few]


def runs_of(lengths: list[float], spread: float = 0.002, count: int = 5) -> list[Analysis]:
    levels = 1 + spread * np.linspace(-1, 1, count)
    return [recorded([level * length for length in lengths]) for level in levels]


@pytest.mark.integration
def test_slow_calls_that_became_slower_are_no_unchanged_program() -> None:
    base, new = runs_of([*BODY, 12.0, 12.5] * 2), runs_of([*BODY, 21.0, 22.0] * 2)
    comparison = compare(base, new)
    assert decide_outcome(comparison) == "slower"
    text = sentence(comparison)
    assert text.startswith(
        "NEW is slower: Net p90 21.0 ms against 12.0 ms (+75 %, 99 % interval +74.4 … +75.6 %)"
    )
    assert "mean +14.9 %; p50 unchanged to within 1 %." in text
    assert "p90 12.0 → 21.0 ms" in comparison.to_text()


@pytest.mark.integration
def test_no_change_needs_the_slow_calls_as_well() -> None:
    base = runs_of(BODY * 2)
    noisy = [recorded([*BODY, *BODY[:8], slow, slow]) for slow in (11.0, 14.0, 10.0, 18.0, 12.0)]
    assert decide_outcome(compare(base, runs_of(BODY * 2, 0.0021))) == "same"
    comparison = compare(base, noisy)
    assert decide_outcome(comparison) == "not shown"
    assert sentence(comparison).startswith(
        "No difference in length is shown: Net p50 10.000 ms against 10.000 ms"
    )


@pytest.mark.integration
def test_lengths_that_moved_apart_are_slower_and_faster() -> None:
    comparison = compare(
        runs_of([*BODY, 12.0, 12.5] * 2), runs_of([*(0.9 * n for n in BODY), 21.0, 22.0] * 2)
    )
    assert decide_outcome(comparison) == "slower and faster"
    assert "NEW is slower: Net p90" in sentence(comparison)
    assert "NEW is faster: Net p50" in sentence(comparison)


@pytest.mark.integration
def test_each_deadline_has_a_row_of_late_calls() -> None:
    base, new = runs_of([*BODY, 12.0, 12.5] * 2), runs_of([*BODY, 21.0, 22.0] * 2)
    comparison = compare(base, new, deadlines_ns=[16.7e6, 11e6])
    names = [compared.metric for compared in comparison.groups[0].rows]
    assert [name for name in names if name.startswith("calls")] == ["calls > 11ms", "calls > 16.7ms"]
    late = row(comparison, "calls > 16.7ms")
    assert (late.base.value, late.new.value, late.judgement) == (0.0, pytest.approx(1 / 6), "higher")
    assert row(comparison, "calls > 11ms").difference == 0
    texts = ("calls > 16.7ms > +2 points", "calls > 16.7ms > +40 points", "calls > 11ms > +20 points")
    results = check_changes(comparison, [parse_change(text) for text in texts])
    assert [result.outcome for result in results] == ["failed", "passed", "passed"]
    (other,) = check_changes(comparison, [parse_change("calls > 20ms > +2 points")])
    assert (other.outcome, other.reason) == ("not measurable", "no such deadline was compared")
    assert not any(name.startswith("calls") for name in (r.metric for r in compare(base, new).groups[0].rows))


def frames(counts: list[int], seed: int) -> Analysis:
    """Calls that take one frame, those of ``counts`` two, with the jitter of a display."""
    rng = np.random.default_rng(seed)
    late = np.zeros(50, bool)
    late[rng.permutation(50)[: counts[seed % len(counts)]]] = True
    return recorded(list(np.where(late, 2 * FRAME, FRAME) + rng.normal(0, 0.05, 50)))


def compare_frames(base: list[int], new: list[int]) -> Comparison:
    return compare([frames(base, n) for n in range(5)], [frames(new, n) for n in range(5, 10)])


@pytest.mark.integration
def test_lengths_on_frames_are_compared_by_late_calls_and_the_mean() -> None:
    comparison = compare_frames([1, 2, 1, 0, 2], [12, 15, 14, 11, 13])
    late = row(comparison, "calls > 17ms")
    assert (late.base.value, late.new.value) == (pytest.approx(0.024), pytest.approx(0.26))
    percentiles = [row(comparison, name) for name in ("p50", "p90", "p99", "warm p90", "first")]
    assert {(compared.judgement, compared.low, compared.tested) for compared in percentiles} == {
        ("on a grid", None, None)
    }
    text = sentence(comparison)
    assert text.startswith("NEW is slower: Net calls > 17ms 26.0 % against 2.4 % (+23.6 pts, 98 % interval +")
    assert "mean +23." in text
    assert "Lengths end at frames of 16.7 ms, so percentiles jump and are not tested" in text
    p50, mean = check_changes(comparison, [parse_change("p50 > +5%"), parse_change("mean > +5%")])
    assert (p50.outcome, mean.outcome) == ("not measurable", "failed")
    assert decide_outcome(compare_frames([5, 6, 4, 7, 5], [6, 5, 5, 4, 7])) == "not shown"


@pytest.mark.integration
def test_one_run_per_side_on_frames_is_described_the_same_way() -> None:
    comparison = compare([frames([1], 0)], [frames([30], 1)])
    assert row(comparison, "p50").judgement == "on a grid"
    assert sentence(comparison).startswith(
        "In these recordings NEW is slower: Net calls > 17ms 60.0 % against 2.0 %"
    )
