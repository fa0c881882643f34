"""Real exports and bundles of evidence tables equal an independent reading of them, row by row."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documents_support import SHARED
from real_bundles import BUNDLES, SIGNPOST, opened
from table_support import records

from tracekit.load import open_trace, trace_of
from tracekit.model.trace import Trace
from tracekit.parsers.tables.signposts import read_signposts

pytestmark = pytest.mark.integration

XML = SHARED / "traces" / "xml"
MAMBA = XML / "mattmireles__mamba-asr-mps"
PROBE = XML / "skastr0__probe-cli"
SFORTELN = XML / "sforteln__xctrace-query-mcp-server"
APPLE_PROFILER = XML / "robtaylor__apple-profiler"
EVENTS = BUNDLES / "robtaylor__apple-profiler" / "xml" / "signpost_events.xml"

Element = ET.Element | None


@cache
def rows_of(path: Path) -> list[dict[str, Element]]:
    """The rows of an export by the standard library's parser, a cell per mnemonic; None for a sentinel."""
    root = ET.parse(path).getroot()
    by_id = {element.get("id"): element for element in root.iter() if element.get("id") is not None}
    names: list[str] = []
    rows = []
    for node in root.findall("node"):
        if node.find("schema") is not None:
            names = [col.findtext("mnemonic", "") for col in node.findall("schema/col")]
        for row in node.findall("row"):
            cells = [by_id[cell.get("ref")] if cell.get("ref") else cell for cell in row]
            values = [None if cell.tag == "sentinel" else cell for cell in cells]
            rows.append(dict(zip(names, values, strict=True)))
    return rows


def number(cell: Element) -> int:
    assert cell is not None
    return int(cell.text or "")


def text(cell: Element) -> str:
    return "" if cell is None else cell.text or ""


def shown(cell: Element) -> str:
    return "" if cell is None else cell.get("fmt", "")


def entity(cell: Element) -> int:
    """The number in "WindowServer (394)", or the hexadecimal one in "WindowServer 0x645a4da (…)"."""
    if cell is None:
        return -1
    if cell.tag == "process":
        return int(shown(cell).rpartition("(")[2].rstrip(")"))
    tid = cell.find("tid")
    assert tid is not None
    return int(tid.text or "")


def span(row: dict[str, Element]) -> tuple[int, int]:
    return number(row["start"]), number(row["start"]) + number(row["duration"])


def codes(trace: Trace) -> set[str]:
    return {issue.code for issue in trace.issues}


def test_mps_work_of_mamba(shared: Path) -> None:
    path = MAMBA / "mps_hw_intervals.xml"
    expected = []
    for row in rows_of(path):
        buffer = int(shown(row["event-label"]).partition("(CommandBuffer: 0x")[2].rstrip(")"), 16)
        expected.append((*span(row), "GPU", "execute", "MPSGraph", buffer, -1, 0))
    trace = open_trace(path)
    columns = ("start_ns", "end_ns", "engine", "phase", "channel", "command_buffer", "pid", "depth")
    assert records(trace.intervals, *columns) == expected
    assert len(expected) == 10
    assert (len(trace.samples), trace.samples_source, codes(trace)) == (0, "", {"no-samples"})


@pytest.mark.parametrize(
    ("file", "schema"),
    [
        ("ane_hw_intervals.xml", "ane-hw-intervals-internal"),
        ("coreml_os_signpost.xml", "coreml-os-signpost"),
        ("fp16_w8_coreml_rows.xml", "coreml-os-signpost"),
    ],
)
def test_tables_that_are_there_and_empty(shared: Path, file: str, schema: str) -> None:
    trace = open_trace(MAMBA / file)
    assert len(trace.intervals) == 0
    assert {(table.schema, table.row_count) for table in trace.tables} == {(schema, 0)}
    assert "no-samples" in codes(trace)


def test_two_nodes_of_two_runs(shared: Path) -> None:
    trace = open_trace(MAMBA / "fp16_w8_coreml_rows.xml")
    assert "several-runs" in codes(trace)
    assert len(open_trace(MAMBA / "fp16_w8_coreml_rows.xml", run=2).intervals) == 0


def test_the_window_server_draws_and_infers_nothing(shared: Path) -> None:
    path = PROBE / "metal-system-trace.metal-gpu-intervals.xml"
    expected = [
        (
            *span(row),
            "GRAPHICS",
            None,
            text(row["channel-name"]),
            number(row["cmdbuffer-id"]),
            entity(row["process"]),
        )
        for row in rows_of(path)
    ]
    columns = ("start_ns", "end_ns", "engine", "phase", "channel", "command_buffer", "pid")
    assert records(open_trace(path).intervals, *columns) == expected
    assert [row[-1] for row in expected] == [181, 181]


def test_thread_states(shared: Path) -> None:
    path = PROBE / "system-trace.thread-state.no-target.xml"
    expected = sorted((*span(row), text(row["state"]), -1, entity(row["thread"])) for row in rows_of(path))
    trace = open_trace(path)
    assert records(trace.thread_states, "start_ns", "end_ns", "state", "core", "tid") == expected
    assert trace.thread_states["pid"].tolist() == [0, 565, 46259]
    assert sorted(trace.threads["tid"]) == sorted(row[-1] for row in expected)
    assert len(expected) == 3


def test_signpost_intervals(shared: Path) -> None:
    path = APPLE_PROFILER / "real_signpost_intervals.xml"
    trace = open_trace(path)
    columns = ("start_ns", "end_ns", "name", "subsystem", "category", "identifier", "pid", "tid")
    assert Counter(records(trace.signposts, *columns)) == Counter(intervals_of(path))
    assert len(trace.signposts) == 50
    assert set(trace.signposts["kind"]) == {"interval"}
    assert trace.signposts["start_ns"].is_monotonic_increasing


def intervals_of(path: Path) -> list[tuple[Any, ...]]:
    return [
        (
            *span(row),
            *(text(row[name]) for name in ("name", "subsystem", "category")),
            number(row["identifier"]),
            entity(row["process"]),
            entity(row["start-thread"]),
        )
        for row in rows_of(path)
    ]


def pairs_of(path: Path) -> tuple[list[tuple[Any, ...]], Counter[str]]:
    """Begin and End of an export paired by a stack per key, and how many rows of each kind are left."""
    stacks: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    pairs, left = [], Counter[str]()
    for row in sorted(rows_of(path), key=lambda row: number(row["time"])):
        kind, time, scope = text(row["event-type"]), number(row["time"]), text(row["scope"])
        names = tuple(text(row[name]) for name in ("name", "subsystem", "category"))
        pid, tid = entity(row["process"]), entity(row["thread"])
        where = {"Process": (pid,), "Thread": (pid, tid), "System": ()}[scope]
        stack = stacks.setdefault((*names, number(row["identifier"]), *where), [])
        if kind == "Begin":
            stack.append((time, tid))
        elif kind == "End" and stack:
            begin, begin_tid = stack.pop()
            pairs.append((begin, time, *names, number(row["identifier"]), pid, begin_tid))
        else:
            left[kind.lower()] += 1
    left["begin"] = sum(map(len, stacks.values()))
    return pairs, +left


def test_signpost_events_pair_as_a_stack_per_key_pairs_them(shared: Path) -> None:
    trace = open_trace(EVENTS)
    pairs, left = pairs_of(EVENTS)
    frame = trace.signposts
    columns = ("start_ns", "end_ns", "name", "subsystem", "category", "identifier", "pid", "tid")
    assert sorted(records(frame[frame["kind"] == "interval"], *columns)) == sorted(pairs)
    assert {kind: count for kind, count in frame["kind"].value_counts().items() if count > 0} == {
        "interval": len(pairs),
        **left,
    }
    assert 2 * len(pairs) + sum(left.values()) == 50
    # What both exports hold, Instruments paired alike.
    reported = {row[:7] for row in intervals_of(APPLE_PROFILER / "real_signpost_intervals.xml")}
    assert {pair[:7] for pair in pairs} <= reported


@cache
def of_the_bundle(intervals: bool) -> pd.DataFrame:
    source = opened(SIGNPOST)
    frame, _ = read_signposts(
        lambda schema: source.tables(schema) if (schema == "os-signpost") != intervals else iter(())
    )
    return frame


def test_pairing_finds_every_interval_that_instruments_found(shared: Path) -> None:
    """The recording goes on after the run's end, where Instruments cuts the intervals that are open."""
    reported, paired = of_the_bundle(True), of_the_bundle(False)
    paired = paired[paired["kind"] == "interval"]
    keys = ("start_ns", "name", "subsystem", "category", "identifier", "pid", "tid")
    expected, actual = (Counter(records(frame, *keys)) for frame in (reported, paired))
    assert not expected - actual
    end = int(reported["end_ns"].max())
    assert all(row[0] >= end for row in actual - expected)
    exact = Counter(records(reported, *keys, "end_ns")) - Counter(records(paired, *keys, "end_ns"))
    assert {row[-1] for row in exact} == {end}
    assert (len(reported), sum(exact.values())) == (1519, 6)


def test_a_bundle_of_signposts_alone_opens_and_counts_nothing_twice(shared: Path) -> None:
    trace = trace_of(opened(SIGNPOST))
    rows = {table.schema: table.row_count for table in trace.tables}
    kinds = trace.signposts["kind"].value_counts()
    counted = {issue.code: issue.count for issue in trace.issues}
    # An interval is two rows of os-signpost, or one of the table of intervals, or both.
    single = kinds["event"] + kinds["begin"] + kinds["end"]
    assert (
        2 * (kinds["interval"] - 1519 + counted["signposts-repeated"]) + single == rows["os-signpost"] == 5030
    )
    assert counted["signposts-repeated"] == 1519
    assert counted["signposts-unpaired"] == kinds["begin"] + kinds["end"]
    first = trace.signposts.iloc[0]
    assert (first["start_ns"], first["end_ns"], first["name"]) == (573703666, 595483166, "FrameLifetime")
    assert set(trace.signposts["tid"]) <= set(trace.threads["tid"])


def test_events_of_metal(shared: Path) -> None:
    path = XML / "Jiang020609__fast-dllm-mac" / "os_signpost.EXCERPT.xml"
    expected = [
        (
            number(row["time"]),
            number(row["time"]),
            "event",
            text(row["name"]),
            number(row["identifier"]),
            entity(row["process"]),
        )
        for row in rows_of(path)
    ]
    trace = open_trace(path)
    assert records(trace.signposts, "start_ns", "end_ns", "kind", "name", "identifier", "pid") == expected
    assert len(expected) == 2
    assert "fill_scalar_dense_long" in trace.signposts["message"].iloc[0]


def test_the_thermal_state(shared: Path) -> None:
    path = XML / "microsoft__Microsoft-Performance-Tools-Apple" / "trace_thermal.xml"
    ((start, end),) = map(span, rows_of(path))
    assert records(open_trace(path).tracks, "time_ns", "name", "unit", "value") == [
        (start, "Thermal state", "level", 0.0),
        (end, "Thermal state", "level", None),
    ]


def sforteln(table: str) -> Path:
    return SFORTELN / f"schema-table__{table}.xml"


def test_models_are_loaded(shared: Path) -> None:
    path = sforteln("ModelLoadingTable")
    expected = [
        (*span(row), "RUNTIME", "load", text(row["transition"]), text(row["asset-id"]), "Loading")
        for row in rows_of(path)
    ]
    columns = ("start_ns", "end_ns", "engine", "phase", "label", "model", "channel")
    assert sorted(records(open_trace(path).intervals, *columns)) == sorted(expected)
    assert len(expected) == 22


@pytest.mark.parametrize(
    ("table", "label", "model", "channel"),
    [
        ("ModelInferenceTable", "turn-index", "model-information", "Inference"),
        ("RequestTable", "name", "", "Request"),
    ],
)
def test_language_models_have_requests(
    shared: Path, table: str, label: str, model: str, channel: str
) -> None:
    path = sforteln(table)
    expected = [
        (*span(row), "RUNTIME", None, text(row[label]), text(row[model]) if model else "", channel)
        for row in rows_of(path)
    ]
    trace = open_trace(path)
    columns = ("start_ns", "end_ns", "engine", "phase", "label", "model", "channel")
    assert records(trace.intervals, *columns) == expected
    content = trace.intervals.astype(str).to_csv()
    private = [
        name
        for name in rows_of(path)[0]
        if name in ("prompt", "response", "first-prompt", "plot-label", "content")
    ]
    private_texts = {text(row[name]) for row in rows_of(path) for name in private} - {""}
    assert private_texts
    assert not any(words in content for words in private_texts)


def test_signposts_of_27(shared: Path) -> None:
    path = sforteln("OSSignpostIntervals")
    frame = open_trace(path).signposts
    columns = ("start_ns", "end_ns", "name", "subsystem", "category", "identifier", "pid", "tid")
    assert records(frame, *columns) == intervals_of(path)
    assert frame["message"].tolist() == [text(row["start-message"]) for row in rows_of(path)]
    path = sforteln("PointsOfInterestEvents")
    expected = [
        (
            number(row["time"]),
            "event",
            text(row["name"]),
            text(row["message"]),
            entity(row["process"]),
            entity(row["thread"]),
        )
        for row in rows_of(path)
    ]
    assert (
        records(open_trace(path).signposts, "start_ns", "kind", "name", "message", "pid", "tid") == expected
    )
