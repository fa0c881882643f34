"""Engines that others use inside a model's calls: other processes, other models of the app, drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from evidence_support import OTHER_APP, Interval, ane, drawing, gpu, prediction, with_evidence
from trace_support import ANE_WAIT, MS, UI, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.findings.finding import Finding
from tracekit.report.wording.findings import finding_text

FOREIGN = "Segmenter_0123456789abcdef main Neural Engine Prediction"


def of_kind(analysis: Analysis, kind: str) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind == kind]


def analysis_of(rows: Sequence[Interval]) -> Analysis:
    """Return an analysis of rows, with the samples of a thread that waits in each prediction."""
    samples = [(0.0, "a", UI)]
    for row in rows:
        if row.channel == "Prediction":
            samples += [(row.start + 0.5, row.model, ANE_WAIT), (row.end - 1.5, row.model, ANE_WAIT)]
    return analyze(with_evidence(trace_of([*samples]), rows))


def calls_with_others(shared: str, slow: float = 6) -> Analysis:
    """Return calls of 10 ms; in those marked x, the engine first works 4 ms for another process."""
    rows: list[Interval] = []
    for number, mark in enumerate(shared):
        start, extra = 20.0 + number * 40, slow if mark == "x" else 0
        rows += [prediction(start, start + 10 + extra), ane(start + 2 + extra, start + 8 + extra)]
        rows += [ane(start + 1, start + 5, FOREIGN)] if mark == "x" else []
    return analysis_of(rows)


def test_calls_that_wait_for_another_process() -> None:
    analysis = calls_with_others("---xx-x-")
    (finding,) = of_kind(analysis, "engine-contention")
    assert (finding.model, finding.severity, finding.confidence) == ("Net", "warning", "likely")
    assert (finding.lost_ns, finding.windows.ranges) == (3 * 6 * MS, ((3, 4), (6, 6)))
    text = finding_text(finding, analysis.trace.info)
    assert text.title == (
        "The Neural Engine worked for Segmenter, a label that fits no model of this app, during 3 of 8 calls of Net."
    )
    assert text.detail.startswith("No table names the process of that work: it is another app, or")
    assert text.cost == (
        "These calls are 6.00 ms longer than the others (16.0 ms against 10.0 ms): the engine worked 4.00 ms for"
        " Segmenter in each."
    )
    assert text.next_steps[1].command == "tracekit check literal --require 'warm p50 in Net <= 10ms'"


def test_contention_without_a_cost_is_information() -> None:
    analysis = calls_with_others("---x-x-", slow=0)
    (finding,) = of_kind(analysis, "engine-contention")
    assert (finding.severity, finding.lost_ns, finding.confidence) == ("info", None, "likely")
    assert (
        "These calls are as long as the others (10.0 ms)" in finding_text(finding, analysis.trace.info).cost
    )


def test_a_process_is_named_as_one_only_where_its_rows_name_it() -> None:
    (finding,) = of_kind(calls_with_others("---xx-x-"), "engine-contention")
    known = replace(finding, numbers={**finding.numbers, "are_processes_known": True})
    title = finding_text(known, calls_with_others("-").trace.info).title
    assert title == "The Neural Engine worked for another process (Segmenter) during 3 of 8 calls of Net."


def test_other_processes_between_the_calls_are_no_contention() -> None:
    rows: list[Interval] = []
    for number in range(5):
        start = 20.0 + number * 40
        rows += [
            prediction(start, start + 10),
            ane(start + 2, start + 8),
            ane(start + 12, start + 18, FOREIGN),
        ]
    assert not of_kind(analysis_of(rows), "engine-contention")


# Two models of the app ------------------------------------------------------------------------------------


def two_models(wait: float, together: int = 4) -> Analysis:
    """Return calls of Net and Big: some alone, and some at once, in which Net's waits for Big's work."""
    rows: list[Interval] = []
    for number in range(4 + together):
        start = 20.0 + number * 100
        rows += [
            prediction(start, start + 30, "Big"),
            ane(start + 2, start + 28, "Big_main__Op0_AneInference"),
        ]
        begin = start + 5 if number >= 4 else start + 50
        extra = wait if number >= 4 else 0
        rows += [prediction(begin, begin + 10 + extra), ane(begin + extra + 2, begin + extra + 8)]
    return analysis_of(rows)


def test_a_model_that_waits_for_another_model_of_the_app() -> None:
    """Net's work begins when Big's has ended: 23 ms later than it could."""
    analysis = two_models(wait=22)
    (finding,) = of_kind(analysis, "models-serialized")
    assert (finding.model, finding.lost_ns, finding.windows.count) == ("Net", 4 * 22 * MS, 4)
    text = finding_text(finding, analysis.trace.info)
    assert text.title == "Net and Big take turns on the Neural Engine where their calls overlap."
    assert text.cost == (
        "These calls are 22.0 ms longer than the others (32.0 ms against 10.0 ms): the engine worked 23.0 ms for Big"
        " in each."
    )
    assert not of_kind(analysis, "engine-contention")


@pytest.mark.parametrize("analysis", [two_models(wait=0), two_models(wait=22, together=0), two_models(4)])
def test_models_that_run_side_by_side_do_not_wait(analysis: Analysis) -> None:
    """With 4 ms more, both models' work is on the engine at the same time: the engine was no bottleneck."""
    assert not of_kind(analysis, "models-serialized")


# The GPU --------------------------------------------------------------------------------------------------


def gpu_calls(*drawn: Interval) -> Analysis:
    rows: list[Interval] = [*drawn]
    for number in range(4):
        start = 20.0 + number * 40
        rows += [prediction(start, start + 20), gpu(start + 2, start + 18)]
    return analysis_of(rows)


def test_the_gpu_draws_during_the_calls() -> None:
    drawn = [drawing(25 + n * 40, 28 + n * 40) for n in range(4)]
    server = [
        replace(
            drawing(30 + n * 40, 31 + n * 40, pid=OTHER_APP), label=f"GPU  ( WindowServer ({OTHER_APP}) )"
        )
        for n in range(4)
    ]
    analysis = gpu_calls(*drawn, *server)
    (finding,) = of_kind(analysis, "gpu-shared-with-rendering")
    assert (finding.severity, finding.lost_ns) == ("info", None)
    text = finding_text(finding, analysis.trace.info)
    assert text.title == (
        "The GPU also worked for this app's drawing and WindowServer during 4 of 4 calls of Net."
    )
    assert (
        text.cost
        == "Of 20.0 ms, the engine worked 4.00 ms for others in each. No call is without, so the cost is unknown."
    )


def test_a_little_drawing_and_drawing_between_calls_are_usual() -> None:
    assert not of_kind(
        gpu_calls(*[drawing(25 + n * 40, 26 + n * 40) for n in range(4)]), "gpu-shared-with-rendering"
    )
    assert not of_kind(
        gpu_calls(*[drawing(45 + n * 40, 55 + n * 40) for n in range(4)]), "gpu-shared-with-rendering"
    )
