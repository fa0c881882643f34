"""Of each slow call of the sample recordings, the row names the part that grew by the recording's truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_recordings import sample_analysis

from tracekit import Analysis
from tracekit.analysis.budget.parts import BudgetPart
from tracekit.report.wording import call_names, explain_differences

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[1] / "sample_traces"
MS = 1_000_000
PERIOD_NS = MS
TRUTH_OF = {
    BudgetPart.ANE: "ANE",
    BudgetPart.GPU: "GPU",
    BudgetPart.CPU: "CPU",
    BudgetPart.COPY: "copy",
    BudgetPart.RUNTIME: "runtime",
    BudgetPart.OTHER_PROCESS: "others",
    BudgetPart.OTHER_CALL: "others",
}
SLOW_CALLS = {
    "ane-e5rt-macos26": [("1", "+29.0 ms waits for an engine")],
    "ane-espresso-macos13": [("1", "+16.0 ms waits for an engine")],
    "ane-intervals-macos26": [
        ("1", "+6.99 ms Neural Engine"),
        ("2", "+991 µs Neural Engine"),
        ("3", "+1.96 ms Neural Engine"),
        ("6", "+2.12 ms Neural Engine"),
        ("8", "+36.0 ms CPU inference"),
        ("9", "+2.02 ms Neural Engine"),
        ("12", "+1.90 ms Neural Engine"),
    ],
    "concurrent-models-ios27": [],
    "fallback-midway-ios27": [
        ("8", "+22.7 ms CPU inference"),
        ("9", "+23.8 ms CPU inference"),
        ("11", "+22.7 ms CPU inference"),
        ("12", "+23.7 ms CPU inference"),
    ],
    "gpu-mpsgraph-macos15": [("1", "+22.9 ms GPU")],
    "waiting-app-ios27": [
        ("4", "+6.17 ms other work on engine"),
        ("5", "+6.15 ms other work on engine"),
        ("9", "+6.10 ms other work on engine"),
    ],
}
"""Recording → number of the call in its model, and what its row reads."""


def recordings() -> list[str]:
    truths = {path.parent.name: json.loads(path.read_text()) for path in SAMPLES.glob("*/truth.json")}
    return sorted(name for name, truth in truths.items() if truth["inferences"])


def true_parts(truth: dict[str, Any]) -> list[dict[str, int]]:
    """Return for each inference its work by part: measured, or by samples where no table measures it."""
    return [
        {
            "length": inference["end_ns"] - inference["start_ns"],
            "CPU": inference["engines"].get("CPU", {}).get("execute", 0) * PERIOD_NS,
            "copy": inference["engines"].get("RUNTIME", {}).get("copy", 0) * PERIOD_NS,
            "runtime": inference["engines"].get("RUNTIME", {}).get("none", 0) * PERIOD_NS,
            **{engine: busy_ns for engine, busy_ns in measured.get("busy_ns", {}).items() if busy_ns},
            "others": measured.get("foreign_ns", 0),
        }
        for inference, measured in zip(
            truth["inferences"], truth.get("measured") or [{}] * len(truth["inferences"]), strict=True
        )
    ]


def inferences_of_calls(analysis: Analysis, truth: dict[str, Any]) -> list[int]:
    """Return the inference that shares most time with each call, of its model where the call has one."""
    starts, ends = (np.array([of[edge] for of in truth["inferences"]]) for edge in ("start_ns", "end_ns"))
    labels = np.array([inference["label"] for inference in truth["inferences"]])
    calls = analysis.window_rows
    shares = [
        (np.minimum(ends, end) - np.maximum(starts, start)) * ((labels == model) | (model not in labels))
        for start, end, model in zip(calls["start_ns"], calls["end_ns"], calls["model"], strict=True)
    ]
    return [int(share.argmax()) for share in shares]


def slow_rows(analysis: Analysis) -> list[tuple[str, str]]:
    """Return the numbers of the longer calls, and the text of their rows."""
    texts = explain_differences(analysis, 0, len(analysis.window_rows))
    numbers = call_names(analysis).numbers.tolist()
    rows = np.flatnonzero(analysis.differences.is_longer).tolist()
    return [(str(numbers[row]), str(texts[row])) for row in rows]


@pytest.mark.parametrize("recording", sorted(SLOW_CALLS))
def test_the_rows_of_slow_calls(recording: str) -> None:
    assert slow_rows(sample_analysis(recording)) == SLOW_CALLS[recording]


@pytest.mark.parametrize("recording", recordings())
def test_the_named_part_grew_in_truth(recording: str) -> None:
    truth = json.loads((SAMPLES / recording / "truth.json").read_text())
    analysis = sample_analysis(recording)
    parts, inferences = true_parts(truth), inferences_of_calls(analysis, truth)
    differences = analysis.differences
    for row in np.flatnonzero(differences.is_longer).tolist():
        part = differences.parts[differences.main_parts[row]]
        stated_ns = int(differences.main_ns[row])
        call, typical = parts[inferences[row]], parts[inferences[differences.typical[row]]]
        grown_ns = {name: call.get(name, 0) - typical.get(name, 0) for name in {*call, *typical}}
        # An edge that samples show is known up to a period, at both ends of work.
        assert grown_ns["length"] == pytest.approx(int(differences.length_ns[row]), abs=2 * PERIOD_NS)
        if part in TRUTH_OF:
            assert stated_ns == pytest.approx(grown_ns[TRUTH_OF[part]], abs=2 * PERIOD_NS), (row, part)
        del grown_ns["length"]
        assert max(grown_ns.values()) <= stated_ns / 0.75 + PERIOD_NS, (row, part, grown_ns)
