"""Waiting: inferred from holes, sampled, or measured; one basis per engine."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from evidence_support import State, ane, core_ml, known, manual, with_evidence
from trace_support import (
    ANE,
    ANE_WAIT,
    BNNS,
    CALL,
    E5_WORKER,
    LOAD,
    MS,
    RUNTIME,
    UI,
    Sample,
    trace_of,
)

from tracekit import Analysis, analyze
from tracekit.model.trace import Trace
from tracekit.report.analysis.json import to_dict

GPU_WAIT = (
    "Metal | -[_MTLCommandBuffer waitUntilCompleted]",
    "MetalPerformanceShadersGraph | -[MPSGraphExecutable runWithMTLCommandQueue:inputsArray:resultsArray:]",
    *CALL,
)
HANDS_OVER: list[Sample] = [(1, "a", ANE), (9, "a", BNNS)]


def waited(trace: Trace, start: float = 0, end: float = 1000) -> dict[str, tuple[float, str]]:
    """``ANE wait`` → (ms, basis) in one given window."""
    analysis = analyze(trace, windows=[manual(start, end)])
    return bases(analysis, 0)


def bases(analysis: Analysis, window: int) -> dict[str, tuple[float, str]]:
    rows = analysis.attribution_rows
    rows = rows[(rows["window_id"] == window) & rows["waiting_ns"].notna()]
    return {
        f"{row['engine']} {row['phase']}": (row["waiting_ns"] / MS, row["waiting_basis"])
        for row in rows.to_dict("records")
    }


# Inferred ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        # From the end of the sample's own period until the thread is seen again.
        ([(1, "a", ANE), (9, "a", BNNS)], {"ANE wait": (7, "inferred")}),
        ([(1, "a", ANE_WAIT), (9, "a", UI)], {"ANE wait": (7, "inferred")}),
        ([(1, "a", ANE), (4, "a", ANE), (9, "a", UI)], {"ANE wait": (6, "inferred")}),
        ([(1, "a", GPU_WAIT), (9, "a", UI)], {"GPU wait": (7, "inferred")}),
        # Another thread's samples are no end of it.
        ([(1, "a", ANE), (5, "b", UI), (9, "a", UI)], {"ANE wait": (7, "inferred")}),
        # A hole after plain work is no waiting for an engine.
        ([(1, "a", BNNS), (9, "a", BNNS)], {}),
        ([(1, "a", RUNTIME), (9, "a", RUNTIME)], {}),
        ([(1, "a", LOAD), (9, "a", UI)], {}),
        ([(1, "a", UI), (9, "a", ANE)], {}),
        ([(1, "a", None), (9, "a", ANE)], {}),
        # The next sample came as usual, or a little late.
        ([(1, "a", ANE), (2, "a", ANE), (3, "a", UI)], {}),
        ([(1, "a", ANE), (2.5, "a", UI)], {}),
        ([(1, "a", ANE), (2.6, "a", UI)], {"ANE wait": (0.6, "inferred")}),
        # The thread was not seen again, or only after what may be the end of the call.
        ([(1, "a", ANE)], {}),
        ([(1, "a", ANE), (251, "a", UI)], {"ANE wait": (249, "inferred")}),
        ([(1, "a", ANE), (251.1, "a", UI)], {}),
    ],
)
def test_inferred(samples: list[Sample], expected: dict[str, tuple[float, str]]) -> None:
    assert waited(trace_of(samples)) == expected


def test_at_a_slow_rate_five_periods_are_a_hole_like_any() -> None:
    samples: list[Sample] = [(0, "a", ANE, 100 * MS), (500, "a", UI, 100 * MS)]
    assert waited(trace_of(samples)) == {"ANE wait": (400, "inferred")}
    samples[1] = (501, "a", UI, 100 * MS)
    assert waited(trace_of(samples)) == {}


def test_cycles_show_no_waiting() -> None:
    assert waited(trace_of(HANDS_OVER, unit="cycles")) == {}


def test_a_hole_is_cut_to_the_window() -> None:
    assert waited(trace_of(HANDS_OVER), 4, 6) == {"ANE wait": (2, "inferred")}
    analysis = analyze(trace_of(HANDS_OVER), windows=[manual(0, 4), manual(6, 12)])
    assert bases(analysis, -1) == {"ANE wait": (2, "inferred")}


def test_caller_and_worker_wait_once_together() -> None:
    """The caller from 2 to 20, its worker from 4 to 12."""
    samples: list[Sample] = [
        (1, "a", ANE_WAIT),
        (3, "w", E5_WORKER),
        (12, "w", E5_WORKER),
        (20, "a", CALL),
    ]
    analysis = analyze(trace_of(samples))
    assert analysis.window_rows[["start_ns", "end_ns"]].to_numpy().tolist() == [[1 * MS, 21 * MS]]
    assert bases(analysis, 0) == {"ANE wait": (18, "inferred")}


def test_a_call_does_not_wait_with_another_thread() -> None:
    """Thread b waits for its own call all the time."""
    samples: list[Sample] = [(1, "a", ANE), (4, "a", CALL), (0, "b", ANE), (9, "b", CALL)]
    analysis = analyze(trace_of(samples))
    assert analysis.window_rows["thread_id"].tolist() == [0, 1]
    assert [bases(analysis, window) for window in (0, 1)] == [
        {"ANE wait": (8, "inferred")},
        {"ANE wait": (2, "inferred")},
    ]


def test_waiting_is_no_busy_time_and_no_sample() -> None:
    analysis = analyze(trace_of(HANDS_OVER), windows=[manual(3, 8)])
    (row,) = analysis.attribution_rows[analysis.attribution_rows["window_id"] == 0].to_dict("records")
    assert (row["samples"], row["sampled_ns"], row["weight"]) == (0, 0, 0)
    assert pd.isna(row["busy_ns"])
    assert analysis.verdicts.names[0] == "UNKNOWN"


# Sampled ----------------------------------------------------------------------------------------------------


def test_sampled_where_the_recorder_took_blocked_threads() -> None:
    """Their weight is the time since; the hole that follows is not added to it."""
    samples: list[Sample] = [(1, "a", ANE_WAIT, 3 * MS), (9, "a", ANE_WAIT, 1 * MS)]
    assert waited(trace_of(samples, state="Blocked")) == {"ANE wait": (4, "sampled")}


def test_blocked_samples_that_overlap_count_once() -> None:
    samples: list[Sample] = [(1, "a", ANE_WAIT, 3 * MS), (2, "w", E5_WORKER, 3 * MS)]
    assert waited(trace_of(samples, state="Blocked")) == {"ANE wait": (4, "sampled")}


# Measured ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([State(2, 9, "Blocked")], (7, "measured")),
        ([State(1, 9, "Blocked")], (8, "measured")),
        ([State(3, 9, "Blocked")], (6, "measured")),
        ([State(2, 4, "Blocked"), State(2, 4, "Blocked")], (2, "measured")),
        ([State(2, 4, "Blocked"), State(5, 9, "Blocked")], (6, "measured")),  # awake for 1 ms, unsampled
        # Nothing was handed over before, or it is another thread, or no waiting: the hole speaks.
        ([State(0.5, 9, "Blocked")], (7, "inferred")),
        ([State(2, 9, "Blocked", tid=5)], (7, "inferred")),
        ([State(2, 9, "Running"), State(2, 9, "Runnable")], (7, "inferred")),
        ([State(2, 2, "Blocked")], (7, "inferred")),
    ],
)
def test_measured_by_thread_states(states: list[State], expected: tuple[float, str]) -> None:
    assert waited(with_evidence(trace_of(HANDS_OVER), states=states)) == {"ANE wait": expected}


def test_a_state_beyond_2_to_the_61() -> None:
    trace = with_evidence(trace_of(HANDS_OVER), states=[State(2, 2**61 / MS, "Blocked")])
    assert waited(trace, 0, 20) == {"ANE wait": (18, "measured")}


def test_measured_by_core_mls_requests() -> None:
    rows = [core_ml(2, 8, "Neural Engine Request"), core_ml(7, 9, "ANE Request")]
    trace = with_evidence(trace_of(HANDS_OVER), rows)
    assert waited(trace) == {"ANE wait": (7, "measured")}
    assert waited(trace, 4, 6) == {"ANE wait": (2, "measured")}


def test_requests_go_before_thread_states() -> None:
    trace = with_evidence(
        trace_of(HANDS_OVER), [core_ml(2, 5, "Neural Engine Request")], states=[State(2, 9, "Blocked")]
    )
    assert waited(trace) == {"ANE wait": (3, "measured")}


def test_each_engine_has_its_own_basis() -> None:
    samples: list[Sample] = [(1, "a", ANE), (9, "a", GPU_WAIT), (15, "a", UI)]
    trace = with_evidence(trace_of(samples), [core_ml(2, 8, "Neural Engine Request")])
    assert waited(trace) == {"ANE wait": (6, "measured"), "GPU wait": (5, "inferred")}


def test_bases_are_never_mixed() -> None:
    """One hole has a thread state, the other has none: only the measured one counts."""
    samples: list[Sample] = [(1, "a", ANE), (9, "a", ANE), (20, "a", UI)]
    trace = with_evidence(trace_of(samples), states=[State(10, 19, "Blocked")])
    assert waited(trace) == {"ANE wait": (9, "measured")}
    (window,) = to_dict(analyze(trace, windows=[manual(0, 30)]))["windows"]
    numbers = window["engines"]["ANE"]
    assert (numbers["waiting_ns"], numbers["waiting_basis"]) == (9 * MS, "measured")
    assert window["engines"]["CPU"]["waiting_ns"] is None


def test_requests_of_another_process_are_left_out() -> None:
    rows = [core_ml(2, 8, "Neural Engine Request", pid=88), core_ml(3, 5, "Neural Engine Request")]
    assert waited(with_evidence(trace_of(HANDS_OVER), rows)) == {"ANE wait": (2, "measured")}


def test_the_anes_intervals_are_no_waiting() -> None:
    trace = with_evidence(trace_of([(1, "a", UI)]), [ane(2, 8)])
    analysis = analyze(trace, windows=[manual(0, 10)])
    assert known(analysis, "waiting_ns") == {}


def test_no_thread_and_no_state() -> None:
    trace = with_evidence(trace_of(HANDS_OVER), states=[State(2, 9, "Blocked", tid=-1)])
    assert waited(trace) == {"ANE wait": (7, "inferred")}
    alone = with_evidence(trace_of([]), states=[State(2, 9, "Blocked")])
    assert waited(replace(alone, samples_source="")) == {}
