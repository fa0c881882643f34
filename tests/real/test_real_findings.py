"""Real recordings that ran no model have no finding but those about the recording itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents_support import SHARED

from tracekit import analyze, open_trace
from tracekit.report.wording.findings import finding_texts

pytestmark = pytest.mark.integration

TRACES = SHARED / "traces"
WITHOUT_MODEL = [
    ("bundles/mstyura__webkit-profiler-data/00-one-video.tar.gz", 1),
    ("bundles/mstyura__webkit-profiler-data/00-one-video.tar.gz", 2),
    ("bundles/robtaylor__apple-profiler/finder.trace.zip", 1),
    ("bundles/robtaylor__apple-profiler/signpost.trace.zip", 1),
    ("bundles/robtaylor__apple-profiler/xml/signpost_events.xml", 1),
    ("bundles/robtaylor__apple-profiler/xml/signpost_intervals.xml", 1),
    ("bundles/shadi-gamal__uniprof/test-simple-export.xml", 1),
    ("bundles/shadi-gamal__uniprof/test-simple.trace.zip", 1),
    ("xml/CharlesWiltgen__Axiom/cpu-profile.xml", 1),
    ("xml/Jiang020609__fast-dllm-mac/os_signpost.EXCERPT.xml", 1),
    ("xml/fzhinkin__xctraceprof/counters-profile.xml", 1),
    ("xml/fzhinkin__xctraceprof/cpu-profile.xml", 1),
    ("xml/jonhoo__inferno/basic.xml", 1),
    ("xml/landaire__xct2cli/time-sample.xml", 1),
    ("xml/mattmireles__mamba-asr-mps/ane_hw_intervals.xml", 1),
    ("xml/mattmireles__mamba-asr-mps/coreml_os_signpost.xml", 1),
    ("xml/mattmireles__mamba-asr-mps/fp16_w8_coreml_only_rows.xml", 1),
    ("xml/mattmireles__mamba-asr-mps/os_signpost_coreml.xml", 1),
    ("xml/microsoft__Microsoft-Performance-Tools-Apple/trace_thermal.xml", 1),
    ("xml/robtaylor__apple-profiler/real_finder_cpu_profile.xml", 1),
    ("xml/robtaylor__apple-profiler/real_signpost_intervals.xml", 1),
    ("xml/robtaylor__apple-profiler/time_profile.xml", 1),
    ("xml/sforteln__xctrace-query-mcp-server/schema-table__ModelLoadingTable.xml", 1),
    ("xml/sforteln__xctrace-query-mcp-server/schema-table__RequestTable.xml", 1),
    ("xml/sforteln__xctrace-query-mcp-server/schema-table__time-sample.xml", 3),
    ("xml/skastr0__probe-cli/metal-system-trace.metal-gpu-intervals.xml", 1),
    ("xml/skastr0__probe-cli/system-trace.thread-state.no-target.xml", 1),
    ("xml/skastr0__probe-cli/time-profiler.time-sample.xml", 1),
]
"""Recordings and exports without a call of a model: nothing in them is an app's inference."""


@pytest.mark.parametrize(("file", "run"), WITHOUT_MODEL)
def test_a_recording_without_a_model_has_findings_about_itself_only(
    shared: Path, file: str, run: int
) -> None:
    analysis = analyze(open_trace(TRACES / file, run=run))
    kinds = {finding.kind for finding in analysis.findings}
    assert {kind.about for kind in kinds} <= {"recording", "limit"}
    assert kinds & {"no-model-seen", "no-symbols"}
    texts = finding_texts(analysis.findings, analysis.trace.info)
    assert all(any(step.command for step in text.next_steps) for text in texts)
