"""Series of a dataset: one value per build, in a stated order, of like recordings only."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from fleets import Fleet, Step, Unmeasured, fleet_tables, write_fleet

from tracekit.fleet.dataset import create_dataset
from tracekit.fleet.history.build_order import order_builds
from tracekit.fleet.history.build_series import History, read_history

PHONE = "iPhone 17 Pro 1"


def series_of(history: History, model: str, metric: str, device: str = PHONE) -> pd.DataFrame:
    """Return the points of a series."""
    (number,) = [
        index
        for index, key in enumerate(history.keys)
        if (key.model, key.metric, key.device) == (model, metric, device)
    ]
    return history.points_of(number)


@pytest.mark.parametrize(
    ("first_recorded", "expected"),
    [
        ({"10": 1, "9": 2, "9.1": 3}, (["9", "9.1", "10"], "version", [])),
        ({"v1.10 (7)": None, "1.9 (8)": None}, (["1.9 (8)", "v1.10 (7)"], "version", [])),
        (
            {"1.0 (5)": 1, "1.0.1 (2)": 2, "1.0 (11)": 3},
            (["1.0 (5)", "1.0 (11)", "1.0.1 (2)"], "version", []),
        ),
        ({"main-7f": 20, "main-02": 10, "9": 15}, (["main-02", "9", "main-7f"], "time", [])),
        ({"beta": 20, "nightly": None}, (["beta"], "time", ["nightly"])),
    ],
)
def test_builds_are_ordered_by_version_or_else_by_time(
    first_recorded: dict[str, int | None], expected: tuple[list[str], str, list[str]]
) -> None:
    assert order_builds(first_recorded) == expected


def test_a_build_has_the_winsorised_mean_of_the_logarithms_of_its_runs(tmp_path: Path) -> None:
    fleet = Fleet(devices=1, models=1, builds=1, runs=5, spread=0, call_spread=0)
    tables = fleet_tables(fleet)
    lengths = pa.array([1e6, 2e6, 3e6, 4e6, 500e6])
    index = tables["models"].schema.get_field_index("p50_ns")
    tables["models"] = tables["models"].set_column(index, "p50_ns", lengths)
    dataset = create_dataset(tmp_path / "results")
    dataset.append(tables)
    points = series_of(read_history(dataset), "Encoder", "p50")
    expected = np.log([2e6, 2e6, 3e6, 4e6, 4e6]).mean()
    assert points["low"].tolist() == [pytest.approx(expected)]
    assert points["runs"].tolist() == [5]
    assert points["spread"].tolist() == [pytest.approx(np.log([1e6, 2e6, 3e6, 4e6, 500e6]).std(ddof=1))]


def test_an_engine_that_is_not_determined_makes_a_band_and_a_series_of_unknown_calls(tmp_path: Path) -> None:
    fleet = Fleet(devices=1, models=1, builds=3, runs=2, unmeasured=(Unmeasured(PHONE, 1, 2),))
    history = read_history(write_fleet(tmp_path / "results", fleet))
    bands = series_of(history, "Encoder", "ANE used share")
    assert bands[["build", "low", "high"]].to_numpy().tolist() == [[0, 1, 1], [1, 0, 1], [2, 1, 1]]
    unknown = series_of(history, "Encoder", "ANE unknown share")
    assert unknown["low"].tolist() == [0, 1, 0]


def test_a_build_without_a_value_is_absent(tmp_path: Path) -> None:
    tables = fleet_tables(Fleet(devices=1, models=1, builds=3, runs=1))
    models = tables["models"].to_pylist()
    models[1]["p50_ns"] = None
    tables["models"] = pa.Table.from_pylist(models, tables["models"].schema)
    dataset = create_dataset(tmp_path / "results")
    dataset.append(tables)
    assert series_of(read_history(dataset), "Encoder", "p50")["build"].tolist() == [0, 2]


def test_values_of_another_source_are_another_series(tmp_path: Path) -> None:
    tables = fleet_tables(Fleet(devices=1, models=1, builds=2, runs=1))
    models = tables["models"].to_pylist()
    models[1]["source"] = "signposts"
    tables["models"] = pa.Table.from_pylist(models, tables["models"].schema)
    dataset = create_dataset(tmp_path / "results")
    dataset.append(tables)
    history = read_history(dataset, ["p50"])
    points = history.points[["series", "build"]].to_numpy().tolist()
    assert [(history.keys[series].source, build) for series, build in points] == [
        ("coreml", 0),
        ("signposts", 1),
    ]


def test_recordings_in_no_series_are_counted_by_reason(tmp_path: Path) -> None:
    tables = fleet_tables(Fleet(devices=1, models=1, builds=3, runs=1, failed=1))
    rows = tables["recordings"].to_pylist()
    rows[0]["thermal"] = "serious"
    rows[1]["build"] = ""
    tables["recordings"] = pa.Table.from_pylist(rows, tables["recordings"].schema)
    dataset = create_dataset(tmp_path / "results")
    dataset.append(tables)
    history = read_history(dataset, ["p50"])
    left_out = history.left_out
    assert (left_out.not_analyzed, left_out.hot, left_out.without_build) == (1, 1, 1)
    assert [history.build_name(0, build) for build in history.points["build"]] == ["402"]


def test_an_empty_dataset_has_no_series(tmp_path: Path) -> None:
    history = read_history(create_dataset(tmp_path / "results"))
    assert (history.keys, len(history.points)) == ((), 0)


def test_a_step_is_in_its_series_alone(tmp_path: Path) -> None:
    fleet = Fleet(builds=2, spread=0, call_spread=0, steps=(Step("Encoder", PHONE, 1, 2.0),))
    history = read_history(write_fleet(tmp_path / "results", fleet), ["p50"])
    encoder = series_of(history, "Encoder", "p50")["low"].to_numpy()
    decoder = series_of(history, "Decoder", "p50")["low"].to_numpy()
    assert encoder[1] - encoder[0] == pytest.approx(math.log(2), abs=1e-6)
    assert decoder[1] == decoder[0]
