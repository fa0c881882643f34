"""The report as HTML is readable without JavaScript, and always the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from html_support import parsed, section_of, view_in
from sample_recordings import sample_analysis
from view_support import (
    ANE,
    BNNS,
    MS,
    RECORDINGS,
    UI,
    analyze,
    ane,
    inflated,
    manual,
    prediction,
    replace,
    trace_of,
    with_evidence,
)

from tracekit import Analysis
from tracekit.model.trace import Issue
from tracekit.report.analysis.extent import PAGE
from tracekit.report.html.page import to_html
from tracekit.report.viewmodel.view import Extras, view_block

pytestmark = pytest.mark.integration

SECTIONS = [
    "verdict",
    "findings",
    "requests",
    "timeline",
    "windows",
    "engines",
    "latency",
    "submissions",
    "calltree",
    "flame",
    "stacks",
    "counters",
    "evidence",
    "questions",
    "recording",
    "issues",
]
SECTIONS_WITHOUT_REQUESTS = [section for section in SECTIONS if section != "requests"]

# Readable without JavaScript ------------------------------------------------------------------------------


def literal(**changes: Any) -> Analysis:
    trace = trace_of(
        [(0, "ui", UI, 4 * MS), (10, "main", ANE), (12, "main", ANE), (30, "main", BNNS, 3 * MS)]
    )
    trace = with_evidence(trace, [ane(10, 14), prediction(10, 20), prediction(30, 40)])
    return analyze(
        replace(trace, issues=(Issue("warning", "clocks-disagree", "something is odd", 3),), **changes)
    )


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_section_is_there_in_order(name: str) -> None:
    text = to_html(sample_analysis(name))
    analysis = sample_analysis(name)
    has_requests = analysis.generations is not None or len(analysis.trace.model_requests)
    sections = SECTIONS if has_requests else SECTIONS_WITHOUT_REQUESTS
    assert re.findall(r'<section id="([^"]*)"', text) == sections
    for name in sections:
        assert len(section_of(text, name)) > 5


def test_the_sections_show_the_findings() -> None:
    analysis = literal()
    text = to_html(analysis)
    assert (
        section_of(text, "verdict")
        == f"Summary {analysis.headline} warning: something is odd (3 × clocks-disagree) What it means The times"
        " of two tables do not fit each other, so that work can be on the wrong call. To do: compare within one"
        " table only."
    )
    windows = section_of(text, "windows")
    assert "Net 1* 10.000 ms 10.0 ms AAAAAA........ ANE 4.00 ms (40 %)" in windows
    assert "30.000 ms 10.0 ms CCCC?????????? CPU 0 " in windows
    engines = section_of(text, "engines")
    assert "ANE 4.00 ms 2 2.00 ms dispatch 2 Neural Engine" in engines
    assert "CPU not measured 1 3.00 ms execute 1 an ML engine on the CPU" in engines
    assert "ane-hw-intervals 1 row " in section_of(text, "evidence")
    assert "Input literal, run 1" in section_of(text, "recording")


def test_engines_and_stacks_have_the_lengths_of_the_bars() -> None:
    lengths = {250: "250 ms", 4_200: "4.20 s", 45_093: "45.1 s", 251_362: "4 min 11.4 s"}
    for length, shown in lengths.items():
        text = to_html(analyze(trace_of([(0, "main", BNNS, length * MS)])))
        assert f"CPU not measured 1 {shown} execute" in section_of(text, "engines")
        assert f"CPU {shown}, 1 sample, execute" in section_of(text, "stacks")


def test_the_deciding_frame_is_marked_in_every_heavy_stack() -> None:
    text = to_html(literal())
    marks = re.findall(r"<li><mark>([^<]*)</mark><small> ([^<]*)</small><small> ← decides</small></li>", text)
    assert ("H11ANEProgramProcessRequestDirect", "ANEServices") in marks
    assert ("BNNSFilterApply", "libBNNS.dylib") in marks or len(marks) == 2
    assert "rule ane.services-request" in section_of(text, "stacks")


def test_the_timeline_is_a_picture_in_the_markup() -> None:
    document = parsed(to_html(literal()))
    assert len([1 for _, name, _ in document.structure if name == "svg"]) == 1
    assert len([1 for _, name, _ in document.structure if name == "path"]) > 5


def test_many_windows_are_counted_and_not_all_listed() -> None:
    number = PAGE.most_calls + 5
    windows = [manual(index, index + 1) for index in range(number)]
    text = to_html(analyze(trace_of([(0, "main", ANE)]), windows=windows))
    (table,) = re.findall(r"<caption>List of calls</caption>.*?</table>", text, re.DOTALL)
    assert table.count("<tr>") == 1 + PAGE.most_calls
    assert "… and 5 more" in section_of(text, "windows")
    assert "more" not in section_of(to_html(literal()), "windows")
    assert view_in(text).header["windows"]["count"] == number


LACKING: dict[str, Callable[[], Analysis]] = {
    "samples": lambda: analyze(with_evidence(trace_of([]), [prediction(0, 5), ane(1, 2)])),
    "anything": lambda: analyze(trace_of([])),
    "windows": lambda: analyze(trace_of([(0, "main", UI)]), windows=[]),
    "stacks": lambda: analyze(trace_of([(0, "main", None)])),
    "time": lambda: analyze(trace_of([(0, "main", ANE, 0)])),
}


@pytest.mark.parametrize("missing_part", LACKING)
def test_the_report_of_an_incomplete_recording_names_the_gaps(missing_part: str) -> None:
    text = to_html(LACKING[missing_part]())
    assert re.findall(r'<section id="([^"]*)"', text) == SECTIONS_WITHOUT_REQUESTS
    parsed(text)
    view_in(text)
    says = {
        "samples": ("stacks", "No sample has a stack."),
        "stacks": ("stacks", "No sample has a stack."),
        "windows": ("windows", "No calls"),
        "anything": ("stacks", "No sample has a stack."),
        "time": ("counters", "This input has no hardware counters."),
    }[missing_part]
    assert says[1] in section_of(text, says[0])


def test_a_page_without_calls_has_the_note_of_it_for_scripts_too() -> None:
    """The page's style hides what a script replaces, and the script of calls replaces no note."""
    assert 'id="windows-static"' not in to_html(LACKING["windows"]())


def test_cycles_are_shown_as_cycles() -> None:
    text = to_html(analyze(trace_of([(0, "main", ANE, 3_000_000), (1, "main", ANE, 2)], unit="cycles")))
    assert "engine busy (measured) samples cycles phases" in section_of(text, "engines")
    assert "3,000,002" in section_of(text, "engines")
    assert "3,000,002 cycles, 2 samples" in section_of(text, "stacks")
    assert "ms" not in re.findall(r"<summary>.*?</summary>", text)[0]
    assert view_in(text).header["unit"] == "cycles"


def test_counters_are_summed_by_engine() -> None:
    words = section_of(to_html(sample_analysis("counters-bnns-macos15")), "counters")
    assert "Sums over samples" in words
    assert re.search(r"CPU( [\d,]+){2,}", words)


def test_the_commands_are_shown_where_there_are_any() -> None:
    text = to_html(literal(), Extras(commands=("xctrace record --template 'A <b>'", "xctrace export")))
    assert "<pre>xctrace record --template 'A &lt;b&gt;'</pre><pre>xctrace export</pre>" in text
    assert "Commands" not in section_of(to_html(literal()), "recording")


# One file, always the same --------------------------------------------------------------------------------


def test_the_same_analysis_gives_the_same_text() -> None:
    assert to_html(literal()) == to_html(literal())


def test_the_data_are_those_of_the_view() -> None:
    analysis, extras = literal(), Extras("a", "b", "https://c", ("d",))
    text = to_html(analysis, extras)
    (data,) = re.findall(r'id="tracekit-data">([^<]*)<', text)
    assert inflated(data) == view_block(analysis, extras)


def test_full_reaches_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.report.viewmodel.samples.MOST_EXACT", 1)
    assert view_in(to_html(literal())).header["exact"] is False
    assert view_in(to_html(literal(), full=True)).header["exact"] is True
