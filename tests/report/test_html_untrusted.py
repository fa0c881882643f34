"""The report as HTML loads nothing, runs nothing of others, and shows recorded names as text."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from typing import Any

import pandas as pd
import pytest
from html_support import Parsed, loading_attributes, parsed, section_of, view_in
from sample_recordings import sample_analysis
from view_support import (
    ANE,
    BNNS,
    MS,
    RECORDINGS,
    UI,
    analyze,
    ane,
    gpu,
    prediction,
    replace,
    trace_of,
    with_evidence,
    with_tracks,
)

from tracekit.model.trace import Issue
from tracekit.report.html import page
from tracekit.report.html.page import to_html
from tracekit.report.viewmodel.notes import Note
from tracekit.report.viewmodel.view import Extras

pytestmark = pytest.mark.integration

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
