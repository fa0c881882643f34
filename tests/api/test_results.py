"""The methods of the Python interface: frames, texts, pictures, equality and pickling."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from sample_recordings import sample_analysis

import tracekit
from tracekit import Analysis, Comparison
from tracekit.errors import UsageError
from tracekit.report.analysis.json import to_dict

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
RECORDINGS = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))
FALLBACK = "fallback-midway-ios27"
ENGINE_COLUMNS = ("ANE_busy_ns", "GPU_busy_ns", "CPU_busy_ns", "ANE_waiting_ns", "ANE_sampled_ns")


@pytest.fixture(scope="module")
def fallback() -> Analysis:
    return sample_analysis(FALLBACK)


@pytest.fixture(scope="module")
def comparison(fallback: Analysis) -> Comparison:
    return tracekit.compare(fallback, sample_analysis("ane-e5rt-macos26"))


@pytest.mark.integration
@pytest.mark.parametrize("name", RECORDINGS)
def test_an_analysis_survives_pickling(name: str) -> None:
    analysis = sample_analysis(name)
    assert pickle.loads(pickle.dumps(analysis)) == analysis


@pytest.mark.integration
@pytest.mark.parametrize("name", [FALLBACK, "cpu-profile-ane-macos26", "gpu-mpsgraph-macos15-bundle"])
def test_a_pickled_analysis_gives_the_same_outputs(name: str) -> None:
    analysis = sample_analysis(name)
    copy = pickle.loads(pickle.dumps(analysis))
    assert copy.to_json() == analysis.to_json()
    assert copy.to_text() == analysis.to_text()
    assert copy.to_markdown() == analysis.to_markdown()
    assert copy.to_html() == analysis.to_html()
    pd.testing.assert_frame_equal(copy.windows, analysis.windows)
    pd.testing.assert_frame_equal(copy.engines, analysis.engines)


@pytest.mark.integration
@pytest.mark.parametrize("name", RECORDINGS)
def test_windows_agree_with_the_json(name: str) -> None:
    analysis = sample_analysis(name)
    windows = analysis.windows
    documents = to_dict(analysis)["windows"]
    assert len(windows) == len(documents)
    for row, document in zip(windows.to_dict("records"), documents, strict=True):
        assert (row["window_id"], row["start_ns"], row["end_ns"]) == (
            document["id"],
            document["start_ns"],
            document["end_ns"],
        )
        assert row["length_ns"] == document["end_ns"] - document["start_ns"]
        assert (row["verdict"], row["why"]) == (document["verdict"], document["why"])
        for engine in ("ANE", "GPU", "CPU"):
            numbers = document["engines"][engine]
            busy, waiting = row[f"{engine}_busy_ns"], row[f"{engine}_waiting_ns"]
            assert (None if pd.isna(busy) else busy) == numbers["busy_ns"]
            assert (None if pd.isna(waiting) else waiting) == numbers["waiting_ns"]


@pytest.mark.integration
@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("table", ["windows", "engines", "attribution", "evidence", "issues", "findings"])
def test_missing_is_never_minus_one(name: str, table: str) -> None:
    frame = sample_analysis(name).to_frame(table)
    for column in frame.select_dtypes("number").columns:
        assert not (frame[column] == -1).any(), column


@pytest.mark.integration
def test_dtypes_are_the_same_with_and_without_windows(fallback: Analysis) -> None:
    quiet = tracekit.analyze(tracekit.open_trace(SAMPLES / "ane-e5rt-macos26"), windows=[])
    assert len(quiet.windows) == 0
    assert list(quiet.windows.columns) == list(fallback.windows.columns)
    for column in ("thread_id", "pid", *ENGINE_COLUMNS):
        assert quiet.windows[column].dtype == fallback.windows[column].dtype, column
    assert fallback.windows["thread_id"].dtype == "Int32"


def test_dtypes_do_not_depend_on_the_rows(fallback: Analysis) -> None:
    quiet = replace(fallback, diagnostics=(), evidence=())
    for table in ("issues", "evidence"):
        assert len(quiet.to_frame(table)) == 0 < len(fallback.to_frame(table))
        assert quiet.to_frame(table).dtypes.equals(fallback.to_frame(table).dtypes), table
    assert str(quiet.to_frame("issues")["count"].dtype) == "Int64"


def test_the_frame_of_findings(fallback: Analysis) -> None:
    frame = fallback.to_frame("findings")
    row = frame[frame["kind"] == "fell-back"].iloc[0]
    assert (row["model"], row["severity"], row["windows"]) == ("SpeechEncoder", "warning", 6)
    assert row["title"] == "SpeechEncoder left the Neural Engine after its 6th call (at 265 ms)."
    assert row["next"].startswith("tracekit record --app SampleApp")
    quiet = replace(fallback)
    quiet.__dict__["findings"] = ()
    assert quiet.to_frame("findings").dtypes.equals(frame.dtypes)


def test_changing_a_frame_changes_no_analysis(fallback: Analysis) -> None:
    windows = fallback.windows
    windows["verdict"] = "changed"
    assert set(fallback.windows["verdict"]) == {"ANE", "CPU"}


def test_engines_are_those_of_the_json(fallback: Analysis) -> None:
    engines = to_dict(fallback)["engines"]
    for row in fallback.engines.to_dict("records"):
        document = engines[row["engine"]]
        assert row["samples"] == document["samples"]
        assert (None if pd.isna(row["busy_ns"]) else row["busy_ns"]) == document["busy_ns"]


def test_an_unknown_table_is_refused(fallback: Analysis) -> None:
    with pytest.raises(UsageError, match="no table 'nonsense'"):
        fallback.to_frame("nonsense")


@pytest.mark.integration
def test_equality_is_of_content(fallback: Analysis) -> None:
    assert fallback == sample_analysis(FALLBACK)
    assert fallback != sample_analysis("ane-e5rt-macos26")
    assert fallback != FALLBACK
    with pytest.raises(TypeError):
        hash(fallback)


@pytest.mark.integration
def test_a_comparison_survives_pickling(comparison: Comparison) -> None:
    copy = pickle.loads(pickle.dumps(comparison))
    assert copy == comparison
    assert copy.to_json() == comparison.to_json()
    assert copy.to_text() == comparison.to_text()
    assert copy.to_markdown() == comparison.to_markdown()
    assert copy.to_html() == comparison.to_html()
    pd.testing.assert_frame_equal(copy.to_frame(), comparison.to_frame())


def test_a_comparison_as_a_frame(comparison: Comparison) -> None:
    frame = comparison.to_frame()
    rows = [row for group in json.loads(comparison.to_json())["groups"] for row in group["rows"]]
    assert len(frame) == len(rows) + len(comparison.preparing)
    assert {"group", "metric", "difference", "low", "high", "judgement"} <= set(frame.columns)
    assert {str(frame[name].dtype) for name in ("base", "new", "low", "high", "relative")} == {"Float64"}
    missing = frame[frame["new"].isna()]
    assert len(missing)
    assert missing["new"].tolist() == [pd.NA] * len(missing)
    assert missing["reason"].str.startswith("not measurable").all()
    assert frame.loc[frame["judgement"] == "higher", "reason"].isna().all()


def test_a_comparison_cannot_be_hashed(comparison: Comparison) -> None:
    with pytest.raises(TypeError, match="Comparison"):
        hash(comparison)


@pytest.mark.integration
def test_one_analysis_or_several_on_a_side(fallback: Analysis) -> None:
    alone, listed = tracekit.compare(fallback, fallback), tracekit.compare([fallback], [fallback])
    assert alone == listed
    assert len(tracekit.compare([fallback, fallback], fallback).base.runs) == 1  # a copy is no second run


def test_requirements_as_text(fallback: Analysis) -> None:
    results = tracekit.check(fallback, ["p90 <= 8ms", "windows >= 10"])
    assert [result.outcome for result in results] == ["failed", "passed"]
    assert repr(results[0]) == "<CheckResult failed: require p90 <= 8ms>"
    assert tracekit.check(fallback, "windows >= 10")[0].outcome == "passed"
    with pytest.raises(UsageError):
        tracekit.check(fallback, "p90 is fine")


def test_one_line_each(fallback: Analysis, comparison: Comparison) -> None:
    assert repr(fallback) == "<Analysis fallback-midway-ios27, run 1: 12 calls (6 ANE, 6 CPU)>"
    assert repr(comparison) == (
        "<Comparison: 12 calls of fallback-midway-ios27 against 12 calls of ane-e5rt-macos26>"
    )
    assert "\n" not in repr(fallback.trace)
