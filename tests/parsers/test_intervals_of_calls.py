"""Rows that are calls, not engines at work: Core ML's, Foundation Models', Core AI's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import Engine, Phase
from tracekit.parsers.tables.call_intervals import Nesting
from tracekit.parsers.tables.engine_intervals import read_intervals
from tracekit.parsers.tables.interval_labels import find_core_ml_kind

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
    assert find_core_ml_kind(words) == (Engine.ANE, Phase.WAIT)
    assert find_core_ml_kind(f"Prepare {words}") == (Engine.ANE, Phase.DISPATCH)


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


CORE_AI = {
    "start": "start-time",
    "duration": "duration",
    "model-name": "string",
    "function-name": "string",
    "phase": "string",
    "category": "string",
    "level": "uint64",
    "process": "process",
}


def core_ai_row(
    start: int,
    end: int,
    level: int | None = 0,
    model: str = "m",
    category: str = "Inference",
    event: str | None = None,
    pid: int = 7,
) -> tuple[object, ...]:
    return start, end - start, model, "main", event, category, level, (pid, f"App {pid}")


def test_core_ai() -> None:
    text = rows_of(
        "ODIEProfile",
        CORE_AI,
        core_ai_row(1, 2, category="Specialization"),
        core_ai_row(1, 2, 1, category="Specialization", event="Compile Asset"),
        core_ai_row(2, 3, category="Load", event="Load m::main"),
        core_ai_row(3, 4, category="Setup", event="Context.alloc"),
        core_ai_row(4, 9),
        core_ai_row(4, 5, 1, event="Compile segment"),
        core_ai_row(5, 9, 1, event="Run main"),
        core_ai_row(9, 10, category="Other", event="Compile segment"),
    )
    frame, issues = read_intervals(tables_of(text), NO_TARGET)
    assert records(frame, "engine", "phase", "label", "model", "channel", "depth") == [
        ("RUNTIME", "compile", "main", "m", "Specialization", 0),
        ("RUNTIME", "compile", "main", "m", "Specialization", 1),
        ("RUNTIME", "load", "main", "m", "Load", 0),
        ("RUNTIME", "load", "main", "m", "Setup", 0),
        ("RUNTIME", None, "main", "m", "Inference", 0),
        ("RUNTIME", "compile", "main", "m", "Inference", 1),
        ("RUNTIME", None, "main", "m", "Inference", 1),
        ("RUNTIME", None, "main", "m", "Other", 0),
    ]
    assert issue_counts(issues) == [("interval-kind-unknown", 1)]


@pytest.mark.parametrize(
    ("rows", "depths", "torn"),
    [
        # Inside a row of a lower level, on any level; the same level at once is another call.
        ([(0, 90, 0), (0, 90, 1), (10, 20, 2), (5, 80, 0)], [0, 1, 1, 0], 0),
        # Not inside any: its outer row was not recorded.
        ([(0, 10, 0), (20, 30, 1)], [0, 0], 0),
        ([(0, 10, 0), (5, 15, 1), (20, 30, 1)], [0, 1, 0], 1),
        # Two outer rows do not hold it together.
        ([(0, 10, 0), (10, 20, 0), (5, 15, 1)], [0, 0, 1], 1),
        # An outer row without a length holds nothing, and tears nothing.
        ([(5, 5, 0), (0, 10, 1)], [0, 0], 0),
        # Without levels, what is inside a longer row, or equals an earlier one.
        ([(0, 90, None), (0, 90, None), (10, 20, None), (85, 95, None)], [0, 1, 1, 0], 0),
    ],
)
def test_rows_inside_an_inference_are_not_outermost(
    rows: list[tuple[int, int, int | None]], depths: list[int], torn: int
) -> None:
    frame, issues = read_intervals(
        tables_of(rows_of("ODIEProfile", CORE_AI, *(core_ai_row(*row) for row in rows))), NO_TARGET
    )
    assert frame["depth"].tolist() == depths
    assert dict(issue_counts(issues)) == ({"core-ai-rows-overlap": torn} if torn else {})


NESTED = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 8), st.sampled_from([0, 1, 2, -1]), st.sampled_from([0, 1])),
    max_size=9,
)


@given(NESTED)
def test_nesting_equals_a_slow_count(rows: list[tuple[int, int, int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    starts, levels, owners = columns[0], columns[2], columns[3]
    ends = starts + columns[1]
    nested, torn = Nesting(starts, ends, levels, owners).mark(np.arange(len(rows)))
    for row in range(len(rows)):
        alike = [other for other in range(len(rows)) if other != row and owners[other] == owners[row]]
        if levels[row] < 0:
            outer = [
                other
                for other in alike
                if levels[other] < 0 and starts[other] <= starts[row] and ends[row] <= ends[other]
            ]
            equal = [o for o in outer if (starts[o], ends[o]) == (starts[row], ends[row])]
            assert nested[row] == (len(outer) > len(equal) or any(o < row for o in equal))
            continue
        outer = [other for other in alike if 0 <= levels[other] < levels[row]]
        inside = any(starts[o] <= starts[row] and ends[row] <= ends[o] for o in outer)
        assert nested[row] == inside
        assert torn[row] == (
            not inside
            and any(starts[o] < ends[row] and starts[row] < ends[o] for o in outer if ends[o] > starts[o])
        )


def test_a_row_without_a_model_is_part_of_the_inference_around_it() -> None:
    rows = [core_ai_row(0, 90), core_ai_row(10, 80, 1, model=""), core_ai_row(100, 110, model="")]
    rows += [core_ai_row(10, 80, 1, model="", pid=8)]
    frame, _ = read_intervals(tables_of(rows_of("ODIEProfile", CORE_AI, *rows)), NO_TARGET)
    assert frame["depth"].tolist() == [0, 1, 0, 0]


def test_rows_nest_within_one_model_of_one_process() -> None:
    rows = [
        core_ai_row(0, 90),
        core_ai_row(10, 20, 1, model="other"),
        core_ai_row(10, 20, 1, pid=8),
        core_ai_row(10, 20, 1),
    ]
    frame, _ = read_intervals(tables_of(rows_of("ODIEProfile", CORE_AI, *rows)), NO_TARGET)
    assert frame["depth"].tolist() == [0, 0, 0, 1]
