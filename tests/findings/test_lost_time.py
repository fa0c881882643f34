"""Gaps in which nothing works inside calls, and calls that block a main thread; and what only looks like it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evidence_support import ane, manual, prediction, with_evidence
from trace_support import ANE_WAIT, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.findings.finding import Finding
from tracekit.report.wording.findings import finding_text

pytestmark = pytest.mark.integration


def of_kind(analysis: Analysis, kind: str) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind == kind]


def waiting_calls(busy: float, count: int = 5, host: int = 2) -> Analysis:
    """Return calls of 20 ms: some samples at both ends, and the Neural Engine at work in between."""
    rows, samples = [], [(0.0, "a", UI)]
    for number in range(count):
        start = 20.0 + number * 40
        rows += [prediction(start, start + 20), ane(start + host, start + host + busy)]
        samples += [(start + tick + 0.01, "a", ANE_WAIT) for tick in (*range(host), *range(20 - host, 20))]
    return analyze(with_evidence(trace_of([*samples]), rows))


def test_a_gap_in_each_call() -> None:
    """Of 16 ms between the samples, the engine works 6."""
    (finding,) = of_kind(waiting_calls(busy=6), "gaps-in-calls")
    assert (finding.model, finding.severity, finding.confidence) == ("Net", "warning", "likely")
    assert finding.lost_ns == pytest.approx(5 * 10 * MS, rel=0.01)
    text = finding_text(finding, waiting_calls(busy=6).trace.info)
    assert text.title == (
        "Calls of Net idle for 10.0 ms of 20.0 ms (median): no engine and no thread of the app runs."
    )
    assert text.lost == "Costs 50.0 ms (inferred) over 5 calls."
    assert text.next_steps[0].command.startswith("tracekit record --app APP --template 'System Trace'")


@pytest.mark.parametrize("busy", [11, 16])
def test_a_busy_engine_leaves_no_gap(busy: int) -> None:
    """Of the 5 ms that remain with 11, the samples cannot resolve 2."""
    assert not of_kind(waiting_calls(busy), "gaps-in-calls")


def test_an_engine_without_a_table_may_have_worked_in_the_gap() -> None:
    samples: list[Sample] = [(20 + n * 40 + t, "a", ANE_WAIT) for n in range(5) for t in (0, 1, 18, 19)]
    rows = [prediction(20 + n * 40, 40 + n * 40) for n in range(5)]
    assert not of_kind(analyze(with_evidence(trace_of(samples), rows)), "gaps-in-calls")


def test_another_thread_of_the_app_may_compute_for_the_call() -> None:
    """A library's threads do not show the call that they work for."""
    trace = waiting_calls(busy=6).trace
    work = ("libBLAS.dylib | APL_sgemm", "libsystem_pthread.dylib | start_wqthread")
    samples: list[Sample] = [(20 + n * 40 + t, "w", work) for n in range(5) for t in range(9, 18)]
    samples += [(20 + n * 40 + t + 0.01, "a", ANE_WAIT) for n in range(5) for t in (0, 1, 18, 19)]
    again = replace(trace_of(samples), intervals=trace.intervals, tables=trace.tables)
    assert not of_kind(analyze(again), "gaps-in-calls")


def test_windows_of_the_user_have_no_gaps() -> None:
    trace = waiting_calls(busy=6).trace
    again = analyze(trace, windows=[manual(20 + n * 40, 40 + n * 40) for n in range(5)])
    assert not of_kind(again, "gaps-in-calls")


# The main thread ------------------------------------------------------------------------------------------

MAIN = "Main Thread"


def blocking(
    ticks: tuple[int, ...], length: float = 30, thread: str = MAIN, between: tuple[str, ...] = UI
) -> Analysis:
    """Return three calls whose thread is sampled at these moments, and before each call."""
    rows, samples = [], []
    for number in range(3):
        start = 20.0 + number * 60
        rows.append(prediction(start, start + length))
        samples += [(start - 5, thread, between)]
        samples += [(start + tick + 0.5, thread, ANE_WAIT) for tick in ticks]
    return analyze(with_evidence(trace_of([*samples]), rows))


def test_calls_that_block_the_main_thread() -> None:
    analysis = blocking((0, 1, 28, 29))
    (finding,) = of_kind(analysis, "main-thread-blocked")
    assert (finding.severity, finding.confidence, finding.lost_ns) == (
        "warning",
        "certain",
        3 * 30 * MS - 3 * 16_666_667,
    )
    text = finding_text(finding, analysis.trace.info)
    assert text.title == (
        "The main thread is blocked by calls of Net: 3 of 3 calls take longer than a frame of the screen (16.7"
        " ms)."
    )
    assert text.cost.startswith("The longest takes 30.0 ms (at 20.0 ms), the median is 30.0 ms.")
    assert text.next_steps[1].command == "tracekit check literal --require 'warm max in Net <= 16.7ms'"


def test_a_short_call_a_worker_and_a_tool_block_no_frame() -> None:
    tool = ("Tool | main",)
    assert not of_kind(blocking((0, 1, 14), length=16), "main-thread-blocked")
    assert not of_kind(blocking((0, 1, 28, 29), thread="worker"), "main-thread-blocked")
    assert not of_kind(blocking((0, 1, 28, 29), between=tool), "main-thread-blocked")


def test_an_asynchronous_call_leaves_the_main_thread() -> None:
    """The call is seen on the main thread at its begin alone."""
    assert not of_kind(blocking((0, 1)), "main-thread-blocked")
