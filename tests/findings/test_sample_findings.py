"""On the sample recordings the findings equal those that their stories state: none is missing, none is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sample_recordings import sample_analysis

from tracekit.analysis.findings.finding import Finding

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
TRUTHS = {path.parent.name: json.loads(path.read_text()) for path in sorted(SAMPLES.glob("*/truth.json"))}
ABOUT_THE_RECORDING = {
    "instruments-missing",
    "more-findings",
    "no-calls-seen",
    "no-engine-visible",
    "no-model-seen",
    "no-symbols",
    "rows-lost",
    "sampling-too-coarse",
    "too-few-calls",
}


def findings_of(recording: str) -> list[Finding]:
    analysis = sample_analysis(recording)
    return [finding for finding in analysis.findings if finding.kind not in ABOUT_THE_RECORDING]


@pytest.mark.parametrize("recording", TRUTHS)
def test_findings_equal_the_story(recording: str) -> None:
    truth = TRUTHS[recording]
    findings = findings_of(recording)
    stated = sorted((story["kind"], story["model"]) for story in truth["findings"])
    assert sorted((finding.kind, finding.model) for finding in findings) == stated
    for finding in findings:
        assert starts_in_stated_call(finding, truth)


def starts_in_stated_call(finding: Finding, truth: dict[str, Any]) -> bool:
    """Return whether a finding begins in the call that a story names, if it names one."""
    stories = [
        story
        for story in truth["findings"]
        if (story["kind"], story["model"]) == (finding.kind, finding.model) and "first_call" in story
    ]
    calls = [truth["inferences"][story["first_call"]] for story in stories]
    return not calls or any(call["start_ns"] <= (finding.start_ns or 0) < call["end_ns"] for call in calls)


def test_there_are_stories_with_findings() -> None:
    assert sum(bool(truth["findings"]) for truth in TRUTHS.values()) >= 2
