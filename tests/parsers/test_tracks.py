"""Values that hold for a while: whether the GPU is active, how hot the device is."""

from __future__ import annotations

from typing import Any

import pytest
from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.columns import TRACKS
from tracekit.parsers.tables import gpu_counters
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


COUNTERS = {"timestamp": "event-time", "counter-id": "uint32", "name": "gpu-counter-name", "type": "string"}
VALUES = {"timestamp": "event-time", "counter-id": "uint32", "value": "fixed-decimal"}
UTILIZATION, LIMITER = "GPU Neural Accelerators: utilization", "GPU Neural Accelerators: limiter"


def counters(*named: tuple[int, str]) -> str:
    return rows_of("gpu-counter-info", COUNTERS, *((0, number, name, "Percentage") for number, name in named))


def values(*rows: tuple[int | None, int | None, float | None]) -> str:
    return rows_of("gpu-counter-value", VALUES, *rows)


def test_the_neural_accelerators_are_a_track_of_the_gpu_by_the_millisecond() -> None:
    rows, issues = read(
        counters(
            (3, "Kernel Occupancy"), (7, "Neural Accelerator Utilization"), (8, "Neural Accelerator Limiter")
        ),
        values(
            (100, 7, 80.5),
            (200, 7, 90.5),
            (300, 3, 1.0),
            (1_000_100, 7, 10.0),
            (9_000_000, 7, 20.0),
            (9_000_001, 8, 30.0),
        ),
    )
    assert issues == []
    assert [row for row in rows if row[1] == UTILIZATION] == [
        (0, UTILIZATION, "%", 85.5),
        (1_000_000, UTILIZATION, "%", 10.0),
        (2_000_000, UTILIZATION, "%", None),
        (9_000_000, UTILIZATION, "%", 20.0),
        (10_000_000, UTILIZATION, "%", None),
    ]
    assert [row for row in rows if row[1] == LIMITER] == [
        (9_000_000, LIMITER, "%", 30.0),
        (10_000_000, LIMITER, "%", None),
    ]


def test_counters_without_a_name_or_a_value_are_no_track() -> None:
    assert read(values((100, 7, 80.0)))[0] == [], "without the names, 7 may be any counter"
    assert read(counters((7, "Kernel Occupancy")), values((100, 7, 80.0)))[0] == []
    assert read(counters((7, "Neural Accelerator Limiter")))[0] == []
    odd = values((None, 7, 80.0), (100, None, 1.0), (200, 7, None), (-5, 7, 1.0))
    assert read(counters((7, "Neural Accelerator Limiter")), odd)[0] == []


def test_too_many_counter_values_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_counters, "_MAX_ROWS", 1)
    rows, issues = read(counters((7, "Neural Accelerator Limiter")), values((1, 7, 1.0), (2, 7, 1.0)))
    assert (rows, issues) == ([], [("gpu-counters-not-read", 2)])
