"""Requests to Foundation Models in reports: tokens as reported, and nothing that its tables do not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_recordings import sample_analysis

import tracekit
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
        line.split() for line in text.split("Language models")[1].splitlines() if "org.example.fm.…" in line
    ]
    assert [row[1:] for row in rows] == [
        ["1", "135", "ms", "100", "0", "41", "304", "141"],
        ["2", "160", "ms", "100", "90", "42", "263", "142"],
        ["3", "185", "ms", "100", "90", "43", "233", "143"],
    ]
    assert "its tables have no first token" in " ".join(text.split())


def test_pages_and_json_have_them() -> None:
    analysis = sample_analysis(FOUNDATION_MODELS)
    assert 'id="requests"' in to_html(analysis)
    first = to_dict(analysis)["reported_requests"][0]
    assert (first["prompt_tokens"], first["response_tokens"], first["pid"]) == (100, 41, 2207)
    assert to_dict(sample_analysis("fallback-midway-ios27"))["reported_requests"] == []
