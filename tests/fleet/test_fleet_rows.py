"""The rows of an analysis agree with what the generator of sample_traces built in, and claim nothing more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sample_recordings import sample_analysis
from thread_support import SAMPLE_TEXT

import tracekit
from tracekit.fleet.dataset_rows import (
    Origin,
    Tables,
    build_analysis_tables,
    build_failure_tables,
    join_tables,
)
from tracekit.fleet.schema import TABLES, build_arrow_schema

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
ORIGIN = Origin("/lab/shop/run 1.trace", "ab" * 32, {"build": "7", "branch": "main"})
TIMED = ("two-copies-ios27", "fallback-midway-ios27", "coreai-and-coreml-ios27")
"""Recordings whose calls a table shows, so that the truth has their times."""


def tables_of(name: str, origin: Origin = ORIGIN) -> Tables:
    return build_analysis_tables(sample_analysis(name), origin)


def rows(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(name).to_pylist() for name in columns), strict=True))


def truth_of(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SAMPLES / name / "truth.json").read_text())
    return document


@pytest.mark.integration
@pytest.mark.parametrize("name", TIMED)
def test_calls_have_the_times_engines_and_copies_that_were_built_in(name: str) -> None:
    truth = truth_of(name)
    expected = sorted(
        (
            call["start_ns"],
            call["end_ns"] - call["start_ns"],
            call["label"],
            call.get("copy", ""),
            call["engine"],
            "yes" if call["engine"] == "ANE" else "no",
            "yes" if call["engine"] == "CPU" else "no",
            measured["busy_ns"]["ANE"],
            measured["submissions"]["count"],
        )
        for call, measured in zip(truth["inferences"], truth["measured"], strict=True)
    )
    columns = ("start_ns", "length_ns", "model", "copy", "verdict", "ane_used", "cpu_used", "ane_busy_ns")
    assert sorted(rows(tables_of(name)["calls"], *columns, "submissions")) == expected


@pytest.mark.integration
def test_copies_of_a_model_are_rows_of_their_own() -> None:
    tables = tables_of("two-copies-ios27")
    # The first call of either copy may be cold, so that each mean is of four; the truth has the lengths.
    assert rows(tables["models"], "process", "pid", "model", "copy", "calls", "mean_ns", "first_ns") == [
        ("SampleApp", 498, "Captioner", "Captioner-1", 5, 22_900_000.0, None),
        ("SampleApp", 498, "Captioner", "Captioner-2", 5, 22_400_000.0, None),
    ]
    columns = ("copy", "engine", "calls", "served", "not_served", "unknown")
    assert rows(tables["engines"], *columns) == [
        ("Captioner-1", "ANE", 5, 5, 0, 0),
        ("Captioner-1", "GPU", 5, 0, 5, 0),
        ("Captioner-1", "CPU", 5, 0, 5, 0),
        ("Captioner-2", "ANE", 5, 0, 5, 0),
        ("Captioner-2", "GPU", 5, 0, 5, 0),
        ("Captioner-2", "CPU", 5, 5, 0, 0),
    ]
    assert rows(tables["findings"], "finding", "model", "pid", "calls")[0] == (
        "differs-by-copy",
        "Captioner",
        498,
        5,
    )


@pytest.mark.integration
def test_contested_intervals_are_neither_yes_nor_no() -> None:
    # Another process has a model of the same name: the Neural Engine's rows fit both.
    tables = tables_of("same-name-two-processes-macos27")
    columns = ("engine", "calls", "served", "not_served", "unknown", "basis")
    assert rows(tables["engines"], *columns)[0] == ("ANE", 7, 0, 0, 7, "")
    assert set(rows(tables["calls"], "ane_used", "cpu_used")) == {("unknown", "yes")}
    assert all(time_ns > 0 for (time_ns,) in rows(tables["calls"], "contested_ns"))


@pytest.mark.integration
def test_loads_are_of_the_model_that_was_loaded() -> None:
    truth = truth_of("coreai-and-coreml-ios27")
    scene = truth["inferences"][0]
    tables = tables_of("coreai-and-coreml-ios27")
    # Detector was loaded before the recording: its first call is no cold one that could be compared.
    assert rows(tables["models"], "model", "calls", "first_ns", "load_ns") == [
        ("Detector", 7, None, None),
        ("Scene", 6, scene["end_ns"] - scene["start_ns"], truth["load_ns"]),
    ]


@pytest.mark.integration
def test_calls_on_stacks_that_an_edge_cuts_have_no_length() -> None:
    trace = tracekit.open_trace(SAMPLES / "counters-cumulative-macos26")
    first_ns = 2_246_749  # the first call begins, 0 is the recording's edge
    earlier = trace.samples.assign(time_ns=trace.samples["time_ns"] - first_ns)
    cut = replace(trace, samples=earlier[earlier["time_ns"] >= 0].reset_index(drop=True))
    assert rows(build_analysis_tables(tracekit.analyze(trace), ORIGIN)["models"], "calls", "cut_calls") == [
        (6, 0)
    ]

    tables = build_analysis_tables(tracekit.analyze(cut), ORIGIN)
    assert rows(tables["models"], "model", "label", "calls", "cut_calls") == [("", "", 5, 1)]
    assert rows(tables["calls"], "call", "cut", "length_ns", "ane_used", "cpu_used")[0] == (
        1, True, None, "unknown", "yes"
    )  # fmt: skip
    assert None not in tables["calls"].column("length_ns").to_pylist()[1:]
    assert rows(tables["engines"], "engine", "calls", "served", "not_served", "unknown") == [
        ("ANE", 6, 0, 5, 1),
        ("GPU", 6, 0, 5, 1),
        ("CPU", 6, 6, 0, 0),
    ]


@pytest.mark.integration
def test_a_recording_without_a_call_has_no_row_about_calls() -> None:
    tables = tables_of("text-addresses-ios16")
    assert {name: tables[name].num_rows for name in ("recordings", "models", "engines", "calls", "segments")} == {
        "recordings": 1, "models": 0, "engines": 0, "calls": 0, "segments": 0
    }  # fmt: skip
    assert rows(tables["recordings"], "state", "calls", "samples") == [
        ("analyzed", 0, truth_of("text-addresses-ios16")["samples"])
    ]


def test_a_text_without_times_has_samples_and_no_call(tmp_path: Path) -> None:
    report = tmp_path / "dump.txt"
    report.write_text(SAMPLE_TEXT)
    tables = build_analysis_tables(
        tracekit.analyze(tracekit.open_trace(report)), Origin(str(report), "cd" * 32)
    )
    assert rows(tables["recordings"], "state", "calls", "duration_ns", "kind") == [
        ("analyzed", 0, None, "sample")
    ]
    assert tables["calls"].num_rows == tables["models"].num_rows == 0


@pytest.mark.integration
def test_every_row_has_its_place_and_labels() -> None:
    tables = tables_of("fallback-midway-ios27")
    for name, table in tables.items():
        assert table.schema.equals(build_arrow_schema(name), check_metadata=True)
        places = rows(table, "device", "device_model", "chip", "system", "app", "build", "labels")
        assert set(map(str, places)) <= {
            str(
                (
                    "Synthetic iPhone", "iPhone 17", "", "iOS 27.0 (24A300)", "SampleApp", "7",
                    [("branch", "main"), ("build", "7")],
                )
            )
        }  # fmt: skip
    recordings = tables["recordings"]
    assert rows(recordings, "name", "path", "content", "run", "template", "kind") == [
        ("run 1.trace", "/lab/shop/run 1.trace", "ab" * 32, 1, "Time Profiler", "xctrace-xml")
    ]
    assert str(recordings.column("recorded")[0]) == "2026-01-01 12:00:00+00:00"
    assert {id_ for table in tables.values() for id_ in table.column("recording").to_pylist()} == {
        recordings.column("recording")[0].as_py()
    }


@pytest.mark.integration
def test_segments_begin_inside_of_their_call_and_have_measured_time_only() -> None:
    tables = tables_of("coreai-and-coreml-ios27")
    truth = truth_of("coreai-and-coreml-ios27")
    columns = ("model", "call", "segment", "engine", "busy_ns", "basis")
    expected = [
        (call["label"], "ANE", measured["busy_ns"]["ANE"])
        for call, measured in zip(truth["inferences"], truth["measured"], strict=True)
    ]
    matches = rows(tables["segments"], *columns)
    assert sorted((model, engine, busy) for model, _, _, engine, busy, _ in matches) == sorted(expected)
    lengths = {
        (model, call): length for model, call, length in rows(tables["calls"], "model", "call", "length_ns")
    }
    for model, call, start_ns, length_ns in rows(
        tables["segments"], "model", "call", "start_ns", "length_ns"
    ):
        assert 0 <= start_ns < start_ns + length_ns <= lengths[model, call]


def test_a_failure_is_a_row_with_its_reason() -> None:
    table = build_failure_tables(ORIGIN, "failed", "run 1.trace: holds no table.")["recordings"]
    assert rows(table, "state", "reason", "path", "run", "device", "samples", "build") == [
        ("failed", "run 1.trace: holds no table.", "/lab/shop/run 1.trace", None, "", None, "7")
    ]


def test_rows_of_several_recordings_are_one_table_each() -> None:
    failures = [
        build_failure_tables(replace(ORIGIN, path=path, content=path * 64), "failed", "no") for path in "ab"
    ]
    tables = join_tables(failures)
    assert list(tables) == ["recordings"]
    assert rows(tables["recordings"], "path") == [("a",), ("b",)]
    assert len(set(tables["recordings"].column("recording").to_pylist())) == 2


def test_names_that_are_no_text_are_escaped() -> None:
    origin = Origin("/lab/\udcff.trace", "ab" * 32, {"build": "\udcfe"})
    table = build_failure_tables(origin, "failed", "no")["recordings"]
    assert rows(table, "path", "build", "labels") == [
        ("/lab/\\udcff.trace", "\\udcfe", [("build", "\\udcfe")])
    ]


def test_every_table_has_the_place_of_its_recording() -> None:
    assert all(next(iter(columns)) == "recording" for columns in TABLES.values())
