"""The links of calls: threads that worked for a call, and intervals that are its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from evidence_support import ane, prediction, with_evidence
from trace_support import CALL, E5_CPU, E5_WORKER, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.ownership.owners import OWNERS
from tracekit.model.vocabulary import ENGINES
from tracekit.report.viewmodel.lanes import build_span_lanes, list_lane_threads, number_lanes
from tracekit.report.viewmodel.links import WorkerLinks, find_worker_links
from tracekit.report.wording import explain_owner

SAMPLES: list[Sample] = [
    *((time, "main", UI) for time in (0, 9, 19)),
    *((time, "main", CALL) for time in (1, 8, 11, 18)),
    (2, "queue", E5_WORKER),
    (3, "queue", E5_WORKER),
    (4, "queue", E5_CPU),
    (12, "queue", E5_CPU),
]


def links(analysis: Analysis, most: int = 99) -> WorkerLinks:
    return find_worker_links(analysis, number_lanes(analysis, list_lane_threads(analysis)), most)


def owners(analysis: Analysis) -> list[tuple[str, list[int], bool, str]]:
    """Return owner, calls, whether the system reported both, and the reason, of the ANE's intervals."""
    (lane,) = [lane for lane in build_span_lanes(analysis, 1, 1) if lane.source == "ane-hw-intervals"]
    assert lane.rows is not None
    pairs = lane.pairs
    entries = []
    for row, owner, reason in zip(
        range(len(lane.rows)), lane.rows["owner"], lane.rows["reason"], strict=True
    ):
        calls = pairs.call[pairs.row == row].tolist()
        is_sure = bool(pairs.is_sure[pairs.row == row].any())
        words = explain_owner(owner, reason, len(calls), is_sure)
        entries.append((str(OWNERS[owner]), calls, is_sure, words))
    return entries


def test_a_call_has_the_lanes_of_its_workers() -> None:
    analysis = analyze(trace_of(SAMPLES))
    linked = links(analysis)
    assert linked.call.tolist() == [0, 1]
    assert linked.first_ns.tolist() == [2 * MS, 12 * MS]
    assert linked.last_ns.tolist() == [4 * MS, 12 * MS]
    assert linked.number.tolist() == [3, 1]
    assert [str(ENGINES[code]) for code in linked.engine] == ["ANE", "CPU"]
    assert linked.until_call == len(analysis.window_rows) == 3


def test_beyond_the_limit_whole_calls_have_no_links() -> None:
    linked = links(analyze(trace_of(SAMPLES)), most=1)
    assert (linked.call.tolist(), linked.until_call) == ([0], 1)
    assert len(links(analyze(trace_of(SAMPLES[:5]))).call) == 0


def test_an_interval_has_the_owner_that_the_numbers_count_it_for() -> None:
    rows = [
        prediction(1, 9, "Net"),
        prediction(10, 20, "Net"),
        ane(3, 5, "Net_main__Op0_AneInference"),
        ane(8, 11, "Net_main__Op0_AneInference"),  # begins in the first call, and ends in the second
        ane(19, 21, "Net_main__Op0_AneInference"),
        ane(12, 13, "Other_main__Op0_AneInference"),
    ]
    reaches_beyond = "it begins in this call or most of it lies there, and it reaches beyond"
    assert owners(analyze(with_evidence(trace_of(SAMPLES), rows))) == [
        ("call", [0], True, "it names this model, and lies in this call of it only"),
        (
            "contested",
            [0, 1],
            False,
            "there is doubt that it is work of this call, and no stack decides",
        ),
        (
            "other process",
            [],
            False,
            "its name is of no model of this app, or the app's stacks show no use of the engine",
        ),
        ("call", [1], False, reaches_beyond),
    ]


def test_calls_of_two_models_at_once_own_the_intervals_of_their_labels() -> None:
    rows = [
        prediction(1, 9, "Net"),
        prediction(2, 8, "Tag"),
        ane(3, 5, "Net_main__Op0_AneInference"),
        ane(4, 6, "Tag_main__Op0_AneInference"),
    ]
    entries = owners(analyze(with_evidence(trace_of(SAMPLES), rows)))
    assert [entry[:3] for entry in entries] == [("call", [0], True), ("call", [1], True)]


def test_an_interval_of_several_calls_is_contested_and_has_them_all() -> None:
    rows = [
        prediction(1, 9, "Net"),
        prediction(2, 8, "Tag"),
        ane(3, 5, "main__Op0_AneInference"),  # names no model
    ]
    assert owners(analyze(with_evidence(trace_of([]), rows))) == [
        ("contested", [0, 1], False, "it fits several calls, and nothing here decides between them")
    ]


def test_a_row_inside_of_another_one_has_its_owner() -> None:
    trace = with_evidence(trace_of([]), [prediction(1, 9, "Net"), ane(3, 7, "Net_main__Op0_AneInference")])
    inner = trace.intervals.iloc[[1]].assign(start_ns=4 * MS, end_ns=5 * MS, depth=np.int16(1))
    both = pd.concat([trace.intervals, inner], ignore_index=True)
    entries = owners(analyze(replace(trace, intervals=both)))
    assert [entry[:2] for entry in entries] == [("call", [0]), ("call", [0])]


def test_ranges_of_the_user_own_nothing() -> None:
    trace = with_evidence(trace_of(SAMPLES), [ane(3, 5, "Net_main__Op0_AneInference")])
    analysis = analyze(trace, windows=["1ms-9ms"])
    assert [entry[:2] for entry in owners(analysis)] == [("process", [])]
    assert len(links(analysis).call) == 0
    assert np.all(analysis.joined.stack < len(trace.stacks))
