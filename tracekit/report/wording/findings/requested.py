"""Calls on another engine than was requested as English."""

from __future__ import annotations

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.requested import (
    NOT_ON_REQUESTED_ENGINE,
    RequestedNumbers,
)
from tracekit.report.wording.findings.sentences import Sentences, sentences_of
from tracekit.report.wording.names import engine_name, model_name


def _not_as_requested(finding: Finding[RequestedNumbers]) -> Sentences:
    return _excluded(finding) if finding.numbers["is_excluded"] else _never(finding)


def _excluded(finding: Finding[RequestedNumbers]) -> Sentences:
    numbers = finding.numbers
    title = (
        f"{model_name(finding.model, numbers['is_named'])} ran on {engine_name(numbers['engine'])} in"
        f" {_of_calls(finding)}, although {numbers['setting']} excludes it."
    )
    return Sentences(
        title,
        "The setting may not have reached this model: the app has to pass TRACEKIT_COMPUTE_UNITS to Core ML,"
        " and frameworks load models of their own.",
    )


def _never(finding: Finding[RequestedNumbers]) -> Sentences:
    numbers = finding.numbers
    title = (
        f"{model_name(finding.model, numbers['is_named'])} never ran on {engine_name(numbers['engine'])},"
        f" although {numbers['setting']} allows it."
    )
    return Sentences(
        title, f"It ran on {engine_name(numbers['verdict'])} ({_of_calls(finding)} with a visible engine)."
    )


def _of_calls(finding: Finding[RequestedNumbers]) -> str:
    concerned, calls = finding.numbers["concerned"], finding.numbers["calls"]
    return "its only call" if calls == 1 else f"{concerned:,} of {calls:,} calls"


SENTENCES = dict((sentences_of(NOT_ON_REQUESTED_ENGINE, _not_as_requested),))
