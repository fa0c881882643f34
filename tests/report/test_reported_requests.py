"""Requests to Foundation Models in reports: tokens as reported, and nothing that its tables do not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents_support import write
from sample_recordings import sample_analysis
from table_support import MS, rows_of

import tracekit
from tracekit import analyze
from tracekit.report.analysis.json import to_dict
from tracekit.report.analysis.text import to_text
from tracekit.report.html.page import to_html

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
FOUNDATION_MODELS = "foundation-models-macos27"

pytestmark = pytest.mark.integration


def test_a_frame_has_the_requests_of_the_sample() -> None:
    frame = tracekit.open_trace(SAMPLES / FOUNDATION_MODELS).frame("model_requests")
    counts = ["prompt_tokens", "cached_tokens", "response_tokens", "total_tokens"]
    assert frame[counts].values.tolist() == [[100, 0, 41, 141], [100, 90, 42, 142], [100, 90, 43, 143]]
    assert frame["pid"].tolist() == [2207] * 3
    assert frame["start_ns"].tolist() == [5647916, 172733250, 364687916]
    assert not frame.astype(str).apply(lambda column: column.str.contains("SECRET")).any(axis=None)


def test_the_text_lists_the_tokens_of_each_request() -> None:
    text = to_text(sample_analysis(FOUNDATION_MODELS))
    assert "Language models (requests to Foundation Models: lengths measured, tokens reported)" in " ".join(
        text.split()
    )
    rows = [
        line.split() for line in text.split("Language models")[1].splitlines() if "org.example.fm…" in line
    ]
    assert [row[1:] for row in rows] == [
        ["1", "135", "ms", "100", "0", "41", "304", "0"],
        ["2", "160", "ms", "100", "90", "42", "263", "0"],
        ["3", "185", "ms", "100", "90", "43", "1"],
    ]
    assert "its tables have no first token" in " ".join(text.split())


def test_pages_and_json_have_them() -> None:
    analysis = sample_analysis(FOUNDATION_MODELS)
    assert 'id="requests"' in to_html(analysis)
    first = to_dict(analysis)["reported_requests"][0]
    assert (first["prompt_tokens"], first["response_tokens"], first["pid"]) == (100, 41, 2207)
    assert to_dict(sample_analysis("fallback-midway-ios27"))["reported_requests"] == []


def test_a_request_without_an_end_has_no_length_and_no_rate(tmp_path: Path) -> None:
    columns = {
        "start": "start-time",
        "duration": "duration",
        "model-information": "string",
        "response-tokens": "string",
    }
    path = write(
        tmp_path,
        rows_of(
            "ModelInferenceTable",
            columns,
            (0, 500 * MS, "fm", "50"),
            (600 * MS, None, "fm", "70"),
            (700 * MS, 500 * MS, "fm", "20"),
        ),
    )
    text = to_text(analyze(tracekit.open_trace(path)))
    rows = [
        line.split()
        for line in text.split("Language models")[1].split("Foundation Models reports")[0].splitlines()
    ]
    assert [row for row in rows if row[:1] == ["fm"]] == [
        ["fm", "1", "500", "ms", "50", "100"],
        ["fm", "2", "70"],
        ["fm", "3", "500", "ms", "20", "40.0"],
    ]
