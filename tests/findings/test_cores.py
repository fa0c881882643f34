"""Inference on efficiency cores, with and without calls on performance cores to compare with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from evidence_support import prediction, with_evidence
from trace_support import BNNS, MS, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.findings.finding import Finding
from tracekit.model.tables import CoreType
from tracekit.report.wording.findings import finding_text

TYPES: dict[int, CoreType] = {0: "E", 1: "P"}


def calls_on(cores: str, slow: int = 16, types: dict[int, CoreType] = TYPES) -> Analysis:
    """Return calls on the CPU of 10 ms on the core P, and of ``slow`` on the core E."""
    rows, samples, numbers = [], [], []
    for number, core in enumerate(cores):
        start, length = 20.0 + number * 40, slow if core == "E" else 10
        rows.append(prediction(start, start + length))
        samples += [(start + tick + 0.5, "a", BNNS) for tick in range(length)]
        numbers += [0 if core == "E" else 1] * length
    trace = trace_of([*samples])
    core = np.array(numbers, np.int16)
    trace = replace(trace, samples=trace.samples.assign(core=core), core_types=types)
    return analyze(with_evidence(trace, rows))


def findings(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind == "on-efficiency-cores"]


def test_calls_on_efficiency_cores_that_take_longer() -> None:
    analysis = calls_on("PPPPEEE")
    (finding,) = findings(analysis)
    assert (finding.severity, finding.lost_ns, finding.windows.ranges) == ("warning", 3 * 6 * MS, ((4, 6),))
    text = finding_text(finding, analysis.trace.info)
    assert text.title == "Efficiency cores did 55 % of the CPU's inference in calls of Net."
    assert text.cost == (
        "The 3 calls that ran mostly there are 6.00 ms longer than the others (16.0 ms against 10.0 ms)."
    )


def test_only_efficiency_cores_have_an_unknown_cost() -> None:
    analysis = calls_on("EEEE")
    (finding,) = findings(analysis)
    assert (finding.severity, finding.lost_ns) == ("info", None)
    assert "so the cost is unknown" in finding_text(finding, analysis.trace.info).cost


@pytest.mark.parametrize(
    "analysis", [calls_on("PPPP"), calls_on("PPPPEEE", slow=10), calls_on("EEEE", types={})]
)
def test_performance_cores_equal_lengths_and_unknown_cores_are_no_finding(analysis: Analysis) -> None:
    assert not findings(analysis)


def test_two_slow_calls_of_five_may_be_chance() -> None:
    assert not findings(calls_on("PPPEE"))
