"""The report's sections as trees: what is shown is kept, what could run is not."""

from __future__ import annotations

import re

import pytest
from dashboard_support import SAMPLES
from lxml import html

from dashboard.routes.markup import Tree, tree
from tracekit import analyze, open_trace
from tracekit.report.html.sections import SECTIONS, section
from tracekit.report.viewmodel.view import Extras


def text_of(nodes: Tree) -> str:
    return "".join(node if isinstance(node, str) else text_of(node[2]) for node in nodes)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<p id="x" class="a b" aria-label="y">Ti&amp;tle</p>', [("p", {"id": "x", "class": "a b", "aria-label": "y"}, ["Ti&tle"])]),
        ("<p>one <b>two</b> three</p>", [("p", {}, ["one ", ("b", {}, ["two"]), " three"])]),
        ("one<br>two", ["one", ("br", {}, []), "two"]),
        ('<td class="number" tabindex="0">1</td>', [("td", {"class": "number", "tabindex": "0"}, ["1"])]),
        ("&lt;script&gt;", ["<script>"]),
        ("", []),
    ],
)  # fmt: skip
def test_markup_as_a_tree(markup: str, expected: Tree) -> None:
    assert tree(markup) == expected


@pytest.mark.parametrize(
    "markup",
    [
        "<p>a<script>alert(1)</script>b</p>",
        "<p>a<style>*{}</style>b</p>",
        "<p>a<svg onload=x><text>c</text></svg>b</p>",
        "<p>a<iframe src=x></iframe>b</p>",
        "<p>a<img src=x onerror=y>b</p>",
        "<p>a<!-- c -->b</p>",
        "<p onclick=x style=y>ab</p>",
        "<p>a<button formaction=x></button>b</p>",
    ],
)
def test_nothing_that_could_run_is_kept(markup: str) -> None:
    (paragraph,) = tree(markup)
    assert paragraph[:2] == ("p", {})
    assert text_of([paragraph]) == "ab"


def test_a_link_keeps_its_text_and_not_where_it_leads() -> None:
    assert tree('<a href="javascript:alert(1)">x</a>') == [("a", {}, ["x"])]


@pytest.mark.integration
def test_no_text_of_a_real_report_is_lost_but_that_of_pictures() -> None:
    analysis = analyze(open_trace(SAMPLES / "fallback-midway-ios27"))
    for name in SECTIONS:
        markup = section(name, analysis, Extras())
        bare = re.sub(r"<svg.*?</svg>", "", markup, flags=re.DOTALL)
        assert text_of(tree(markup)) == html.fromstring(bare).text_content()
