"""``compare``: literal inferences on two sides, and the rows, cautions and sentences about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from compare_support import LENGTHS, numbers, recorded, row, several

from tracekit import compare
from tracekit.comparison.result import Caution
from tracekit.errors import UsageError
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.headline import sentence
from tracekit.report.comparison.wording import functions_note, usual_span

pytestmark = pytest.mark.integration


def test_a_recording_does_not_differ_from_itself() -> None:
    analysis = recorded(LENGTHS)
    comparison = compare([analysis], [analysis])
    rows = list(comparison.rows(comparison.groups[0]))
    assert {compared.difference for compared in rows} <= {0.0, None}
    assert {compared.judgement for compared in rows} == {"within the noise", "too few to tell"}
    assert comparison.functions == comparison.largest_functions == ()
    assert comparison.one_sided == ()
    assert [caution.code for caution in comparison.cautions] == ["same-recording-twice", "one-run"]


def test_one_run_per_side_is_about_these_recordings_and_nothing_else() -> None:
    lengths = LENGTHS * 3
    comparison = compare([recorded(lengths)], [recorded([length + 5 for length in lengths])])
    assert numbers(row(comparison, "p50")) == (11.0, 16.0, 5.0, "higher in these recordings")
    assert row(comparison, "p50").tested == "within these recordings"
    assert row(comparison, "p50").ratio == pytest.approx(5 / 11)
    low, high = row(comparison, "p50").low, row(comparison, "p50").high
    assert low is not None
    assert high is not None
    assert 0 < low <= 5e6 <= high
    assert (row(comparison, "p50").base.count, row(comparison, "p50").base.basis) == (30, "measured")
    assert sentence(comparison).startswith(
        "In these recordings NEW is slower: Net p50 16.0 ms against 11.0 ms (+45 %), mean +43.5 %."
    )
    assert (
        "One run per side does not show how much runs of the same program differ. If they differ by 5 %, Net p50"
        " changed by +"
    ) in sentence(comparison)
    assert "Record five of each in turn to decide (record --interleave)." in sentence(comparison)
    assert "one-run" in [caution.code for caution in comparison.cautions]


@pytest.mark.parametrize(
    ("ratio", "low", "high", "span"),
    [
        # Calls that do not vary: ± 1.96 × 5 % × √2 of the logarithm.
        (0.5, 0.5, 0.5, "+30.6 … +72.3 %"),
        (0.0, -0.02, 0.02, "-13.1 … +15.0 %"),
        (0.0, -1.0, 2.0, ""),
        (0.0, None, None, ""),
    ],
)
def test_the_interval_that_a_spread_of_5_percent_gives(
    ratio: float, low: float | None, high: float | None, span: str
) -> None:
    compared = row(compare([recorded(LENGTHS)], [recorded([length + 5 for length in LENGTHS])]), "p50")
    base, new = replace(compared.base, value=10.0), replace(compared.new, value=10 * (1 + ratio))
    given = replace(compared, base=base, new=new, difference=10 * ratio, relative_low=low, relative_high=high)
    assert usual_span(given) == span


def test_several_runs_are_tested_between_runs() -> None:
    comparison = compare(several(LENGTHS), several(LENGTHS, factor=1.3))
    p50 = row(comparison, "p50")
    assert (p50.judgement, p50.tested, len(p50.base.runs)) == ("higher", "between runs", 3)
    assert p50.base.runs == pytest.approx((11e6, 11.11e6, 10.89e6))
    assert p50.base.spread == pytest.approx(0.01)
    # Student's t with 4 degrees of freedom: 2.776 × 1 % × sqrt(2/3), around 1.3 times the base.
    assert p50.relative_low == pytest.approx(1.3 * np.exp(-2.776 * 0.01 * np.sqrt(2 / 3)) - 1, abs=1e-4)
    text = sentence(comparison)
    assert text.startswith(
        "NEW is slower: Net p50 14.3 ms against 11.0 ms (+30 %, 98 % interval +26.1 … +34.0 %), p90 +30.0 %,"
    )
    assert "Tested between 3 runs of BASE and 3 of NEW" in text
    assert "p50 of each run: BASE 11.000, 11.110, 10.890 ms, standard deviation 1.0 %; NEW 14.300" in (
        comparison.to_text().replace("\n  ", " ")
    )


def test_a_spread_between_runs_hides_what_one_run_would_show() -> None:
    comparison = compare(several(LENGTHS, spread=0.2), several(LENGTHS, factor=1.1, spread=0.2))
    assert row(comparison, "p50").judgement == "within the noise"
    assert sentence(comparison).startswith("No difference in length is shown: Net p50")
    assert "would show in 4 of 5 such comparisons" in sentence(comparison)


def test_two_runs_have_a_caution_and_one_run_takes_the_spread_of_the_opposite_side() -> None:
    base, new = several(LENGTHS), several(LENGTHS, factor=1.3)
    assert "two-runs" in [caution.code for caution in compare(base[:2], new).cautions]
    lent = compare(base[:1], new)
    assert row(lent, "p50").tested == "between runs"
    (message,) = [caution_text(caution) for caution in lent.cautions if caution.code == "one-run-on-one-side"]
    assert message.startswith("BASE has one run: the spread between runs is taken from the other side alone")


def test_a_spread_that_is_given_or_shown_by_recordings_tests_one_run_per_side() -> None:
    base, new = recorded(LENGTHS), recorded([1.5 * length for length in LENGTHS])
    given = compare(base, new, run_noise=0.02)
    assert (row(given, "p50").tested, row(given, "p50").judgement) == ("given noise", "higher")
    assert "Tested with a given spread between runs of 2 %" in sentence(given)
    assert row(compare(base, new, run_noise=0.3), "p50").judgement == "within the noise"
    shown = compare(base, new, noise_from=[recorded([level * n for n in LENGTHS]) for level in (0.9, 1, 1.1)])
    assert (row(shown, "p50").tested, shown.noise_runs) == ("between runs", 3)
    assert row(shown, "p50").judgement == "within the noise"  # 10 % between runs, two degrees of freedom
    assert {caution.code for caution in given.cautions} == {"given-noise"}
    assert {"noise-recordings", "same-recording-twice"} == {caution.code for caution in shown.cautions}
    with pytest.raises(UsageError, match="give two or more"):
        compare(base, new, noise_from=[base])
    with pytest.raises(UsageError, match="in one way"):
        compare(base, new, noise_from=[base, new], run_noise=0.1)


def test_a_change_below_the_one_that_counts_is_no_headline() -> None:
    base, new = several([20.0] * 12, spread=0.0001), several([20.0] * 12, factor=1.002, spread=0.0001)
    comparison = compare(base, new)
    assert row(comparison, "p50").judgement == "higher"
    assert sentence(comparison).startswith("NEW is no slower and no faster to within 1 %: Net p50")
    assert sentence(compare(base, new, min_change=0.001)).startswith(
        "NEW is slower: Net p50 20.040 ms against 20.000 ms"
    )
    one = compare([recorded([20.0] * 40)], [recorded([20.001] * 40)])
    assert sentence(one).startswith(
        "In these recordings Net p50 is the same to within 1 %: 20.001 ms against 20.000 ms"
    )


def test_a_copy_of_a_recording_is_no_second_run() -> None:
    first, second = recorded(LENGTHS), recorded([length + 5 for length in LENGTHS])
    comparison = compare([first, first], [second, second])
    assert (len(comparison.base.runs), comparison.base.windows) == (1, 10)
    assert row(comparison, "p50").tested == "within these recordings"


def test_swapping_the_sides_turns_everything_round() -> None:
    first, second = recorded(LENGTHS, "AAAAACCCCC"), recorded([n * 1.3 for n in LENGTHS], "AAAAAAAACC")
    forward, backward = compare([first], [second]), compare([second], [first])
    turned = {"higher in these recordings": "lower in these recordings"}
    turned |= {new: base for base, new in turned.items()}
    for forward_row, backward_row in zip(
        forward.rows(forward.groups[0]), backward.rows(backward.groups[0]), strict=True
    ):
        assert forward_row.metric == backward_row.metric
        assert (forward_row.base, forward_row.new) == (backward_row.new, backward_row.base)
        assert turned.get(forward_row.judgement, forward_row.judgement) == backward_row.judgement
        for forward_end, backward_end in (
            (forward_row.difference, backward_row.difference),
            (forward_row.low, backward_row.high),
        ):
            assert forward_end == (None if backward_end is None else pytest.approx(-backward_end, abs=1e-6))
    changes = {(function.symbol, function.change) for function in forward.largest_functions}
    assert changes
    opposite = {"appeared": "vanished", "vanished": "appeared", "grew": "shrank", "shrank": "grew"}
    assert {
        (function.symbol, opposite[function.change]) for function in backward.largest_functions
    } == changes


def test_too_few_windows_allow_no_conclusion() -> None:
    comparison = compare([recorded([10.0, 10, 10, 10])], [recorded([30.0, 30, 30, 30])])
    assert numbers(row(comparison, "p50")) == (10.0, 30.0, 20.0, "too few to tell")
    assert row(comparison, "p50").low is None
    for calls, percentile in ((6, "p50"), (36, "p90")):  # 0.5^6 and 0.9^36 are below 2.5 %
        enough = compare([recorded([10.0] * calls)], [recorded([30.0] * calls)])
        assert row(enough, percentile).judgement == "higher in these recordings"
        fewer = compare([recorded([10.0] * (calls - 1))], [recorded([30.0] * (calls - 1))])
        assert row(fewer, percentile).judgement == "too few to tell"


def test_the_first_inference_stands_apart_from_the_warm_ones() -> None:
    comparison = compare([recorded([50.0, *LENGTHS])], [recorded([90.0, *LENGTHS])])
    assert numbers(row(comparison, "first")) == (50.0, 90.0, 40.0, "too few to tell")
    assert numbers(row(comparison, "warm p50")) == (11.0, 11.0, 0.0, "within the noise")


def test_firsts_and_loads_of_several_runs_are_compared() -> None:
    base = [recorded([50.0 + index, *LENGTHS], load=5 + index / 10) for index in range(5)]
    new = [recorded([90.0 + index, *LENGTHS], load=9 + index / 10) for index in range(5)]
    comparison = compare(base, new)
    assert numbers(row(comparison, "first"))[3] == "higher"
    assert numbers(row(comparison, "first"))[:3] == pytest.approx((51.98, 91.99, 40.0), abs=0.02)
    assert numbers(row(comparison, "load"))[3] == "higher"
    assert row(comparison, "load").difference == pytest.approx(4e6, rel=1e-3)
    assert row(comparison, "load").base.count == 5
    assert "one-run" not in [caution.code for caution in comparison.cautions]


def test_the_order_of_runs_does_not_matter() -> None:
    runs = [recorded(LENGTHS), recorded([length + 2 for length in LENGTHS]), recorded([20.0, 30.0])]
    new = [recorded([length + 1 for length in LENGTHS])]
    forward, backward = compare(runs, new), compare(runs[::-1], new)
    for one_row, same_row in zip(forward.groups[0].rows, backward.groups[0].rows, strict=True):
        assert (one_row.metric, one_row.judgement) == (same_row.metric, same_row.judgement)
        assert (one_row.difference, one_row.low) == pytest.approx((same_row.difference, same_row.low))


def test_a_model_that_left_the_neural_engine() -> None:
    comparison = compare([recorded(LENGTHS)], [recorded(LENGTHS, "C" * 10)])
    shares = {name: row(comparison, f"{name} share") for name in ("ANE", "CPU")}
    assert [(share.base.value, share.new.value, share.judgement) for share in shares.values()] == [
        (1.0, 0.0, "lower in these recordings"),
        (0.0, 1.0, "higher in these recordings"),
    ]
    assert (
        "Other engines in these recordings: calls on the Neural Engine alone 100.0 % → 0.0 % (-100.0 pts), on the"
        " CPU alone 0.0 % → 100.0 % (+100.0 pts)."
    ) in sentence(comparison)
    assert comparison.base.verdicts == {"ANE": 10}
    assert comparison.new.verdicts == {"CPU": 10}
    assert comparison.functions == ()
    assert {(change.symbol, change.engine, change.change) for change in comparison.largest_functions} == {
        ("BNNSFilterApply", "CPU", "appeared"),
        ("H11ANEProgramProcessRequestDirect", "ANE", "vanished"),
    }
    assert {change.row.judgement for change in comparison.largest_functions} == {"not tested"}
    assert "Largest differences of functions, not tested" in comparison.to_text()


def test_several_runs_show_which_functions_changed() -> None:
    comparison = compare(several(LENGTHS), several(LENGTHS, "C" * 10))
    assert {(change.symbol, change.change) for change in comparison.functions} == {
        ("BNNSFilterApply", "appeared"),
        ("H11ANEProgramProcessRequestDirect", "vanished"),
    }
    assert comparison.functions_compared == 2
    assert "2 of 2 functions; about 5 % of these at most are chance" in comparison.to_text()
    apart = replace(comparison, cautions=(Caution("session-noise", {"session_noise": 0.01}),))
    assert functions_note(apart) == (
        "2 of 2 functions differ by more than runs of a side do; the sides are not shown to be recorded in turn,"
        " so what changed in between may explain all of it"
    )
    assert compare(several(LENGTHS), several(LENGTHS, factor=1.3)).functions == ()


def test_engines_are_tested_between_runs() -> None:
    comparison = compare(several(LENGTHS), several(LENGTHS, "C" * 10))
    share = row(comparison, "ANE share")
    assert (share.judgement, share.tested) == ("lower", "between runs")
    assert "Other engines: calls on the Neural Engine alone 100.0 % → 0.0 %" in sentence(comparison)
    same = row(compare(several(LENGTHS), several(LENGTHS, factor=1.3)), "ANE share")
    assert same.low == pytest.approx(-0.11, abs=0.01)  # thirty calls of thirty leave room
    assert same.high == -same.low
