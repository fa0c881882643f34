"""Changes of series: found at the build that the rule promises, and not where nothing changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fleets import DeviceShift, EngineChange, Fleet, Step, Unmeasured, write_fleet

from tracekit.errors import InputError
from tracekit.fleet.history.accepted import NAME, Accepted, read_accepted, write_accepted
from tracekit.fleet.history.build_series import History, read_history
from tracekit.fleet.history.level_segments import split_into_segments
from tracekit.fleet.history.series_changes import Changes, SeriesChange, find_changes, find_discovery_limit
from tracekit.fleet.history.series_power import estimate_power

pytestmark = pytest.mark.slow

PHONE = "iPhone 17 Pro 1"


def changes_of(path: Path, fleet: Fleet) -> tuple[History, Changes]:
    """Return the history of a synthetic fleet and its changes."""
    history = read_history(write_fleet(path / "results", fleet))
    return history, find_changes(history)


def placed(history: History, changes: list[SeriesChange]) -> list[tuple[str, str, str, int, int]]:
    """Return model, device, metric, first build and the build at which it was found."""
    keys = history.keys
    return [
        (key.model, key.device, key.metric, change.first, change.found_at)
        for change in changes
        for key in [keys[change.series]]
    ]


def test_a_step_of_five_percent_is_found_within_two_builds(tmp_path: Path) -> None:
    fleet = Fleet(builds=40, spread=0.01, steps=(Step("Encoder", PHONE, 30, 1.05),))
    history, changes = changes_of(tmp_path, fleet)
    assert placed(history, list(changes.changes)) == [
        ("Encoder", PHONE, metric, 30, 31) for metric in ("mean", "p50", "p90")
    ]
    (p50,) = [change for change in changes.changes if history.keys[change.series].metric == "p50"]
    assert p50.interval[0] < np.log(1.05) < p50.interval[1]
    assert (p50.later, p50.last_before, p50.holds) == (1, 29, True)


def test_a_build_alone_is_no_change_of_lengths(tmp_path: Path) -> None:
    steps = (Step("Encoder", PHONE, 30, 1.5), Step("Encoder", PHONE, 31, 1 / 1.5))
    _, changes = changes_of(tmp_path, Fleet(builds=40, spread=0.01, steps=steps))
    assert changes.changes == ()


def test_an_engine_that_changes_is_found_at_that_build(tmp_path: Path) -> None:
    fleet = Fleet(builds=20, engine_changes=(EngineChange("Decoder", PHONE, 10, "CPU", 0.6),))
    history, changes = changes_of(tmp_path, fleet)
    assert placed(history, list(changes.changes)) == [
        ("Decoder", PHONE, "ANE used share", 10, 10),
        ("Decoder", PHONE, "CPU used share", 10, 10),
    ]


def test_unmeasured_recordings_change_the_unknown_share_and_no_engine(tmp_path: Path) -> None:
    fleet = Fleet(builds=20, models=1, unmeasured=(Unmeasured(PHONE, 10, 20, 0.8),))
    history, changes = changes_of(tmp_path, fleet)
    metrics = {history.keys[change.series].metric for change in changes.changes}
    assert metrics == {"ANE unknown share", "GPU unknown share", "CPU unknown share"}
    assert {change.found_at for change in changes.changes} <= {10, 11, 12}


def test_an_engine_that_changes_with_the_unknown_share_is_withheld(tmp_path: Path) -> None:
    fleet = Fleet(
        devices=1,
        models=1,
        builds=20,
        runs=10,
        seed=4,
        engine_changes=(EngineChange("Encoder", PHONE, 10, "CPU"),),
        unmeasured=(Unmeasured(PHONE, 10, 20, 0.4),),
    )
    history, changes = changes_of(tmp_path, fleet)
    is_shown = {
        history.keys[change.series].metric: change.withheld
        for change in changes.changes
        if change.found_at == 10
    }
    assert is_shown["ANE unknown share"] is False
    assert is_shown["CPU used share"] is True


def test_a_shift_of_all_models_is_the_device_and_no_change_of_a_model(tmp_path: Path) -> None:
    fleet = Fleet(models=4, builds=40, spread=0.01, shifts=(DeviceShift(PHONE, 30, 1.08, "iOS 27.1"),))
    _, changes = changes_of(tmp_path, fleet)
    assert changes.changes == ()
    shifts = [(shift.device, shift.metric, shift.first, shift.models) for shift in changes.shifts]
    assert shifts == [(PHONE, metric, 30, 4) for metric in ("mean", "p50", "p90")]
    assert all(shift.shift == pytest.approx(np.log(1.08), abs=0.02) for shift in changes.shifts)


def test_a_model_that_changes_beside_a_shift_of_its_device_is_found(tmp_path: Path) -> None:
    fleet = Fleet(
        models=4,
        builds=40,
        spread=0.01,
        shifts=(DeviceShift(PHONE, 30, 1.08),),
        steps=(Step("Encoder", PHONE, 30, 1.1),),
    )
    history, changes = changes_of(tmp_path, fleet)
    assert {place[:2] for place in placed(history, list(changes.changes))} == {("Encoder", PHONE)}


def test_the_same_changes_are_found_whatever_comes_later(tmp_path: Path) -> None:
    step = (Step("Encoder", PHONE, 20, 1.1),)
    short = changes_of(tmp_path / "a", Fleet(devices=1, builds=22, spread=0.0, call_spread=0.0, steps=step))
    long = changes_of(tmp_path / "b", Fleet(devices=1, builds=40, spread=0.0, call_spread=0.0, steps=step))
    assert placed(short[0], list(short[1].changes)) == placed(long[0], list(long[1].changes))


def test_many_series_need_more_than_few() -> None:
    few = np.array([2.7, 0.0])
    many = np.append(np.zeros(5000), 2.7)
    assert find_discovery_limit(few) <= 2.7
    assert find_discovery_limit(many) > 2.7


@pytest.mark.parametrize(
    ("spread", "run_spread", "builds", "more_runs"),
    [(0.009, 0.02, 2, 0), (0.02, 0.02, 6, 2), (0.02, 0.0, 6, None), (0.02, float("nan"), 6, None)],
)
def test_the_power_of_a_series(spread: float, run_spread: float, builds: int, more_runs: int | None) -> None:
    power = estimate_power(spread, run_spread, 1 if run_spread != 0.009 else 5, 40)
    assert (power.builds, power.more_runs) == (builds, more_runs)


def test_an_optimal_partition_ends_at_the_steps_and_not_at_an_outlier() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0, 0.02, 120)
    values[40:] += 0.2
    values[90:] -= 0.1
    values[20] += 1.0
    assert [(part.first, part.last) for part in split_into_segments(values)] == [(0, 40), (40, 90), (90, 120)]


def test_accepted_changes_are_read_as_they_were_written(tmp_path: Path) -> None:
    accepted = {Accepted("App", "iPhone", "iPhone18,1", "Encoder", "p50", "424")}
    assert read_accepted(tmp_path) == frozenset()
    write_accepted(tmp_path, accepted)
    assert read_accepted(tmp_path) == accepted


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": "other"}', '{"schema": "tracekit-fleet-accepted/1", "accepted": [1]}']
)
def test_damaged_accepted_changes_are_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(InputError, match="accepted changes"):
        read_accepted(tmp_path)
