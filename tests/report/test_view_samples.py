"""The samples of a view: each one, or sums that lose nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from view_support import ANE, BNNS, MS, UI, analyze, manual, sums, trace_of

from tracekit import Analysis
from tracekit.analysis.call_tree import CallTree, build_tree
from tracekit.model import combinations
from tracekit.report.viewmodel import samples as module
from tracekit.report.viewmodel.samples import build_view_samples
from tracekit.report.viewmodel.view import view_block

pytestmark = pytest.mark.integration

LOOP = tuple(f"App | step{number}" for number in range(12))


def literal() -> Analysis:
    rows: list[Any] = [
        (2.0, "b", UI),
        (1.0, "a", ANE, 3 * MS),
        (1.0, "b", None, 5 * MS),
        (3.5, "a", BNNS),
    ]
    return analyze(trace_of(rows))


def many(count: int = 3_000) -> Analysis:
    dice = np.random.default_rng(5)
    stacks = [ANE, BNNS, UI, None, LOOP, *(LOOP[start:] for start in range(1, 10))]
    rows: list[Any] = [
        (float(dice.integers(0, 400)), f"t{dice.integers(0, 3)}", stacks[int(dice.integers(0, len(stacks)))])
        for _ in range(count)
    ]
    return analyze(trace_of([(*row, int(dice.integers(1, 9)) * MS) for row in rows]))


@dataclass(frozen=True)
class Drawn:
    """The rows of samples in order of time, each with the columns of its stack."""

    bin_ns: float
    edges: np.ndarray
    time: np.ndarray
    lane: np.ndarray
    node: np.ndarray
    weight: np.ndarray
    number: np.ndarray
    engine: np.ndarray
    phase: np.ndarray
    joined_node: np.ndarray


def drawn(
    analysis: Analysis, full: bool = False, duration_ns: int = 400 * MS, **options: Any
) -> tuple[Drawn, CallTree]:
    lanes = np.append(np.arange(len(analysis.trace.threads)), -1)
    rows, stacks, tree = build_view_samples(analysis, lanes, duration_ns, full, **options)
    assert (np.diff(rows.lane) >= 0).all()
    assert (np.diff(rows.time)[np.diff(rows.lane) == 0] >= 0).all()
    assert np.bincount(rows.stack, rows.weight, len(stacks.node)).tolist() == stacks.weight.tolist()
    assert np.bincount(rows.stack, rows.number, len(stacks.node)).tolist() == stacks.number.tolist()
    order = np.argsort(rows.time, kind="stable")
    by_row = (getattr(rows, name)[order] for name in ("time", "lane"))
    of_stack = {
        name: getattr(stacks, name)[rows.stack[order]] for name in ("node", "engine", "phase", "joined_node")
    }
    sums_of_row = {name: getattr(rows, name)[order] for name in ("weight", "number")}
    return Drawn(rows.bin_ns, rows.edges, *by_row, **of_stack, **sums_of_row), tree


def names(tree: CallTree) -> list[str]:
    paths: list[str] = [""]
    for parent, function in zip(tree.parent.tolist(), tree.function.tolist(), strict=True):
        symbol = "…" if function < 0 else str(tree.symbols[function])
        paths.append(f"{paths[parent + 1]}/{symbol}")
    return paths


def keyed(samples: Drawn, tree: CallTree, pruned: bool = False) -> list[tuple[Any, ...]]:
    path = names(tree)
    nodes = ["" if pruned else path[node + 1] for node in samples.node.tolist()]
    columns = (column.tolist() for column in (samples.lane, samples.engine, samples.phase))
    return list(zip(*columns, nodes, strict=True))


def test_few_samples_are_kept_one_by_one_in_order_of_time() -> None:
    analysis = literal()
    samples, tree = drawn(analysis)
    assert samples.bin_ns == 0
    assert samples.time.tolist() == [1.0 * MS, 1.0 * MS, 2.0 * MS, 3.5 * MS]
    assert samples.weight.tolist() == [3.0 * MS, 5.0 * MS, 1.0 * MS, 1.0 * MS]
    assert samples.number.tolist() == [1, 1, 1, 1]
    threads = analysis.trace.threads["name"].tolist()
    assert [threads[lane] for lane in samples.lane] == ["a", "b", "b", "a"]
    path = names(tree)
    assert [path[node + 1].rsplit("/", 1)[-1] for node in samples.node] == [
        "H11ANEProgramProcessRequestDirect",
        "",
        "-[NSView drawRect:]",
        "BNNSFilterApply",
    ]


def test_engine_and_phase_are_those_of_the_labels() -> None:
    analysis = many(200)
    samples, _ = drawn(analysis)
    rows = analysis.trace.samples
    order = np.lexsort((rows["thread_id"].to_numpy(), rows["time_ns"].to_numpy()))
    assert samples.engine.tolist() == analysis.labels.engine[order].tolist()
    assert samples.phase.tolist() == analysis.labels.phase[order].tolist()


@pytest.mark.parametrize("most_rows", [160_000, 500, 1])
def test_bins_lose_no_weight_and_no_sample(most_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = many()
    exact, whole = drawn(analysis, full=True)
    monkeypatch.setattr(module, "MOST_EXACT", 100)
    monkeypatch.setattr(module, "_MOST_ROWS", most_rows)
    binned, tree = drawn(analysis)
    assert binned.bin_ns > 0
    for column in ("weight", "number"):
        expected = sums(keyed(exact, whole), getattr(exact, column).tolist())
        assert sums(keyed(binned, tree), getattr(binned, column).tolist()) == expected
    assert (np.diff(binned.time) >= 0).all()
    rows = list(zip(binned.time.tolist(), keyed(binned, tree), strict=True))
    assert len(set(rows)) == len(rows)


def test_a_row_stands_at_the_edge_before_its_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = many()
    monkeypatch.setattr(module, "MOST_EXACT", 100)
    binned, _ = drawn(analysis, duration_ns=402 * MS)
    exact, _ = drawn(analysis, full=True)
    assert set(binned.time) <= set(binned.edges)
    assert (np.diff(binned.edges) <= binned.bin_ns * 1.000001).all()
    by_edge = sums([binned.edges[binned.edges <= time].max() for time in exact.time], exact.weight.tolist())
    assert sums(binned.time.tolist(), binned.weight.tolist()) == by_edge


@pytest.mark.parametrize("most", [2_000, 0])
def test_bins_are_cut_where_windows_begin_and_end(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what the page sums up for a window is the window's own, however long its bins are."""
    rows: list[Any] = [(float(time), "a", ANE if time % 3 else UI) for time in range(400)]
    windows = [manual(35, 36), manual(99.5, 120), manual(120, 121)]
    analysis = analyze(trace_of(rows), windows=windows)
    monkeypatch.setattr(module, "MOST_EXACT", 1)
    monkeypatch.setattr(module, "_DETAILS", ((8, 100),))
    monkeypatch.setattr(module, "_MOST_CUT_WINDOWS", most)
    samples, _ = drawn(analysis)
    ends = samples.edges[np.searchsorted(samples.edges, samples.time, "right")]
    middle = (samples.time + ends) / 2
    weights = [
        int(samples.number[(middle >= start) & (middle < end)].sum())
        for start, end in zip(analysis.window_rows["start_ns"], analysis.window_rows["end_ns"], strict=True)
    ]
    assert weights == ([1, 20, 1] if most else [0, 0, 0])


def test_bins_get_longer_until_rows_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = many()
    monkeypatch.setattr(module, "MOST_EXACT", 100)
    fine, _ = drawn(analysis)
    monkeypatch.setattr(module, "_MOST_ROWS", len(fine.time) - 1)
    coarse, _ = drawn(analysis)
    assert fine.bin_ns == 400 * MS / 4096
    assert coarse.bin_ns > fine.bin_ns
    assert len(coarse.time) < len(fine.time)
    monkeypatch.setattr(module, "_MOST_ROWS", 0)
    assert drawn(analysis)[0].bin_ns == 400 * MS / 64


def test_bins_that_are_too_short_and_functions_that_are_too_many_give_way_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Samples that have nothing in common would else leave a page that is large, and blurred as well."""
    analysis = many()
    monkeypatch.setattr(module, "MOST_EXACT", 100)
    details = ((4_096, 19), (64, 19), (64, 3), (16, 3))
    rows = []
    for detail in details:
        monkeypatch.setattr(module, "_DETAILS", (detail,))
        rows.append(len(drawn(analysis)[0].time))
    assert rows == sorted(set(rows), reverse=True)
    monkeypatch.setattr(module, "_DETAILS", details)
    for most_rows, (bins, nodes) in zip(rows, details, strict=True):
        monkeypatch.setattr(module, "_MOST_ROWS", most_rows)
        samples, tree = drawn(analysis)
        assert (samples.bin_ns, len(samples.time)) == (400 * MS / bins, most_rows)
        assert int((tree.function >= 0).sum()) == nodes
        assert int(samples.number.sum()) == 3_000


def test_a_pruned_tree_keeps_every_lane_engine_and_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = many()
    exact, whole = drawn(analysis, full=True)
    monkeypatch.setattr(module, "_DETAILS", ((4_096, 4),))
    samples, tree = drawn(analysis)
    assert int((tree.function >= 0).sum()) == 4
    assert len(tree) < len(whole)
    expected = sums(keyed(exact, whole, pruned=True), exact.weight.tolist())
    assert sums(keyed(samples, tree, pruned=True), samples.weight.tolist()) == expected
    assert ((samples.node < 0) == (exact.node < 0)).all()


def test_full_keeps_every_sample_and_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EXACT", 1)
    monkeypatch.setattr(module, "_DETAILS", ((4_096, 1),))
    analysis = many(300)
    samples, tree = drawn(analysis, full=True)
    assert (samples.bin_ns, len(samples.time)) == (0, 300)
    assert len(tree) == len(build_tree(analysis.trace.stacks))


@pytest.mark.parametrize("full", [False, True])
def test_a_recording_without_samples_has_none(full: bool) -> None:
    samples, tree = drawn(analyze(trace_of([])), full)
    assert (len(samples.time), len(samples.node), len(tree)) == (0, 0, 0)


@pytest.mark.parametrize("block", [1, 7, 1_000])
def test_a_view_built_from_small_blocks_is_the_same(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums by bin, lanes, heaviest stacks and the pruned tree."""
    monkeypatch.setattr(module, "MOST_EXACT", 100)
    monkeypatch.setattr(module, "_MOST_ROWS", 900)
    monkeypatch.setattr(module, "_DETAILS", ((512, 9), (64, 9), (16, 7)))
    analysis = analyze(many(1_500).trace, windows=[manual(20, 75), manual(60, 300)])
    whole = view_block(analysis)
    monkeypatch.setattr(combinations, "_BLOCK_ROWS", block)
    assert view_block(analysis) == whole


def test_samples_out_of_order_have_the_same_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EXACT", 100)
    analysis = many()
    order = np.random.default_rng(1).permutation(len(analysis.trace.samples))
    shuffled = replace(analysis.trace, samples=analysis.trace.samples.iloc[order].reset_index(drop=True))
    names = ("engine", "phase", "in_call", "is_worker")
    labels = replace(analysis.labels, **{name: getattr(analysis.labels, name)[order] for name in names})
    members = replace(analysis.members, samples=np.argsort(order)[analysis.members.samples])
    expected, _ = drawn(analysis)
    found, _ = drawn(replace(analysis, trace=shuffled, labels=labels, members=members))
    for name in ("time", "lane", "node", "weight", "number", "engine", "phase", "joined_node"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
