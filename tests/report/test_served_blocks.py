"""What a page with a server gets: the view, and its samples as a block of their own."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from sample_recordings import sample_analysis
from test_view_samples import many
from view_support import (
    ANE,
    BNNS,
    MS,
    UI,
    View,
    analyze,
    decoded,
    gpu,
    sample_rows,
    trace_of,
    view_of,
    with_evidence,
)

from tracekit import Analysis
from tracekit.report.viewmodel import lanes, samples
from tracekit.report.viewmodel.view import build_served_blocks

pytestmark = pytest.mark.integration


def served(analysis: Analysis) -> tuple[View, View]:
    view, block = build_served_blocks(analysis)
    return decoded(view), decoded(block)


@pytest.mark.parametrize("name", ["ane-e5rt-macos26", "cpu-profile-ane-macos26", "two-at-once-macos13"])
def test_the_samples_are_those_of_the_report(name: str) -> None:
    view, block = served(sample_analysis(name))
    report = view_of(sample_analysis(name))
    assert sample_rows(block) == sample_rows(report)
    assert view.header["samples"] == {
        "count": block.header["samples"]["count"],
        "digest": block.header["digest"],
    }
    for column in ("kind", "rule", "deciding", "weight", "number"):
        both = (each.arrays[each.header["stacks"][column]].tolist() for each in (view, report))
        assert next(both) == next(both), column


def test_every_sample_is_sent_where_a_report_sums_them_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_EXACT", 100)
    analysis = many()
    view, block = served(analysis)
    assert (view.header["exact"], view.header["bin_ns"]) == (True, 0)
    assert len(sample_rows(block).time) == 3_000
    assert not view_of(analysis).header["exact"]
    monkeypatch.setattr(samples, "MOST_EXACT_WITH_SERVER", 100)
    view, block = served(analysis)
    assert not view.header["exact"]
    assert sum(sample_rows(block).number) == 3_000


def test_the_rest_of_the_view_is_the_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_EXACT", 100)
    analysis = many()
    view, report = served(analysis)[0], view_of(analysis)
    differing = {"arrays", "strings", "samples", "stacks", "nodes", "bin_ns", "exact"}
    structured = {"budget", "lanes", "windows", "spans", "tracks", "signposts", "workers"}
    for name in sorted(set(report.header) - differing - structured):
        assert view.header[name] == report.header[name], name
    for lane, of_report in zip(view.header["lanes"], report.header["lanes"], strict=True):
        assert view.text(lane["label"]) == report.text(of_report["label"])
        planes = view.arrays[lane["occupancy"]], report.arrays[of_report["occupancy"]]
        assert np.array_equal(*planes)


def test_the_digest_is_of_the_samples() -> None:
    rows = [(0.0, "a", ANE), (1.0, "a", UI)]
    first = served(analyze(trace_of(rows)))[1].header["digest"]
    assert served(analyze(trace_of(rows)))[1].header["digest"] == first
    others = (
        [(0.0, "a", ANE), (2.0, "a", UI)],
        [(0.0, "a", ANE), (1.0, "b", UI)],
        [(0.0, "a", ANE), (1.0, "a", BNNS)],
    )
    assert first not in [served(analyze(trace_of(rows)))[1].header["digest"] for rows in others]


def test_times_of_lanes_and_after_long_pauses_begin_anew() -> None:
    day = 86_400_000.0
    rows = [(0.0, "a", UI), (1.0, "b", UI), (2.0, "a", UI), (day, "a", UI), (day + 1, "b", UI)]
    block = served(analyze(trace_of(rows)))[1]
    rows_sent = sample_rows(block)
    by_lane = [
        [time / MS for lane, time in zip(rows_sent.lane, rows_sent.time, strict=True) if lane == row]
        for row in (0, 1)
    ]
    assert sorted(by_lane) == [[0.0, 2.0, day], [1.0, day + 1]]
    assert len(block.arrays[block.header["samples"]["jump_row"]]) == 3


def test_weights_beyond_32_bits_are_summed_exactly() -> None:
    rows = [(index, "main", UI, 5_000_000_001) for index in range(200)]
    view = view_of(analyze(trace_of(rows, unit="cycles")))
    assert view.arrays[view.header["stacks"]["weight"]].tolist() == [1_000_000_000_200.0]
    assert view.header["samples"]["weight"] == 5_000_000_001


def test_a_page_with_a_server_has_more_of_the_call_tree() -> None:
    """3,500 branches of two functions each."""
    stacks = [(f"App | leaf {index}", f"App | branch {index}", "App | main") for index in range(3_500)]
    analysis = analyze(trace_of([(float(index), "main", stack) for index, stack in enumerate(stacks)]))
    cut = [
        int((view.arrays[view.header["nodes"]["flags"]] == 2).sum())
        for view in (view_of(analysis), served(analysis)[0])
    ]
    assert cut == [1_001, 0]


def test_intervals_that_are_too_many_to_list_are_sent_beside_the_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "MOST_SPANS", 2)
    rows = [gpu(0, 2), gpu(1, 3), gpu(5, 6)]
    view, block = served(analyze(with_evidence(trace_of([(0.0, "a", UI)]), rows)))
    (lane,) = view.header["spans"]
    assert "start" not in lane
    unions = block.header["spans"][0]["unions"]
    assert {name: [time / MS for time in block.arrays[array].tolist()] for name, array in unions.items()} == {
        "own_start": [0, 5],
        "own_end": [3, 6],
        "others_start": [],
        "others_end": [],
    }
    monkeypatch.undo()
    assert served(analyze(with_evidence(trace_of([(0.0, "a", UI)]), rows)))[1].header["spans"] == [{}]


def test_a_recording_without_samples_has_an_empty_block() -> None:
    block = served(analyze(trace_of([])))[1]
    assert sample_rows(block).time == []
    (length,) = struct.unpack_from("<I", build_served_blocks(analyze(trace_of([])))[1])
    assert length > 0
