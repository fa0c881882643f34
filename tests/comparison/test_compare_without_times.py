"""Texts without times are compared by shares of samples, without an interval, and with recordings by nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from thread_support import ELSEWHERE, ON_ANE, ON_CPU, Thread, text_trace
from trace_support import trace_of

import tracekit
from tracekit import Analysis, compare
from tracekit.report.html.compare_page import to_html

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "tracekit-compare-1.schema.json").read_text("utf-8")
)


def dump(*threads: Thread) -> Analysis:
    return tracekit.analyze(text_trace(*threads))


@pytest.fixture(scope="module")
def sides() -> tuple[Analysis, Analysis]:
    base = dump(Thread("Main", ON_ANE, 250), Thread("Idle", ELSEWHERE, 750))
    return base, dump(Thread("Main", ON_CPU, 100), Thread("Idle", ELSEWHERE, 100))


def test_shares_of_samples_have_the_counts_of_both_sides(sides: tuple[Analysis, Analysis]) -> None:
    rows = {(row.thread, row.engine): row for row in compare(*sides).samples}
    ane = rows["", "ANE"]
    assert (ane.base, ane.base_total, ane.new, ane.new_total) == (250, 1000, 0, 200)
    assert (ane.base_share, ane.new_share, ane.difference) == (0.25, 0.0, -0.25)
    assert rows["", "CPU"].difference == 0.5
    thread = rows["MyApp: Main", "ANE"]
    assert (thread.base_share, thread.new_share) == (1.0, 0.0)
    assert sum(row.base for row in rows.values() if not row.thread) == 1000


def test_the_sentence_has_shares_and_no_length(sides: tuple[Analysis, Analysis]) -> None:
    text = compare(*sides).to_text()
    assert text.startswith(
        "? No difference shown. No call has a length here. Shares of all samples, without an interval: ANE\n"
    )
    assert "window" not in text
    assert "one-run" not in text


def test_swapping_the_sides_negates_the_differences(sides: tuple[Analysis, Analysis]) -> None:
    base, new = sides
    there = {(row.thread, row.engine, row.phase): row.difference for row in compare(base, new).samples}
    back = {(row.thread, row.engine, row.phase): row.difference for row in compare(new, base).samples}
    assert back == {key: None if value is None else -value for key, value in there.items()}


def test_a_text_and_a_recording_have_no_number_in_common(sides: tuple[Analysis, Analysis]) -> None:
    recording = tracekit.analyze(trace_of([(0, "main", None), (1, "main", None)]))
    comparison = compare(sides[0], recording)
    assert comparison.samples == ()
    assert comparison.without_times == ("BASE",)
    assert "no number of the two can be compared" in comparison.to_text()
    page = to_html(comparison, sides[0], recording)
    assert re.findall(r'<section id="([^"]*)"', page) == ["verdict", "sides"]


def test_the_documents_have_the_shares(sides: tuple[Analysis, Analysis]) -> None:
    comparison = compare(*sides)
    document = json.loads(comparison.to_json())
    jsonschema.validate(document, SCHEMA)
    assert document["without_times"] == ["BASE", "NEW"]
    assert len(document["samples"]) == len(comparison.samples) > 0
    assert "| MyApp: Main | ANE | wait | 100.0 % (250) | 0.0 % (0) |" in comparison.to_markdown()
    page = to_html(comparison, *sides)
    assert re.findall(r'<section id="([^"]*)"', page) == ["verdict", "samples", "sides", "difference"]


def test_recordings_are_compared_as_before() -> None:
    recording = tracekit.analyze(trace_of([(0, "main", None)]))
    comparison = compare(recording, recording)
    assert (comparison.without_times, comparison.samples) == ((), ())
    assert "one-run" in {caution.code for caution in comparison.cautions}
