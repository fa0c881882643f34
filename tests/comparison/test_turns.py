"""Sides that were recorded one after the other: what else changed in between is stated with the difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import pytest
from compare_support import INFO, recorded

from tracekit import Analysis, compare
from tracekit.comparison.observations import Observations
from tracekit.comparison.result import Caution
from tracekit.comparison.sessions import SessionNoise
from tracekit.comparison.turns import find_order, judge_order
from tracekit.report.comparison.headline import sentence

pytestmark = pytest.mark.integration
Side = Callable[[], list[Analysis]]
MONDAY, TUESDAY = "2026-11-23T10:", "2026-11-24T10:"


@cache
def run_of(day: str, minute: int, factor: float, zone: str) -> Analysis:
    """Return a run that begins in this minute; "" of a day is a start that is not known."""
    lengths = [length * factor * (1 + minute / 5000) for length in (10.0, 12, 11, 13, 10, 12)]
    return recorded(lengths, info=replace(INFO, start=f"{day}{minute:02}:00.000{zone}" if day else ""))


def side(day: str, *minutes: int, factor: float = 1.0, zone: str = "+00:00") -> list[Analysis]:
    return [run_of(day, minute, factor, zone) for minute in minutes]


def cautions(
    base: list[Analysis],
    new: list[Analysis],
    sessions: SessionNoise | None = None,
    has_noise_runs: bool = False,
) -> list[Caution]:
    order, caution = find_order(*([Observations(run) for run in runs] for runs in (base, new)))
    return list(judge_order(order, caution, sessions, has_noise_runs))


@pytest.mark.parametrize(
    ("base", "new", "facts"),
    [
        (
            partial(side, MONDAY, 0, 1, 2),
            partial(side, TUESDAY, 2, 3, 4),
            {"first": "BASE", "gap_s": 86400.0},
        ),
        (partial(side, TUESDAY, 0, 1, 2), partial(side, MONDAY, 0, 1, 2), {"first": "NEW", "gap_s": 86280.0}),
        (partial(side, MONDAY, 0, 1), partial(side, MONDAY, 5), {"first": "BASE", "gap_s": 240.0}),
        # 10:05 at an hour east of Greenwich is before 10:00 at Greenwich.
        (
            partial(side, MONDAY, 0, 1),
            partial(side, MONDAY, 5, 6, zone="+01:00"),
            {"first": "NEW", "gap_s": 3240.0},
        ),
    ],
)
def test_sides_one_after_the_other(base: Side, new: Side, facts: dict[str, object]) -> None:
    assert cautions(base(), new()) == [Caution("not-in-turn", facts)]


@pytest.mark.parametrize(
    ("base", "new"),
    [
        (partial(side, MONDAY, 0, 2, 4), partial(side, MONDAY, 1, 3, 5)),
        (partial(side, MONDAY, 0, 3, 4), partial(side, MONDAY, 1, 2, 5)),
        (partial(side, MONDAY, 0), partial(side, TUESDAY, 0)),  # one run per side is tested against nothing
        (partial(side, "", 0), partial(side, "", 1)),
    ],
)
def test_sides_without_a_caution(base: Side, new: Side) -> None:
    assert cautions(base(), new()) == []


@pytest.mark.parametrize(
    "new",
    [
        partial(side, "", 2, 3),  # no start
        partial(side, TUESDAY, 2, 3, zone=""),  # a time of no zone
    ],
)
def test_an_order_that_is_not_recorded_is_a_caution(new: Side) -> None:
    assert cautions(side(MONDAY, 0, 1), new()) == [Caution("order-unknown")]
    text = sentence(compare(side(MONDAY, 0, 1), new()))
    assert text.endswith(
        "But the recordings do not show whether BASE and NEW were recorded in turn: if not, what else changed"
        " in between may explain a difference."
    )


def test_one_run_of_each_day_is_not_tested_on_recordings_of_one_session() -> None:
    monday, same_day, tuesday = side(MONDAY, 0), side(MONDAY, 50), side(TUESDAY, 0)
    assert [caution.code for caution in cautions(monday, tuesday, has_noise_runs=True)] == ["not-in-turn"]
    assert cautions(monday, same_day, has_noise_runs=True) == []


def test_a_known_spread_between_sessions_takes_the_place_of_the_caution() -> None:
    monday, tuesday = side(MONDAY, 0, 1), side(TUESDAY, 0, 1)
    given = cautions(monday, tuesday, SessionNoise(0.02))
    assert given == [Caution("session-noise", {"session_noise": 0.02})]
    shown = cautions(monday, side("", 0, 1), SessionNoise(None, [0, 0, 0, 1, 1, 1]))
    assert shown == [Caution("session-noise", {"sessions": 6})]


def test_slower_of_another_day_is_never_stated_alone() -> None:
    comparison = compare(side(MONDAY, 0, 1, 2), side(TUESDAY, 2, 3, 4, factor=1.2))
    text = sentence(comparison)
    assert text.startswith("NEW is slower: Net p50 ")
    assert text.endswith(
        "But the sides were recorded 24 hours apart, one after the other, BASE first: what else changed in"
        " between may explain a difference; record BASE and NEW in turn (record --interleave), or give"
        " the spread between sessions (--session-noise)."
    )
    assert "apart" not in sentence(compare(side(MONDAY, 0, 2, 4), side(MONDAY, 1, 3, 5, factor=1.2)))
