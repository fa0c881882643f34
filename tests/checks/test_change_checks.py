"""``--fail-on``: differences that are too large, that are noise, and that nothing shows."""

from __future__ import annotations

from functools import cache

import pytest
from compare_support import recorded
from evidence_support import core_ml, prediction, with_evidence
from trace_support import BNNS, trace_of

from tracekit import Analysis, Comparison, analyze, compare
from tracekit.checks.changes import ONE_RUN, check_changes, estimate_runs_needed
from tracekit.checks.parser import parse_change
from tracekit.checks.results import ChangeResult, OpenCounts, choose_exit_code
from tracekit.report.comparison.wording import change_reason

pytestmark = pytest.mark.integration

LENGTHS = [10.0, 12, 11, 13, 10, 12, 11, 14, 10, 12] * 3
NOISY = [10.0, 40, 11, 13, 30, 12, 11, 14, 50, 12]


@cache
def compared(base: tuple[float, ...], new: tuple[float, ...], run_noise: float | None) -> Comparison:
    spreads = None if run_noise is None else {"p50": run_noise, "p90": run_noise}
    return compare([recorded(base)], [recorded(new)], run_noise=spreads)


def judged(
    base: list[float], new: list[float], text: str, strict: bool = False, run_noise: float | None = 0.0
) -> ChangeResult:
    """Judge one run per side; a given spread of 0 between runs leaves the variation within them."""
    comparison = compared(tuple(base), tuple(new), run_noise)
    (result,) = check_changes(comparison, [parse_change(text)], strict)
    return result


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("p50 > +10%", "failed"),
        ("p50 > +46%", "open"),
        ("p50 > +90%", "passed"),
        ("p50 > +5ms", "open"),
        ("p50 > +1ms", "failed"),
        ("p50 < -10%", "passed"),
        ("p90 > +0%", "not measurable"),  # of 30 calls, none bounds a p90: 0.9^30 = 4 %
        ("ANE share < -5 points", "open"),
        ("ANE share < -40 points", "passed"),
        ("hand-offs > +0", "passed"),
    ],
)
def test_five_milliseconds_more(text: str, outcome: str) -> None:
    assert judged(LENGTHS, [length + 5 for length in LENGTHS], text).outcome == outcome


def test_faster_fails_on_request() -> None:
    assert judged([length + 5 for length in LENGTHS], LENGTHS, "p50 < -1ms").outcome == "failed"


def test_one_run_per_side_leaves_every_change_open() -> None:
    for text in ("p50 > +10%", "p50 > +90%", "ANE share < -40 points"):
        result = judged(LENGTHS, [length + 5 for length in LENGTHS], text, run_noise=None)
        assert (result.outcome, result.reason) == ("open", ONE_RUN)
    assert "Record five runs per side, or give --run-noise or --noise-from" in change_reason(result)


def test_several_runs_decide() -> None:
    base, new = (
        [recorded([factor * level * length for length in LENGTHS]) for level in (0.99, 1, 1.01)]
        for factor in (1.0, 1.1)
    )
    comparison = compare(base, new)
    texts = ("p50 > +5%", "p50 > +15%", "p50 > +10%", "p50 > +1ms", "p50 > +0.5ms")
    results = check_changes(comparison, [parse_change(text) for text in texts])
    assert [result.outcome for result in results] == ["failed", "passed", "open", "open", "failed"]
    assert results[2].reason == "the interval reaches across the threshold"
    assert "95 % interval +7.5 … +12.5 %" in change_reason(results[2])


def test_two_runs_per_side_would_show_it_in_two_of_three_comparisons() -> None:
    base, new = (
        [recorded([level * length for length in LENGTHS]) for level in levels]
        for levels in ((0.98, 1.02), (0.99, 1.03))
    )
    (result,) = check_changes(compare(base, new), [parse_change("p50 > +5%")])
    assert "would show in 2 of 3 such comparisons" in change_reason(result)


def test_an_open_result_has_the_change_that_would_show_and_the_runs_that_it_takes() -> None:
    base, new = (
        [recorded([level * length for length in LENGTHS]) for level in levels]
        for levels in ((0.9, 1, 1.1), (0.92, 1.02, 1.12))
    )
    (result,) = check_changes(compare(base, new), [parse_change("p50 > +5%")])
    assert result.outcome == "open"
    text = change_reason(result)
    assert "a change of 35.7 % would show in 4 of 5 such comparisons" in text
    assert (
        f"about {estimate_runs_needed(result)} runs per side would show one as large as the threshold" in text
    )
    assert estimate_runs_needed(result) == 67
    (share,) = check_changes(compare(base, new), [parse_change("ANE share < -3 points")])
    assert "a change of 5.9 pts would show in 4 of 5" in change_reason(share)


@pytest.mark.parametrize(("open_counts", "code"), [(None, 5), ("pass", 0), ("fail", 1)])
def test_open_counts_as_chosen(open_counts: OpenCounts | None, code: int) -> None:
    assert choose_exit_code(["passed", "open"], open_counts) == code
    assert choose_exit_code(["failed", "open"], open_counts) == 1
    assert choose_exit_code(["not measurable", "open"], open_counts) in (1, 5)


def test_noise_is_open_unless_strict() -> None:
    shifted = [length + 3 for length in NOISY]
    result = judged(NOISY, shifted, "p50 > +10%")
    assert (result.outcome, result.reason) == ("open", "the interval reaches across the threshold")
    assert judged(NOISY, shifted, "p50 > +10%", strict=True).outcome == "failed"
    assert judged(NOISY, shifted, "p50 > +40%", strict=True).outcome == "passed"


def test_too_few_windows_are_not_measurable_unless_strict() -> None:
    few = [10.0, 10, 10]
    assert judged(few, [30.0] * 3, "p50 > +10%").outcome == "not measurable"
    assert judged(few, [30.0], "p50 > +10%").reason == "too few for an interval: 1 call on a side"
    assert judged(few, few, "p50 > +10%").outcome == "not measurable"
    assert judged(few, [30.0] * 3, "p50 > +10%", strict=True).outcome == "failed"
    assert judged(few, few, "p50 > +10%", strict=True).outcome == "passed"


def test_what_a_side_cannot_show_is_not_measurable() -> None:
    comparison = compare([recorded(LENGTHS, measured=False)], [recorded(LENGTHS)])
    changes = [parse_change(text) for text in ("ANE busy > +10%", "GPU busy > +1ms", "p50 in Other > +1%")]
    results = check_changes(comparison, changes, strict=True)
    assert [result.outcome for result in results] == ["not measurable"] * 3
    assert results[0].reason.startswith("BASE: no table measured the ANE")
    assert results[1].reason == "neither recording shows it"
    assert results[2].reason == "no model or kind of calls 'Other' is on both sides; both have Net"


def test_a_part_of_nothing_is_no_number() -> None:
    comparison = compare([recorded([20.0] * 6)], [recorded([20.0] * 6, "X" * 6)], run_noise=0.0)
    changes = [parse_change(text) for text in ("CPU samples > +10%", "CPU samples > +1ms", "hand-offs > +0")]
    assert [result.outcome for result in check_changes(comparison, changes)] == [
        "not measurable",
        "failed",
        "failed",
    ]
    same = compare([recorded([20.0] * 6)], [recorded([20.0] * 6)], run_noise=0.0)
    assert [result.outcome for result in check_changes(same, changes)] == ["passed"] * 3


def test_a_share_without_a_known_engine_is_not_measurable() -> None:
    comparison = compare([recorded(LENGTHS)], [recorded(LENGTHS, "U" * len(LENGTHS))])
    for strict in (False, True):
        (result,) = check_changes(comparison, [parse_change("CPU share > +5 points")], strict)
        assert (result.outcome, result.reason) == ("not measurable", "NEW: no call has a known engine")


@pytest.mark.parametrize(
    ("text", "strict", "outcome"),
    [
        ("ANE share < -70 points", False, "passed"),
        ("ANE share < -20 points", False, "not measurable"),
        ("ANE share < -20 points", True, "not measurable"),
        ("CPU share > +10 points", False, "not measurable"),
        ("CPU share > +50 points", True, "passed"),
        ("UNKNOWN share > +10 points", True, "failed"),
    ],
)
def test_an_open_share_is_judged_where_both_ends_agree(text: str, strict: bool, outcome: str) -> None:
    comparison = compare([recorded([10.0] * 20)], [recorded([10.0] * 20, "AAAUU" * 4)], run_noise=0.0)
    (result,) = check_changes(comparison, [parse_change(text)], strict)
    assert result.outcome == outcome


def test_an_open_share_is_open_where_neither_end_is_decided() -> None:
    comparison = compare([recorded([10.0] * 10)], [recorded([10.0] * 10, "A" * 9 + "U")], run_noise=0.0)
    change = [parse_change("ANE share < -20 points")]
    assert check_changes(comparison, change)[0].outcome == "open"
    assert check_changes(comparison, change, strict=True)[0].outcome == "passed"


def test_an_open_share_fails_where_even_its_least_does() -> None:
    comparison = compare([recorded([10.0] * 20)], [recorded([10.0] * 20, "C" * 19 + "U")], run_noise=0.0)
    texts = ("CPU share > +40 points", "CPU share > +97 points", "ANE share < -40 points")
    results = check_changes(comparison, [parse_change(text) for text in texts])
    assert [result.outcome for result in results] == ["failed", "not measurable", "failed"]


def test_a_number_of_some_windows_is_not_measurable() -> None:
    def some(count: int) -> Analysis:
        rows = [prediction(20 + index * 20, 30 + index * 20) for index in range(10)]
        rows += [core_ml(21 + index * 20, 24 + index * 20, "CPU", depth=1) for index in range(count)]
        return analyze(
            with_evidence(trace_of([(20.5 + index * 20, "main", BNNS) for index in range(10)]), rows)
        )

    change = [parse_change("CPU busy > +10%")]
    for strict in (False, True):
        (result,) = check_changes(compare([some(6)], [some(10)]), change, strict)
        assert result.outcome == "not measurable"
        assert result.reason == (
            "6 of 10 calls in BASE and 10 of 10 in NEW show it, and the others may have any value"
        )
    assert check_changes(compare(some(10), some(10), run_noise=0.0), change)[0].outcome == "passed"


def test_a_result_mentions_that_one_recording_was_given_twice() -> None:
    same, different = judged(LENGTHS, LENGTHS, "p50 > +10%"), judged(LENGTHS, LENGTHS[1:], "p50 > +10%")
    assert same.reason.endswith("; but the same recording is given twice or more")
    assert different.reason == "the interval reaches across the threshold"


def test_a_scope_is_a_model() -> None:
    models = ["Net", "Big"] * 10
    comparison = compare(
        [recorded([10.0, 30.0] * 10, models=models)],
        [recorded([20.0, 30.0] * 10, models=models)],
        run_noise=0.0,
    )
    changes = [parse_change(f"p50 in {name} > +10%") for name in ("Net", "Big")]
    assert [result.outcome for result in check_changes(comparison, changes)] == ["failed", "passed"]


def test_the_only_model_can_be_named_as_well() -> None:
    slower = [length + 5 for length in LENGTHS]
    assert judged(LENGTHS, slower, "p50 in Net > +10%").outcome == "failed"
