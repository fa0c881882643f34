"""The spread between sessions: estimated from recordings, added to intervals, and required by gates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from compare_support import recorded
from scipy import stats

from tracekit import Analysis, analyze, compare
from tracekit.checks.changes import check_changes
from tracekit.checks.parser import parse_change
from tracekit.comparison.estimates import RunVariation, estimate_between_runs, estimate_within_runs
from tracekit.comparison.observations import Observations
from tracekit.comparison.sessions import SessionNoise, estimate_session_spread
from tracekit.comparison.turns import split_sessions
from tracekit.report.comparison.headline import sentence

pytestmark = pytest.mark.integration
LENGTHS = [10.0, 12, 11, 13, 10, 12]


def run(start: str, factor: float = 1.0) -> Analysis:
    analysis = recorded([length * factor for length in LENGTHS])
    return analyze(replace(analysis.trace, info=replace(analysis.trace.info, start=start)))


def day(number: int, *factors: float) -> list[Analysis]:
    """Return runs of a day, a minute apart."""
    return [run(f"2026-11-{number:02}T10:{minute:02}:00Z", factor) for minute, factor in enumerate(factors)]


def arrays(*sessions: list[float]) -> list[np.ndarray]:
    return [np.array(values, float) for values in sessions]


# The estimate ----------------------------------------------------------------------------------------------


def test_sessions_of_equal_size_are_an_analysis_of_variance() -> None:
    # Two builds of three sessions with two runs each. Means of sessions: 1, 3, 5 and 11, 11, 14.
    sessions = arrays([0, 2], [2, 4], [4, 6], [10, 12], [11, 11], [13, 15])
    spread = estimate_session_spread(sessions, [0, 0, 0, 1, 1, 1])
    assert spread is not None
    # Around the mean of their build (3 and 12): 4 + 0 + 4 + 1 + 1 + 4 = 14, with 4 degrees of freedom.
    assert (spread.variance, spread.runs, spread.df) == (pytest.approx(14 / 4), 2, 4)


def test_single_runs_have_the_spread_of_sessions_and_runs_together() -> None:
    values = [1.0, 4, 2, 7, 3, 3]
    spread = estimate_session_spread(arrays(*([value] for value in values)), [0] * 6)
    assert spread is not None
    assert (spread.variance, spread.runs, spread.df) == (pytest.approx(np.var(values, ddof=1)), 1, 5)


@pytest.mark.parametrize("builds", [[0, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
def test_too_few_sessions_show_no_spread(builds: list[int]) -> None:
    sessions = arrays(*([float(number)] for number in range(len(builds))))
    spread = estimate_session_spread(sessions, builds)
    assert (spread is not None) == (len(builds) - len(set(builds)) >= 4)


def test_the_estimate_is_right_on_average_for_sessions_of_unequal_size() -> None:
    rng = np.random.default_rng(7)
    sizes, builds, of_sessions, of_runs = [1, 4, 2, 1, 5, 3, 2], [0, 0, 0, 1, 1, 1, 1], 3.0, 2.0
    drawn = []
    for _ in range(4000):
        sessions = [
            rng.normal(10 * build + rng.normal(0, of_sessions), of_runs, size)
            for build, size in zip(builds, sizes, strict=True)
        ]
        spread = estimate_session_spread(sessions, builds)
        assert spread is not None
        drawn.append(spread.variance)
    # The variance of the mean of a session with ``runs`` runs. Standard error of the mean: 1.4 %.
    assert np.mean(drawn) == pytest.approx(of_sessions**2 + of_runs**2 / spread.runs, rel=0.06)


# Intervals -------------------------------------------------------------------------------------------------


def test_a_given_spread_is_added_once_per_side() -> None:
    base, new = np.array([10.0, 12, 11]), np.array([12.0, 13, 14])
    plain = estimate_between_runs(base, new, [], "linear")
    wide = estimate_between_runs(base, new, [], "linear", sessions=SessionNoise(0.02))
    assert plain is not None
    assert wide is not None
    assert wide.error**2 == pytest.approx(plain.error**2 + 2 * (0.02 * 12) ** 2)
    # Satterthwaite: only the part of the runs is estimated.
    assert wide.df == pytest.approx(plain.df * (wide.error / plain.error) ** 4)


def test_more_runs_do_not_reduce_the_spread_between_sessions() -> None:
    side = np.array([10.0, 10.1, 9.9] * 40)
    wide = estimate_between_runs(side, side, [], "log", sessions=SessionNoise(0.02))
    assert wide is not None
    assert wide.error > math.sqrt(2) * 0.02
    exact = [RunVariation(10.0, 0.0, math.inf)] * 120
    assert estimate_within_runs(exact, exact, "log", 0.01, session_noise=0.02).error == pytest.approx(
        math.sqrt(2 * (0.02**2 + 0.01**2 / 120))
    )


def test_shares_count_a_given_spread_in_points() -> None:
    side = np.array([0.05, 0.07, 0.06])
    wide = estimate_between_runs(side, side, [], "linear", 1.0, SessionNoise(0.02))
    assert wide is not None
    assert wide.error**2 == pytest.approx(2 * side.var(ddof=1) / 3 + 2 * 0.02**2)


def test_a_spread_between_sessions_alone_does_not_test_one_run_per_side() -> None:
    value = np.array([10.0])
    assert estimate_between_runs(value, value, [], "log", sessions=SessionNoise(0.02)) is None


def test_single_runs_of_sessions_test_single_runs() -> None:
    noise = arrays([1.0], [1.1], [0.9], [1.0], [1.05])
    estimate = estimate_between_runs(
        np.array([1.0]), np.array([1.5]), noise, "linear", sessions=SessionNoise(None, [0] * 5)
    )
    assert estimate is not None
    pooled = np.concatenate(noise)
    # The test of one more value: twice the variance, four degrees of freedom.
    assert estimate.error**2 == pytest.approx(2 * pooled.var(ddof=1))
    assert estimate.probability == pytest.approx(2 * stats.t.sf(0.5 / math.sqrt(2 * pooled.var(ddof=1)), 4))


@pytest.mark.parametrize(("runs", "library_runs"), [(1, 1), (1, 3), (3, 3), (5, 2)])
def test_sides_of_two_sessions_differ_by_chance_in_five_of_a_hundred(runs: int, library_runs: int) -> None:
    """As in the calibration: 2 % between sessions and 2 % between runs, six builds of two sessions."""
    rng = np.random.default_rng([runs, library_runs])
    builds = [build for build in range(6) for _ in range(2)]
    noise_between = SessionNoise(None, builds)
    alarms = []
    for _ in range(2000):
        base, new = (rng.normal(rng.normal(0, 0.02), 0.02, runs) for _ in range(2))
        noise = [rng.normal(build + rng.normal(0, 0.02), 0.02, library_runs) for build in builds]
        estimate = estimate_between_runs(base, new, noise, "linear", sessions=noise_between)
        assert estimate is not None
        alarms.append(estimate.probability < 0.05)
    assert np.mean(alarms) < 0.065  # the standard error is 0.5 points


# Recordings ------------------------------------------------------------------------------------------------


def count_sessions(groups: list[list[Analysis]]) -> tuple[list[int], list[int]]:
    sessions, builds = split_sessions([[Observations(entry) for entry in group] for group in groups])
    return [len(session) for session in sessions], builds


def test_recordings_more_than_four_hours_apart_are_of_two_sessions() -> None:
    one_build = [*day(1, 1, 1.1), *day(2, 1), *day(3, 1.2, 1.3, 1.4), *day(4, 1), *day(5, 1)]
    assert count_sessions([one_build[::-1]]) == ([2, 1, 3, 1, 1], [0, 0, 0, 0, 0])
    assert count_sessions([one_build[:6]]) == ([6], [])  # three sessions: two degrees of freedom
    hours = [run(f"2026-11-01T{hour:02}:00:00Z", 1 + hour / 99) for hour in (0, 4, 9, 14, 19)]
    assert count_sessions([hours, day(2, 1), [*day(3, 1), *day(4, 1)]]) == (
        [2, 1, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 1, 2, 2],
    )


def test_a_build_with_a_recording_of_no_known_start_is_one_session() -> None:
    day_runs = [entry for number in range(1, 7) for entry in day(number, 1 + number / 50)]
    assert count_sessions([day_runs, [run(""), *day(9, 1.1), *day(10, 1.2)]]) == (
        [1, 1, 1, 1, 1, 1, 3],
        [0, 0, 0, 0, 0, 0, 1],
    )


# Gates -----------------------------------------------------------------------------------------------------

SLOWER = [1.10, 1.11, 1.12]
EVEN = [1.0, 1.01, 1.02]


def outcome(
    base: list[Analysis], new: list[Analysis], change: str, strict: bool = False, **options: float
) -> str:
    comparison = compare(base, new, **options)  # type: ignore[arg-type]
    (result,) = check_changes(comparison, [parse_change(change)], strict)
    return f"{result.outcome}: {result.reason}"


def test_a_gate_is_open_between_sides_of_two_days() -> None:
    monday, tuesday = day(23, *EVEN), day(24, *SLOWER)
    assert outcome(monday, tuesday, "p50 > +1%") == (
        "open: the whole interval is beyond the threshold, but the sides were not recorded in turn, and the"
        " interval lacks what changed in between: record them in turn, or give --session-noise"
    )
    assert outcome(monday, tuesday, "p50 > +50%").startswith(
        "open: the whole interval is within the threshold"
    )
    assert outcome(monday, tuesday, "p50 > +1%", strict=True).startswith("failed")
    assert outcome(monday, tuesday, "p50 > +1%", session_noise=0.01).startswith("failed")
    assert outcome(monday, tuesday, "p50 > +1%", session_noise=0.05).startswith("open: the interval reaches")


def test_a_gate_decides_between_sides_recorded_in_turn() -> None:
    base = [run(f"2026-11-23T10:0{2 * place}:00Z", factor) for place, factor in enumerate(EVEN)]
    new = [run(f"2026-11-23T10:0{2 * place + 1}:00Z", factor) for place, factor in enumerate(SLOWER)]
    assert outcome(base, new, "p50 > +1%").startswith("failed")
    # The sides share their sessions: a spread between these is not between them.
    assert outcome(base, new, "p50 > +1%", session_noise=0.5).startswith("failed")


def test_recordings_of_several_sessions_account_for_two_days() -> None:
    monday, tuesday = day(23, *EVEN), day(24, *SLOWER)
    quiet = [entry for number in range(1, 8) for entry in day(number, 1 + number / 500, 1.01 + number / 500)]
    comparison = compare(monday, tuesday, noise_from=quiet)
    assert "session-noise" in {caution.code for caution in comparison.cautions}
    (result,) = check_changes(comparison, [parse_change("p50 > +1%")])
    assert result.outcome == "failed"
    loud = [entry for number in range(1, 8) for entry in day(number, 1 + number / 20, 1.01 + number / 20)]
    (result,) = check_changes(compare(monday, tuesday, noise_from=loud), [parse_change("p50 > +1%")])
    assert result.outcome == "open"


def on_days(first_day: int, lengths: list[float], engines: str) -> list[Analysis]:
    """Return three runs of a day, with the engine of each call."""
    runs = [recorded([length * factor for length in lengths], engines) for factor in (1.0, 1.01, 0.99)]
    starts = [f"2026-11-{first_day}T10:0{minute}:00Z" for minute in range(3)]
    return [
        analyze(replace(entry.trace, info=replace(entry.trace.info, start=start)))
        for entry, start in zip(runs, starts, strict=True)
    ]


def test_findings_of_two_days_are_not_called_new_without_a_caution() -> None:
    monday, tuesday = (
        on_days(23, [10.0, 12, 11, 13, 10, 12] * 2, "A" * 12),
        on_days(24, [10.0] * 12, "A" * 6 + "C" * 6),
    )
    alone, with_spread = (sentence(compare(monday, tuesday, session_noise=noise)) for noise in (None, 0.01))
    assert "New finding (fell-back in 3 of 3 runs of NEW" in alone
    assert "what else changed in between may explain a difference" in alone
    caution = "Findings are tested without the spread between sessions, which may explain this."
    assert caution not in alone
    assert caution in with_spread
    assert caution not in sentence(compare(monday, monday[:2], session_noise=0.01))
