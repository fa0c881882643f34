"""A given spread between runs is of one percentile; numbers that spread otherwise do not use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from compare_support import recorded

from tracekit import check, compare
from tracekit.checks.changes import check_changes
from tracekit.checks.parser import parse_change
from tracekit.comparison.result import Comparison, Difference
from tracekit.comparison.sessions import GivenSpread, read_run_noise
from tracekit.errors import UsageError
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.decision import decide_outcome
from tracekit.report.comparison.headline import sentence
from tracekit.report.comparison.wording import change_reason

pytestmark = pytest.mark.slow

LENGTHS = [20.0, 21, 20, 22, 20, 21, 20, 23, 20, 21] * 4


def compared(run_noise: Any, runs: int = 1, factor: float = 1.5) -> Comparison:
    base = [recorded([level * length for length in LENGTHS]) for level in (1.0, 1.01, 0.99)[:runs]]
    new = [
        recorded([factor * level * length for length in LENGTHS]) for level in (1.002, 1.012, 0.992)[:runs]
    ]
    return compare(base, new, run_noise=run_noise)


def rows(comparison: Comparison) -> dict[str, Difference]:
    return {row.metric: row for row in comparison.groups[0].rows}


@pytest.mark.parametrize(
    ("run_noise", "p50", "mean", "p90"),
    [
        (None, "within these recordings", "within these recordings", "within these recordings"),
        (0.02, "given noise", "given noise", None),
        ({"p50": 0.02, "p90": 0.05}, "given noise", "given noise", "given noise"),
        ({"p90": 0.05}, None, None, "given noise"),
    ],
)
def test_a_number_is_tested_by_the_spread_of_its_percentile(
    run_noise: Any, p50: str | None, mean: str | None, p90: str | None
) -> None:
    by_metric = rows(compared(run_noise))
    tested = {name: by_metric[name].tested for name in ("p50", "mean", "p90")}
    assert tested == {"p50": p50, "mean": mean, "p90": p90}
    without = [name for name, kind in tested.items() if kind is None]
    assert [by_metric[name].judgement for name in without] == ["spread not given"] * len(without)
    assert [by_metric[name].low for name in without] == [None] * len(without)


def test_a_larger_spread_of_the_p90_widens_its_interval_alone() -> None:
    small, large = (rows(compared({"p50": 0.02, "p90": spread})) for spread in (0.02, 0.06))
    assert small["p50"].low == large["p50"].low
    assert small["p90"].low is not None
    assert large["p90"].low is not None
    assert large["p90"].low < small["p90"].low


def test_runs_show_the_spread_of_a_percentile_that_has_none_given() -> None:
    by_metric = rows(compared(0.02, runs=3))
    assert (by_metric["p50"].tested, by_metric["p90"].tested) == ("given noise", "between runs")


def test_a_gate_names_the_option_that_it_lacks() -> None:
    (result,) = check_changes(compared(0.02), [parse_change("p90 > +10%")])
    assert result.outcome == "not measurable"
    assert "its spread between runs is not given: --run-noise p90=PERCENT" in change_reason(result)
    (result,) = check_changes(compared({"p50": 0.02, "p90": 0.05}), [parse_change("p90 > +10%")])
    assert result.outcome == "failed"


def test_no_change_needs_a_spread_for_the_p90_too() -> None:
    sides = [recorded([level + call * 7 % 40 / 1000 for call in range(40)]) for level in (20.0, 20.001)]
    assert decide_outcome(compare(*sides, run_noise=0.0001)) == "not shown"
    assert decide_outcome(compare(*sides, run_noise={"p50": 0.0001, "p90": 0.0001})) == "same"


def test_calls_that_only_grow_bound_no_percentile_whatever_spread_is_given() -> None:
    # Each call resembles the one before it: together they are too few to bound a percentile.
    sides = [recorded([level + call / 1000 for call in range(40)]) for level in (20.0, 20.001)]
    comparison = compare(*sides, run_noise={"p50": 0.0001, "p90": 0.0001})
    by_metric = rows(comparison)
    assert [by_metric[name].judgement for name in ("p50", "p90")] == ["too few to tell"] * 2
    assert decide_outcome(comparison) == "not shown"


def test_the_sentence_and_the_caution_name_each_spread() -> None:
    comparison = compared({"p50": 0.02, "p90": 0.05})
    assert "with a given spread between runs of 2 %, 5 % of the p90" in sentence(comparison)
    (text,) = [caution_text(caution) for caution in comparison.cautions if caution.code == "given-noise"]
    assert "2 % of the p50 and of means (of shares, as many points), 5 % of the p90" in text


@pytest.mark.parametrize(
    ("run_noise", "message"),
    [
        ({"median": 0.02}, "of p50, p90, another percentile or mean, not of 'median'"),
        ({"p90": -0.1}, "a fraction such as 0.02"),
        (float("nan"), "a fraction such as 0.02"),
    ],
)
def test_what_is_no_spread_is_refused(run_noise: float | Mapping[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_run_noise(run_noise)


def test_a_single_number_is_that_of_the_p50() -> None:
    spread = GivenSpread(read_run_noise(0.02))
    statistics: tuple[Any, ...] = (0.5, "mean", 0.9, 0.99)
    assert [spread.find_run_noise(statistic) for statistic in statistics] == [0.02, 0.02, None, None]


FRAMES = [16.7, 16.7, 33.3, 16.7, 16.7] * 8


@pytest.mark.parametrize(("run_noise", "tested"), [(0.02, None), ({"mean": 0.05}, "given noise")])
def test_on_a_grid_the_spread_of_the_p50_is_of_nothing_else(run_noise: Any, tested: str | None) -> None:
    sides = [recorded([length + call / 1e6 for call, length in enumerate(FRAMES)]) for _ in range(2)]
    comparison = compare(*sides, run_noise=run_noise)
    by_metric = rows(comparison)
    late = next(name for name in by_metric if name.startswith("calls >"))
    assert (by_metric["p50"].judgement, by_metric["mean"].tested) == ("on a grid", tested)
    assert by_metric[late].judgement == "spread not given"
    assert decide_outcome(comparison) == "not shown"


def test_check_assumes_the_usual_spread_for_a_p90_without_one() -> None:
    p50, p90 = check(recorded(LENGTHS), ["p50 <= 30ms", "p90 <= 30ms"], run_noise=0.03)
    assert p50.actual.note == "with the given spread between runs of 3 %"
    assert p90.actual.note == "with an assumed spread between runs of 7 %"
    (p90,) = check(recorded(LENGTHS), "p90 <= 30ms", run_noise={"p90": 0.06})
    assert p90.actual.note == "with the given spread between runs of 6 %"
