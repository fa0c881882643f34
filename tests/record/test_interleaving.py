"""The order of two targets that take turns, and the targets that may."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tracekit.errors import UsageError
from tracekit.record.interleaving import build_compare_command, check_sides, iter_interleaved_places
from tracekit.record.target import Target


def test_the_side_that_goes_first_alternates() -> None:
    places = list(iter_interleaved_places(3))
    assert [place.name for place in places] == ["base-1", "new-1", "new-2", "base-2", "base-3", "new-3"]
    assert [(place.position, place.recordings) for place in places] == [(n, 6) for n in range(1, 7)]


def test_a_steady_drift_falls_on_both_sides_alike() -> None:
    positions = {"base": 0, "new": 0}
    for place in iter_interleaved_places(4):
        positions[place.side] += place.position
    assert positions["base"] == positions["new"]


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (Target("launch", "App", "/old/App.app"), "--interleave names the same target as the base, App"),
        (Target("attach", "App", "7"), "App is running and App would be started"),
    ],
)
def test_two_targets_that_cannot_be_compared_are_refused(new: Target, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_sides(Target("launch", "App", "/old/App.app"), new)


def test_two_builds_of_one_name_are_two_sides() -> None:
    check_sides(Target("launch", "App", "/old/App.app"), Target("launch", "App", "/new/App.app"))


def test_the_command_names_the_runs_of_each_side() -> None:
    base = [Path("a b-base-1.trace"), Path("-x.trace")]
    words = build_compare_command(base, [Path("n1.trace"), Path("n2.trace")], "--via", "xctrace")
    assert shlex.join(words) == (
        "tracekit compare 'a b-base-1.trace' n1.trace n2.trace --base ./-x.trace --via xctrace"
    )
