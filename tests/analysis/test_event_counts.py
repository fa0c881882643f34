"""Hardware counters per window and engine, the ratios of them, and metrics of guided modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import pytest
from evidence_support import Metric, manual, prediction, with_evidence
from trace_support import ANE, BNNS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.analysis.engines.counters import ratios
from tracekit.model.trace import Trace
from tracekit.report.analysis.json import to_dict

SAMPLES: list[Sample] = [(0, "a", UI), (11, "a", ANE), (12, "a", BNNS), (13, "a", BNNS), (25, "a", BNNS)]


def counted(**events: Sequence[int]) -> Trace:
    trace = trace_of(SAMPLES)
    return replace(trace, counters=pd.DataFrame(events, dtype="int64"))


def events(analysis: Analysis) -> list[tuple[int, str, str, int]]:
    return [
        (row["window_id"], str(row["engine"]), str(row["event"]), row["value"])
        for row in analysis.events.to_dict("records")
    ]


def test_counters_by_window_and_engine() -> None:
    trace = counted(Cycles=[1, 10, 100, 1000, 10**12], Instructions=[2, 20, 200, 2000, 0])
    analysis = analyze(trace, windows=[manual(10, 20)])
    assert sorted(events(analysis)) == [
        (-1, "CPU", "Cycles", 10**12),
        (-1, "CPU", "Instructions", 0),
        (-1, "OTHER", "Cycles", 1),
        (-1, "OTHER", "Instructions", 2),
        (0, "ANE", "Cycles", 10),
        (0, "ANE", "Instructions", 20),
        (0, "CPU", "Cycles", 1100),
        (0, "CPU", "Instructions", 2200),
    ]
    (window,) = to_dict(analysis)["windows"]
    assert window["counters"] == {
        "ANE": {"events": {"Cycles": 10, "Instructions": 20}, "ratios": {"instructions per cycle": 2.0}},
        "CPU": {"events": {"Cycles": 1100, "Instructions": 2200}, "ratios": {"instructions per cycle": 2.0}},
    }


def test_windows_and_the_rest_hold_every_count() -> None:
    analysis = analyze(counted(Cycles=[1, 10, 100, 1000, 10000]), windows=[manual(0, 12), manual(12, 13)])
    assert analysis.events["value"].sum() == 11111
    assert [row[3] for row in events(analysis) if row[0] == 1] == [100]


def test_no_counters() -> None:
    analysis = analyze(trace_of(SAMPLES), windows=[manual(10, 20)])
    assert len(analysis.events) == 0
    assert to_dict(analysis)["windows"][0]["counters"] == {}


def test_no_samples() -> None:
    trace = replace(trace_of([]), counters=pd.DataFrame({"Cycles": pd.Series([], dtype="int64")}))
    assert len(analyze(trace, windows=[manual(10, 20)]).events) == 0


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ({"Cycles": 4, "Instructions": 6}, {"instructions per cycle": 1.5}),
        ({"FIXED_CYCLES": 4, "FIXED_INSTRUCTIONS": 2}, {"instructions per cycle": 0.5}),
        ({"CPU_CLK_UNHALTED.THREAD": 2, "INST_RETIRED.ANY": 0}, {"instructions per cycle": 0}),
        ({"INST_BRANCH": 8, "BRANCH_MISPRED_NONSPEC": 2}, {"branches mispredicted": 0.25}),
        ({"Cycles": 0, "Instructions": 6}, {}),
        ({"Cycles": 4}, {}),
        ({"L1D_CACHE_MISS_LD": 4}, {}),
        ({}, {}),
    ],
)
def test_ratios(events: dict[str, int], expected: dict[str, float]) -> None:
    assert ratios(events) == expected


# Metrics ----------------------------------------------------------------------------------------------------


def metrics(rows: list[Metric], *windows: Window) -> list[dict[str, float]]:
    samples: list[Sample] = [(0, "a", UI), (90, "a", UI)]
    analysis = analyze(with_evidence(trace_of(samples), metrics=rows), windows=list(windows))
    return [window["metrics"] for window in to_dict(analysis)["windows"]]


def test_a_row_at_an_edge_counts_by_its_share_of_time() -> None:
    rows = [Metric(0, 10, "stalls", 100), Metric(10, 20, "stalls", 40), Metric(30, 40, "stalls", 8)]
    sums = metrics(rows, manual(0, 10), manual(5, 15), manual(10, 12), manual(20, 30), manual(35, 99))
    expected = [{"stalls": 100}, {"stalls": 70}, {"stalls": 8}, {}, {"stalls": 4}]
    assert sums == [pytest.approx(value) for value in expected]


def test_metrics_by_name_and_thread() -> None:
    rows = [
        Metric(0, 10, "cycles", 100),
        Metric(0, 10, "stalls", 10),
        Metric(0, 10, "cycles", 6, tid=2),
        Metric(5, 10, "cycles", 50, tid=3),
    ]
    assert metrics(rows, manual(0, 5), manual(5, 10)) == [
        pytest.approx({"cycles": 53, "stalls": 5}),
        pytest.approx({"cycles": 103, "stalls": 5}),
    ]


def test_a_call_counts_its_own_threads_metrics() -> None:
    samples: list[Sample] = [(9, "a", UI), *[(time, "a", BNNS) for time in range(10, 20)], (20, "a", UI)]
    rows = [Metric(10, 20, "cycles", 100), Metric(10, 20, "cycles", 7, tid=2)]
    trace = with_evidence(trace_of(samples), metrics=rows)
    for source in ("stacks", "run"):
        (window,) = to_dict(analyze(trace, windows=source))["windows"]  # type: ignore[arg-type]
        assert window["metrics"] == {"cycles": 100 if source == "stacks" else 107}


def test_a_window_without_a_thread_counts_its_process() -> None:
    rows = [Metric(10, 20, "cycles", 100), Metric(10, 20, "cycles", 7, tid=2, pid=88)]
    trace = with_evidence(trace_of([(0, "a", UI)]), [prediction(10, 20)], metrics=rows)
    assert to_dict(analyze(trace))["windows"][0]["metrics"] == {"cycles": 100}


def test_rows_in_any_order() -> None:
    rows = [Metric(time, time + 1, "cycles", time) for time in range(10)]
    assert metrics(rows, manual(2, 5)) == metrics(rows[::-1], manual(2, 5)) == [{"cycles": 9}]


def test_no_metrics() -> None:
    assert metrics([], manual(0, 10)) == [{}]
