"""What a comparison prints in several places: one interval per number, nothing impossible, no model in another's."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from compare_support import recorded, row

from tracekit import Analysis, Comparison, compare
from tracekit.comparison.result import Difference, Group, ModelLengths, Value
from tracekit.report.comparison.decision import describe_outcome, replace_by_first_sentence
from tracekit.report.comparison.headline import sentence
from tracekit.report.comparison.models import describe_length_result
from tracekit.report.comparison.wording import interval

pytestmark = pytest.mark.integration

WITHIN = "within these recordings"
LENGTHS = [10.0, 12, 11, 13, 10, 12, 11, 14, 10, 12]


def difference(base: float, low: float, high: float, unit: str = "ns") -> Difference:
    sides = (Value(base, 9, 9, "measured"), Value(0.0, 9, 9, "measured"))
    return Difference("CPU samples", unit, *sides, -base, low, high, "within the noise")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "low", "high", "unit", "printed"),
    [
        (11.5e6, -38.667e6, 15.667e6, "ns", "-11.500 … +15.667"),
        (11.5e6, -11.5e6, -2e6, "ns", "-11.500 … -2.000"),
        (0.0, -3e6, 5e6, "ns", "+0.000 … +5.000"),
        (0.5, -0.68, 1.68, "count", "-0.50 … +1.68"),
        (2.0, -3.0, 1.0, "mJ", "-2.000 … +1.000"),
        (0.5, -0.945, 0.41, "share", "-94.5 … +41.0"),  # the share of BASE is of few calls, and may be higher
        (1e6, -1.0, 1.0, "ns", "+0.000 … +0.000"),
    ],
)
def test_no_amount_is_printed_as_less_than_none(
    base: float, low: float, high: float, unit: str, printed: str
) -> None:
    assert interval(difference(base, low, high, unit)) == printed


def test_charts_have_the_interval_by_which_the_summary_decides() -> None:
    alone = difference(20.0, 1.0, 3.0)
    rows = tuple(replace(alone, metric=name, judgement=f"higher in {WITHIN[7:]}") for name in ("p50", "p99"))
    deciding = replace(rows[0], low=-1.0, judgement="within the noise")
    comparison = compare(recorded(LENGTHS), recorded(LENGTHS[::-1]))
    group = Group("model", "Net", "", 9, 9, rows)
    claims = replace(comparison.first_sentence, lengths=(ModelLengths("Net", (deciding,)),))
    comparison = replace(comparison, groups=(group,), first_sentence=claims)
    assert replace_by_first_sentence(comparison, group) == [deciding, rows[1]]
    other = replace(group, name="Other")
    assert replace_by_first_sentence(comparison, other) == list(rows)


def test_the_table_of_all_numbers_has_the_rows_of_the_summary() -> None:
    """A mean that is higher by itself, and open among the tests of the summary, is open in the table."""
    comparison = compare(recorded(LENGTHS), recorded([length + 2 for length in LENGTHS]))
    (group,), (of_model,) = comparison.groups, comparison.first_sentence.lengths
    alone = next(row for row in group.rows if row.metric == "mean")
    assert (alone.judgement, alone.level) == ("higher in these recordings", 0.95)
    joint = replace(alone, low=-2e6, high=3e6, level=0.987, judgement="within the noise")
    rows = tuple(joint if row.metric == "mean" else row for row in of_model.rows)
    claims = replace(comparison.first_sentence, lengths=(replace(of_model, rows=rows),))
    text = flatten(replace(comparison, first_sentence=claims))
    assert "-2.000 … +3.000 (98.7 %) noise" in text
    assert "Each other row is tested alone, at 95 %" in text


def test_the_mix_of_models_changes_no_engine_and_no_function() -> None:
    def run(first: int, second: int, factor: float = 1.0) -> Analysis:
        lengths = [factor * length for length in [10.0, 12, 11, 13, 12, 10] * 10]
        return recorded(
            [*lengths[:first], *lengths[:second]],
            "A" * first + "C" * second,
            models=["Net"] * first + ["Old"] * second,
        )

    base = [run(20, 6, factor) for factor in (1.0, 1.01, 0.99)]
    new = [run(6, 20, factor) for factor in (1.0, 1.01, 0.99)]
    comparison = compare(base, new)
    # Of all calls, the share of the Neural Engine went from 77 to 23 %.
    assert row(comparison, "ANE share").judgement == "lower"
    assert "Every engine has the same share of the calls." in sentence(comparison)
    assert comparison.functions == ()
    assert all(abs(change.row.difference or 0) < 1e6 for change in comparison.largest_functions)
    assert {change.model for change in comparison.largest_functions} <= {"Net", "Old"}


def test_the_engines_of_each_model_are_named() -> None:
    models = ["Net"] * 10 + ["Old"] * 10
    base = recorded(LENGTHS * 2, "A" * 20, models=models)
    new = recorded(LENGTHS * 2, "A" * 15 + "C" * 5, models=models)
    text = sentence(compare([base] * 1, [new] * 1))
    assert "alls of Old on the Neural Engine alone 100.0 % → 50.0 % (-50.0 pts)" in text
    assert "of Net" not in text


def test_one_recording_on_both_sides_is_named_and_has_no_other_tag() -> None:
    models = ["Net"] * 6 + ["Few"] * 5
    recording = recorded([10.0, 12, 11, 13, 10, 12, 20, 21, 20, 22, 21], models=models)
    comparison = compare(recording, recording)
    assert describe_outcome(comparison) == ("?", "No change in these recordings")
    assert sentence(comparison) == (
        "BASE and NEW are the same recording. In these recordings these are the same: Few p50 21.000 ms, Net p50"
        " 11.000 ms. Every engine has the same share of the calls."
    )
    tags = [
        describe_length_result(model, comparison.min_change) for model in comparison.first_sentence.lengths
    ]
    assert tags == ["? the same here", "? the same here"]
    # Another recording with the same lengths is not the same recording.
    other = recorded([10.0, 12, 11, 13, 10, 12, 20, 21, 20, 22, 21.5], models=models)
    assert "the same recording" not in sentence(compare(recording, other))


def test_findings_of_models_of_one_side_are_one_entry() -> None:
    engines = "A" * 5 + "C" * 5
    base = recorded(LENGTHS, engines, models=["Old"] * 10)
    new = recorded([length * 2 for length in LENGTHS], engines, models=["New"] * 10)
    text = flatten(compare(base, new))
    assert "not comparable: Findings of models that one side alone runs: New in NEW (fell-back" in text
    assert "; Old in BASE (fell-back" in text
    assert text.count("not comparable:") == 1 and "because the model does not run" not in text


def test_functions_are_of_models_that_both_sides_have() -> None:
    lengths, engines = [*LENGTHS, *[30.0] * 5], "A" * 10 + "C" * 5
    both, more = recorded(LENGTHS), recorded(lengths, engines, models=["Net"] * 10 + ["New"] * 5)
    assert [change.engine for change in compare(both, more).largest_functions] == []
    # The CPU's function is of the model that runs in NEW alone.
    alike = recorded(lengths, engines)
    assert "CPU" in {change.engine for change in compare(both, alike).largest_functions}
    nothing = compare(both, recorded(LENGTHS, models=["New"] * 10))
    assert nothing.functions_missing == "not comparable: BASE and NEW have no model in common"


def test_a_finding_of_both_sides_is_placed_once() -> None:
    engines = "A" * 5 + "C" * 5
    comparison = compare(recorded(LENGTHS, engines), recorded([length + 1 for length in LENGTHS], engines))
    assert re.search(r"fell-back: in BASE and NEW[. ]", flatten(comparison))
    assert row(comparison, "p50").difference == 1e6


def flatten(comparison: Comparison) -> str:
    return re.sub(r"\s+", " ", comparison.to_text())


def test_of_many_models_those_with_most_calls_are_tested_and_none_are_pooled() -> None:
    models = [f"M{number:02}" for number in range(22) for _ in range(2 if number in (3, 7) else 3)]
    lengths = [10.0 + number % 3 for number in range(len(models))]
    comparison = compare(recorded(lengths, models=models), recorded([*lengths[:-1], 11.5], models=models))
    tested = [model.model for model in comparison.first_sentence.lengths]
    assert len(tested) == 20
    assert {"", "M03", "M07"}.isdisjoint(tested)
    text = " ".join(comparison.to_text().split())
    assert "2 other models of both sides, with fewer calls, are not tested here." in text
