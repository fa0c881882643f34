"""The distinct stacks of a view: what each sample's is, its rule, and the frame that decided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sample_recordings import sample_analysis
from view_support import ANE, BNNS, UI, View, analyze, sample_rows, trace_of, view_of

from tracekit import Analysis
from tracekit.report.viewmodel import samples


def stacks_of_samples(analysis: Analysis, view: View) -> list[dict[str, Any]]:
    """Each sample's stack in the order of the view, with its frames from the leaf on."""
    header = view.header
    stacks = {
        name: view.arrays[header["stacks"][name]].tolist() for name in ("node", "kind", "rule", "deciding")
    }
    parent = view.arrays[header["nodes"]["parent"]].tolist()
    names = view.texts(header["nodes"]["name"])
    described = []
    for stack in sample_rows(view).stack:
        frames, node = [], stacks["node"][stack]
        while node >= 0:
            frames.append(names[node])
            node = parent[node]
        rule = stacks["rule"][stack]
        described.append(
            {
                "frames": frames,
                "engine": header["engines"][stacks["kind"][stack] >> 4],
                "phase": header["phases"][stacks["kind"][stack] & 15],
                "rule": view.text(header["stacks"]["rules"][rule][0]) if rule >= 0 else "",
                "deciding": stacks["deciding"][stack],
            }
        )
    return described


@pytest.mark.parametrize("name", ["ane-e5rt-macos26", "two-at-once-macos13", "cpu-profile-ane-macos26"])
def test_each_sample_has_its_frames_its_rule_and_the_frame_that_decided(name: str) -> None:
    analysis = sample_analysis(name)
    trace, classification = analysis.trace, analysis.labels.classification
    expected = []
    for row in range(len(trace.samples)):
        stack = int(trace.samples["stack_id"].iloc[row])
        rule = int(classification.rule[stack]) if stack >= 0 else -1
        frames = trace.stacks.stack(stack).tolist() if stack >= 0 else []
        expected.append(
            (
                [str(trace.stacks.symbols[frame]) for frame in frames],
                analysis.rules[rule].id if rule >= 0 else "",
                int(classification.deciding[stack]) if stack >= 0 else -1,
            )
        )
    described = stacks_of_samples(analysis, view_of(analysis))
    key = [(each["frames"], each["rule"], each["deciding"]) for each in described]
    assert sorted(key) == sorted(expected)
    assert any(each["deciding"] > 0 for each in described)


def test_a_blocked_threads_stack_is_another_than_the_same_stack_at_work() -> None:
    trace = trace_of([(0, "a", ANE), (1, "a", ANE), (2, "a", BNNS), (3, "a", UI), (4, "a", None)])
    trace.samples["state"] = ["Running", "Blocked", "Running", "Running", "Running"]
    trace.samples["state"] = trace.samples["state"].astype("category")
    view = view_of(analyze(trace))
    assert len(set(sample_rows(view).stack)) == 5
    described = stacks_of_samples(analyze(trace), view)
    assert described[0]["frames"] == described[1]["frames"]
    assert described[0]["phase"] != described[1]["phase"]
    assert (described[4]["frames"], described[4]["rule"], described[4]["deciding"]) == ([], "", -1)


def test_the_deciding_frame_of_a_branch_that_was_cut_off_is_found_or_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Below the deciding frame, leaves are cut off; of another stack, the deciding frame is cut off itself."""
    deep = ("App | rare leaf", "App | rare", *ANE)
    often = [(float(index), "a", ANE) for index in range(50)]
    analysis = analyze(trace_of([*often, (50.0, "a", deep), (51.0, "a", BNNS)]))
    whole = stacks_of_samples(analysis, view_of(analysis))
    assert whole[50]["frames"][whole[50]["deciding"]] == whole[0]["frames"][whole[0]["deciding"]]
    monkeypatch.setattr(samples, "_DETAILS", ((4_096, len(ANE)),))
    cut = stacks_of_samples(analysis, view_of(analysis))
    assert cut[0] == whole[0]
    assert cut[50]["frames"] == ["(less)", *whole[0]["frames"]]
    assert cut[50]["frames"][cut[50]["deciding"]] == whole[0]["frames"][whole[0]["deciding"]]
    assert cut[51]["frames"] == ["(less)", *whole[51]["frames"][-2:]]
    assert cut[51]["deciding"] == -1
    assert cut[51]["rule"] == whole[51]["rule"]


def test_samples_of_one_place_in_a_pruned_tree_keep_their_rules_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    analysis = analyze(trace_of([(0.0, "a", ANE), (1.0, "a", BNNS), (2.0, "a", UI)]))
    monkeypatch.setattr(samples, "_DETAILS", ((4_096, 1),))
    described = stacks_of_samples(analysis, view_of(analysis))
    assert len({each["rule"] for each in described}) == 3
    assert {len(each["frames"]) for each in described} == {2}


def test_sums_are_of_all_samples() -> None:
    analysis = sample_analysis("ane-e5rt-macos26")
    view = view_of(analysis)
    header = view.header["stacks"]
    assert view.arrays[header["number"]].sum() == len(analysis.trace.samples)
    assert view.arrays[header["weight"]].sum() == analysis.trace.weights.sum()
    assert header["count"] == len(np.unique(sample_rows(view).stack))
