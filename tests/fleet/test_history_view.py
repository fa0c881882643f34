"""The view of a history: points, bands of engines, changes and what is left out."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from click.testing import CliRunner
from fleet_rows import write_dataset
from fleets import DeviceShift, EngineChange, Fleet, Step, Unmeasured, write_fleet

from tracekit.cli import main
from tracekit.fleet.history.accepted import Accepted, write_accepted
from tracekit.report.fleet.history_view import history_view, read_history_data

pytestmark = pytest.mark.integration

PHONE, OLD = "iPhone 17 Pro 1", "iPhone 14 2"
FLEET = Fleet(
    devices=2, models=3, builds=30, runs=5, calls=12, seed=3, spread=0.01,
    steps=(Step("Encoder", PHONE, 20, 1.1),),
    engine_changes=(EngineChange("Decoder", OLD, 24, "CPU", 0.6),),
    shifts=(DeviceShift(OLD, 15, 1.0, "iOS 27.1 (24B5)"),),
    unmeasured=(Unmeasured(PHONE, 10, 12),),
    failed=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    dataset = write_fleet(tmp_path_factory.mktemp("history") / "results", FLEET)
    return history_view(read_history_data(dataset), "Dictate")


def row(view: dict[str, Any], model: str, device: str) -> dict[str, Any]:
    (row,) = [row for row in view["rows"] if (row["model"], row["device"]) == (model, device)]
    return row


def changes(view: dict[str, Any], model: str, device: str) -> list[dict[str, Any]]:
    number = view["rows"].index(row(view, model, device))
    return [change for change in view["changes"] if change["row"] == number]


def test_a_series_that_changed_has_its_levels_and_the_others_have_none(view: dict[str, Any]) -> None:
    points = row(view, "Encoder", PHONE)["main"]
    levels = dict(zip(points["build"], points["level"], strict=True))
    assert len(set(levels.values())) == 2
    assert [levels[build] == levels[0] for build in (19, 20, 29)] == [True, False, False]
    assert levels[20] / levels[19] == pytest.approx(1.1, abs=0.015)
    assert row(view, "Segmenter", PHONE)["main"]["level"] == []


def test_a_change_that_people_accepted_is_marked(tmp_path: Path) -> None:
    dataset = write_fleet(tmp_path / "results", FLEET)
    write_accepted(dataset.path, [Accepted("Dictate", PHONE, "iPhone 17 Pro", "Encoder", "p50", "420")])
    view = history_view(read_history_data(dataset), "Dictate")
    marked = [change["label"] for change in view["changes"] if change["accepted"]]
    assert len(marked) == 1 and marked[0].startswith("p50 +")


def test_the_command_of_a_change_accepts_it(tmp_path: Path) -> None:
    dataset = write_fleet(tmp_path / "my results", FLEET)
    changes = history_view(read_history_data(dataset), "Dictate")["changes"]
    (command,) = {change["acceptCommand"] for change in changes if change["label"].startswith("p50 +")}
    assert (
        command
        == f"tracekit fleet check '{tmp_path}/my results' --require 'no changes in \"Encoder\"' --accept"
    )
    assert CliRunner().invoke(main, shlex.split(command)[1:]).exit_code == 0
    changes = history_view(read_history_data(dataset), "Dictate")["changes"]
    assert {change["label"][:5] for change in changes if change["accepted"]} >= {"p50 +"}


def test_each_model_and_device_has_a_row(view: dict[str, Any]) -> None:
    assert [(row["model"], row["device"]) for row in view["rows"]] == [
        (model, device) for model in ("Decoder", "Encoder", "Segmenter") for device in (OLD, PHONE)
    ]
    assert row(view, "Encoder", PHONE)["chip"] == "A19 Pro"
    assert view["builds"] == [str(400 + build) for build in range(30)]
    assert view["days"][0] == "2026-01-05"
    assert view["summary"] == "304 recordings; left out: 4 could not be analyzed."
    json.dumps(view, allow_nan=False)


def test_a_step_is_a_change_with_its_evidence(view: dict[str, Any]) -> None:
    (change,) = [change for change in changes(view, "Encoder", PHONE) if change["metric"] == "p50"]
    assert (change["lastBefore"], change["first"], change["sign"]) == (19, 20, 1)
    assert change["sentence"].startswith(f"{change['label']} from build 420 (")
    percent = float(change["label"].removeprefix("p50 +").removesuffix(" %"))
    assert percent == pytest.approx(10, abs=1)
    assert "95 % interval" in change["sentence"]
    assert change["command"] == (
        "tracekit record --app 419/Dictate.app --interleave 420/Dictate.app --device 'iPhone 17 Pro 1'"
    )
    assert not change["accepted"]


def test_an_engine_that_changes_is_a_change_of_its_share(view: dict[str, Any]) -> None:
    labels = {change["metric"]: change["label"] for change in changes(view, "Decoder", OLD)}
    assert labels["CPU used share"].startswith("CPU 0 % → ")
    assert labels["ANE used share"].startswith("Neural Engine 100 % → ")
    assert {change["first"] for change in changes(view, "Decoder", OLD)} == {24}


def test_engines_that_are_not_measured_are_a_band(view: dict[str, Any]) -> None:
    shares = row(view, "Encoder", PHONE)["engines"]["ANE"]
    assert shares["low"][9:13] == [1, 0, 0, 1]
    assert shares["high"][9:13] == [1, 1, 1, 1]


def test_an_update_of_the_system_is_in_the_points(view: dict[str, Any]) -> None:
    systems = row(view, "Encoder", OLD)["main"]["system"]
    assert systems[14:16] == ["iOS 27.0 (24A300)", "iOS 27.1 (24B5)"]


def test_points_have_the_interval_of_their_recordings(tmp_path: Path) -> None:
    place = {"device": "Phone", "app": "App", "build": "7"}
    lengths = [10e6, 11e6]
    dataset = write_dataset(
        tmp_path / "results",
        recordings=[{**place, "recording": str(number)} for number in range(2)],
        models=[
            {**place, "recording": str(number), "model": "Net", "calls": 3, "p50_ns": length, "source": "coreml"}
            for number, length in enumerate(lengths)
        ],
    )  # fmt: skip
    (row,) = history_view(read_history_data(dataset), "")["rows"]
    logs = [math.log(length / 1e6) for length in lengths]
    half = 12.7062 * stdev(logs) / math.sqrt(2)  # Student's t of one degree of freedom
    assert row["main"]["ms"] == [pytest.approx(math.sqrt(110), rel=1e-4)]
    assert row["main"]["low"] == [pytest.approx(math.sqrt(110) * math.exp(-half), rel=1e-4)]
    assert row["main"]["high"] == [pytest.approx(math.sqrt(110) * math.exp(half), rel=1e-4)]
    assert row["power"] == "has too few builds for a level: no change of it can be found yet"


def test_a_single_recording_has_no_interval(tmp_path: Path) -> None:
    place = {"device": "Phone", "app": "App", "build": "7", "recording": "a"}
    model = {**place, "model": "evil\x1b[2J", "calls": 3, "p50_ns": 2e6, "source": "coreml"}
    dataset = write_dataset(tmp_path / "results", recordings=[place], models=[model])
    (row,) = history_view(read_history_data(dataset), "App")["rows"]
    assert (row["main"]["low"], row["main"]["high"], row["model"]) == ([None], [None], r"evil\x1b[2J")


def test_recordings_without_a_build_are_counted(tmp_path: Path) -> None:
    dataset = write_dataset(
        tmp_path / "results", recordings=[{"recording": "a"}, {"recording": "b", "state": "failed"}]
    )
    view = history_view(read_history_data(dataset), "")
    assert (view["apps"], view["builds"], view["rows"]) == ([], [], [])
    assert view["summary"] == "2 recordings; left out: 1 could not be analyzed, 1 without a build."
