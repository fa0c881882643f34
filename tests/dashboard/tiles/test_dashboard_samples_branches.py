"""The branches of the call tree that a selection needs and the page does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples_support import FAR, MS, View, analyze, decoded, opened, recording, trace_of

from dashboard.tiles import branches as branches_module
from dashboard.tiles.sample_columns import SampleColumns
from dashboard.tiles.sample_selection import SampleSelection
from dashboard.tiles.sums import sums_block
from tracekit.analysis import Analysis
from tracekit.report.viewmodel import samples as module
from tracekit.report.viewmodel.view import view_block

HEAVY = ["main", "run", "work"]
STACKS = [
    HEAVY,
    HEAVY,
    HEAVY,
    *(["main", "run", f"job {index}", f"leaf {index}"] for index in range(6)),
    ["alone"],
]
"""Leaf last; a sample of a millisecond of each."""
Way = tuple[str, ...]


def analysed() -> Analysis:
    rows = [
        (float(index), "main", tuple(f"App | {name}" for name in reversed(stack)), MS)
        for index, stack in enumerate(STACKS)
    ]
    return analyze(trace_of(rows))


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[View, SampleColumns]:
    """The page's view, of the four heaviest nodes, and the columns of the server."""
    monkeypatch.setattr(module, "_MOST_NODES_FULL", 4)
    monkeypatch.setattr(module, "MOST_EXACT", 5)
    analysis = analysed()
    return decoded(view_block(analysis, tiles=True)), opened(tmp_path, analysis)


def weights(view: View, block: bytes) -> dict[Way, float]:
    """The weight that ends at each path, as the page finds it: extra nodes behind its own."""
    answer = decoded(block)
    nodes, strings = view.header["nodes"], view.header["strings"]
    column = {name: view.arrays[nodes[name]].tolist() for name in ("parent", "name", "binary", "flags")}
    numbers: dict[tuple[str, str], int] = {}
    words = [(strings[a], strings[b]) for a, b in zip(column["name"], column["binary"], strict=True)]
    function = [numbers.setdefault(word, len(numbers)) for word in words]
    names = {number: name for (name, _), number in numbers.items()}
    parent = column["parent"]
    if "extra" in answer.header:
        extra, functions = answer.header["extra"], answer.header["functions"]
        parent = parent + answer.arrays[extra["parent"]].tolist()
        function += answer.arrays[extra["function"]].tolist()
        texts = answer.header["strings"]
        new = zip(
            *(answer.arrays[functions[name]].tolist() for name in ("number", "name", "binary")), strict=True
        )
        for number, name, binary in new:
            assert number not in names
            assert (texts[name], texts[binary]) not in numbers
            names[number] = texts[name]
    assert all(above < node for node, above in enumerate(parent))
    weight_by_way: dict[Way, float] = {}
    sample_header = answer.header["samples"]
    for leaf, weight in zip(
        *(answer.arrays[sample_header[n]].tolist() for n in ("node", "weight")), strict=True
    ):
        path: Way = ()
        node = leaf
        while node >= 0:
            path = (names[function[node]], *path)
            node = parent[node]
        weight_by_way[path] = weight_by_way.get(path, 0) + weight / MS
    return weight_by_way


def test_the_page_has_what_is_heaviest(cut: tuple[View, SampleColumns]) -> None:
    view, _ = cut
    strings, nodes = view.header["strings"], view.header["nodes"]
    names = [strings[name] for name in view.arrays[nodes["name"]].tolist()]
    assert names == ["main", "alone", "run", "work", "(less)"]
    assert view.arrays[nodes["flags"]].tolist() == [0, 0, 0, 0, 2]


def test_a_selection_is_summed_down_to_its_leaves(cut: tuple[View, SampleColumns]) -> None:
    view, samples = cut
    weight_by_way = weights(view, sums_block(samples, SampleSelection(2 * MS, 6 * MS)))
    assert weight_by_way == {
        tuple(HEAVY): 1,
        **{("main", "run", f"job {index}", f"leaf {index}"): 1 for index in range(3)},
    }


def test_the_whole_run_is_summed_down_to_its_leaves(cut: tuple[View, SampleColumns]) -> None:
    view, samples = cut
    weight_by_way = weights(view, sums_block(samples, SampleSelection(-FAR, FAR)))
    assert weight_by_way == {
        tuple(HEAVY): 3,
        ("alone",): 1,
        **{("main", "run", f"job {index}", f"leaf {index}"): 1 for index in range(6)},
    }


def test_without_cut_branches_nothing_is_added(cut: tuple[View, SampleColumns]) -> None:
    view, samples = cut
    block = sums_block(samples, SampleSelection(0, 3 * MS))
    assert weights(view, block) == {tuple(HEAVY): 3}
    assert not {"extra", "functions", "strings"} & set(decoded(block).header)


@pytest.mark.parametrize(
    ("most", "message"),
    [
        (1, {("main", "run", "(less)"): 5, ("main", "run", "job 0", "(less)"): 1}),
        (3, {("main", "run", "job 0", "(less)"): 1, ("main", "run", "job 1", "(less)"): 1}),
        (6, {("main", "run", f"job {index}", "(less)"): 1 for index in range(6)}),
        (7, {("main", "run", "job 0", "leaf 0"): 1, ("main", "run", "job 5", "(less)"): 1}),
    ],
)
def test_of_too_many_branches_the_heaviest_are_sent(
    most: int, message: dict[Way, float], cut: tuple[View, SampleColumns], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pruned branches end below their last node, and no weight is lost."""
    view, samples = cut
    monkeypatch.setattr(branches_module, "MOST_NODES", most)
    weight_by_way = weights(view, sums_block(samples, SampleSelection(-FAR, FAR)))
    assert message.items() <= weight_by_way.items()
    assert sum(weight_by_way.values()) == len(STACKS)


def test_every_recording_keeps_its_weight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that holds little of the tree receives the remaining nodes."""

    def columns(name: str) -> SampleColumns:
        (tmp_path / name).mkdir()
        return opened(tmp_path / name, analysis)

    analysis = recording("ane-e5rt-macos26")
    whole_view = decoded(view_block(analysis, tiles=True))
    whole = weights(whole_view, sums_block(columns("whole"), SampleSelection(-FAR, FAR)))
    for limit in (1, 17, 60):
        monkeypatch.setattr(module, "_MOST_NODES_FULL", limit)
        view = decoded(view_block(analysis, tiles=True))
        samples = columns(str(limit))
        assert weights(view, sums_block(samples, SampleSelection(-FAR, FAR))) == whole
