"""Tiles: what each bin covers, at every level, as slow loops over the rows find it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evidence_support import ane, gpu, with_evidence
from hypothesis import given
from hypothesis import strategies as st
from samples_support import (
    MS,
    analyze,
    kept,
    lasting,
    many,
    opened,
    planes,
    rows_of,
    slow_plane,
    slow_tile,
    sorted_by_group,
    terms_in,
    trace_of,
)
from trace_support import ANE, UI

from dashboard.tiles.tiles import lanes_tile, spans_tile
from tracekit.report.viewmodel import lanes
from tracekit.report.viewmodel.lanes import thread_lanes
from tracekit.report.viewmodel.occupancy import TILE_BINS, level_count, tile_edges


@pytest.mark.integration
@pytest.mark.parametrize(
    ("level", "index"),
    [(0, 0), (1, 1), (4, 0), (4, 7), (4, 15), (10, 513), (18, 100_000), (18, (1 << 18) - 1)],
)
def test_a_bin_holds_the_share_that_a_loop_over_the_rows_finds(
    level: int, index: int, tmp_path: Path
) -> None:
    analysis = many()
    samples = opened(tmp_path, analysis)
    rows = rows_of(analysis)
    assert planes(lanes_tile(samples, level, index, 0, None)) == slow_tile(
        rows, samples.duration_ns, level, index
    )


@pytest.mark.parametrize("text", ["engine:ane", "-binary:bnns", "nothing like this", "window:0"])
@pytest.mark.parametrize(("level", "index"), [(0, 0), (3, 4), (12, 2_000)])
def test_a_filter_leaves_the_samples_that_fit(text: str, level: int, index: int, tmp_path: Path) -> None:
    analysis = many(300)
    samples = opened(tmp_path, analysis)
    mask = np.array(kept(samples, terms_in(text)))
    tile = planes(lanes_tile(samples, level, index, 0, mask))
    fitting = [row for row, fits in zip(sorted_by_group(rows_of(analysis)), mask, strict=True) if fits]
    expected = []
    for group in samples.groups:
        group_times = [
            (row.time, row.end) for row in fitting if (row.lane, row.engine) == (group.lane, group.engine)
        ]
        expected.append(slow_plane(group_times, samples.duration_ns, level, index))
    assert tile == expected


def test_every_filter_wanting_all_gives_the_tiles_without_one(tmp_path: Path) -> None:
    samples = opened(tmp_path, many())
    everything = np.ones(samples.total, bool)
    for level, index in [(0, 0), (2, 3), (9, 100)]:
        assert lanes_tile(samples, level, index, 0, everything) == lanes_tile(samples, level, index, 0, None)


def test_tiles_are_the_reports_planes_where_bins_are_the_same(tmp_path: Path) -> None:
    duration = 8 * TILE_BINS * 61_000
    analysis = lasting(many(), duration)
    samples = opened(tmp_path, analysis)
    tiles = [np.array(planes(lanes_tile(samples, 3, index, 0, None))) for index in range(8)]
    expected = [plane for lane in thread_lanes(analysis, 8 * TILE_BINS, duration) for plane in lane.planes]
    assert np.concatenate(tiles, axis=1).tolist() == np.stack(expected).tolist()


def test_a_sample_of_cycles_lasts_until_the_usual_next_one(tmp_path: Path) -> None:
    analysis = analyze(trace_of([(index, "main", ANE, 3_000_000_000) for index in range(4)], unit="cycles"))
    samples = opened(tmp_path, analysis)
    everything = np.ones(4, bool)
    for mask in (None, everything):
        assert planes(lanes_tile(samples, 0, 0, 0, mask)) == slow_tile(
            rows_of(analysis, MS), samples.duration_ns, 0, 0
        )


def test_lanes_come_in_blocks_of_32(tmp_path: Path) -> None:
    analysis = analyze(trace_of([(index, f"t{index}", UI, (70 - index) * MS) for index in range(70)]))
    samples = opened(tmp_path, analysis)
    blocks = [planes(lanes_tile(samples, 0, 0, block, None)) for block in range(4)]
    assert [len(block) for block in blocks] == [32, 32, 6, 0]
    assert [plane for block in blocks for plane in block] == slow_tile(
        rows_of(analysis), samples.duration_ns, 0, 0
    )


def test_no_samples_no_planes(tmp_path: Path) -> None:
    samples = opened(tmp_path, analyze(trace_of([])))
    assert lanes_tile(samples, 0, 0, 0, None) == b""
    assert spans_tile(samples, 0, 0) == b""


def test_intervals_that_are_too_many_to_be_sent_have_planes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "MOST_SPANS", 2)
    units = [gpu(0, 10), gpu(5, 12), gpu(20, 30, pid=88), gpu(90, 95)]
    few = [ane(0, 5), ane(6, 7)]
    analysis = lasting(analyze(with_evidence(trace_of([(0, "main", ANE)]), [*few, *units])), 100 * MS)
    samples = opened(tmp_path, analysis)
    for level, index in [(0, 0), (1, 0), (3, 7), (4, 3), (6, 7)]:
        expected = [
            slow_plane([(0, 12 * MS), (90 * MS, 95 * MS)], samples.duration_ns, level, index),
            slow_plane([(20 * MS, 30 * MS)], samples.duration_ns, level, index),
        ]
        assert planes(spans_tile(samples, level, index)) == expected


@given(st.integers(1, 10**14), st.data())
def test_edges_are_exact(duration: int, data: st.DataObject) -> None:
    level = data.draw(st.integers(0, level_count(duration) - 1))
    index = data.draw(st.integers(0, (1 << level) - 1))
    bins = 1024 << level
    expected = [duration * k // bins for k in range(1024 * index, 1024 * (index + 1) + 1)]
    assert tile_edges(duration, level, index).tolist() == expected
    assert level == 0 or duration >= bins


@pytest.mark.parametrize(
    ("duration", "expected"), [(1, 1), (1023, 1), (1024, 1), (2047, 1), (2048, 2), (4095, 2), (4096, 3)]
)
def test_levels_end_where_a_bin_would_be_shorter_than_a_nanosecond(duration: int, expected: int) -> None:
    assert level_count(duration) == expected
