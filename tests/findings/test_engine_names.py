"""Findings about engines on odd recordings: hostile names, calls of no length, a single call."""

from __future__ import annotations

import pytest
from evidence_support import ane, core_ml, prediction, with_evidence
from trace_support import BNNS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.report.wording.findings import finding_texts

pytestmark = pytest.mark.integration

KINDS = {"cold-first-call", "compiled-in-run", "loaded-again", "partly-on-engine", "not-on-requested-engine"}
HOSTILE = "<b>\x1b[31m\n" + "N" * 300


def calls_of(lengths: list[float], model: str) -> Analysis:
    """Return calls of two pieces on the Neural Engine, after two loads."""
    rows = [core_ml(1, 3, "Load Model", model), core_ml(5, 8, "Load Model", model)]
    samples: list[Sample] = [(0, "a", UI)]
    for number, length in enumerate(lengths):
        start = 20 + 50.0 * number
        rows.append(prediction(start, start + length, model))
        rows += [
            ane(start + part * length, start + (part + 0.3) * length, f"{model}_main__{name}_AneInference")
            for part, name in ((0.0, "Op0"), (0.6, "Op6"))
        ]
        samples += [(start + tick, "a", BNNS) for tick in range(1, int(length))]
    return analyze(with_evidence(trace_of(samples), rows), compute_units="cpuOnly")


def test_names_of_a_recording_are_printable_and_short() -> None:
    analysis = calls_of([30, 10, 10, 10, 10], HOSTILE)
    assert KINDS - {"compiled-in-run"} <= {finding.kind for finding in analysis.findings}
    for text in finding_texts(analysis.findings, analysis.trace.info):
        sentences = (text.title, text.cost, text.detail, *(step.text for step in text.next_steps))
        assert all(sentence.isprintable() and len(sentence) < 400 for sentence in sentences)


def test_one_call_none_and_calls_of_no_length() -> None:
    for lengths in ([10.0], [], [0.0] * 6, [10.0] + [0.0] * 6):
        analysis = calls_of(lengths, "Net")
        assert finding_texts(analysis.findings, analysis.trace.info)
