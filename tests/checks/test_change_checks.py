"""``--fail-on``: differences that are too large, that are noise, and that nothing shows."""

from __future__ import annotations

import pytest
from compare_support import recorded
from evidence_support import core_ml, prediction, with_evidence
from trace_support import BNNS, trace_of

from tracekit.analysis import Analysis, analyze
from tracekit.checks.changes import check_changes
from tracekit.checks.parser import parse_change
from tracekit.checks.results import ChangeResult
from tracekit.comparison import compare

pytestmark = pytest.mark.integration

LENGTHS = [10.0, 12, 11, 13, 10, 12, 11, 14, 10, 12]
NOISY = [10.0, 40, 11, 13, 30, 12, 11, 14, 50, 12]


def judged(base: list[float], new: list[float], text: str, strict: bool = False) -> ChangeResult:
    comparison = compare([recorded(base)], [recorded(new)])
    (result,) = check_changes(comparison, [parse_change(text)], strict)
    return result


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("p50 > +10%", "failed"),
        ("p50 > +46%", "passed"),
        ("p50 > +45%", "failed"),
        ("p50 > +5ms", "passed"),
        ("p50 > +4.9ms", "failed"),
        ("p50 < -10%", "passed"),
        ("p90 > +0%", "failed"),
        ("ANE share < -10 points", "passed"),
        ("hand-offs > +0", "passed"),
    ],
)
def test_five_milliseconds_more(text: str, outcome: str) -> None:
    assert judged(LENGTHS, [length + 5 for length in LENGTHS], text).outcome == outcome


def test_faster_fails_on_request() -> None:
    assert judged([length + 5 for length in LENGTHS], LENGTHS, "p50 < -1ms").outcome == "failed"


def test_noise_does_not_fail_unless_strict() -> None:
    shifted = [length + 3 for length in NOISY]
    result = judged(NOISY, shifted, "p50 > +10%")
    assert (result.outcome, result.reason) == ("passed", "beyond the threshold, but within the noise")
    assert judged(NOISY, shifted, "p50 > +10%", strict=True).outcome == "failed"
    assert judged(NOISY, shifted, "p50 > +40%", strict=True).outcome == "passed"


def test_too_few_windows_are_not_measurable_unless_strict() -> None:
    few = [10.0, 10, 10]
    assert judged(few, [30.0] * 3, "p50 > +10%").outcome == "not measurable"
    assert judged(few, [30.0], "p50 > +10%").reason == "too few for an interval: 1 window on a side"
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
    assert results[2].reason == "no model or kind of windows 'Other' is on both sides; both have Net"


def test_a_part_of_nothing_is_no_number() -> None:
    comparison = compare([recorded([20.0] * 6)], [recorded([20.0] * 6, "X" * 6)])
    changes = [parse_change(text) for text in ("CPU samples > +10%", "CPU samples > +1ms", "hand-offs > +0")]
    assert [result.outcome for result in check_changes(comparison, changes)] == [
        "not measurable",
        "failed",
        "failed",
    ]
    same = compare([recorded([20.0] * 6)], [recorded([20.0] * 6)])
    assert [result.outcome for result in check_changes(same, changes)] == ["passed"] * 3


def test_a_share_without_a_known_engine_is_not_measurable() -> None:
    comparison = compare([recorded(LENGTHS)], [recorded(LENGTHS, "U" * 10)])
    for strict in (False, True):
        (result,) = check_changes(comparison, [parse_change("CPU share > +5 points")], strict)
        assert (result.outcome, result.reason) == ("not measurable", "NEW: no window has a known engine")


@pytest.mark.parametrize(
    ("text", "strict", "outcome"),
    [
        ("ANE share < -50 points", False, "passed"),
        ("ANE share < -20 points", False, "not measurable"),
        ("ANE share < -20 points", True, "not measurable"),
        ("CPU share > +10 points", False, "not measurable"),
        ("CPU share > +50 points", True, "passed"),
        ("UNKNOWN share > +10 points", True, "failed"),
    ],
)
def test_an_open_share_is_judged_where_both_ends_agree(text: str, strict: bool, outcome: str) -> None:
    comparison = compare([recorded([10.0] * 20)], [recorded([10.0] * 20, "A" * 12 + "U" * 8)])
    (result,) = check_changes(comparison, [parse_change(text)], strict)
    assert result.outcome == outcome


def test_an_open_share_passes_where_it_is_noise_at_both_ends() -> None:
    comparison = compare([recorded([10.0] * 10)], [recorded([10.0] * 10, "A" * 8 + "U" * 2)])
    change = [parse_change("ANE share < -10 points")]
    assert check_changes(comparison, change)[0].outcome == "passed"
    assert check_changes(comparison, change, strict=True)[0].outcome == "not measurable"


def test_an_open_share_fails_where_even_its_least_does() -> None:
    comparison = compare([recorded([10.0] * 20)], [recorded([10.0] * 20, "C" * 19 + "U")])
    texts = ("CPU share > +90 points", "CPU share > +97 points", "ANE share < -90 points")
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
            "6 of 10 windows in BASE and 10 of 10 in NEW show it, and the others may have any value"
        )
    assert check_changes(compare([some(10)], [some(10)]), change)[0].outcome == "passed"


def test_a_result_mentions_that_one_recording_was_given_twice() -> None:
    same, different = judged(LENGTHS, LENGTHS, "p50 > +10%"), judged(LENGTHS, LENGTHS[1:], "p50 > +10%")
    assert same.reason == "within the threshold; but the same recording is given twice or more"
    assert different.reason == "within the threshold"


def test_a_scope_is_a_model() -> None:
    models = ["Net", "Big"] * 10
    comparison = compare(
        [recorded([10.0, 30.0] * 10, models=models)], [recorded([20.0, 30.0] * 10, models=models)]
    )
    changes = [parse_change(f"p50 in {name} > +10%") for name in ("Net", "Big")]
    assert [result.outcome for result in check_changes(comparison, changes)] == ["failed", "passed"]


def test_the_only_model_can_be_named_as_well() -> None:
    slower = [length + 5 for length in LENGTHS]
    assert judged(LENGTHS, slower, "p50 in Net > +10%").outcome == "failed"
