"""Synthetic fleets: their rows hold the truth that was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fleets import DeviceShift, EngineChange, Fleet, Step, Unmeasured, fleet_tables, write_fleet

PHONE, MAC = "iPhone 17 Pro 1", "iPhone 14 2"


def medians(fleet: Fleet) -> dict[tuple[str, str, str], float]:
    """Return the mean of the runs' medians in ms by device, model and build."""
    frame = fleet_tables(fleet)["models"].select(["device", "model", "build", "p50_ns"]).to_pandas()
    means = frame.groupby(["device", "model", "build"], observed=True)["p50_ns"].mean() / 1e6
    return {key: round(value, 6) for key, value in means.items()}


def test_a_step_changes_its_series_from_its_build_on_and_no_other() -> None:
    still = Fleet(builds=3, spread=0, call_spread=0)
    changed = medians(Fleet(builds=3, spread=0, call_spread=0, steps=(Step("Decoder", PHONE, 1, 1.5),)))
    differing = {key: value for key, value in changed.items() if value != medians(still)[key]}
    assert differing == {(PHONE, "Decoder", "401"): 30.0, (PHONE, "Decoder", "402"): 30.0}


def test_a_shift_of_a_device_changes_all_its_models_and_its_system() -> None:
    fleet = Fleet(
        builds=2, runs=1, spread=0, call_spread=0, shifts=(DeviceShift(PHONE, 1, 2.0, "iOS 27.1 (24B5)"),)
    )
    changed = medians(fleet)
    assert changed[PHONE, "Encoder", "401"] == 2 * changed[PHONE, "Encoder", "400"] == 20.0
    assert changed[PHONE, "Decoder", "401"] == 40.0
    assert changed[MAC, "Encoder", "401"] == changed[MAC, "Encoder", "400"]
    rows = fleet_tables(fleet)["recordings"].select(["device", "build", "system"]).to_pylist()
    assert [row["build"] for row in rows if row["system"] == "iOS 27.1 (24B5)"] == ["401"]


def test_engines_change_and_unmeasured_recordings_have_unknown_calls() -> None:
    fleet = Fleet(
        devices=1,
        models=1,
        builds=3,
        runs=1,
        calls=10,
        engine_changes=(EngineChange("Encoder", PHONE, 1, "GPU"),),
        unmeasured=(Unmeasured(PHONE, 2, 3),),
    )
    columns = ["build", "engine", "served", "not_served", "unknown"]
    rows = [tuple(row.values()) for row in fleet_tables(fleet)["engines"].select(columns).to_pylist()]
    assert rows == [
        ("400", "ANE", 10, 0, 0),
        ("400", "GPU", 0, 10, 0),
        ("400", "CPU", 0, 10, 0),
        ("401", "ANE", 0, 10, 0),
        ("401", "GPU", 10, 0, 0),
        ("401", "CPU", 0, 10, 0),
        ("402", "ANE", 0, 0, 10),
        ("402", "GPU", 0, 0, 10),
        ("402", "CPU", 0, 0, 10),
    ]


def test_a_written_fleet_is_a_dataset_with_every_recording(tmp_path: Path) -> None:
    dataset = write_fleet(tmp_path / "results", Fleet(builds=2, runs=2, calls=3, failed=1))
    assert dataset.count("recordings") == 2 * 2 * 2 + 1
    calls = dataset.open_table("calls").to_table().to_pandas()
    assert len(calls) == 2 * 2 * 2 * 2 * 3
    assert set(calls["ane_used"]) == {"yes"}
    assert np.isfinite(calls["length_ns"]).all()
