"""Requests to language models in a document, as JSON and in the timeline."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from evidence_support import Interval, ane, core_ai, gpu
from generation_support import analysis_of, generate, span
from trace_support import MS

from tracekit import Analysis
from tracekit.report.analysis.document import build_document
from tracekit.report.analysis.extent import SHORT_TEXT
from tracekit.report.analysis.json import to_dict
from tracekit.report.analysis.markdown import to_markdown
from tracekit.report.analysis.text import to_text
from tracekit.report.html.page import to_html
from tracekit.report.viewmodel.lanes import iter_signpost_lanes

pytestmark = pytest.mark.slow

SCHEMA = Path(__file__).parents[2] / "docs" / "tracekit-analysis-1.schema.json"


def chat() -> Analysis:
    """Prefill and a token on the Neural Engine, then two tokens on the GPU."""
    calls = [(1, 48), (51, 59), (61, 69), (71, 79)]
    rows: list[Interval] = [core_ai(start, end, model="Chat") for start, end in calls]
    rows += [ane(start + 1, end - 1, "Chat") for start, end in calls[:2]]
    rows += [gpu(start + 1, end - 1) for start, end in calls[2:]]
    return analysis_of([*generate(0, 100, 4), span("Sample", 59, 60)], rows)


def write(analysis: Analysis) -> str:
    return " ".join(to_text(analysis).split())


def test_the_section_has_speeds_and_parts() -> None:
    text = write(chat())
    assert "Chat 1 100 50.0 ms 4 100 ANE 1, GPU 2" in text
    assert "1 prefill 50.0 ms 90 %" in text
    assert "Language models" in to_markdown(chat())
    assert 'id="requests"' in to_html(chat())


def test_a_document_without_requests_has_no_such_section() -> None:
    sections = build_document(analysis_of([span("Reset", 0, 1)]), SHORT_TEXT)
    assert "requests" not in {section.id for section in sections}


def test_what_limits_the_numbers_is_stated() -> None:
    mixed = write(analysis_of([*generate(0, 100, 8), *generate(20, 100, 4)]))
    assert "2 requests share time with another one of the process, and no number in the signposts" in mixed
    separate = write(analysis_of([*generate(0, 100, 8), *generate(20, 300, 4)]))
    assert "the parts of their phases include its work" in separate
    cut = write(analysis_of([*generate(0, 100, 3), span("Prompt", 200, 200, "tokens=9", kind="begin")]))
    assert "The end of the recording cuts 1 request" in cut
    early = write(analysis_of([span("Extend", 1, 2, "step=4, tokens=9"), *generate(10, 100, 3)]))
    assert "1 token before the first prefill of the process" in early
    assert "No table with rows measured the Neural Engine and the GPU." in early


def test_hostile_names_are_text() -> None:
    name = "<script>alert(1)</script>"
    analysis = analysis_of([span("ModelLoad", 0, 1, f"model={name}"), *generate(10, 100, 3)])
    assert "<script>alert" not in to_html(analysis).split('id="requests"')[1].split("</section>")[0]


def test_the_json_document() -> None:
    document = to_dict(chat())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    (request,) = document["requests"]
    assert (request["tokens"], request["first_token_ns"], request["decode_GPU_ns"]) == (4, 50 * MS, 12 * MS)
    assert [token["engines"] for token in request["token_list"]] == ["ANE", "ANE", "GPU", "GPU"]
    assert to_dict(analysis_of([span("Reset", 0, 1)]))["requests"] == []


def test_the_timeline_has_a_lane_of_requests_with_their_tokens() -> None:
    name, rows = next(iter_signpost_lanes(chat()))
    assert name == "Requests to Chat"
    assert rows.values.tolist() == [
        [0, 50 * MS, "prefill of request 1: 100 tokens"],
        [50 * MS, 80 * MS, "decode of request 1: 3 tokens, 100 per second"],
        [50 * MS, 60 * MS, "token 2 · ANE"],
        [60 * MS, 70 * MS, "token 3 · GPU"],
        [70 * MS, 80 * MS, "token 4 · GPU"],
    ]


def test_without_calls_nothing_shows_the_gaps_between_them() -> None:
    analysis = analysis_of(generate(0, 100, 4), windows="run")
    assert analysis.to_frame("requests")["decode_gap_ns"].isna().all()
    assert "gaps sampling" not in write(analysis)
    assert chat().to_frame("requests")["decode_gap_ns"].tolist() == [6 * MS]
