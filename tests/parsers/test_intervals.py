"""Intervals that engines and runtimes reported: which engine, doing what, for whom; no row lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from documents_support import python_calls
from hypothesis import given
from hypothesis import strategies as st
from table_support import issue_counts, records, rows_of, tables_of

from tracekit.model.columns import INTERVALS, PROCESSES, THREADS
from tracekit.model.tables import Column, StackTable, Table
from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import Phase
from tracekit.parsers.tables.engine_intervals import read_intervals
from tracekit.parsers.tables.interval_labels import has_ml_mark, parse_ane_label
from tracekit.parsers.tables.row_times import OPEN_NS, close_open_ends

NO_TARGET = TraceInfo("test", "xctrace-xml")
TARGET = TraceInfo("test", "xctrace-xml", pid=7, process="App")
ANE = {
    "start": "start-time",
    "duration": "duration",
    "channel-name": "ane-event-name",
    "event-depth": "metal-nesting-level",
    "event-label": "formatted-label",
    "state": "gpu-state",
}
MPS = {**ANE, "channel-name": "mps-event-name", "process": "process"}
GPU = {
    **ANE,
    "channel-name": "gpu-channel-name",
    "process": "process",
    "cmdbuffer-id": "metal-command-buffer-id",
}


def ane_row(
    start: int | None, duration: int | None, label: str = "m_main__Op0_AneInference"
) -> tuple[object, ...]:
    return start, duration, "Apple Neural Engine", 0, label, "Active"


def test_the_neural_engine() -> None:
    text = rows_of(
        "ane-hw-intervals",
        ANE,
        (1000, 500, "Apple Neural Engine", 0, ["encoder_main__Op0_AneInference"], "Active"),
        (2000, 10, "Apple Neural Engine", 1, "decoder_1a2b3c4d5e main Neural Engine Load", "Active"),
        (3000, 20, "Apple Neural Engine", 0, "decoder_1a2b3c4d5e main Neural Engine Prediction", "Idle"),
    )
    frame, issues = read_intervals(tables_of(text), TARGET)
    assert list(frame.columns) == list(INTERVALS.required)
    assert records(frame, "start_ns", "end_ns", "engine", "phase", "model", "depth") == [
        (1000, 1500, "ANE", "execute", "encoder", 0),
        (2000, 2010, "ANE", "load", "decoder", 1),
        (3000, 3020, "ANE", "idle", "decoder", 0),
    ]
    # The table names no process, and the recording's target is no substitute: it is system-wide.
    assert records(frame, "pid", "source", "channel", "command_buffer")[0] == (
        -1,
        "ane-hw-intervals",
        "Apple Neural Engine",
        -1,
    )
    assert issues == ()


@pytest.mark.parametrize(
    ("label", "phase", "model"),
    [
        ("encoder_main__Op0_AneInference", Phase.EXECUTE, "encoder"),
        ("encoder__Op12_AneInference", Phase.EXECUTE, "encoder"),
        ("Load_forecast_main__Op0_AneInference", Phase.EXECUTE, "Load_forecast"),
        ("Encoder_0123abcd x Neural Engine Prediction", Phase.EXECUTE, "Encoder"),
        ("Encoder_0123abcd Neural Engine Compile", Phase.COMPILE, "Encoder"),
        ("Encoder_0123abcd Neural Engine Unload", Phase.LOAD, "Encoder"),
        ("A_0123abcd Neural Engine Load Neural Engine Prediction", Phase.EXECUTE, "A"),
        ("Encoder_0123abc Neural Engine Load", Phase.LOAD, ""),  # seven digits are no hash
        ("Neural Engine Prediction", Phase.EXECUTE, ""),
        ("encoder_main__Op0 Compile", Phase.COMPILE, "encoder"),
        ("encoder_main__Op0_Load", Phase.LOAD, "encoder"),
        ("Payload", Phase.EXECUTE, ""),
        ("Loader", Phase.EXECUTE, ""),
        ("", Phase.EXECUTE, ""),
    ],
)
def test_labels_of_the_neural_engine(label: str, phase: Phase, model: str) -> None:
    assert (parse_ane_label(label).phase, parse_ane_label(label).model) == (phase, model)


UUID = "0F8FAD5B-D9CB-469F-A165-70867728950E"


@pytest.mark.parametrize(
    ("label", "phase", "model", "segment"),
    [
        ("encoder_main__Op1_AneInference Prediction", "execute", "encoder", "Op1"),
        ("encoder_main__Op12_AneInference Load", "load", "encoder", "Op12"),
        ("encoder_main__Op1_AneInference Compile", "compile", "encoder", "Op1"),
        (f"expert_12_{UUID}_main__Op1_AneInference Prediction", "execute", "expert_12", "Op1"),
        (f"expert_12_{UUID}_decode__Op1_AneInference Prediction", "execute", "expert_12", "decode Op1"),
        ("Neural Engine Load", "load", "", ""),
        ("Scene_0123456789ab main Neural Engine Prediction", "execute", "Scene", ""),
        ("main_ANE_region_0_3", "execute", "", "region 0.3"),
        ("main_ANE_region_2 Prediction", "execute", "", "region 2"),
        ("mpsx.ane @entry_0_ANE_region_0_0", "execute", "", "entry_0 region 0.0"),
        (f"Scene_{UUID}_main_ANE_region_0_12 Load", "load", "Scene", "region 0.12"),
        # Models whose names contain what separates the parts of a label.
        ("a__Op3_b_main__Op1_AneInference Prediction", "execute", "a__Op3_b", "Op1"),
        (f"x_ANE_region_1_2_{UUID}_main_ANE_region_0_1", "execute", "x_ANE_region_1_2", "region 0.1"),
        ("Neural Engine Load_main__Op1_AneInference", "execute", "Neural Engine Load", "Op1"),
    ],
)
def test_every_published_form_of_a_label_is_read_to_its_end(
    label: str, phase: str, model: str, segment: str
) -> None:
    content = parse_ane_label(label)
    assert (content.phase, content.model, content.segment, content.form) == (phase, model, segment, "known")


@given(
    label=st.sampled_from(
        [
            "encoder_main__Op12_AneInference Prediction",
            f"expert_{UUID}_main__Op1_AneInference Load",
            "Scene_0123456789ab main Neural Engine Compile",
            "main_ANE_region_0_3 Load",
        ]
    ),
    length=st.integers(0, 60),
    dots=st.sampled_from(["", "…", "..."]),
)
def test_a_label_that_is_cut_off_is_never_another_kind_of_work(label: str, length: int, dots: str) -> None:
    """What is left is known to be cut off, or it is a form itself, or too little to show any form."""
    whole, part = parse_ane_label(label), parse_ane_label(label[:length] + dots)
    if length < len(label):
        assert part.phase in (None, whole.phase, Phase.EXECUTE)
        assert part.segment in ("", whole.segment) or whole.segment.startswith(part.segment[:-1])
        marked = "__Op" in label[:length] or "Neural" in label[:length]
        if marked and not label[:length].endswith("AneInference"):
            assert part.phase in (None, whole.phase)


@pytest.mark.parametrize("end", ["_AneInference_2", "_AneInference 2 Prediction", "_Model", "_GpuInference"])
def test_an_operation_with_an_unknown_end_names_no_model_and_no_segment(end: str) -> None:
    """Two procedures of one operation would count as one segment, and "A__Op1_Model" is a name."""
    content = parse_ane_label(f"A__Op1{end}")
    assert (content.phase, content.model, content.segment, content.form) == (Phase.EXECUTE, "", "", "unknown")


def test_labels_that_are_not_understood_are_counted() -> None:
    labels = ["m_main__Op0_AneInference Lo", "m_main__Op0_AneInference Lo", "Neural Engine", "Payload", ""]
    rows = [ane_row(start, 5, label) for start, label in enumerate(labels)]
    frame, issues = read_intervals(tables_of(rows_of("ane-hw-intervals", ANE, *rows)), TARGET)
    assert [row[0] for row in records(frame, "phase")] == [None, None, None, "execute", "execute"]
    assert issue_counts(issues) == [("ane-label-cut-off", 3), ("ane-label-unknown", 1)]
    assert "'Neural Engine'" in issues[0].message
    assert "count as no work" in issues[0].message


def test_mps_rows_name_the_process_of_the_rows_that_they_repeat() -> None:
    mps = rows_of(
        "mps-hw-intervals",
        MPS,
        (100, 50, "MPSGraph", 0, "MPSGraph", "Active", (9, "Other")),
        (200, 50, "MPSGraph", 0, "MPSGraph", "Active", None),
        (300, 50, "MPSGraph", 0, "MPSGraph", "Active", (9, "Other")),
        (300, 50, "MPSGraph", 0, "MPSGraph", "Active", (8, "Third")),
        (400, 51, "MPSGraph", 0, "MPSGraph", "Active", (9, "Other")),
        (500, 50, "MPSGraph", 0, "MPSGraph", "Active", (9, "Other")),
    )
    ane = rows_of(
        "ane-hw-intervals",
        ANE,
        *(ane_row(start, 50) for start in (100, 200, 300, 400)),
        ane_row(500, 50, "m_main__Op0 Load"),
    )
    frame, _ = read_intervals(tables_of(mps, ane), NO_TARGET)
    rows = frame[frame["source"] == "ane-hw-intervals"]
    assert records(rows, "start_ns", "pid") == [(100, 9), (200, -1), (300, -1), (400, -1), (500, -1)]


def test_mps_work_that_went_to_the_neural_engine_does_not_count_for_the_gpu() -> None:
    mps = rows_of(
        "mps-hw-intervals",
        MPS,
        (
            100,
            50,
            "MPSGraph",
            0,
            ["MPSGraph:0x", 255, " (CommandBuffer: 0x", 2853375177, ")"],
            "Active",
            None,
        ),
        (200, 50, "MPSGraph", 0, "MPSGraph:0xff (CommandBuffer: 0xaa130d0d)", "Active", (9, "Other")),
        (200, 51, "MPSGraph", 0, "MPSGraph", None, None),
        (300, 5, "MPSGraph", 0, "MPSGraph", "Waiting", None),
    )
    ane = rows_of("ane-hw-intervals-internal", ANE, ane_row(200, 50), ane_row(300, 5, "m_main__Op0_Load"))
    frame, issues = read_intervals(tables_of(mps, ane, target_pid="SINGLE"), TARGET)
    rows = frame[frame["source"] == "mps-hw-intervals"]
    assert records(rows, "start_ns", "engine", "phase", "pid", "command_buffer") == [
        (100, "GPU", "execute", 7, 0xAA130CC9),
        (200, "ANE", None, 9, 0xAA130D0D),
        (200, "GPU", "execute", 7, -1),
        (300, "GPU", "idle", 7, -1),
    ]
    assert issue_counts(issues) == [("mps-on-ane", 1)]


def test_rows_without_a_process_are_the_targets_only_where_the_table_is_about_it() -> None:
    text = rows_of("mps-hw-intervals", MPS, (1, 1, "MPSGraph", 0, "MPSGraph", "Active", None))
    for info, attributes, pid in [
        (TARGET, {"target_pid": "SINGLE"}, 7),
        (TARGET, {"target_pid": "ALL"}, -1),
        (TARGET, {}, -1),
        (NO_TARGET, {"target_pid": "SINGLE"}, -1),
    ]:
        frame, _ = read_intervals(tables_of(text, **attributes), info)
        assert frame["pid"].tolist() == [pid]


def test_gpu_work_is_inference_by_its_label_or_by_its_command_buffer() -> None:
    gpu = rows_of(
        "metal-gpu-intervals",
        GPU,
        (10, 5, "Compute", 0, "encoder MpsGraphInference", "Active", (7, "App"), 1),
        (20, 5, "Compute", 0, "GPU Execution", "Active", (7, "App"), 0xAA),
        (30, 5, "Fragment", 2, "GPU Execution ( WindowServer (181) )", "Active", (181, "WindowServer"), 3),
        (40, 5, "Compute", 0, "espresso bar", "Active", (7, "App"), None),  # another case, another thing
        (50, 5, "Compute", 0, "BNNS", "Idle", (7, "App"), 2**64 - 1),
    )
    mps = rows_of("mps-hw-intervals", MPS, (20, 5, "MPSGraph", 0, "x (CommandBuffer: 0xaa)", "Active", None))
    frame, issues = read_intervals(tables_of(gpu, mps), TARGET)
    rows = frame[frame["source"] == "metal-gpu-intervals"]
    assert records(rows, "start_ns", "engine", "phase", "channel", "pid", "depth", "command_buffer") == [
        (10, "GPU", "execute", "Compute", 7, 0, 1),
        (20, "GPU", "execute", "Compute", 7, 0, 0xAA),
        (30, "GRAPHICS", None, "Fragment", 181, 2, 3),
        (40, "GRAPHICS", None, "Compute", 7, 0, -1),
        (50, "GPU", "idle", "Compute", 7, 0, -1),
    ]
    assert issues == ()


def test_a_command_buffer_names_the_process_unless_two_claim_it() -> None:
    gpu = rows_of(
        "metal-gpu-intervals",
        GPU,
        *((start, 5, "Compute", 0, "x", "Active", None, start) for start in (1, 2, 3, 4)),
    )
    submitted = rows_of(
        "metal-gpu-submission-to-command-buffer-id",
        {
            "timestamp": "event-time",
            "cmdbuffer-id": "metal-command-buffer-id",
            "pid": "pid",
            "process": "process",
        },
        (0, 1, 70, (70, "App")),
        (0, 2, 71, None),
        (0, 4, 70, None),
    )
    application = rows_of(
        "metal-application-intervals",
        {
            "start": "start-time",
            "duration": "duration",
            "process": "process",
            "cmdbuffer-id": "metal-command-buffer-id",
        },
        (0, 1, (72, "Other"), 4),
        (0, 1, (73, "Third"), 3),
    )
    frame, _ = read_intervals(tables_of(gpu, submitted, application), NO_TARGET)
    rows = frame[frame["source"] == "metal-gpu-intervals"]
    assert records(rows, "command_buffer", "pid") == [(1, 70), (2, 71), (3, 73), (4, -1)]


def test_the_apps_side_of_the_gpu_is_dispatch_and_never_execution() -> None:
    encoders = rows_of(
        "metal-application-encoders-list",
        {
            "start": "start-time",
            "duration": "duration",
            "process": "process",
            "cmdbuffer-label": "metal-object-label",
            "encoder-label": "metal-object-label",
            "event-type": "string",
            "cmdbuffer-id": "metal-command-buffer-id",
        },
        (1, 5, (7, "App"), "MPSGraph buffer", "", "Encoding", 1),
        (2, 5, (7, "App"), "MPSGraph buffer", "Shadows", "Encoding", 2),
    )
    completed = rows_of(
        "metal-command-buffer-completed",
        {"timestamp": "event-time", "cmdbuffer-label": "string"},
        (9, "E5RT"),
    )
    frame, issues = read_intervals(tables_of(encoders, completed), NO_TARGET)
    assert records(frame, "start_ns", "end_ns", "engine", "phase", "label", "channel") == [
        (1, 6, "GPU", "dispatch", "MPSGraph buffer", "Encoding"),
        (2, 7, "GRAPHICS", None, "Shadows", "Encoding"),
        (9, 9, "GPU", "dispatch", "E5RT", ""),
    ]
    assert issues == ()


def test_an_unknown_state_drops_no_work() -> None:
    states = ("Active", "active", None, "Idle", "Waiting", "Humming")
    rows = [
        (start, 1, "Apple Neural Engine", 0, "m__Op0_AneInference", state)
        for start, state in enumerate(states)
    ]
    columns = dict(list(ANE.items())[:6])
    frame, issues = read_intervals(tables_of(rows_of("ane-hw-intervals", columns, *rows)), NO_TARGET)
    assert frame["phase"].tolist() == ["execute", "execute", "execute", "idle", "idle", "execute"]
    assert issue_counts(issues) == [("interval-state-unknown", 1)]


def test_a_table_without_lengths_is_reported() -> None:
    columns = {name: kind for name, kind in ANE.items() if name != "duration"}
    row = ane_row(5, 0)
    frame, issues = read_intervals(
        tables_of(rows_of("ane-hw-intervals", columns, (row[0], *row[2:]))), NO_TARGET
    )
    assert records(frame, "start_ns", "end_ns") == [(5, 5)]
    assert issue_counts(issues) == [("interval-without-duration", 1)]


def test_everything_but_the_start_is_optional() -> None:
    for schema in (
        "ane-hw-intervals",
        "mps-hw-intervals",
        "metal-gpu-intervals",
        "coreml-os-signpost",
        "ODIEProfile",
        "RequestTable",
    ):
        frame, _ = read_intervals(tables_of(rows_of(schema, {"start": "start-time"}, (5,))), NO_TARGET)
        assert records(frame, "start_ns", "end_ns", "label", "pid", "depth", "source") == [
            (5, 5, "", -1, 0, schema)
        ]


def test_intervals_that_cannot_be() -> None:
    text = rows_of(
        "ane-hw-intervals",
        ANE,
        ane_row(None, 5),
        ane_row(2**64 - 1, 5),
        ane_row(10, None),
        ane_row(20, 2**64 - 1),
        ane_row(30, -7),
        ane_row(40, 5),
        ane_row(-(2**63), 5),
    )
    frame, issues = read_intervals(tables_of(text), NO_TARGET)
    assert records(frame, "start_ns", "end_ns") == [(10, OPEN_NS), (20, OPEN_NS), (30, 30), (40, 45)]
    assert issue_counts(issues) == [
        ("interval-without-start", 3),
        ("interval-backwards", 1),
        ("interval-open", 2),
    ]
    assert close_open_ends(frame, 15)["end_ns"].tolist() == [15, 20, 30, 45]


def test_an_end_column_serves_where_there_is_no_duration() -> None:
    columns = {"start": "start-time", "end": "start-time", "state": "gpu-state"}
    text = rows_of("ane-hw-intervals", columns, (10, 15, None), (20, 12, None), (30, None, None))
    frame, issues = read_intervals(tables_of(text), NO_TARGET)
    assert records(frame, "start_ns", "end_ns") == [(10, 15), (20, 20), (30, OPEN_NS)]
    assert issue_counts(issues) == [("interval-backwards", 1), ("interval-open", 1)]


def test_tables_of_one_schema_add_up() -> None:
    first, two = (
        rows_of(
            "ane-hw-intervals", ANE, ane_row(start, 5, f"{start}_main__Op0_AneInference"), ane_row(None, 5)
        )
        for start in (1, 2)
    )
    frame, issues = read_intervals(tables_of(first, two), NO_TARGET)
    assert records(frame, "start_ns", "model") == [(1, "1"), (2, "2")]
    assert issue_counts(issues) == [("interval-without-start", 2)]


ANY_NUMBER = st.one_of(
    st.none(), st.integers(0, 100), st.sampled_from([-1, -(2**63), 2**62, 2**63, 2**64 - 1])
)


@pytest.mark.integration
@given(st.lists(st.tuples(ANY_NUMBER, ANY_NUMBER), max_size=12))
def test_every_row_comes_out_or_is_counted(rows: list[tuple[int | None, int | None]]) -> None:
    text = rows_of("ane-hw-intervals", ANE, *(ane_row(start, duration) for start, duration in rows))
    frame, issues = read_intervals(tables_of(text), NO_TARGET)
    counted = dict(issue_counts(issues))
    assert len(frame) + counted.get("interval-without-start", 0) == len(rows)
    assert (frame["end_ns"] >= frame["start_ns"]).all()
    assert (close_open_ends(frame, 50)["end_ns"] < OPEN_NS).all()
    expected = [
        (s, s + max(d, 0))
        for s, d in rows
        if s is not None and abs(s) < 2**62 and d is not None and d < 2**62
    ]
    closed = frame[frame["end_ns"] < OPEN_NS]
    assert records(closed, "start_ns", "end_ns") == expected


@pytest.mark.parametrize("kind", ["text", "thread"])
def test_columns_of_another_kind_are_not_known(kind: str) -> None:
    rows = pd.DataFrame(
        {
            "start": pd.array([1, 2], "Int64"),
            "event-label": np.array([0, -1], np.int32),
            "duration": pd.Categorical(["x", "y"]),
        }
    )
    columns = (
        Column("start", "Start", "start-time", "int"),
        Column("event-label", "Label", "thread", "thread"),
        Column("duration", "Duration", "string", "text"),
    )
    table = Table("ane-hw-intervals", columns, rows, THREADS.empty(), pd.DataFrame(), StackTable.empty())
    frame, issues = read_intervals(lambda schema: [table] if schema == table.schema else [], NO_TARGET)
    assert records(frame, "start_ns", "end_ns", "label") == [(1, OPEN_NS, ""), (2, OPEN_NS, "")]
    assert issue_counts(issues) == [("interval-open", 2)]


@pytest.mark.parametrize("label", ["MPSGraph", "x MpsGraphInference", "E5RT::Op", "MPSNDArrayMatMul", "BNNS"])
def test_ml_marks(label: str) -> None:
    assert has_ml_mark(label)
    assert not has_ml_mark(label.lower())


@pytest.mark.integration
def test_a_million_rows_of_the_gpu() -> None:
    count = 1_000_000
    index = np.arange(count)
    labels = np.empty(5000, object)
    labels[:] = [
        (("narrative-text", "GPU Execution 0x"), ("uint64-hex-lowercase", number)) for number in range(5000)
    ]
    columns = (
        Column("start", "Start", "start-time", "int"),
        Column("duration", "Duration", "duration", "int"),
        Column("channel-name", "Channel", "gpu-channel-name", "text"),
        Column("event-label", "Label", "formatted-label", "parts"),
        Column("process", "Process", "process", "process"),
        Column("cmdbuffer-id", "Buffer", "metal-command-buffer-id", "int"),
    )
    rows = pd.DataFrame(
        {
            "start": pd.array(index * 10, dtype="Int64"),
            "duration": pd.array(index % 7, dtype="Int64"),
            "channel-name": pd.Categorical.from_codes(index % 2, categories=["Compute", "Vertex"]),
            "event-label": pd.Series(labels[index % 5000], dtype=object),
            "process": np.zeros(count, np.int32),
            "cmdbuffer-id": pd.array(index // 3, dtype="Int64"),
        }
    )
    processes = pd.DataFrame({"pid": [7], "name": ["App"]}).astype(dict(PROCESSES.required))
    table = Table("metal-gpu-intervals", columns, rows, THREADS.empty(), processes, StackTable.empty())
    results = []
    calls = python_calls(
        lambda: results.append(
            read_intervals(lambda name: [table] if name == table.schema else [], NO_TARGET)
        )
    )
    assert calls < count / 5  # by distinct label, not by row
    ((frame, issues),) = results
    assert (len(frame), set(frame["pid"]), issues) == (count, {7}, ())
