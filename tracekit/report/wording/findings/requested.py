"""Calls on another engine than was requested as English."""

from __future__ import annotations

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.requested import (
    NOT_ON_REQUESTED_ENGINE,
    RequestedNumbers,
)
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import engine_name, format_model_name


def _write_not_on_requested_engine(finding: Finding[RequestedNumbers]) -> Sentences:
    return _write_excluded(finding) if finding.numbers["is_excluded"] else _write_never(finding)


def _write_excluded(finding: Finding[RequestedNumbers]) -> Sentences:
    numbers = finding.numbers
    title = (
        f"{format_model_name(finding.model, numbers['is_named'])} ran on {engine_name(numbers['engine'])} in"
        f" {_count_calls(finding)}, although {numbers['setting']} excludes it."
    )
    return Sentences(
        title,
        "The setting may not have reached this model: the app has to pass TRACEKIT_COMPUTE_UNITS to Core ML,"
        " and frameworks load models of their own.",
    )


def _write_never(finding: Finding[RequestedNumbers]) -> Sentences:
    numbers = finding.numbers
    title = (
        f"{format_model_name(finding.model, numbers['is_named'])} never ran on"
        f" {engine_name(numbers['engine'])}, although {numbers['setting']} allows it."
    )
    return Sentences(
        title, f"It ran on {engine_name(numbers['verdict'])} ({_count_calls(finding)} with a visible engine)."
    )


def _count_calls(finding: Finding[RequestedNumbers]) -> str:
    concerned, calls = finding.numbers["concerned"], finding.numbers["calls"]
    return "its only call" if calls == 1 else f"{concerned:,} of {calls:,} calls"


SENTENCES = dict((pair_sentences(NOT_ON_REQUESTED_ENGINE, _write_not_on_requested_engine),))
