"""A view for a page with a server: the run's sums in place of too many samples."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from test_view_samples import many
from view_support import ANE, BNNS, MS, UI, View, analyze, recording, trace_of, view_of

from tracekit.analysis import Analysis
from tracekit.report.viewmodel import samples as module
from tracekit.report.viewmodel.samples import calls_of
from tracekit.report.viewmodel.view import view_block


def sums(view: View) -> dict[tuple[int, int], tuple[float, int]]:
    """Weight and number by node and kind, whatever the rows stand for."""
    samples = view.header["samples"]
    columns = [view.arrays[samples[name]].tolist() for name in ("node", "kind", "weight", "number")]
    by_node: dict[tuple[int, int], tuple[float, int]] = {}
    for node, kind, weight, number in zip(*columns, strict=True):
        before = by_node.get((node, kind), (0.0, 0))
        by_node[node, kind] = before[0] + weight, before[1] + number
    return by_node


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EXACT", 100)


@pytest.mark.usefixtures("few")
def test_of_many_samples_it_has_the_sums_of_the_run() -> None:
    analysis = many()
    view, whole = view_of(analysis, tiles=True), view_of(analysis, full=True)
    samples = view.header["samples"]
    assert sorted(samples) == ["count", "kind", "node", "number", "weight"]
    assert sums(view) == sums(whole)
    assert samples["count"] == len(sums(view))
    assert (view.header["exact"], view.header["bin_ns"]) == (False, 0)
    assert view.header["tiles"] == {"bins": 1024, "levels": 19, "lanes": 32}
    nodes = [view.arrays[view.header["nodes"][name]].tolist() for name in ("parent", "flags")]
    assert nodes == [whole.arrays[whole.header["nodes"][name]].tolist() for name in ("parent", "flags")]


@pytest.mark.usefixtures("few")
def test_the_rest_of_it_is_the_reports() -> None:
    analysis = many()
    view, plain = view_of(analysis, tiles=True), view_of(analysis)
    differing = {"arrays", "strings", "samples", "nodes", "tiles", "bin_ns", "exact"}
    for name in sorted(
        set(plain.header) - differing - {"lanes", "windows", "spans", "tracks", "signposts", "workers"}
    ):
        assert view.header[name] == plain.header[name], name
    for lane, of_report in zip(view.header["lanes"], plain.header["lanes"], strict=True):
        assert view.text(lane["label"]) == plain.text(of_report["label"])
        planes = view.arrays[lane["occupancy"]], plain.arrays[of_report["occupancy"]]
        assert np.array_equal(*planes)


@pytest.mark.parametrize("name", ["ane-e5rt-macos26", "cpu-profile-ane-macos26"])
def test_of_few_samples_it_is_the_report_s_own(name: str) -> None:
    assert view_block(recording(name), tiles=True) == view_block(recording(name))
    (length,) = struct.unpack_from("<I", view_block(recording(name)))
    assert "tiles" not in json.loads(view_block(recording(name))[4 : 4 + length])


def calls(analysis: Analysis) -> list[tuple[int, int, int]]:
    distinct = calls_of(analysis)
    rows = list(zip(distinct.stack.tolist(), distinct.engine.tolist(), distinct.phase.tolist(), strict=True))
    assert len(set(rows)) == len(rows) == len(distinct)
    return [rows[index] for index in distinct.of_samples.tolist()]


@pytest.mark.parametrize(
    "name", ["literal", "ane-e5rt-macos26", "two-at-once-macos13", "cpu-profile-ane-macos26"]
)
def test_calls_are_each_sample_s_stack_engine_and_phase(name: str) -> None:
    analysis = many(300) if name == "literal" else recording(name)
    stack = analysis.trace.samples["stack_id"].tolist()
    labels = analysis.labels
    assert calls(analysis) == list(zip(stack, labels.engine.tolist(), labels.phase.tolist(), strict=True))


def test_a_blocked_thread_s_stack_is_another_call_than_the_same_stack_at_work() -> None:
    trace = trace_of([(0, "a", ANE), (1, "a", ANE), (2, "a", BNNS), (3, "a", UI), (4, "a", None)])
    trace.samples["state"] = ["Running", "Blocked", "Running", "Running", "Running"]
    trace.samples["state"] = trace.samples["state"].astype("category")
    per_sample = calls(analyze(trace))
    assert [stack for stack, _, _ in per_sample] == [0, 0, 1, 2, -1]
    assert per_sample[0] != per_sample[1]
    assert len(set(per_sample)) == 5


@pytest.mark.usefixtures("few")
def test_weights_beyond_32_bits_are_summed_exactly() -> None:
    rows = [(index, "main", UI, 5_000_000_001) for index in range(200)]
    view = view_of(analyze(trace_of(rows, unit="cycles")), tiles=True)
    assert list(sums(view).values()) == [(1_000_000_000_200.0, 200)]
    assert view.header["duration_ns"] >= 199 * MS


def test_of_few_samples_a_page_with_a_server_has_more_of_the_call_tree() -> None:
    """3,500 branches of two functions each."""
    stacks = [(f"App | leaf {index}", f"App | branch {index}", "App | main") for index in range(3_500)]
    analysis = analyze(trace_of([(float(index), "main", stack) for index, stack in enumerate(stacks)]))
    views = [view_of(analysis, tiles=tiles) for tiles in (False, True)]
    cut = [(view.arrays[view.header["nodes"]["flags"]] == 2).sum() for view in views]
    assert cut == [1_001, 0]
