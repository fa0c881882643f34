"""The outputs of a trace without times: threads in the place of calls, and nothing that suggests times."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from thread_support import ELSEWHERE, ON_ANE, ON_CPU, SERVICE, Thread, text_trace
from trace_support import trace_of
from view_support import view_of

import tracekit
from tracekit import Analysis
from tracekit.model.trace import Issue
from tracekit.parsers.text.kinds import KINDS
from tracekit.parsers.text.text_recording import TextKind
from tracekit.report.analysis.inputs import describe_input

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "tracekit-analysis-1.schema.json").read_text("utf-8")
)
TIMES = re.compile(r"\d (?:ms|µs|ns)\b|\bp50\b|\bper call\b|\bbusy\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def counted() -> Analysis:
    threads = (
        Thread("Main", ON_ANE, 413),
        Thread("Worker", ON_CPU, 87),
        Thread("H11ANEServicesThread", SERVICE, 500),
        Thread("Other", ELSEWHERE, 1000),
    )
    return tracekit.analyze(text_trace(*threads, kind="sample"))


@pytest.fixture(scope="module")
def paused() -> Analysis:
    return tracekit.analyze(text_trace(Thread("Main", ON_ANE), Thread("Reader", ELSEWHERE, state="Crashed")))


def test_the_text_lists_threads_and_no_time(counted: Analysis) -> None:
    text = counted.to_text()
    assert "Threads (by their samples)" in text
    assert re.search(r"Main \(0x1\) +413 +ANE +wait +E5RT::", text)
    assert "Not listed: 1 other thread without an ML frame." in text
    assert "tracekit record --app MyApp --preset coreml" in text
    assert not TIMES.search(text)
    assert "absent" not in text


def test_the_text_names_samples_once(counted: Analysis) -> None:
    header = next(line for line in counted.to_text().splitlines() if line.startswith("  engine "))
    assert header.split() == ["engine", "samples", "phases", "meaning"]


def test_the_verbose_text_has_rule_share_and_action(counted: Analysis) -> None:
    text = counted.to_text(verbose=True)
    assert "ane.e5rt-op" in text
    assert "waiting for the Neural Engine" in text
    assert "100 %" in text


def test_a_pause_has_no_column_of_samples(paused: Analysis) -> None:
    text = paused.to_text()
    assert "Threads (at one moment)" in text
    header = next(line for line in text.splitlines() if line.startswith("  thread "))
    assert "samples" not in header
    assert "innermost: __pthread_kill" in text


def test_every_table_fits_a_terminal() -> None:
    names = ("com.apple.VN.detectorSyncTasksQueue.VNRemoveBackgroundProcessing", "y" * 200)
    threads = [Thread(name, ON_ANE, 3, process="a" * 60, pid=number) for number, name in enumerate(names)]
    text = tracekit.analyze(text_trace(*threads)).to_text()
    assert max(len(line) for line in text.splitlines() if "tracekit record" not in line) <= 80


def test_the_kind_of_the_text_is_named(counted: Analysis) -> None:
    assert "dump.txt, a report of sample" in counted.to_text()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_text_is_named_in_words_of_its_own(kind: TextKind) -> None:
    assert describe_input(kind.name) == kind.words != kind.name


@pytest.mark.parametrize("name", ["counted", "paused"])
def test_the_json_follows_the_schema(name: str, request: pytest.FixtureRequest) -> None:
    document = json.loads(request.getfixturevalue(name).to_json())
    jsonschema.validate(document, SCHEMA)
    assert document["recording"]["has_timeline"] is False
    assert document["windows"] == []


def test_the_json_lists_threads_with_their_deciding_frames(counted: Analysis) -> None:
    threads = json.loads(counted.to_json())["threads"]
    assert (threads["count"], threads["single_pause"], threads["left_out"]) == (4, False, 0)
    main, worker, service = threads["listed"]
    assert main["work"] == [
        {
            "engine": "ANE",
            "phase": "wait",
            "samples": 413,
            "share": 1.0,
            "doing": "waiting for the Neural Engine",
            "symbol": "E5RT::Ops::AneInferenceOperation::ExecuteSync()",
            "binary": "Espresso",
            "rule": "ane.e5rt-op",
        }
    ]
    assert (worker["thread"], service["idle"], service["samples"]) == ("Worker", True, 500)
    assert threads["processes"][0]["ml_samples"] == 500


def test_the_json_counts_samples_and_not_rows(counted: Analysis) -> None:
    document = json.loads(counted.to_json())
    assert document["samples"]["count"] == 2000
    assert sum(engine["samples"] for engine in document["engines"].values()) == 2000


def test_markdown_has_the_threads_and_no_measured_column(counted: Analysis) -> None:
    text = counted.to_markdown()
    assert "| Main (0x1) | 413 | 100 % | ANE | wait |" in text
    assert "| engine | samples | phases | meaning |" in text
    assert not TIMES.search(text)


def test_the_report_has_threads_in_the_place_of_what_needs_times(counted: Analysis) -> None:
    text = counted.to_html()
    sections = re.findall(r'<section id="([^"]*)"', text)
    assert sections == [
        *("verdict", "findings", "threads", "engines", "calltree", "flame", "stacks"),
        *("evidence", "questions", "recording", "issues"),
    ]
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert "E5RT::Ops::AneInferenceOperation::ExecuteSync() in Espresso" in markup
    assert not TIMES.search(markup)
    assert "busy (measured)" not in markup


def test_a_name_in_the_threads_of_the_report_is_escaped() -> None:
    text = tracekit.analyze(text_trace(Thread("<script>alert(1)</script>", ON_ANE))).to_html()
    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_the_view_of_a_page_counts_samples_per_row_and_has_no_axis(counted: Analysis) -> None:
    view = view_of(counted)
    assert view.header["timeless"] is True
    assert view.header["duration_ns"] == 1
    assert view.header["windows"]["count"] == 0
    assert sorted(view.arrays[view.header["samples"]["number"]].tolist()) == [87, 413, 500, 1000]
    assert [lane["samples"] for lane in view.header["lanes"]] == [413, 87, 1000, 500]


def test_a_recording_has_no_section_of_threads() -> None:
    assert 'id="threads"' not in tracekit.analyze(trace_of([(0, "main", None)])).to_html()


def test_a_text_that_is_cut_off_asks_for_the_whole_text() -> None:
    trace = text_trace(Thread("Worker", ON_ANE))
    cut = replace(trace, issues=(Issue("warning", "document-incomplete", "the text ends within a thread"),))
    shown = " ".join(tracekit.analyze(cut).to_text().split())
    assert "Part of this input could not be read; numbers may be too small. (rows-lost)" in shown
    assert "→ Save the input again, as a whole, and analyze that." in shown
    assert "Record again" not in shown
