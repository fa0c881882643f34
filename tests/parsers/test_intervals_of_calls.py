"""Rows that are calls, not engines at work: Core ML's, Foundation Models', Core AI's."""

from __future__ import annotations

import pytest
from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import Engine, Phase
from tracekit.parsers.tables.interval_labels import core_ml_kind
from tracekit.parsers.tables.intervals import read_intervals

NO_TARGET = TraceInfo("test", "xctrace-xml")
TARGET = TraceInfo("test", "xctrace-xml", pid=7, process="App")
CORE_ML = {
    "start": "start-time",
    "duration": "duration",
    "event-label": "coreml-model-event",
    "model-name": "coreml-model-name",
    "parent-model-name": "coreml-model-name",
    "model-level": "coreml-model-level",
    "graph-event-label": "formatted-label",
}
SECRET = "please forget this"


def test_core_mls_own_rows() -> None:
    text = rows_of(
        "coreml-os-signpost",
        CORE_ML,
        (1, 9, "Prediction", "Tagger-2", None, "Model", ["a ", "b"]),
        (2, 1, "CPU", "Tagger", "", "Model", None),
        (3, 1, "GPU Request", "Part", "Tagger-1", "Model", None),
        (4, 1, "Prepare GPU Request", "Tagger", "Tagger", "Submodel", None),
        (5, 1, "Neural Engine Request", "Tagger", "Tagger-3", "Model", None),
        (6, 1, "Model Load", "Tagger", None, None, None),
        (7, 1, "Compile", "Tagger", None, None, None),
        (8, 1, "Daydream", "Tagger", None, None, None),
        (9, 1, None, None, None, None, None),
    )
    frame, issues = read_intervals(tables_of(text, target_pid="SINGLE"), TARGET)
    assert records(frame, "start_ns", "engine", "phase", "channel", "model", "depth", "label", "pid") == [
        (1, "RUNTIME", None, "Prediction", "Tagger", 0, "a b", 7),
        (2, "CPU", "execute", "CPU", "Tagger", 0, "", 7),
        (3, "GPU", "wait", "GPU Request", "Part", 1, "", 7),
        (4, "GPU", "dispatch", "Prepare GPU Request", "Tagger", 1, "", 7),
        (5, "ANE", "wait", "Neural Engine Request", "Tagger", 0, "", 7),
        (6, "RUNTIME", "load", "Model Load", "Tagger", 0, "", 7),
        (7, "RUNTIME", "compile", "Compile", "Tagger", 0, "", 7),
        (8, "RUNTIME", None, "Daydream", "Tagger", 0, "", 7),
        (9, "RUNTIME", None, "", "", 0, "", 7),
    ]
    issue_of = {issue.code: issue for issue in issues}
    assert issue_counts(issues) == [("model-numbers-merged", 1), ("interval-kind-unknown", 2)]
    assert "'Daydream'" in issue_of["interval-kind-unknown"].message
    assert "as Tagger)" in issue_of["model-numbers-merged"].message


@pytest.mark.parametrize("words", ["Neural Engine Request", "ANE Request"])
def test_both_names_of_the_neural_engine(words: str) -> None:
    assert core_ml_kind(words) == (Engine.ANE, Phase.WAIT)
    assert core_ml_kind(f"Prepare {words}") == (Engine.ANE, Phase.DISPATCH)


def test_foundation_models_without_prompts_and_responses() -> None:
    inference = rows_of(
        "ModelInferenceTable",
        {
            "start": "start-time",
            "duration": "duration",
            "turn-index": "string",
            **dict.fromkeys(
                ("plot-label", "prompt", "response", "instruction", "instructions", "content"), "string"
            ),
            "model-information": "string",
            "error-message": "string",
        },
        (1, 9, "Request 1", *(SECRET,) * 6, "base-3b", SECRET),
    )
    request = rows_of(
        "RequestTable",
        {
            "start": "start-time",
            "duration": "duration",
            "first-prompt": "string",
            "name": "string",
            "plot-label": "string",
        },
        (2, 9, SECRET, "Request 1", SECRET),
    )
    loading = rows_of(
        "ModelLoadingTable",
        {"start": "start-time", "duration": "duration", "asset-id": "string", "transition": "string"},
        (3, 9, "base-3b.tokenizer", "unloaded → loaded"),
    )
    frame, issues = read_intervals(tables_of(inference, request, loading, target_pid="SINGLE"), TARGET)
    assert records(frame, "engine", "phase", "channel", "label", "model", "pid") == [
        ("RUNTIME", None, "Inference", "Request 1", "base-3b", 7),
        ("RUNTIME", None, "Request", "Request 1", "", 7),
        ("RUNTIME", "load", "Loading", "unloaded → loaded", "base-3b.tokenizer", 7),
    ]
    assert SECRET not in frame.to_csv() + str(
        [frame[c].cat.categories for c in ("label", "model", "channel")]
    )
    assert issues == ()


def test_core_ai() -> None:
    text = rows_of(
        "ODIEProfile",
        {
            "start": "start-time",
            "duration": "duration",
            "model-name": "string",
            "function-name": "string",
            "category": "string",
        },
        (1, 2, "m", "main", "Inference"),
        (2, 2, "m", "main", "Setup"),
        (3, 2, "m", "main", "Load"),
        (4, 2, "m", "main", "Other"),
    )
    frame, issues = read_intervals(tables_of(text), NO_TARGET)
    assert records(frame, "engine", "phase", "label", "model", "channel") == [
        ("RUNTIME", None, "main", "m", "Inference"),
        ("RUNTIME", "load", "main", "m", "Setup"),
        ("RUNTIME", "load", "main", "m", "Load"),
        ("RUNTIME", None, "main", "m", "Other"),
    ]
    assert issue_counts(issues) == [("interval-kind-unknown", 1)]
