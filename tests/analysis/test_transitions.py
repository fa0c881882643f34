"""Inside a window: engines in order, what overlaps, what is idle, what compiles and loads."""

from __future__ import annotations

import pytest
from evidence_support import (
    Interval,
    State,
    ane,
    core_ml,
    gpu,
    manual,
    prediction,
    segments,
    times,
    with_evidence,
)
from trace_support import ANE, ANE_WAIT, BNNS, LOAD, MS, UI, Sample, trace_of

from tracekit import analyze

FALLBACK: list[Sample] = [(12.2, "a", BNNS), (13.2, "a", BNNS), (30, "a", UI)]
COMPILE = "Net_0123456789ab Neural Engine Compile"


def order(
    samples: list[Sample], rows: list[Interval], start: float = 10, end: float = 40
) -> list[tuple[str, float, str]]:
    return segments(analyze(with_evidence(trace_of(samples), rows), windows=[manual(start, end)]))


def test_a_fallback_in_the_middle() -> None:
    """ANE 2.0 ms → CPU 2.0 ms → ANE 18 ms."""
    rows = [ane(10, 12), ane(14.3, 32.3)]
    assert order(FALLBACK, rows) == [
        ("ANE", 2, "measured"),
        ("CPU", 2, "sampled"),
        ("ANE", 18, "measured"),
    ]


def test_a_segment_goes_on_over_holes_and_does_not_count_them() -> None:
    trace = with_evidence(trace_of(FALLBACK), [ane(10, 11), ane(11.5, 12), ane(20, 21), ane(25, 26)])
    analysis = analyze(trace, windows=[manual(10, 40)])
    rows = analysis.segments[["start_ns", "end_ns", "busy_ns"]] / MS
    assert rows.to_numpy().tolist() == [[10, 12, 1.5], [12.2, 14.2, 2], [20, 26, 2]]


def test_segments_are_cut_to_the_window() -> None:
    assert order(FALLBACK, [ane(10, 12), ane(14.3, 32.3)], 11, 20) == [
        ("ANE", 1, "measured"),
        ("CPU", 2, "sampled"),
        ("ANE", 5.7, "measured"),
    ]


def test_three_engines() -> None:
    assert order(FALLBACK, [ane(10, 12), gpu(15, 18), ane(19, 20)]) == [
        ("ANE", 2, "measured"),
        ("CPU", 2, "sampled"),
        ("GPU", 3, "measured"),
        ("ANE", 1, "measured"),
    ]


def test_engines_at_once_are_in_the_order_of_their_starts() -> None:
    rows = [gpu(15, 18), ane(10, 20)]
    assert order([(10, "a", UI)], rows) == [("ANE", 10, "measured"), ("GPU", 3, "measured")]
    (actual,) = [times(analyze(with_evidence(trace_of([(10, "a", UI)]), rows), windows=[manual(10, 40)]))]
    assert (actual["busy_ns"], actual["overlap_ns"]) == (10, 3)


def test_exact_duplicates_are_one_segment() -> None:
    assert order([(10, "a", UI)], [ane(10, 12), ane(10, 12)]) == [("ANE", 2, "measured")]


def test_core_mls_cpu_rows_go_before_samples_window_by_window() -> None:
    """Core ML reports the CPU's part only sometimes: the other window takes the samples."""
    trace = with_evidence(trace_of([*FALLBACK, (47, "a", BNNS)]), [core_ml(41, 45, "CPU")])
    analysis = analyze(trace, windows=[manual(10, 40), manual(40, 50)])
    assert [segments(analysis, window) for window in (0, 1)] == [
        [("CPU", 2, "sampled")],
        [("CPU", 4, "measured")],
    ]


def test_a_waiting_thread_stands_for_its_engine_where_no_table_measured_it() -> None:
    samples: list[Sample] = [(11, "a", ANE), (20, "a", BNNS), (21, "a", BNNS), (22, "a", UI)]
    assert order(samples, []) == [("ANE", 9, "inferred"), ("CPU", 2, "sampled")]
    assert order(samples, [ane(13, 18)]) == [("ANE", 5, "measured"), ("CPU", 2, "sampled")]


def test_samples_of_an_engine_without_a_waiting_thread() -> None:
    samples: list[Sample] = [(11, "a", ANE), (12, "a", ANE_WAIT), (13, "a", BNNS), (14, "a", UI)]
    assert order(samples, []) == [("ANE", 2, "sampled"), ("CPU", 1, "sampled")]
    rows = analyze(trace_of(samples), windows=[manual(10, 40)]).segments
    assert rows[["busy_ns", "host_ns"]].to_numpy().tolist() == [[0, 2 * MS], [MS, 0]]


def test_no_engine_no_segment() -> None:
    assert order([(11, "a", UI), (12, "a", None), (13, "a", LOAD)], []) == []
    assert order([], []) == []
    assert order([(11, "a", UI)], [ane(12, 20, COMPILE), ane(15, 15)]) == []


def test_cycles_have_no_order_in_time() -> None:
    trace = trace_of([(11, "a", BNNS), (12, "a", UI)], unit="cycles")
    assert segments(analyze(trace, windows=[manual(10, 40)])) == []


def test_each_concurrent_call_has_its_own_segments() -> None:
    a, b = "A_main__Op0_AneInference", "B_main__Op0_AneInference"
    rows = [prediction(10, 20, "A"), prediction(10, 20, "B"), ane(11, 13, a), ane(13, 19, b)]
    analysis = analyze(with_evidence(trace_of([(30, "a", UI)]), rows))
    segments_by_model = dict(
        zip(analysis.window_rows["model"], (segments(analysis, window) for window in (0, 1)), strict=True)
    )
    assert segments_by_model == {"A": [("ANE", 2, "measured")], "B": [("ANE", 6, "measured")]}


@pytest.mark.parametrize(
    ("samples", "rows", "expected"),
    [
        # A thread on the CPU and an engine at work at once are not idle, and count once.
        ([(10, "a", UI, 4 * MS)], [ane(12, 16)], 4),
        ([(10, "a", UI, 4 * MS), (12, "b", UI, 4 * MS)], [ane(40, 41)], 4),
        ([(9, "a", UI, 4 * MS)], [ane(12, 16)], 6),
        ([(18, "a", UI, 9 * MS)], [ane(12, 16)], 4),
        ([(18, "a", UI, 0)], [ane(12, 16)], 6),
    ],
)
def test_idle(samples: list[Sample], rows: list[Interval], expected: float) -> None:
    trace = with_evidence(trace_of(samples), rows)
    assert times(analyze(trace, windows=[manual(10, 20)]))["idle_ns"] == expected


@pytest.mark.parametrize("samples", [[(10, "a", UI, 4 * MS)], [(10, "a", ANE), (19, "a", ANE)]])
def test_without_a_table_of_the_ane_or_the_gpu_idle_time_is_unknown(samples: list[Sample]) -> None:
    """In the second, 8 ms are inferred waiting for the Neural Engine."""
    analysis = analyze(trace_of(samples), windows=[manual(10, 20)])
    assert "idle_ns" not in times(analysis)


def test_preparing_is_measured_or_else_sampled() -> None:
    samples: list[Sample] = [(11, "a", LOAD, 3 * MS), (12, "b", LOAD, 3 * MS), (21, "a", LOAD, 2 * MS)]
    trace = with_evidence(trace_of(samples), [ane(22, 28, COMPILE), core_ml(23, 29, "Model Load")])
    analysis = analyze(trace, windows=[manual(10, 20), manual(20, 30), manual(30, 40)])
    actual = [times(analysis, window) for window in range(3)]
    assert [(row["preparing_ns"], row.get("preparing_basis")) for row in actual] == [
        (4, "sampled"),
        (7, "measured"),
        (0, None),
    ]


def test_thread_states_and_requests_make_no_segment_of_their_own() -> None:
    trace = with_evidence(
        trace_of([(11, "a", UI)]),
        [core_ml(12, 15, "Neural Engine Request")],
        states=[State(12, 15, "Blocked")],
    )
    assert segments(analyze(trace, windows=[manual(10, 20)])) == []
