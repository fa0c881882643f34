"""The links of calls: threads that worked for a call, and intervals that are its own."""

from __future__ import annotations

import numpy as np
from evidence_support import ane, prediction, with_evidence
from trace_support import CALL, E5_CPU, E5_WORKER, MS, UI, Sample, trace_of

from tracekit.analysis import Analysis, analyze
from tracekit.model.vocabulary import ENGINES
from tracekit.report.viewmodel.lanes import lane_threads, lanes_of_threads, span_lanes
from tracekit.report.viewmodel.links import WorkerLinks, worker_links

SAMPLES: list[Sample] = [
    *((time, "main", UI) for time in (0, 9, 19)),
    *((time, "main", CALL) for time in (1, 8, 11, 18)),
    (2, "queue", E5_WORKER),
    (3, "queue", E5_WORKER),
    (4, "queue", E5_CPU),
    (12, "queue", E5_CPU),
]


def links(analysis: Analysis, most: int = 99) -> WorkerLinks:
    return worker_links(analysis, lanes_of_threads(analysis, lane_threads(analysis)), most)


def linked(analysis: Analysis) -> list[tuple[int, bool]]:
    (lane,) = [lane for lane in span_lanes(analysis, 1, 1) if lane.source == "ane-hw-intervals"]
    assert lane.rows is not None
    return list(zip(lane.rows["call"].tolist(), lane.rows["is_call_measured"].tolist(), strict=True))


def test_a_call_has_the_lanes_of_its_workers() -> None:
    analysis = analyze(trace_of(SAMPLES))
    found = links(analysis)
    assert found.call.tolist() == [0, 1]
    assert found.first_ns.tolist() == [2 * MS, 12 * MS]
    assert found.last_ns.tolist() == [4 * MS, 12 * MS]
    assert found.number.tolist() == [3, 1]
    assert [str(ENGINES[code]) for code in found.engine] == ["ANE", "CPU"]
    assert found.until_call == len(analysis.window_rows) == 3


def test_beyond_the_limit_whole_calls_have_no_links() -> None:
    found = links(analyze(trace_of(SAMPLES)), most=1)
    assert (found.call.tolist(), found.until_call) == ([0], 1)
    assert len(links(analyze(trace_of(SAMPLES[:5]))).call) == 0


def test_an_interval_is_of_the_only_call_around_it() -> None:
    rows = [
        prediction(1, 9, "Net"),
        prediction(10, 20, "Net"),
        ane(3, 5, "Net_main__Op0_AneInference"),
        ane(8, 11, "Net_main__Op0_AneInference"),  # two calls share its time
        ane(19, 21, "Net_main__Op0_AneInference"),  # reaches beyond its call: nothing says it is all of it
        ane(12, 13, "Other_main__Op0_AneInference"),  # another process's
    ]
    assert linked(analyze(with_evidence(trace_of(SAMPLES), rows))) == [
        (0, True),
        (-1, False),
        (-1, False),
        (1, False),
    ]


def test_calls_of_two_models_at_once_own_the_intervals_of_their_labels() -> None:
    rows = [
        prediction(1, 9, "Net"),
        prediction(2, 8, "Tag"),
        ane(3, 5, "Net_main__Op0_AneInference"),
        ane(4, 6, "Tag_main__Op0_AneInference"),
    ]
    assert linked(analyze(with_evidence(trace_of(SAMPLES), rows))) == [(0, True), (1, True)]


def test_windows_of_the_user_own_nothing() -> None:
    trace = with_evidence(trace_of(SAMPLES), [ane(3, 5, "Net_main__Op0_AneInference")])
    analysis = analyze(trace, windows=["1ms-9ms"])
    assert linked(analysis) == [(-1, False)]
    assert len(links(analysis).call) == 0
    assert np.all(analysis.joined.stack < len(trace.stacks))
