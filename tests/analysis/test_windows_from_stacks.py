"""Windows inferred from stacks: what belongs together, what does not, and the cases that stacks do not decide."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_support import (
    ANE,
    ANE_WAIT,
    BNNS,
    CALL,
    E5_CPU,
    E5_WORKER,
    LOAD,
    MS,
    RUNTIME,
    UI,
    Sample,
    trace_of,
)
from verdict_support import verdicts_of

from tracekit import Analysis, analyze


def windows(samples: Sequence[Sample], **options: object) -> list[tuple[float, float]]:
    """(start, end) in ms of the windows found."""
    frame = analyze(trace_of(samples, **options)).window_rows  # type: ignore[arg-type]
    frame = frame[frame["source"] == "stacks"]
    return [(row["start_ns"] / MS, row["end_ns"] / MS) for row in frame.to_dict("records")]


def verdicts(analysis: Analysis) -> list[str]:
    return analysis.verdicts.names


def test_a_run_of_samples_inside_a_call() -> None:
    samples = [(0, "main", UI), (1, "main", BNNS), (2, "main", RUNTIME), (3, "main", BNNS), (4, "main", UI)]
    assert windows(samples) == [(1, 4)]


def test_another_runtimes_call_is_another_window() -> None:
    tflite = ("App | tflite::Interpreter::Invoke()", "App | main")
    samples = [(1, "main", BNNS), (2, "main", tflite), (3, "main", tflite)]
    assert windows(samples) == [(1, 2), (2, 4)]


def test_a_sample_outside_the_call_ends_it() -> None:
    samples = [(1, "main", BNNS), (2, "main", UI), (3, "main", BNNS)]
    assert windows(samples) == [(1, 2), (3, 4)]


def test_back_to_back_calls_are_one_window_with_a_diagnostic() -> None:
    analysis = analyze(trace_of([(time, "main", BNNS) for time in range(10)]))
    assert len(analysis.window_rows) == 1
    (issue,) = [issue for issue in analysis.issues if issue.code == "windows-inferred"]
    assert "Back-to-back inferences" in issue.message


@pytest.mark.parametrize(
    ("last", "gap", "joined"),
    [
        (BNNS, 5, True),  # a few periods without a sample happen to any thread
        (BNNS, 6, False),  # a thread that computes is sampled
        (ANE, 6, True),  # a thread that waits for the ANE is not
        (ANE_WAIT, 250, True),
        (ANE_WAIT, 251, False),
    ],
)
def test_a_thread_that_waits_for_an_engine_is_not_sampled(
    last: tuple[str, ...], gap: int, joined: bool
) -> None:
    samples = [(0, "main", last), (gap, "main", BNNS)]
    assert windows(samples) == ([(0, gap + 1)] if joined else [(0, 1), (gap, gap + 1)])


def test_how_long_an_engine_takes_does_not_depend_on_the_sampling_rate() -> None:
    fast = MS // 10
    assert windows([(0, "main", ANE, fast), (200, "main", BNNS, fast)]) == [(0, 200.1)]
    assert windows([(0, "main", BNNS, fast), (2, "main", BNNS, fast)]) == [(0, 0.1), (2, 2.1)]


def test_holes_that_a_window_bridges_are_reported() -> None:
    """At a camera's pace the thread may wait for the engine, or for the next picture: stacks do not show which."""
    analysis = analyze(trace_of([(0, "main", ANE), (33, "main", ANE), (66, "main", ANE), (67, "main", BNNS)]))
    assert len(analysis.window_rows) == 1
    (issue,) = [issue for issue in analysis.issues if issue.code == "holes-bridged"]
    assert issue.count == 2
    assert "the longest: 33.0 ms" in issue.message
    assert "another begun" in issue.message


def test_work_of_the_runtimes_queue_fills_holes_of_the_caller() -> None:
    caller = [(0, "main", RUNTIME), (20, "main", RUNTIME)]
    assert windows(caller) == [(0, 1), (20, 21)]
    assert windows([*caller, *[(time, "worker", E5_CPU) for time in (4, 8, 12, 16)]]) == [(0, 21)]
    assert windows([*caller, *[(time, "worker", E5_CPU) for time in (4, 8, 16)]]) == [(0, 9), (16, 21)]


def test_work_of_the_runtimes_queue_extends_a_call_but_not_past_the_callers_next_sample() -> None:
    samples = [(0, "main", RUNTIME), (3, "worker", E5_CPU), (6, "worker", E5_CPU)]
    assert windows(samples) == [(0, 7)]
    assert windows([*samples, (5, "main", UI)]) == [(0, 5)]


def test_work_that_spans_two_calls_of_a_thread_starts_the_second_after_the_first() -> None:
    samples = [(0, "w", E5_WORKER), (1, "main", CALL), (7, "w", E5_WORKER), (8, "main", CALL)]
    assert windows(samples) == [(1, 2), (2, 9)]


def test_work_after_calls_of_two_threads_belongs_to_neither_nor_to_a_third_that_follows() -> None:
    after_one = [(0, "a", RUNTIME), (3, "worker", E5_CPU)]
    assert windows(after_one) == [(0, 4)]
    assert windows([*after_one, (0.5, "b", RUNTIME)]) == [(0, 1), (0.5, 1.5), (3, 4)]
    before_one = [(3, "worker", E5_CPU), (6, "c", RUNTIME)]
    assert windows(before_one) == [(3, 7)]
    assert windows([*after_one, (0.5, "b", RUNTIME), (6, "c", RUNTIME)])[2:] == [(3, 4), (6, 7)]
    assert windows([*before_one, (6.5, "d", RUNTIME)]) == [(3, 4), (6, 7), (6.5, 7.5)]


def test_a_call_extends_over_one_group_of_work_only() -> None:
    groups = [(10, "worker", E5_CPU), (12, "worker", E5_CPU), (100, "worker", E5_CPU)]
    assert windows([(0, "main", ANE), *groups]) == [(0, 13), (100, 101)]
    # What one thread's call is extended over is closed for the next group, which then has one call only.
    assert windows([(0, "a", ANE), groups[0], (20, "b", ANE), groups[2]]) == [(0, 11), (20, 101)]


def test_asynchronous_work_is_a_window_of_its_own() -> None:
    analysis = analyze(trace_of([(time, "worker", E5_WORKER) for time in (1, 2, 3)]))
    (window,) = analysis.window_rows.to_dict("records")
    assert (window["start_ns"], window["end_ns"], window["thread_id"]) == (1 * MS, 4 * MS, -1)
    assert window["label"] == "asynchronous execution"
    assert verdicts(analysis) == ["ANE"]


def test_work_of_the_runtimes_queue_counts_in_the_window_that_it_overlaps() -> None:
    samples = [(1, "main", RUNTIME), (2, "worker", E5_WORKER), (3, "main", RUNTIME), (3, "ui", UI)]
    analysis = analyze(trace_of(samples))
    assert verdicts(analysis) == ["ANE"]
    inside = analysis.attribution_rows[analysis.attribution_rows["window_id"] == 0]
    assert dict(zip(inside["engine"], inside["samples"], strict=True)) == {"ANE": 1, "RUNTIME": 2}


def test_the_queue_of_another_process_is_not_ours() -> None:
    samples = [(1, "main", RUNTIME), (2, "worker", E5_WORKER), (3, "main", RUNTIME)]
    analysis = analyze(trace_of(samples, processes={"worker": 8}))
    assert sorted(verdicts(analysis)) == ["ANE", "UNKNOWN"]


def test_the_queues_work_during_two_calls_at_once_is_unassigned() -> None:
    samples = [
        *[(time, "a", RUNTIME) for time in (1, 2, 3)],
        *[(time + 0.1, "b", RUNTIME) for time in (1, 2, 3)],
        (2.5, "worker", E5_WORKER),
    ]
    analysis = analyze(trace_of(samples))
    assert verdicts(analysis) == ["UNKNOWN", "UNKNOWN"]
    (issue,) = [issue for issue in analysis.issues if issue.code == "worker-samples-shared"]
    assert issue.count == 1


def test_calls_on_two_threads_are_two_windows() -> None:
    samples = [*[(time, "a", ANE) for time in (1, 2, 3)], *[(time + 0.5, "b", BNNS) for time in (1, 2, 3)]]
    analysis = analyze(trace_of(samples))
    assert verdicts(analysis) == ["ANE", "CPU"]


def test_loading_is_no_inference() -> None:
    analysis = analyze(trace_of([(1, "main", LOAD), (2, "main", LOAD), (9, "main", BNNS)]))
    assert [(w["start_ns"] / MS, w["end_ns"] / MS) for w in analysis.window_rows.to_dict("records")] == [
        (9, 10)
    ]


def test_a_window_ends_where_the_thread_is_seen_elsewhere() -> None:
    assert windows([(1, "main", BNNS), (1.25, "main", UI)]) == [(1, 1.25)]


def test_without_time_weights_a_sample_is_a_moment() -> None:
    assert windows([(1, "main", BNNS), (2, "main", BNNS)], unit="cycles") == [(1, 2 + 1 / MS)]


def test_a_call_without_an_engine_is_unknown() -> None:
    analysis = analyze(trace_of([(1, "main", CALL), (2, "main", RUNTIME)]))
    assert verdicts(analysis) == ["UNKNOWN"]
    assert (
        verdicts_of(analysis)[0].why
        == "2 of 2 samples are inside an ML runtime, but none reaches the code of an engine"
    )


def test_ml_work_without_calls_has_engines_and_no_call() -> None:
    analysis = analyze(
        trace_of([(1, "main", ("libBNNS.dylib | BNNSFilterApply", "App | main")), (2, "main", UI)])
    )
    assert (len(analysis.window_rows), verdicts(analysis)) == (0, [])
    assert analysis.headline.startswith("Over the whole recording, inference used the CPU (seen on stacks)")


def test_no_ml_work_gives_no_window() -> None:
    analysis = analyze(trace_of([(1, "main", UI), (2, "main", None)]))
    assert len(analysis.window_rows) == 0
    headline = analysis.headline
    assert headline.startswith(
        "This recording shows no model running: none of the 2 samples is in an ML framework."
    )
    assert "the only sample is not in an ML framework." in analyze(trace_of([(1, "main", UI)])).headline


def test_one_sample_without_symbols_has_none_and_several_have_none() -> None:
    sentences = [
        analyze(trace_of([(time, "main", stack) for time, stack in enumerate(stacks)])).headline
        for stacks in ([UI, None], [UI, None, None])
    ]
    assert " 1 of the 2 samples has no stack with symbols." in sentences[0]
    assert " 2 of the 3 samples have no stack with symbols." in sentences[1]


def test_no_samples_at_all() -> None:
    analysis = analyze(trace_of([]))
    assert len(analysis.window_rows) == 0
    assert analysis.headline.startswith(
        "This recording has no ML evidence: no sample, and no interval of inference"
    )


STACKS = [UI, LOAD, CALL, RUNTIME, ANE, ANE_WAIT, BNNS, E5_WORKER, E5_CPU, None]
ANY_SAMPLES = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from(["a", "b", "worker"]), st.sampled_from(STACKS)),
    max_size=40,
    unique_by=lambda sample: (sample[0], sample[1]),  # a thread is in one place at a time
)


@pytest.mark.integration
@given(ANY_SAMPLES, st.integers(0, 10**6))
def test_shifting_the_clock_changes_nothing(samples: list[Sample], shift: int) -> None:
    first, second = (
        analyze(trace_of([(time + by, thread, stack) for time, thread, stack in samples]))
        for by in (0, shift)
    )
    moved = first.window_rows.assign(
        start_ns=first.window_rows["start_ns"] + shift * MS, end_ns=first.window_rows["end_ns"] + shift * MS
    )
    assert moved.equals(second.window_rows)
    assert first.attribution_rows.equals(second.attribution_rows)


@pytest.mark.integration
@given(ANY_SAMPLES)
def test_windows_are_within_the_samples_and_hold_the_calls(samples: list[Sample]) -> None:
    analysis = analyze(trace_of(samples))
    times = analysis.trace.samples["time_ns"]
    for window in analysis.window_rows.to_dict("records"):
        assert times.min() <= window["start_ns"] < window["end_ns"] <= times.max() + MS
    if (analysis.window_rows["source"] == "stacks").any():
        outside = analysis.members.find_outside(len(analysis.trace.samples))
        assert not analysis.labels.in_call[outside].any()


@pytest.mark.integration
@given(ANY_SAMPLES)
def test_windows_of_one_thread_do_not_overlap(samples: list[Sample]) -> None:
    frame = analyze(trace_of(samples)).window_rows
    for _, group in frame[frame["thread_id"] >= 0].groupby("thread_id"):
        assert (group["start_ns"].to_numpy()[1:] >= group["end_ns"].to_numpy()[:-1]).all()
