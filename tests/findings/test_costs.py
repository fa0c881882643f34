"""Costs of findings: the order by them, their agreement with the budgets of calls, and the phrase."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sample_recordings import sample_analysis

from tracekit import Analysis
from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.findings.find import KINDS
from tracekit.analysis.findings.finding import Finding, WindowRanges
from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import Basis
from tracekit.report.wording.findings.cost import name_cost, write_cost

MS = 1_000_000
SAMPLES = Path(__file__).parents[2] / "sample_traces"
RECORDINGS = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))
INFO = TraceInfo("literal", "xctrace-xml", duration_ns=1_000 * MS)


@cache
def analysis_of(recording: str) -> Analysis:
    return sample_analysis(recording)


def lost(kind: str, lost_ns: int | None, calls: int = 9, severity: str = "warning") -> Finding[Any]:
    return Finding(
        kind=KINDS[kind],
        severity=severity,
        confidence="certain",
        basis=Basis.MEASURED,
        numbers={},
        windows=WindowRanges(calls),
        lost_ns=lost_ns,
    )


@pytest.mark.integration
def test_the_longest_loss_stands_first() -> None:
    """36 ms of the app's own work before each of nine calls cost more than the idle time of six calls."""
    warnings = [
        (finding.kind, finding.model, finding.lost_ns)
        for finding in analysis_of("waiting-app-ios27").findings
        if finding.severity == "warning"
    ]
    assert [kind for kind, _, _ in warnings] == [
        *("work-beside-calls", "gaps-in-calls", "load-per-call", "main-thread-blocked", "engine-contention")
    ]
    assert warnings[0][1:] == ("Segmenter", 9 * 36 * MS)


@pytest.mark.integration
@pytest.mark.parametrize("recording", RECORDINGS)
def test_errors_warnings_and_notes_are_each_in_order_of_their_costs(recording: str) -> None:
    findings = analysis_of(recording).findings
    ranks = [("error", "warning", "info").index(finding.severity) for finding in findings]
    assert ranks == sorted(ranks)
    for severity in ("error", "warning", "info"):
        costs = [finding.lost_ns for finding in findings if finding.severity == severity]
        known = [cost for cost in costs if cost is not None]
        assert costs == [*sorted(known, reverse=True), *[None] * (len(costs) - len(known))]


@pytest.mark.integration
@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_warning_about_calls_has_a_cost_or_the_reason_why_it_has_none(recording: str) -> None:
    analysis = analysis_of(recording)
    for finding in analysis.findings:
        if finding.kind.about == "calls" and finding.severity != "info":
            phrase = write_cost(finding, analysis.trace.info)
            assert phrase.startswith("Costs " if finding.lost_ns else "No cost in time is known: ")


@pytest.mark.integration
def test_idle_time_is_that_of_the_budgets() -> None:
    analysis = analysis_of("waiting-app-ios27")
    (gaps,) = (finding for finding in analysis.findings if finding.kind == "gaps-in-calls")
    names = [model.name for model in analysis.call_models]
    (total,) = (
        total.total_ns
        for total in analysis.budget_totals
        if total.kind.part is BudgetPart.IDLE and names[total.position] == "Tagger"
    )
    assert gaps.lost_ns == total


@pytest.mark.integration
def test_calls_off_the_engine_cost_what_the_lengths_differ_by() -> None:
    """The six calls on the CPU take 27.9 to 29.9 ms, those on the Neural Engine 25.9 ms."""
    (finding, *_) = analysis_of("fallback-midway-ios27").findings
    assert (finding.kind, finding.lost_ns) == ("fell-back", (2 + 3 + 4) * 2 * MS)


def test_what_limits_an_answer_is_no_finding() -> None:
    limits = {kind for kind, declared in KINDS.items() if declared.about == "limit"}
    assert limits == {"instruments-missing", "rows-lost", "sampling-too-coarse", "too-few-calls"}


def test_the_cost_of_calls_with_its_share_of_the_recording() -> None:
    finding = lost("work-beside-calls", 324 * MS)
    assert write_cost(finding, INFO) == "Costs 324 ms over 9 calls: 32 % of the recording's length."
    assert name_cost(finding) == "324 ms: work between calls"


def test_the_cost_where_the_length_of_the_recording_is_not_known() -> None:
    assert write_cost(lost("load-per-call", 5 * MS), replace(INFO, duration_ns=None)) == (
        "Costs 5.00 ms over 9 calls."
    )


def test_a_cost_outside_of_calls_and_a_small_one() -> None:
    assert write_cost(lost("compiled-in-run", 4 * MS, calls=0), INFO) == "Costs 4.00 ms."


def test_a_warning_without_a_cost_has_the_reason_and_a_note_has_none() -> None:
    assert write_cost(lost("fell-back", None), INFO) == (
        "No cost in time is known: these calls are not clearly longer than the others."
    )
    assert write_cost(lost("came-back", None, calls=1), INFO) == (
        "No cost in time is known: one call alone shows no difference beyond chance."
    )
    assert not write_cost(lost("fell-back", None, severity="info"), INFO)
    assert not write_cost(lost("no-symbols", None), INFO)
