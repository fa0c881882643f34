"""The sample recording whose model leaves the Neural Engine: model, plan and calls against the stated truth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tracekit import Analysis, analyze, open_trace

pytestmark = pytest.mark.integration

SAMPLE = Path(__file__).resolve().parents[3] / "sample_traces" / "operators-leave-macos27"
TRUTH = json.loads((SAMPLE / "model_truth.json").read_text())
MODEL, PLAN = SAMPLE / "Encoder.mlmodelc", SAMPLE / "com.apple.e5rt.e5bundlecache"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyze(open_trace(SAMPLE), models=[MODEL], plans=[PLAN])


def test_operations_and_reasons_are_those_of_the_plan(analysis: Analysis) -> None:
    (joined,) = analysis.joined_models
    stated = [(entry["name"], entry["anticipated"]) for entry in TRUTH["operations"]]
    assert [(operation.name, operation.anticipated) for operation in joined.operations] == stated
    messages = {entry["name"]: entry["message"] for entry in TRUTH["operations"] if entry["message"]}
    by_plan = {
        operation.name: operation.reasons[0].text
        for operation in joined.operations
        if operation.reasons and operation.reasons[0].origin == "plan"
    }
    assert by_plan == messages
    softmax, cast = joined.operations[7:9]
    assert (softmax.reasons[0].origin, softmax.reasons[0].rule) == ("rule", "DT01")
    assert (cast.reasons[0].origin, cast.reasons[0].followed) == ("follows", 7)
    assert (joined.plan_chip, joined.plan_build, joined.limits) == ("H16G", "26A300", ())


def test_segments_and_cost_are_those_that_were_played(analysis: Analysis) -> None:
    (joined,) = analysis.joined_models
    assert [str(segment.agreement) for segment in joined.segments] == ["agrees"] * 5
    assert [segment.calls for segment in joined.segments] == [len(TRUTH["gaps_ns"])] * 5
    gaps = np.array(TRUTH["gaps_ns"])
    medians = np.percentile(gaps, 50, axis=0, method="inverted_cdf")
    assert [joined.segments[1].gap_ns, joined.segments[3].gap_ns] == medians.tolist()
    assert joined.lost_total_ns == gaps.sum()


def test_the_first_screen_names_operations_reasons_and_cost(analysis: Analysis) -> None:
    screen = " ".join("\n".join(analysis.to_text().splitlines()[:24]).split())
    for words in (
        "4 of 11 operations of Encoder leave the Neural Engine and cut each call into 3 pieces there: gather_12,",
        'gather_12: the plan: "Unsupported gather index type"',
        "Costs 115 ms over 10 calls",
        "softmax_7: rule DT01",
    ):
        assert words in screen


COUNT_MODULES = """
import sys, tracekit
analysis = tracekit.analyze(tracekit.open_trace(sys.argv[1]))
assert any(finding.kind == "partly-on-engine" for finding in analysis.findings)
analysis.findings
print([name for name in sys.modules if name.startswith(("tracekit.mlmodels", "tracekit.analysis.model_join"))])
"""


def test_without_a_model_or_plan_nothing_of_the_join_is_imported() -> None:
    command = [sys.executable, "-c", COUNT_MODULES, str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
