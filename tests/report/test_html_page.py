"""The report as HTML: it loads nothing, shows recorded names as text, and is readable without JavaScript."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest
from sample_recordings import sample_analysis
from view_support import (
    ANE,
    BNNS,
    MS,
    RECORDINGS,
    UI,
    View,
    analyze,
    ane,
    decoded,
    gpu,
    inflated,
    manual,
    prediction,
    replace,
    trace_of,
    with_evidence,
    with_tracks,
)

from tracekit import Analysis
from tracekit.model.trace import Issue
from tracekit.report.analysis.extent import PAGE
from tracekit.report.html import page
from tracekit.report.html.page import to_html
from tracekit.report.viewmodel.notes import Note
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
VOID = {"meta", "br", "hr", "link", "img", "input"}
LOADING = {
    "src",
    "href",
    "srcset",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "ping",
    "xlink:href",
}
HOSTILE = {
    "markup": "</script><img src=x onerror=alert(1)>",
    "quotes": "\" onmouseover=alert(1) x='",
    "cdata": "]]>",
    "comment": "<!--<script>",
    "template": "${alert(1)}`",
    "right to left": "a\u202eb",
    "nul": "a\0b",
    "escape": "\x1b[31m\x9b",
    "noncharacter": "a\uffffb",
    "long": "x" * 10_000,
    "entity": "&lt;b&gt;&amp;#0;",
    "svg": "</svg></title></style></pre></textarea><style>*{display:none}</style>",
}


@dataclass
class Parsed(HTMLParser):
    """The document's elements in order, with the texts inside."""

    structure: list[Any] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    texts: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.structure.append((len(self.open), name, tuple(key for key, _ in attrs)))
        self.attributes += [(name, key, value or "") for key, value in attrs]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open, f"</{name}> ends nothing"
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self.open), data))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    handle_pi = unknown_decl = handle_comment

    def text(self, inside: str = "body") -> str:
        return "".join(data for path, data in self.texts if inside in path and "script" not in path)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


def parsed(text: str) -> Parsed:
    """Parse a report; every element must be closed where it ought to be."""
    document = Parsed()
    document.feed(text)
    document.close()
    assert document.open == []
    return document


def loading_attributes(document: Parsed) -> list[tuple[str, str, str]]:
    return [(tag, key, value) for tag, key, value in document.attributes if key in LOADING]


def view_in(text: str) -> View:
    (data,) = re.findall(r'<script type="application/octet-stream" id="tracekit-data">([^<]*)</script>', text)
    return decoded(inflated(data))


def section_of(text: str, name: str) -> str:
    """The words of one section, blanks joined."""
    (inside,) = re.findall(rf'<section id="{name}".*?</section>', text, re.DOTALL)
    return " ".join(" ".join(data for _, data in parsed(inside).texts).split())


def named(word: str, words: Extras | None = None) -> str:
    """A report in which every name of the recording is ``word``."""
    trace = trace_of(
        [
            (0, "ui", UI),
            (10, "main", (f"App | {word}", *ANE)),
            (12, "main", (f"{word} | f", *BNNS)),
            (40, "ui", None),
        ]
    )
    trace = with_evidence(
        trace,
        [
            ane(10, 14, label=word),
            gpu(60, 61, pid=88),
            prediction(10, 20, model=word),
            prediction(30, 40, model=f"{word}2"),
        ],
    )
    marks = pd.DataFrame(
        {
            "start_ns": [1],
            "end_ns": [2],
            **{name: [word] for name in ("name", "subsystem", "category", "message", "source")},
            "kind": ["interval"],
            "identifier": [1],
            "pid": [7],
            "tid": [1],
        }
    )
    trace = with_tracks(trace, [(0, 1.0), (MS, 2.0)], name=word, unit=word)
    info = replace(
        trace.info, name=word, device=word, model=word, platform=word, os=word, template=word,
        instruments=word, start=word, process=word, pid=7,
    )  # fmt: skip
    threads = trace.threads.assign(
        name=pd.Series([word, f"{word}2"], dtype="str"), process=pd.Series([word] * 2, dtype="str")
    )
    signposts = marks.astype(
        {name: str(kind) for name, kind in trace.signposts.dtypes.items() if str(kind) != "category"}
    )
    signposts = signposts.astype(
        dict.fromkeys(("name", "subsystem", "category", "kind", "source"), "category")
    )
    issues = (Issue("warning", "clocks-disagree", word),)
    trace = replace(
        trace, info=info, threads=threads, signposts=signposts[list(trace.signposts.columns)], issues=issues
    )
    return to_html(analyze(trace), words or Extras(word, word, "https://example.com/1", (word,)))


@functools.cache
def harmless_report() -> Parsed:
    return parsed(named("harmless"))


# Nothing is loaded, nothing runs --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fallback-midway-ios27", "counters-bnns-macos15"])
def test_the_policy_allows_what_stands_in_the_file_and_nothing_else(name: str) -> None:
    text = to_html(sample_analysis(name))
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.replace("&#x27;", "'").split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": f"'sha256-{_digest(script)}'",
        "style-src": f"'sha256-{_digest(style)}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_report_is_well_formed_and_refers_to_nothing(name: str) -> None:
    text = to_html(sample_analysis(name))
    document = parsed(text)
    assert text.startswith("<!doctype html>\n<html lang=")
    assert loading_attributes(document) == []
    assert [key for _, key, _ in document.attributes if key == "style" or key.startswith("on")] == []
    allowed = (
        "html head meta title style body div header h1 h2 h3 p main section figure svg path polyline text"
    )
    allowed += " table caption thead tbody tr th td span ol ul li details summary mark small strong dl dt dd pre code footer script"
    assert {name for _, name, _ in document.structure} - set(allowed.split()) == set()
    assert document.comments == []
    ids = document.values("id")
    assert len(ids) == len(set(ids))


def test_the_style_sheet_and_the_script_load_nothing() -> None:
    style, script = page.asset("page.css"), page.bundled("main.js")
    assert not re.search(r"url\(|@import|https?:|expression\(", style)
    assert "</" not in style
    assert "<!--" not in style + script
    assert "<script" not in script
    addresses = set(re.findall(r"https?://[^\s\"'`)]*", script))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a namespace, which nothing loads
    assert not re.search(
        r"\b(?:fetch|eval|importScripts|XMLHttpRequest|WebSocket|EventSource|sendBeacon|Function)\s*\(",
        script,
    )
    assert not re.search(r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write)\b", script)


def test_the_only_link_is_the_writers() -> None:
    text = to_html(sample_analysis("fallback-midway-ios27"), Extras(link="https://example.com/?a=1&b=2"))
    links = loading_attributes(parsed(text))
    assert links == [("a", "href", "https://example.com/?a=1&b=2")]
    assert 'rel="noreferrer"' in text


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        " javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//e.example",
        "x",
        "JAVASCRIPT:x//https://",
    ],
)
def test_a_link_that_is_none_of_the_webs_is_dropped(link: str) -> None:
    document = parsed(to_html(sample_analysis("fallback-midway-ios27"), Extras(link=link)))
    assert loading_attributes(document) == []
    assert "a" not in {name for _, name, _ in document.structure}


# Others' words are text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_change_no_element_of_the_document(kind: str) -> None:
    harmless, hostile = harmless_report(), parsed(named(HOSTILE[kind]))
    assert hostile.structure == harmless.structure
    assert hostile.comments == []
    assert loading_attributes(hostile) == loading_attributes(harmless)
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", hostile.text("html"))


@pytest.mark.parametrize("kind", ["markup", "quotes", "cdata", "comment", "template", "entity", "svg"])
def test_names_show_as_they_are(kind: str) -> None:
    text = named(HOSTILE[kind])
    document = parsed(text)
    for place in ("stacks", "timeline", "windows", "recording", "issues"):
        assert any(HOSTILE[kind][:12] in data for path, data in document.texts if "section" in path), place
    assert document.text("h1") == HOSTILE[kind]
    assert document.text("title").startswith(HOSTILE[kind])
    view = view_in(text)
    assert HOSTILE[kind] in view.texts(view.header["nodes"]["name"])
    assert HOSTILE[kind] in view.texts(view.header["windows"]["model"])


@pytest.mark.parametrize("where", ["title", "note", "notes", "commands"])
@pytest.mark.parametrize("kind", [*HOSTILE, "surrogate"])
def test_the_writers_words_are_text_as_well(kind: str, where: str) -> None:
    word = {**HOSTILE, "surrogate": "a\udc80\ud800"}[kind]

    def report(value: str) -> Parsed:
        held = {"commands": (value,), "notes": (Note(5, value),)}
        words: Any = {where: held.get(where, value)}
        text = to_html(sample_analysis("kperf-samples-macos26"), Extras(**words))
        assert text.encode("utf-8")
        return parsed(text)

    assert report(word).structure == report("harmless").structure


@pytest.mark.parametrize("kind", [*HOSTILE, "surrogate"])
def test_a_link_adds_a_link_or_nothing(kind: str) -> None:
    word = {**HOSTILE, "surrogate": "a\udc80\ud800"}[kind]
    analysis = sample_analysis("kperf-samples-macos26")
    without, harmless, hostile = (
        parsed(to_html(analysis, Extras(link=link)))
        for link in ("", "https://example.com/", f"https://example.com/{word}")
    )
    assert harmless.structure != without.structure
    assert hostile.structure in (without.structure, harmless.structure)
    assert all((tag, key) == ("a", "href") for tag, key, _ in loading_attributes(hostile))


def test_a_function_with_a_name_of_a_megabyte_is_cut_in_the_markup() -> None:
    name = "std::" + "y" * 1_000_000
    stacks = [(f"libBNNS.dylib | BNNSFilterApply{index}", f"App | {name}", *BNNS) for index in range(8)]
    text = to_html(analyze(trace_of([(index, "main", stack) for index, stack in enumerate(stacks)])))
    assert len(text) < 2_500_000
    assert "std::yyyyyyyy" in section_of(text, "stacks")


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
