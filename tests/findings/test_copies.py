"""Calls that copy for much of their time; and those that copy as much as is usual."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from evidence_support import ane, manual, prediction, with_evidence
from trace_support import CALL, MS, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.analysis.findings.finding import Finding
from tracekit.report.wording.findings import FindingText, finding_text

CAST = (
    "Espresso | E5RT::Ops::CastOperation::ExecuteSync()",
    "Espresso | E5RT::AsyncTask::SafeExecuteTask()",
    *CALL,
)


def calls_of(copies: int, calls: int = 4, ticks: int = 12, windows: Sequence[Window] = ()) -> Analysis:
    """Return calls of 12 ms on the Neural Engine, of which the first samples are casts."""
    rows = [prediction(20.0 * number, 20.0 * number + ticks) for number in range(calls)]
    rows += [ane(20.0 * number + copies, 20.0 * number + ticks) for number in range(calls)]
    samples: list[Sample] = [
        (20.0 * number + tick + 0.5, "a", CAST if tick < copies else CALL)
        for number in range(calls)
        for tick in range(ticks)
    ]
    trace = with_evidence(trace_of(samples), rows)
    return analyze(trace, windows=windows) if windows else analyze(trace)


def copying(analysis: Analysis) -> list[Finding]:
    return [finding for finding in analysis.findings if finding.kind == "copies-around-engine"]


def only(analysis: Analysis) -> tuple[Finding, FindingText]:
    (finding,) = copying(analysis)
    return finding, finding_text(finding, analysis.trace.info)


def test_a_third_of_the_time_is_copies() -> None:
    """Samples begin half a millisecond into each call, so that 3.5 of 4 ms are seen."""
    finding, text = only(calls_of(copies=4))
    assert (finding.model, finding.confidence, finding.lost_ns) == ("Net", "likely", 14 * MS)
    assert text.title == "Net spends 29 % of its calls' time on binding, casting and copying data."
    assert text.cost == (
        "That is 14.0 ms of 48.0 ms in 4 calls (sampled), most of it in E5RT::Ops::CastOperation::ExecuteSync()."
    )
    assert text.next_steps


@pytest.mark.parametrize(("copies", "calls"), [(2, 4), (2, 12), (4, 2), (0, 4)])
def test_a_small_share_or_few_samples_are_no_finding(copies: int, calls: int) -> None:
    assert not copying(calls_of(copies, calls))


def test_windows_of_the_user_and_of_the_engine_have_no_copies_of_a_call() -> None:
    assert not copying(calls_of(4, windows=[manual(0, 30), manual(40, 70)]))
    analysis = calls_of(4)
    assert not copying(analyze(analysis.trace, windows="ane"))
