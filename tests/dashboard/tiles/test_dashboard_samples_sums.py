"""Sums of what is selected: those of a view that has every sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from samples_support import (
    FAR,
    MS,
    analyze,
    decoded,
    exact,
    exact_many,
    exact_sums,
    in_order,
    kept,
    many,
    opened,
    recording,
    sums_of,
    terms_in,
    trace_of,
)
from trace_support import CALL, E5_WORKER, UI

from dashboard.tiles import sample_selection as module
from dashboard.tiles.sample_selection import SampleSelection
from dashboard.tiles.sums import sums_block

RANGES = [
    (-FAR, FAR),
    (100 * MS, 200 * MS),
    (123_450_000, 123_460_001),
    (0, 0),
    (300 * MS, 100 * MS),
    (-5, 20 * MS),
    (399 * MS, FAR),
    (FAR - 1, FAR),
]


@pytest.mark.integration
@pytest.mark.parametrize("lanes", [None, frozenset({0}), frozenset({1, 3}), frozenset(range(4))])
@pytest.mark.parametrize(("start", "end"), RANGES)
def test_the_sums_of_the_exact_view(
    start: int, end: int, lanes: frozenset[int] | None, tmp_path: Path
) -> None:
    analysis, view = many(), exact_many()
    time, lane = (view.arrays[view.header["samples"][name]].tolist() for name in ("time", "lane"))
    is_selected = [
        start <= t < end and (lanes is None or a in lanes) for t, a in zip(time, lane, strict=True)
    ]
    sums, header = sums_of(sums_block(opened(tmp_path, analysis), SampleSelection(start, end, lanes)))
    assert sums == exact_sums(view, is_selected)
    assert (header["format"], header["selected"], header["total"]) == (
        "tracekit-sums/1",
        sum(is_selected),
        600,
    )


@pytest.mark.integration
@pytest.mark.parametrize("name", ["ane-e5rt-macos26", "cpu-profile-ane-macos26", "two-at-once-macos13"])
def test_the_sums_of_a_recording(name: str, tmp_path: Path) -> None:
    analysis = recording(name)
    view = exact(analysis)
    samples = opened(tmp_path, analysis)
    sums, _ = sums_of(sums_block(samples, SampleSelection(-FAR, FAR)))
    assert sums == exact_sums(view, [True] * view.header["samples"]["count"])
    half = samples.duration_ns // 2
    time = view.arrays[view.header["samples"]["time"]].tolist()
    parts = [sums_of(sums_block(samples, SampleSelection(*span)))[0] for span in [(-FAR, half), (half, FAR)]]
    assert parts == [exact_sums(view, [(t < half) == first for t in time]) for first in (True, False)]


@pytest.mark.parametrize("text", ["engine:ane,gpu", "-thread:t0 phase:execute", "window:0-40", "bnns"])
def test_a_filter_leaves_what_fits(text: str, tmp_path: Path) -> None:
    analysis = many()
    samples = opened(tmp_path, analysis)
    mask = np.array(kept(samples, terms_in(text)))
    selection = SampleSelection(50 * MS, 350 * MS, None, mask)
    expected: dict[tuple[int, int, int], int] = {}
    for (time, _, *key), fits in zip(in_order(samples), mask, strict=True):
        if fits and 50 * MS <= time < 350 * MS:
            expected[key[2], key[0], key[1]] = expected.get((key[2], key[0], key[1]), 0) + 1
    sums, header = sums_of(sums_block(samples, selection))
    assert {key: number for key, (_, number) in sums.items()} == expected
    assert header["selected"] == selection.count(samples) == sum(expected.values()) > 0


@pytest.mark.parametrize("piece", [1, 7, 64])
@pytest.mark.parametrize("masked", [False, True])
def test_pieces_make_no_difference(
    piece: int, masked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = opened(tmp_path, many())
    mask = np.arange(samples.total) % 3 == 0 if masked else None
    selection = SampleSelection(10 * MS, 390 * MS, None, mask)
    whole = sums_block(samples, selection)
    monkeypatch.setattr(module, "_PIECE_ROWS", piece)
    assert sums_block(samples, selection) == whole
    assert max(len(sample) for (sample,) in selection.pieces(samples, samples["call"])) <= 2 * piece


@pytest.mark.integration
@pytest.mark.parametrize("unit", ["cycles", "events"])
def test_weights_beyond_32_bits_are_exact(unit: str, tmp_path: Path) -> None:
    rows = [(index, "main", ("App | main",), 5_000_000_001 + index) for index in range(3)]
    analysis = analyze(trace_of(rows, unit=unit))  # type: ignore[arg-type]
    sums, _ = sums_of(sums_block(opened(tmp_path, analysis), SampleSelection(-FAR, FAR)))
    assert list(sums.values()) == [(15_000_000_006.0, 3)]


def test_a_workers_sums_have_its_joined_node(tmp_path: Path) -> None:
    rows = [(1, "main", CALL), (2, "queue", E5_WORKER), (3, "main", CALL), (9, "main", UI)]
    samples = opened(tmp_path, analyze(trace_of(rows)))
    header, arrays = (view := decoded(sums_block(samples, SampleSelection(-FAR, FAR)))).header, view.arrays
    node, joined, number = (arrays[header["samples"][name]].tolist() for name in ("node", "joined", "number"))
    assert sum(number) == 4
    worker = int(samples["stack_node"][1])  # the stacks are those of the rows, in their order
    inside = samples.call_joined_node[samples.call_node == worker].tolist()
    moved = [(sampled, place - 1) for sampled, place in zip(node, joined, strict=True) if place]
    assert moved == [(worker, *inside)]
    assert inside != [worker]


def test_nothing_recorded_nothing_summed(tmp_path: Path) -> None:
    sums, header = sums_of(sums_block(opened(tmp_path, analyze(trace_of([]))), SampleSelection(-FAR, FAR)))
    assert (sums, header["selected"], header["total"]) == ({}, 0, 0)


def test_samples_without_a_stack_have_node_minus_one(tmp_path: Path) -> None:
    analysis = analyze(trace_of([(0, "main", None), (1, "main", None)]))
    sums, _ = sums_of(sums_block(opened(tmp_path, analysis), SampleSelection(-FAR, FAR)))
    assert [node for node, _, _ in sums] == [-1]
