"""Inference on efficiency cores as English."""

from __future__ import annotations

from tracekit.analysis.findings.cores import (
    ON_EFFICIENCY_CORES,
    CoreNumbers,
)
from tracekit.analysis.findings.finding import Finding
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import calls_of
from tracekit.text import format_duration, format_percent, plural


def _write_efficiency_cores(finding: Finding[CoreNumbers]) -> Sentences:
    numbers = finding.numbers
    title = (
        f"Efficiency cores did {format_percent(numbers['share'])} of the CPU's inference in"
        f" {calls_of(finding.model)}."
    )
    slow = format_duration(numbers["slow_ns"])
    if numbers["fast_ns"] is None:
        return Sentences(
            title, f"No call ran on performance cores, so the cost is unknown ({slow} per call)."
        )
    lengths = f"{slow} against {format_duration(numbers['fast_ns'])}"
    count = numbers["slow"]
    calls = f"The {plural(count, 'call')} that ran mostly there {'is' if count == 1 else 'are'}"
    if numbers["extra_ns"]:
        extra = format_duration(numbers["extra_ns"])
        return Sentences(title, f"{calls} {extra} longer than the others ({lengths}).")
    return Sentences(title, f"{calls} not clearly longer than the others ({lengths}).")


SENTENCES = dict((pair_sentences(ON_EFFICIENCY_CORES, _write_efficiency_cores),))
