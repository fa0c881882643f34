"""The call trees of two recordings as one, by path of functions: literal samples, added up by hand."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import pytest
from compare_support import recorded
from trace_support import MS, Sample, trace_of

from tracekit import Analysis, analyze, compare
from tracekit.report.viewmodel.difference import DifferenceTree, build_difference_tree, difference_block

PREDICT = "CoreML | -[MLModel predictionFromFeatures:error:]"
Path = tuple[str, ...]


def analysed(samples: Sequence[Sample]) -> Analysis:
    return analyze(trace_of(samples))


def call(*leaves: str) -> tuple[str, ...]:
    return (*leaves, PREDICT, "App | main")


def weights(tree: DifferenceTree) -> dict[Path, tuple[float, float]]:
    """The weights that end at each path, in ms, without those of none."""
    found: dict[Path, tuple[float, float]] = {}
    for node in range(len(tree.nodes)):
        path: list[str] = []
        above = node
        while above >= 0:
            function = int(tree.nodes.function[above])
            path.insert(0, "(less)" if function < 0 else str(tree.nodes.symbols[function]))
            above = int(tree.nodes.parent[above])
        pair = (float(tree.base[node]), float(tree.new[node]))
        if any(pair):
            found[tuple(path[2:])] = pair
    return found


UI = ("AppKit | -[NSView drawRect:]", "App | main")
BASE = [
    *((time, "main", call("App | work")) for time in (1, 2, 3, 4)),
    (5, "main", call("App | old")),
    (6, "main", UI),
    *((time, "main", call("App | work")) for time in (7, 8)),
    (9, "main", UI),  # outside of every call: not counted, as in the comparison of functions
]
NEW = [(1, "main", call("App | work")), (2, "main", call("App | fresh")), (3, "main", UI)]


def test_paths_of_both_sides_per_call() -> None:
    tree = build_difference_tree(analysed(BASE), analysed(NEW))  # BASE has two calls, NEW one
    assert tree.per == "window"
    assert weights(tree) == {("work",): (3 * MS, MS), ("old",): (0.5 * MS, 0), ("fresh",): (0, MS)}


def test_a_recording_compared_with_itself_does_not_differ() -> None:
    analysis = recorded([10.0, 12, 11], "CAC")
    tree = build_difference_tree(analysis, analysis)
    assert (tree.base == tree.new).all()
    members = analysis.trace.weights * analysis.members.times_counted(len(analysis.trace.samples))
    assert tree.base.sum() == pytest.approx(members.sum() / 3)


@pytest.mark.parametrize("empty_side", [0, 1])
def test_a_side_without_stacks_has_no_weight(empty_side: int) -> None:
    sides = [analysed(NEW[:1]), analysed(NEW[:1])]
    sides[empty_side] = analysed([(1, "main", None)])
    tree = build_difference_tree(*sides)
    assert [float(weight.sum()) for weight in (tree.base, tree.new)][empty_side] == 0
    assert len(tree.nodes) == 3


def test_functions_without_a_symbol_are_one_per_binary() -> None:
    """Addresses differ from run to run."""
    sides = [analysed([(1, "main", call(f"App | 0x{address}"))]) for address in ("1040", "2080")]
    assert weights(build_difference_tree(*sides)) == {("(no symbol)",): (MS, MS)}


def test_pruned_paths_keep_their_weight() -> None:
    tree = build_difference_tree(analysed(BASE), analysed(NEW), max_nodes=3)
    assert weights(tree) == {("work",): (3 * MS, MS), ("(less)",): (0.5 * MS, MS)}


@pytest.mark.parametrize("unit", ["cycles", "ns"])
def test_without_calls_or_a_common_unit_shares_are_compared(unit: str) -> None:
    other = analyze(trace_of(BASE if unit == "cycles" else [(1, "main", UI)], unit=unit))  # type: ignore[arg-type]
    tree = build_difference_tree(analysed(BASE), other)
    assert tree.per == "sample"
    assert (tree.base.sum(), tree.new.sum()) == (pytest.approx(1), pytest.approx(1))


def test_the_block_names_what_was_tested() -> None:
    base, new = recorded([10.0] * 6, "C" * 6), recorded([14.0] * 6, "C" * 6)
    comparison = compare([base], [new])
    block = difference_block(comparison, base, new)
    header = json.loads(block[4 : 4 + struct.unpack("<I", block[:4])[0]])
    assert (header["format"], header["per"], header["unit"]) == ("tracekit-difference/1", "window", "ns")
    tests = {header["strings"][test["name"]]: test["judgement"] for test in header["tested"]}
    assert tests == {"BNNSFilterApply": "not tested"}  # one run per side shows no spread between runs
