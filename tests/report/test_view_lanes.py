"""Lanes: the busiest threads first, the target's intervals marked, and limits where there are too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sample_recordings import sample_analysis
from view_support import (
    ANE,
    BNNS,
    MS,
    UI,
    Signpost,
    analyze,
    ane,
    gpu,
    prediction,
    trace_of,
    view_of,
    with_evidence,
    with_tracks,
)

from tracekit import Analysis
from tracekit.model.vocabulary import ENGINE_CODE, Engine
from tracekit.report.viewmodel import lanes as module
from tracekit.report.viewmodel.lanes import (
    SpanLane,
    build_span_lanes,
    build_thread_lanes,
    build_tracks,
    iter_signpost_lanes,
    sample_lengths,
)

NAN = float("nan")


def analysis_of(rows: list[Any], **options: Any) -> Analysis:
    return analyze(trace_of(rows, **options))


# Threads --------------------------------------------------------------------------------------------------


def test_threads_with_most_ml_work_come_first_then_those_with_most_work() -> None:
    analysis = analysis_of(
        [
            (0, "draws", UI, 50 * MS),
            (0, "little", ANE, 1 * MS),
            (1, "draws less", UI, 20 * MS),
            (2, "much", BNNS, 5 * MS),
        ]
    )
    lanes = build_thread_lanes(analysis, 4, 100 * MS)
    names = analysis.trace.threads["name"].tolist()
    assert [names[lane.thread] for lane in lanes] == ["much", "little", "draws", "draws less"]
    assert [(lane.weight, lane.samples) for lane in lanes] == [
        (5.0 * MS, 1),
        (1.0 * MS, 1),
        (50.0 * MS, 1),
        (20.0 * MS, 1),
    ]


def test_a_thread_has_a_plane_for_each_engine_that_it_was_at() -> None:
    analysis = analysis_of([(0, "main", ANE), (1, "main", UI), (2, "main", None), (3, "main", ANE)])
    (lane,) = build_thread_lanes(analysis, 4, 4 * MS)
    assert lane.engines == (ENGINE_CODE[Engine.ANE], ENGINE_CODE[Engine.OTHER], ENGINE_CODE[Engine.UNKNOWN])
    assert lane.planes.tolist() == [[255, 0, 0, 255], [0, 255, 0, 0], [0, 0, 255, 0]]


def test_cycles_last_until_the_usual_next_sample() -> None:
    analysis = analysis_of([(index, "main", ANE, 3_000_000_000) for index in range(4)], unit="cycles")
    (lane,) = build_thread_lanes(analysis, 8, 8 * MS)
    assert lane.planes.tolist() == [[255, 255, 255, 255, 0, 0, 0, 0]]
    assert lane.weight == 12e9


@pytest.mark.parametrize(("unit", "gap_us"), [("cycles", 250), ("cycles", 4_000), ("ns", 250)])
def test_the_page_draws_single_samples_as_long_as_those_of_its_planes(unit: Any, gap_us: int) -> None:
    """Else a lane would change its height where it is zoomed in."""
    rows = [(index * gap_us / 1_000, f"t{index % 2}", ANE, gap_us * 1_000) for index in range(9)]
    analysis = analysis_of(rows, unit=unit)
    assert view_of(analysis).header["period_ns"] == gap_us * 1_000
    assert sample_lengths(analysis.trace).tolist() == [gap_us * 1_000] * 9


def test_samples_without_a_thread_have_a_lane_of_their_own() -> None:
    trace = trace_of([(0, "main", ANE), (1, "main", ANE)])
    trace.samples["thread_id"] = np.array([0, -1], np.int32)
    assert sorted(lane.thread for lane in build_thread_lanes(analyze(trace), 4, 4 * MS)) == [-1, 0]


def test_a_thread_of_an_unknown_process_has_no_number_of_one() -> None:
    trace = trace_of([(0, "main", ANE)])
    trace.threads["pid"] = np.array([-1], np.int64)
    trace.threads["process"] = ""
    assert module.format_thread_names(analyze(trace), 0)[1] == ""


def test_no_samples_no_threads() -> None:
    assert build_thread_lanes(analysis_of([]), 4, 4 * MS) == []


@pytest.mark.parametrize("name", ["ane-e5rt-macos26", "two-at-once-macos13", "cpu-profile-ane-macos26"])
def test_a_recordings_lanes_hold_all_of_its_samples(name: str) -> None:
    analysis = sample_analysis(name)
    lanes = build_thread_lanes(analysis, 512, 10**10)
    assert sum(lane.samples for lane in lanes) == len(analysis.trace.samples)
    assert sum(lane.weight for lane in lanes) == analysis.trace.weights.sum()
    assert len({lane.thread for lane in lanes}) == len(lanes)


# Measured intervals ---------------------------------------------------------------------------------------


def spans(analysis: Analysis, bins: int = 10, duration_ms: int = 100) -> dict[str, SpanLane]:
    return {lane.title: lane for lane in build_span_lanes(analysis, bins, duration_ms * MS)}


def of_target_by_name(lane: SpanLane) -> dict[str, set[bool]]:
    assert lane.rows is not None
    return {
        name: set(rows["is_target"].tolist())
        for name, rows in lane.rows.groupby("name", observed=True, sort=True)
    }


def test_a_lane_holds_one_tables_intervals_of_one_engine() -> None:
    trace = with_evidence(trace_of([(0, "main", ANE)]), [ane(20, 30), gpu(0, 50), ane(0, 10), ane(5, 5)])
    lanes = spans(analyze(trace))
    assert list(lanes) == ["Neural Engine", "GPU"]
    lane = lanes["Neural Engine"]
    assert lane.rows is not None
    assert lane.rows[["start_ns", "end_ns"]].to_numpy().tolist() == [[0, 10 * MS], [20 * MS, 30 * MS]]
    assert (lane.count, lane.engine, lane.source) == (2, Engine.ANE, "ane-hw-intervals")
    assert lane.plane.tolist() == [255, 0, 255, 0, 0, 0, 0, 0, 0, 0]
    assert lane.other_plane is None


def test_intervals_that_overlap_cover_their_time_once() -> None:
    trace = with_evidence(trace_of([(0, "main", ANE)]), [ane(0, 4), ane(1, 4), ane(2, 5)])
    assert spans(analyze(trace))["Neural Engine"].plane[:2].tolist() == [128, 0]


def test_another_processs_work_on_the_gpu_is_not_own() -> None:
    trace = with_evidence(trace_of([(0, "main", ANE)]), [gpu(0, 10), gpu(20, 30, pid=88), prediction(0, 40)])
    lane = spans(analyze(trace))["GPU"]
    assert lane.rows is not None
    assert lane.rows["is_target"].tolist() == [True, False]
    assert lane.plane.tolist() == [255, *[0] * 9]
    assert lane.other_plane is not None
    assert lane.other_plane.tolist() == [0, 0, 255, *[0] * 7]


@pytest.mark.parametrize("name", ["concurrent-models-ios27", "fallback-midway-ios27"])
def test_models_of_other_apps_on_the_neural_engine_are_not_own(name: str) -> None:
    analysis = sample_analysis(name)
    (lane,) = [lane for lane in build_span_lanes(analysis, 64, 10**10) if lane.source == "ane-hw-intervals"]
    by_name = of_target_by_name(lane)
    assert {flag for label, flags in by_name.items() for flag in flags if "PersonSegmenter" in label} == {
        False
    }
    assert {flag for label, flags in by_name.items() for flag in flags if "SpeechEncoder" in label} == {True}


@pytest.mark.integration
def test_too_many_intervals_leave_the_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = with_evidence(
        trace_of([(0, "main", ANE)]), [ane(index, index + 1) for index in range(0, 100, 10)]
    )
    listed = spans(analyze(trace))["Neural Engine"]
    monkeypatch.setattr(module, "MOST_SPANS", 9)
    dropped = spans(analyze(trace))["Neural Engine"]
    assert listed.rows is not None
    assert dropped.rows is None
    assert (dropped.count, dropped.plane.tolist()) == (10, listed.plane.tolist())
    assert dropped.plane.tolist() == [26] * 10


def test_so_many_intervals_are_kept() -> None:
    assert module.MOST_SPANS == 20_000


def test_no_intervals_no_lanes() -> None:
    assert build_span_lanes(analysis_of([(0, "main", ANE)]), 4, 4 * MS) == []


# Signposts ------------------------------------------------------------------------------------------------


def test_signposts_are_grouped_by_subsystem_and_category_most_first() -> None:
    marks = [
        Signpost(5, 6, "org.app/net/get"),
        Signpost(3, 4, "org.app/ui/draw"),
        Signpost(1, 2, "org.app/ui/layout"),
        Signpost(1, 1, "org.app/ui/tap", kind="event"),
    ]
    groups = list(iter_signpost_lanes(analyze(with_evidence(trace_of([(0, "main", UI)]), signposts=marks))))
    assert [title for title, _ in groups] == ["org.app/ui", "org.app/net"]
    assert groups[0][1]["name"].astype("str").tolist() == ["layout", "draw"]


@pytest.mark.integration
def test_at_most_twenty_lanes_and_twenty_thousand_rows() -> None:
    marks = [Signpost(index % 90, 95, f"org.app/c{index % 25}/work") for index in range(25 * 1100)]
    groups = list(iter_signpost_lanes(analyze(with_evidence(trace_of([(0, "main", UI)]), signposts=marks))))
    assert len(groups) == 20
    assert {len(rows) for _, rows in groups} == {1000}


# Tracks ---------------------------------------------------------------------------------------------------


def track(rows: list[tuple[int, float]]) -> list[tuple[float, float]]:
    (thinned,) = build_tracks(analyze(with_tracks(trace_of([(0, "main", UI)]), rows)))
    assert (thinned.name, thinned.unit) == ("Power", "W")
    return list(zip(thinned.time.tolist(), thinned.value.tolist(), strict=True))


def test_a_track_holds_its_changes_only() -> None:
    assert track([(30, 2.0), (0, 1.0), (10, 1.0), (20, 2.0), (40, 1.0)]) == [(0, 1), (20, 2), (40, 1)]


def test_what_is_not_known_begins_once() -> None:
    thinned = track([(0, 1.0), (1, NAN), (2, NAN), (3, 1.0)])
    assert str(thinned) == "[(0.0, 1.0), (1.0, nan), (3.0, 1.0)]"


def long_track(unknown: bool) -> tuple[list[tuple[int, float]], list[tuple[float, float]]]:
    dice = np.random.default_rng(2)
    values = dice.normal(10, 1, 50_000)
    values[[17_001, 40_003]] = -500.0, 900.0
    rows = [(index, float(value)) for index, value in enumerate(values)]
    if unknown:
        rows[17_000] = (17_000, NAN)
    return rows, track(rows)


@pytest.mark.integration
@pytest.mark.parametrize("unknown", [False, True], ids=["known", "a value is missing beside the lowest"])
def test_a_long_track_keeps_its_extremes(unknown: bool) -> None:
    rows, thinned = long_track(unknown)
    assert len(thinned) <= 4_000
    assert set(map(str, thinned)) <= {str((float(index), value)) for index, value in rows}
    assert [time for time, _ in thinned] == sorted(time for time, _ in thinned)
    assert thinned[0] == rows[0]
    assert (40_003, 900.0) in thinned
    assert (17_001, -500.0) in thinned


@pytest.mark.integration
def test_tracks_of_a_recording_are_its_rows() -> None:
    (thermal,) = [
        track for track in build_tracks(sample_analysis("ane-intervals-macos26")) if "Thermal" in track.name
    ]
    rows = sample_analysis("ane-intervals-macos26").trace.tracks
    rows = rows[(rows["name"].astype("str") == thermal.name).to_numpy(bool)]
    merged = pd.Series(thermal.value, thermal.time).reindex(rows["time_ns"].astype(float), method="ffill")
    assert np.array_equal(merged.to_numpy(), rows["value"].to_numpy(), equal_nan=True)
