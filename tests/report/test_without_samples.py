"""Without a table of samples, no output counts them as 0, nor claims that none were recorded: a single export may leave them out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from evidence_support import ane, with_evidence
from export_support import window
from jsonschema import Draft202012Validator
from trace_support import UI, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.columns.call_rows import CallRows
from tracekit.model.vocabulary import Basis, Engine

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    trace = with_evidence(trace_of([]), [ane(1, 5)])
    return analyze(replace(trace, samples_source=""), windows=[window(0, 10, "call")])


def test_the_json_has_null(analysis: Analysis) -> None:
    document = json.loads(analysis.to_json())
    for engines in (document["engines"], document["windows"][0]["engines"]):
        numbers = engines["ANE"]
        assert (numbers["samples"], numbers["sampled_ns"], numbers["weight"]) == (None, None, None)
        assert numbers["busy_ns"] == 4_000_000
    schema = json.loads((DOCS / "tracekit-analysis-1.schema.json").read_text())
    Draft202012Validator(schema).validate(document)


def test_the_text_has_no_column_of_samples(analysis: Analysis) -> None:
    text = " ".join(analysis.to_text().split())
    assert "edges given; no host samples in this input)" in text
    assert "whole run; no host samples in this input) engine busy (measured) meaning ANE 4.00 ms" in text


def test_the_ticket_and_the_page_give_no_zero(analysis: Analysis) -> None:
    ticket = analysis.to_markdown()
    assert "| engine | busy (measured) | meaning |" in ticket
    assert "| ANE | 4.00 ms " in ticket
    assert "no host samples in this input.</p>" in analysis.to_html()


def test_the_interactive_table_has_no_column_of_samples(analysis: Analysis) -> None:
    assert CallRows(analysis).sum_samples(Engine.ANE, "samples").isna().all()
    sampled = analyze(trace_of([(1.0, "main", UI)]), windows=[window(0, 10, "call")])
    assert CallRows(sampled).sum_samples(Engine.ANE, "samples").tolist() == [0]


@pytest.mark.parametrize(
    ("windows", "sentence"),
    [
        (
            [Window(0, 10_000_000, "run", "run", Basis.GIVEN)],
            "The whole run counts as one call: no call has a length.",
        ),
        ([], "No calls."),
    ],
)
def test_a_page_without_latency_gives_the_reason(windows: list[Window], sentence: str) -> None:
    assert sentence in analyze(trace_of([(1.0, "main", UI)]), windows=windows).to_html()
