"""Requests that failed, operators that were refused; and what is another process's."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from evidence_support import APP, OTHER_APP, ane, prediction, with_evidence
from trace_support import CALL, MS, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.model.columns import ENGINE_LOG
from tracekit.report.wording.findings import FindingText, finding_text

KINDS = ("requests-failed", "operators-refused", "program-not-loaded")


def with_lines(*lines: tuple[float, str, int, int, str, str]) -> Analysis:
    """Return three calls at 20, 40 and 60 ms with lines: time in ms, kind, status, process, operator, reason."""
    samples: list[Sample] = [(float(time), "a", CALL) for time in range(90)]
    rows = [prediction(start, start + 10) for start in (20, 40, 60)]
    rows += [ane(start + 2, start + 8) for start in (20, 60)]
    trace = with_evidence(trace_of(samples), rows)
    log = pd.DataFrame(lines, columns=["time_ns", "kind", "status", "pid", "operator", "reason"])
    log["time_ns"] = (log["time_ns"] * MS).round()
    log = log.assign(tid=1, subsystem="com.apple.ane", source="os-log")
    frame = log[list(ENGINE_LOG.required)].astype(dict(ENGINE_LOG.required))
    return analyze(replace(trace, engine_log=frame))


def texts(analysis: Analysis) -> list[FindingText]:
    return [
        finding_text(finding, analysis.trace.info) for finding in analysis.findings if finding.kind in KINDS
    ]


def test_a_failed_request_is_an_error_of_its_call() -> None:
    analysis = with_lines((45, "request", 29, APP, "", ""), (28, "request", 0, APP, "", ""))
    (text,) = texts(analysis)
    assert analysis.findings[0].severity == "error"
    assert analysis.findings[0].windows.ranges == ((1, 1),)
    assert text.title == "Net: 1 request to the Neural Engine failed (status 0x1d), in 1 of 3 calls."
    assert text.cost == (
        "No engine is seen there. The runtime may return zeros without an error: check the results of the"
        " call at 40.0 ms."
    )
    assert [step.command for step in text.next_steps] == [
        "tracekit tables literal --schema os-log",
        "tracekit check literal --require 'issues ane-requests-failed == 0'",
    ]


def test_a_failure_outside_of_calls_belongs_to_none() -> None:
    (text,) = texts(with_lines((80, "request", 29, APP, "", "")))
    assert text.title == (
        "1 request to the Neural Engine failed (status 0x1d), in no single call for certain."
    )


def test_operators_and_programs_that_were_refused() -> None:
    refused, program = texts(
        with_lines(
            (5, "unsupported operator", -1, APP, "gather", "no such index"),
            (6, "unsupported operator", -1, APP, "gather", "no such index"),
            (7, "not loaded", -1, APP, "", "ANECCompile() FAILED"),
        )
    )
    assert refused.title == (
        "1 kind of operators cannot run on the Neural Engine: gather (no such index, 2 times)."
    )
    assert program.title == (
        "A program for the Neural Engine was not compiled or loaded (1 time): ANECCompile() FAILED."
    )


def test_requests_that_were_served_and_those_of_other_processes_are_no_finding() -> None:
    analysis = with_lines((45, "request", 0, APP, "", ""), (46, "request", 29, OTHER_APP, "", ""))
    assert not texts(analysis)


def test_control_characters_of_the_log_stay_printable() -> None:
    (text,) = texts(with_lines((5, "unsupported operator", -1, APP, "ga\x1bther", "<b>" * 200)))
    assert text.title.isprintable()
    assert len(text.title) < 250
