"""Values that hold for a while: whether the GPU is active, how hot the device is."""

from __future__ import annotations

from typing import Any

from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.columns import TRACKS
from tracekit.parsers.tables.tracks import read_tracks

GPU = {"start": "start-time", "duration": "duration", "state": "gpu-state"}
THERMAL = {
    "start": "start-time",
    "duration": "duration",
    "end": "start-time",
    "thermal-state": "thermal-state",
    "track-label": "string",
}


def read(*documents: str) -> tuple[list[tuple[Any, ...]], list[tuple[str, int]]]:
    frame, issues = read_tracks(tables_of(*documents))
    return records(TRACKS.check(frame, "tracks"), "time_ns", "name", "unit", "value"), issue_counts(issues)


def test_the_gpu_is_active_until_it_is_not() -> None:
    rows, issues = read(
        rows_of(
            "metal-gpu-state-intervals",
            GPU,
            (10, 5, "Active"),
            (15, 5, "Idle"),
            (30, 1, "Active"),
        )
    )
    # A value that nothing follows at once is not known from its end on.
    assert rows == [
        (10, "GPU active", "", 1.0),
        (15, "GPU active", "", 0.0),
        (20, "GPU active", "", None),
        (30, "GPU active", "", 1.0),
        (31, "GPU active", "", None),
    ]
    assert issues == []


def test_rows_that_overlap_or_never_end() -> None:
    rows, issues = read(
        rows_of(
            "metal-gpu-state-intervals",
            GPU,
            (10, 90, "Active"),
            (20, 5, "Idle"),
            (200, None, "Active"),
            (None, 1, "Idle"),
        )
    )
    assert [(row[0], row[3]) for row in rows] == [(10, 1.0), (20, 0.0), (100, None), (200, 1.0)]
    assert issues == [("interval-without-start", 1), ("interval-open", 1)]


def test_thermal_states_are_levels() -> None:
    states = [("Nominal", 0.0), ("Fair", 1.0), ("Serious", 2.0), ("Critical", 3.0), ("Balmy", None)]
    text = rows_of(
        "device-thermal-state-intervals",
        THERMAL,
        *((index * 10, 10, index * 10 + 10, state, "Current") for index, (state, _) in enumerate(states)),
    )
    rows, issues = read(text)
    assert rows == [
        *((index * 10, "Thermal state", "level", level) for index, (_, level) in enumerate(states)),
        (50, "Thermal state", "level", None),
    ]
    assert issues == [("thermal-state-unknown", 1)]


def test_each_label_is_a_track_of_its_own() -> None:
    text = rows_of(
        "device-thermal-state-intervals",
        THERMAL,
        (0, 10, 10, "Nominal", "Current"),
        (0, 20, 20, "Fair", "Skin"),
        (10, 10, 20, "Fair", None),
    )
    rows, _ = read(text)
    assert rows == [
        (0, "Thermal state", "level", 0.0),
        (0, "Thermal state (Skin)", "level", 1.0),
        (10, "Thermal state", "level", 1.0),
        (20, "Thermal state", "level", None),
        (20, "Thermal state (Skin)", "level", None),
    ]
