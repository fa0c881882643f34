"""Chains of transforms on call trees: what loops over single stacks make of them, in the server and in the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples_support import FAR, MS, analyze, decoded, opened, trace_of
from transform_oracle import Frame, Stack, folded, key_of, library_key_of, path_key_of

from dashboard.tiles import branches as branches_module
from dashboard.tiles.chain import function_key, parse_chain
from dashboard.tiles.sample_selection import SampleSelection
from dashboard.tiles.sums import sums_block
from dashboard.tiles.transformed import DROPPED, Functions, TransformedTree, after, recorded
from tracekit.errors import UsageError

CASES = json.loads((Path(__file__).resolve().parents[2] / "transform_cases.json").read_text("utf-8"))
FRAMES: tuple[Frame, ...] = (
    ("main", "App"),
    ("work", "App"),
    ("run", "Core"),
    ("step", "Core"),
    ("kernel", "BNNS"),
)
SYSTEM = frozenset(frame for frame in FRAMES if frame[1] != "App")
ANY_STACK = st.lists(st.sampled_from(FRAMES), max_size=6).map(tuple)
ANY_STEP = st.one_of(
    st.sampled_from(["flat", "system"]),
    st.tuples(
        st.sampled_from(["focus", "self", "drop", "charge", "recursion"]), st.sampled_from(FRAMES).map(key_of)
    ).map(":".join),
    st.tuples(
        st.sampled_from(["charge-lib", "collapse-lib"]),
        st.sampled_from([library for _, library in FRAMES]).map(library_key_of),
    ).map(":".join),
    st.lists(st.sampled_from(FRAMES), min_size=1, max_size=3)
    .map(tuple)
    .map(lambda path: f"subtree:{key_of(path[-1])}.{path_key_of(path)}"),
)


def tree_of(stacks: list[Stack], system: frozenset[Frame]) -> tuple[TransformedTree, list[int]]:
    """Return a call tree of literal stacks, and the leaf of each."""
    nodes: dict[Stack, int] = {}
    for stack in stacks:
        for end in range(len(stack)):
            nodes.setdefault(stack[: end + 1], len(nodes))
    frames = sorted({path[-1] for path in nodes})
    libraries = sorted({library for _, library in frames})
    functions = Functions(
        len(frames),
        tuple(symbol for symbol, _ in frames),
        tuple(libraries),
        np.array([libraries.index(library) for _, library in frames], np.int64),
        np.array([function_key(*frame) for frame in frames], np.int64),
    )
    parent = np.array([nodes.get(path[:-1], -1) for path in nodes], np.int64)
    function = np.array([frames.index(path[-1]) for path in nodes], np.int64)
    flags = np.array([int(path[-1] in system) for path in nodes], np.int64)
    whole = TransformedTree(parent, function, flags, (), functions, np.arange(len(nodes)))
    return whole, [nodes.get(stack, -1) for stack in stacks]


def folded_tree(tree: TransformedTree, leaves: list[int], weights: list[int]) -> tuple[dict[str, int], int]:
    """Return the same as ``folded``, of a tree."""
    paths: list[str] = []
    for parent, function in zip(tree.parent.tolist(), tree.function.tolist(), strict=True):
        symbol = tree.functions.symbols[function]
        paths.append(f"{paths[parent]};{symbol}" if parent >= 0 else symbol)
    weight_by_path: dict[str, int] = {}
    dropped = 0
    for leaf, weight in zip(leaves, weights, strict=True):
        node = int(tree.place[leaf]) if leaf >= 0 else -1
        if node == DROPPED:
            dropped += weight
        else:
            path = paths[node] if node >= 0 else ""
            weight_by_path[path] = weight_by_path.get(path, 0) + weight
    return weight_by_path, dropped


@settings(max_examples=150, deadline=None)
@given(st.lists(ANY_STACK, max_size=8), st.lists(ANY_STEP, max_size=4))
def test_a_chain_does_to_a_tree_what_it_does_to_each_stack(stacks: list[Stack], steps: list[str]) -> None:
    chain = "~".join(steps)
    tree, leaves = tree_of(stacks, SYSTEM)
    for step in parse_chain(chain):
        tree = after(tree, step)
    weights = [1 << index for index in range(len(stacks))]
    present = {frame for stack in stacks for frame in stack}
    expected, dropped = folded(
        list(zip(stacks, weights, strict=True)), _without_absent(steps, present), SYSTEM
    )
    assert folded_tree(tree, leaves, weights) == (expected, dropped)
    assert sum(expected.values()) + dropped == sum(weights)
    parents = tree.parent.tolist()
    assert all(parent < node for node, parent in enumerate(parents))
    assert len(set(zip(parents, tree.function.tolist(), strict=True))) == len(parents)


def _without_absent(steps: list[str], present: set[Frame]) -> str:
    """Leave out steps whose function is in no stack: they change nothing. Later ones find what the tree has had."""
    keys = {key_of(frame) for frame in present} | {library_key_of(library) for _, library in present}
    return "~".join(step for step in steps if ":" not in step or step.split(":")[1].split(".")[0] in keys)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_cases_that_the_page_is_tested_with(case: dict[str, Any]) -> None:
    stacks = [(tuple(map(tuple, frames)), weight) for frames, weight in case["stacks"]]
    system = frozenset(frame for stack, _ in stacks for frame in stack if frame[1] in case["system"])
    assert folded(stacks, case["chain"], system) == (case["left"], case["dropped"])
    tree, leaves = tree_of([stack for stack, _ in stacks], system)
    for step in parse_chain(case["chain"]):
        tree = after(tree, step)
    assert folded_tree(tree, leaves, [weight for _, weight in stacks]) == (case["left"], case["dropped"])


ROWS = [("kernel", "run", "main")] * 3 + [("draw", "main")] * 2 + [("kernel", "worker")] * 2 + [("main",)]
"""Innermost frame first."""


def answer(tmp_path: Path, chain: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the weight in ms of each path in the server's answer, and its header."""
    frames = [tuple(f"App | {name}" for name in row) for row in ROWS]
    samples = opened(tmp_path, analyze(trace_of([(float(i), "t", row, MS) for i, row in enumerate(frames)])))
    tree = recorded(samples)
    for step in parse_chain(chain):
        tree = after(tree, step)
    view = decoded(sums_block(samples, SampleSelection(-FAR, FAR), tree))
    extra, functions = (view.header[name] for name in ("extra", "functions"))
    names = {index: samples.symbols[row] for index, row in enumerate(samples["text_of"].tolist()) if row >= 0}
    new = zip(*(view.arrays[functions[name]].tolist() for name in ("number", "name")), strict=True)
    names |= {number: view.header["strings"][name] for number, name in new}
    paths: list[str] = []
    for parent, function in zip(
        *(view.arrays[extra[name]].tolist() for name in ("parent", "function")), strict=True
    ):
        paths.append(f"{paths[parent]};{names[function]}" if parent >= 0 else names[function])
    weights: dict[str, float] = {}
    for node, weight in zip(
        *(view.arrays[view.header["samples"][n]].tolist() for n in ("node", "weight")), strict=True
    ):
        path = paths[node] if node >= 0 else {-1: "", -2: "dropped"}[node]
        weights[path] = weights.get(path, 0) + weight / MS
    return weights, view.header


def test_an_answer_has_the_transformed_tree_and_all_samples(tmp_path: Path) -> None:
    key = key_of(("run", "App"))
    weights, header = answer(tmp_path, f"drop:{key}~collapse-lib:{library_key_of('App')}~drop:0")
    assert weights == {"dropped": 3, "(App)": 5}
    assert (header["selected"], header["total"], header["steps"]) == (8, 8, ["run", "App", None])


def test_of_a_transformed_tree_the_heaviest_nodes_are_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branches_module, "MOST_NODES", 2)
    weights, header = answer(tmp_path, f"charge:{key_of(('run', 'App'))}")
    assert weights == {"main;kernel": 3, "main;(less)": 2, "main": 1, "(less)": 2}
    flags = header["extra"]["count"]
    assert flags == 4


def test_everything_dropped_is_an_empty_tree(tmp_path: Path) -> None:
    assert answer(tmp_path, f"focus:{key_of(('draw', 'App'))}~drop:{key_of(('draw', 'App'))}")[0] == {
        "dropped": 8
    }


def test_a_stack_of_10_000_frames() -> None:
    deep: Stack = (("main", "App"), *((("work", "App"), ("run", "Core")) * 5_000))
    whole, leaves = tree_of([deep], SYSTEM)
    for chain, depth in (("system", 5_001), ("system~flat", 2), (f"recursion:{key_of(deep[1])}", 3)):
        tree = whole
        for step in parse_chain(chain):
            tree = after(tree, step)
        assert len(tree.parent) == depth
        assert int(tree.place[leaves[0]]) == depth - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("what:1", "no step such as 'what:1'"),
        ("focus", "focus takes the key of a function"),
        ("focus:1.2", "focus takes the key of a function"),
        ("subtree:1", "subtree takes the keys of a function and of its path"),
        ("system:1", "system takes no key"),
        ("focus:zzzzzzz", "beyond 32 bits"),
        ("focus:A", "no step such as"),
        ("~", "no step such as ''"),
        ("~".join(["flat"] * 33), "no more than 32"),
        ("x" * 100_000, "no step such as 'xxx"),
    ],
)
def test_a_text_that_is_no_chain_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_chain(text)
