"""Requirements judged by intervals: order statistics, shares, means, and several runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from compare_support import recorded

from tracekit import Analysis
from tracekit.checks.check import check
from tracekit.checks.intervals import (
    add_run_spread,
    estimate_interval,
    estimate_ratio_interval,
    estimate_runs_interval,
)
from tracekit.checks.parser import parse_requirement
from tracekit.checks.results import CheckResult
from tracekit.errors import UsageError
from tracekit.statistics.share_intervals import estimate_share_interval

pytestmark = pytest.mark.integration  # analyses recordings

INDEPENDENT = "calls count as independent: none differs, so spells would not show"
SHUFFLED = np.random.default_rng(3).permutation(np.arange(1.0, 101))


def spread_out(count: int) -> np.ndarray:
    """The numbers from 1, in steps that keep large ones apart from each other."""
    return (np.arange(count) * 37 % count + 1).astype(float)


def required(
    analysis: Analysis | list[Analysis], text: str, confidence: float = 0.95, forbids: bool = False
) -> CheckResult:
    (result,) = check(analysis, [parse_requirement(text, forbids)], confidence)
    return result


@pytest.mark.parametrize(
    ("fraction", "interval"),
    [
        (0.5, (40, 61)),  # Conover, Practical Nonparametric Statistics: the 40th and the 61st of a hundred
        (0.9, (84, 96)),
        (0.99, (97, math.inf)),
    ],
)
def test_order_statistics_of_a_hundred_calls(fraction: float, interval: tuple[float, float]) -> None:
    assert estimate_interval(spread_out(100), fraction, 0.95) == interval


def test_the_calls_that_bound_a_percentile() -> None:
    def upper(count: int, fraction: float, confidence: float) -> float:
        return estimate_interval(spread_out(count), fraction, confidence)[1]

    # One side of 90 % is 5 %: 0.9^29 < 5 % < 0.9^28, as for a p99 of 299 calls.
    assert [upper(count, 0.9, 0.9) for count in (28, 29)] == [math.inf, 29]
    assert [upper(count, 0.99, 0.9) for count in (298, 299)] == [math.inf, 299]


def test_neighbours_that_are_alike_widen_the_interval() -> None:
    low, high = estimate_interval(np.sort(SHUFFLED), 0.5, 0.95)
    assert low < 30
    assert high > 70
    alone, alike = (estimate_interval(values, "mean", 0.95) for values in (SHUFFLED, np.sort(SHUFFLED)))
    assert alike[1] - alike[0] > 2 * (alone[1] - alone[0])


def test_too_few_calls_bound_nothing() -> None:
    assert estimate_interval(np.ones(4), 0.5, 0.95) == (-math.inf, math.inf)
    assert estimate_interval(np.ones(9), 0.9, 0.95) == (-math.inf, math.inf)
    assert estimate_interval(np.ones(5), "mean", 0.95) == (1.0, 1.0)


def test_shares_are_never_sure() -> None:
    assert estimate_share_interval(np.ones(20), 0.95) == pytest.approx((0.839, 1), abs=1e-3)
    assert estimate_ratio_interval(np.ones(10), np.ones(10), 0.95) == pytest.approx((0.722, 1), abs=1e-3)


def test_the_mean_of_runs() -> None:
    assert estimate_runs_interval(np.array([1.0, 2, 3]), False, 0.95) == pytest.approx(
        (-0.484, 4.484), abs=1e-3
    )
    low, high = estimate_runs_interval(np.array([10.0, 10.1, 9.9]), True, 0.95)
    assert low * high == pytest.approx((10 * 10.1 * 9.9) ** (2 / 3))
    assert estimate_runs_interval(np.array([1.0, math.inf]), True, 0.95) == (-math.inf, math.inf)


def test_at_its_limit_a_requirement_is_open() -> None:
    analysis = recorded(SHUFFLED[:60].tolist())
    p50 = required(analysis, "p50 <= 51ms")
    low, high = p50.actual.interval or (0, 0)
    assert p50.outcome == "open"
    assert required(analysis, f"p50 <= {high + 1:.0f}ns").outcome == "passed"
    assert required(analysis, f"p50 <= {low - 1:.0f}ns").outcome == "failed"
    assert required(analysis, f"p50 > {low - 1:.0f}ns", forbids=True).outcome == "failed"
    assert required(analysis, "p50 > 51ms", forbids=True).outcome == "open"
    assert required(analysis, "max <= 1s").actual.interval is None
    assert required(analysis, "p50 <= 51ms", confidence=0.0).outcome in ("passed", "failed")


def test_a_share_at_an_end_is_judged_by_the_recorded_calls() -> None:
    analysis = recorded([10.0] * 12)
    every = required(analysis, "ANE share == 100%")
    assert (every.outcome, every.actual.interval) == ("passed", pytest.approx((0.757, 1), abs=1e-3))
    assert every.actual.note == INDEPENDENT
    assert required(analysis, "ANE share >= 100%").outcome == "passed"
    assert required(analysis, "ANE share >= 90%").outcome == "open"
    assert required(analysis, "ANE share >= 70%").outcome == "passed"
    absent = required(analysis, "GPU", forbids=True)
    assert (absent.outcome, absent.actual.note) == (
        "passed",
        f"up to 24.2 % of calls may have it (95 % confidence); {INDEPENDENT}",
    )


def test_calls_that_differ_show_their_spells() -> None:
    late = required(recorded([10.0] * 8 + [30.0] * 4), "calls > 20ms <= 90%")
    assert (late.outcome, late.actual.note) == ("open", "")


def test_several_runs_are_judged_by_their_spread() -> None:
    lengths = [10.0, 12, 11, 13, 10, 12, 11, 11] * 2
    runs = [recorded([level * length for length in lengths]) for level in (1, 1.1, 0.9)]
    p50 = required(runs, "p50 <= 16ms")
    assert (p50.outcome, p50.actual.runs, p50.actual.windows) == ("passed", 3, 48)
    # Student's t with two degrees of freedom, which is wider than the order statistics of 48 calls.
    assert p50.actual.interval == pytest.approx((8.544e6, 14.07e6), rel=1e-3)
    assert required(runs, "p50 <= 12ms").outcome == "open"
    assert required(runs, "p90 <= 1s").outcome == "open"  # too few calls are independent
    share = required(runs, "ANE share >= 95%")
    assert (share.outcome, share.actual.interval) == ("open", pytest.approx((0.926, 1), abs=1e-3))
    worst = required(runs, "max <= 13.05ms")
    assert (worst.outcome, worst.actual.note) == ("failed", "run 2 of 3")
    copies = required(runs[:1] * 3, "p50 <= 12ms")
    assert copies.actual.runs == 1


def test_runs_that_agree_by_chance_do_not_hide_slow_calls() -> None:
    runs = [[10.0 + number / 1e6] * 20 for number in range(3)]
    runs[0][3], runs[1][8] = 90.0, 95.0
    result = required([recorded(run) for run in runs], "p90 <= 50ms")
    # The lower end is that of an assumed spread of 7 % between three runs: 10 ms × exp(-1.96 × 0.07 / √3).
    assert (result.outcome, result.actual.interval) == ("open", pytest.approx((9.238e6, 90e6), rel=1e-3))


# A spread between runs, given or from other recordings ----------------------------------------------------------


def noisy(count: int, spread: float) -> list[Analysis]:
    """Runs of equal calls whose levels differ by chance, with exactly this standard deviation in the logarithm."""
    levels = np.linspace(-1, 1, count)
    return [recorded([20.0 * level] * 12) for level in np.exp(spread * levels / levels.std(ddof=1))]


def test_a_given_spread_widens_the_interval_of_a_time() -> None:
    (given,) = check(recorded([20.0] * 12), "p50 <= 20.5ms", run_noise=0.02)
    reach = math.exp(1.959964 * 0.02)
    assert given.actual.interval == pytest.approx((2e7 / reach, 2e7 * reach))
    assert (given.outcome, given.actual.note) == ("open", "with the given spread between runs of 2 %")
    (several,) = check([recorded([level] * 12) for level in (19.9, 20.1)], "p50 <= 1s", run_noise=0.02)
    assert several.actual.interval == pytest.approx((19.45e6, 20.56e6), rel=1e-3)


def test_one_run_is_judged_as_if_runs_differed_by_5_percent() -> None:
    analysis = recorded([20.0] * 12)
    assumed = "with an assumed spread between runs of 5 %"
    reach = math.exp(1.959964 * 0.05)
    near, far, above = check(analysis, ["p50 <= 21.5ms", "p50 <= 22.5ms", "p50 <= 18ms"])
    assert near.actual.interval == pytest.approx((2e7 / reach, 2e7 * reach))
    alone = "the calls of this run alone: passed; add runs (--also) or give their spread (--run-noise)"
    assert (near.outcome, near.actual.note) == ("open", f"{assumed}; {alone}")
    assert (far.outcome, far.actual.note) == ("passed", assumed)
    assert (above.outcome, above.actual.note) == ("failed", assumed)
    (tail,) = check(analysis, "p90 <= 22.8ms")
    assert (tail.outcome, tail.actual.note.partition(";")[0]) == (
        "open",
        "with an assumed spread between runs of 7 %",
    )


def test_runs_that_agree_may_all_be_in_one_state() -> None:
    runs = [recorded((level + (SHUFFLED - 50) / 1000).tolist()) for level in (19.98, 20.0, 20.02)]
    near, far = check(runs, ["p50 <= 21ms", "p50 <= 21.5ms"])
    reach = math.exp(1.959964 * 0.05 / math.sqrt(3))
    assert near.actual.interval == pytest.approx((2e7 / reach, 2e7 * reach), rel=1e-5)
    assumed = "with an assumed spread between runs of 5 %"
    alone = "the spread of these runs alone: passed; add runs (--also) or give their spread (--run-noise)"
    assert (near.outcome, near.actual.note) == ("open", f"{assumed}; {alone}")
    assert (far.outcome, far.actual.note) == ("passed", assumed)
    (given,) = check(runs, "p50 <= 21ms", run_noise=0.01)
    assert (given.outcome, given.actual.note) == ("passed", "with the given spread between runs of 1 %")


def test_runs_that_differ_by_more_than_is_assumed_are_judged_by_their_own_spread() -> None:
    runs = [recorded((level + (SHUFFLED - 50) / 100).tolist()) for level in (18.0, 20, 22)]
    (result,) = check(runs, "p50 <= 30ms")
    assert (result.outcome, result.actual.note) == ("passed", "")
    spread = np.log([18.0, 20, 22]).std(ddof=1)
    assert result.actual.interval == pytest.approx(
        tuple(19.93e6 * math.exp(sign * 4.3027 * spread / math.sqrt(3)) for sign in (-1, 1)), rel=1e-3
    )


def test_the_spread_is_assumed_only_for_lengths_that_have_an_interval() -> None:
    analysis = recorded([20.0] * 12)
    recorded_alone = check(analysis, "p50 <= 20.5ms", 0)
    others = check(analysis, ["max <= 20.5ms", "p50 == 20ms", "ANE share >= 50%", "calls == 12"])
    shares = check([analysis, recorded([20.0] * 12)], "ANE share >= 50%")
    assert all("assumed" not in result.actual.note for result in (*recorded_alone, *others, *shares))
    assert [result.outcome for result in (*recorded_alone, *others, *shares)] == ["passed"] * 6


def test_a_given_spread_of_shares_is_in_points() -> None:
    analysis = recorded([20.0] * 40, "AAAC" * 10)
    (alone,), (given,) = (check(analysis, "ANE share >= 50%", run_noise=noise) for noise in (None, 0.05))
    low, high = alone.actual.interval or (0, 0)
    assert given.actual.interval == pytest.approx(
        (0.75 - math.hypot(0.75 - low, 0.098), 0.75 + math.hypot(high - 0.75, 0.098)), abs=1e-4
    )
    assert given.actual.note == "with the given spread between runs of 5 points"


def test_other_recordings_show_the_spread() -> None:
    (result,) = check(recorded([20.0] * 12), "p50 <= 21ms", noise_from=noisy(5, 0.02))
    reach = math.exp(2.776445 * 0.02)  # Student's t with four degrees of freedom
    assert result.actual.interval == pytest.approx((2e7 / reach, 2e7 * reach), rel=1e-4)
    assert (result.outcome, result.actual.note) == (
        "open",
        "with the spread between runs of 5 other recordings",
    )
    # Pooled with the runs' own: 2 + 4 degrees of freedom.
    low, high = estimate_runs_interval(np.array([1.0, 2, 3]), False, 0.95, [np.array([0.0, 2, 0, 2, 1])])
    half = 2.446912 * math.sqrt((2 + 4) / 6 / 3)
    assert (low, high) == pytest.approx((2 - half, 2 + half))


def test_one_end_that_nothing_bounds_leaves_the_first() -> None:
    low, high = add_run_spread([(10.0, 10.0)], [(9.0, math.inf)], 0.02, "time", 0.95)
    assert (low, high) == (
        pytest.approx(10 * math.exp(-math.hypot(math.log(10 / 9), 0.0392)), rel=1e-4),
        math.inf,
    )
    assert add_run_spread([(0.0, math.inf)], [(0.0, math.inf)], 0.02, "count", 0.95) == (0.0, math.inf)


def test_a_requirement_at_its_limit_is_seldom_passed_with_a_spread_between_runs() -> None:
    rng = np.random.default_rng(5)
    outcomes = {"given": 0, "from": 0}
    for _ in range(400):
        level, *others = np.exp(rng.normal(0, 0.02, 5))
        calls, limit = np.full(100, level), 1.0
        low, high = add_run_spread(
            [(level, level)], [estimate_interval(calls, 0.5, 0.95)], 0.02, "time", 0.95
        )
        outcomes["given"] += high <= limit or low > limit
        low, high = estimate_runs_interval(np.array([level]), True, 0.95, [np.array(others)])
        outcomes["from"] += high <= limit or low > limit
    # The median of the levels is the limit itself; five of a hundred intervals lie beside it. The recordings
    # for the noise show the spread alone, so the number may lie anywhere beside them.
    assert all(0.02 < count / 400 < 0.08 for count in outcomes.values())


def test_recordings_without_the_number_show_no_spread() -> None:
    short = [recorded([level] * 6) for level in (20.0, 21.0, 22.0)]
    (result,) = check(recorded([20.0] * 12), "p90 <= 1s", noise_from=short)
    assert result.outcome == "open"
    assert result.actual.interval == (0, math.inf)
    assert result.actual.note == "too few recordings for the noise have this number"


def test_what_describes_the_recording_alone_has_no_spread() -> None:
    (result,) = check(recorded([20.0] * 12), "max <= 21ms", run_noise=0.5)
    assert (result.outcome, result.actual.interval, result.actual.note) == ("passed", None, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run_noise": 0.02, "noise_from": [0, 1]}, "in one way"),
        ({"noise_from": [0]}, "give two or more"),
        ({"noise_from": [0, 0]}, "give two or more"),
        ({"run_noise": 0.02, "confidence": 0.0}, "with a confidence of 0 there are none"),
    ],
)
def test_a_spread_that_cannot_be_used_is_refused(options: dict[str, Any], message: str) -> None:
    runs = noisy(2, 0.02)
    if "noise_from" in options:
        options = {**options, "noise_from": [runs[number] for number in options["noise_from"]]}
    with pytest.raises(UsageError, match=message):
        check(runs[0], "p50 <= 1s", **options)


def test_a_confidence_is_a_fraction() -> None:
    with pytest.raises(UsageError, match="below 1"):
        check(recorded([10.0]), ["p50 <= 1s"], confidence=95)
    with pytest.raises(UsageError, match="takes an analysis"):
        check([], ["p50 <= 1s"])
