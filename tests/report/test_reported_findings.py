"""Findings in the HTML report and in Markdown: complete, in their order, and others' words are only text."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from evidence_support import Interval
from view_support import (
    ANE,
    BNNS,
    MS,
    analyze,
    ane,
    decoded,
    prediction,
    recording,
    trace_of,
    with_evidence,
)

from tracekit import Analysis
from tracekit.analysis.findings.finding import Action, Finding, Support, WindowRanges
from tracekit.model.vocabulary import Basis
from tracekit.report.analysis.markdown_findings import findings_markdown
from tracekit.report.html.findings import NOTHING_FOUND, findings_html
from tracekit.report.html.page import to_html
from tracekit.report.viewmodel.findings import MOST_FINDINGS, finding_places
from tracekit.report.viewmodel.view import view_block

pytestmark = pytest.mark.integration

COMMAND = (
    "tracekit record --app SampleApp --device 'Synthetic iPhone'"
    " --compute-units all,cpuAndNeuralEngine,cpuAndGPU,cpuOnly"
)


def left_engine(model: str = "Net", process: str = "") -> Analysis:
    """Return three calls on the Neural Engine and three on the CPU."""
    rows: list[Interval] = []
    samples = []
    for number, stack in enumerate([ANE] * 3 + [BNNS] * 3):
        start = 20 + 20 * number
        rows += [
            prediction(start, start + 10, model=model),
            *([ane(start + 2, start + 8)] if stack is ANE else []),
        ]
        samples += [(start + tick, "main", stack) for tick in range(1, 9)]
    trace = with_evidence(trace_of(samples), rows)
    return analyze(replace(trace, info=replace(trace.info, process=process)))


def words(markup: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", markup).split()))


def tags(markup: str) -> list[str]:
    return re.findall(r"</?[a-z0-9]+", markup)


def test_the_page_begins_with_the_findings() -> None:
    text = to_html(recording("fallback-midway-ios27"))
    first = text.index('<section id="findings"')
    assert text.index('<section id="verdict"') < first < text.index('<section id="timeline"')
    section = words(text[first : text.index('<section id="timeline"')])
    for part in (
        "! Warning: SpeechEncoder left the Neural Engine after its 6th call (at 265 ms).",
        "The 6 calls since ran on the CPU: 22.7 ms of CPU work each (measured), 12 % slower",
        "Measured: 6 rows of ane-hw-intervals",
        COMMAND,
        "Nothing else in this recording changed just then.",
        "docs/findings.md#fell-back",
    ):
        assert part in section


def test_the_view_has_the_place_of_each_finding() -> None:
    analysis = recording("fallback-midway-ios27")
    (finding,) = (entry for entry in analysis.findings if entry.kind == "fell-back")
    place = decoded(view_block(analysis)).header["findings"][analysis.findings.index(finding)]
    calls = analysis.window_rows.iloc[6:12]
    assert place == [calls["start_ns"].iloc[0], calls["end_ns"].iloc[-1]]


def test_a_finding_without_a_moment_has_the_place_of_its_calls_or_none() -> None:
    analysis = left_engine()
    about_calls = Finding(
        "fell-back", "info", "likely", Basis.SAMPLED, windows=WindowRanges(3, ((1, 1), (3, 4)))
    )
    about_run = Finding("fell-back", "info", "likely", Basis.SAMPLED)
    analysis.__dict__["findings"] = (about_calls, about_run)
    assert finding_places(analysis) == [[40 * MS, 110 * MS], None]


def test_without_a_finding_the_page_states_it() -> None:
    analysis = left_engine()
    assert words(findings_html((), analysis.trace.info)) == NOTHING_FOUND
    assert findings_markdown((), analysis.trace.info) == ""


def test_a_note_has_all_but_its_title_folded() -> None:
    analysis = left_engine()
    warning = next(finding for finding in analysis.findings if finding.kind == "fell-back")
    note = findings_html([replace(warning, severity="info")], analysis.trace.info)
    assert note.index("<details>") < note.index("tracekit record")
    page = findings_html([warning], analysis.trace.info)
    assert page.index("tracekit record") < page.index("<details>")


def test_many_findings_are_folded_and_counted() -> None:
    analysis = left_engine()
    many = [finding for finding in analysis.findings if finding.kind == "fell-back"] * (MOST_FINDINGS + 7)
    page, ticket = findings_html(many, analysis.trace.info), findings_markdown(many, analysis.trace.info)
    assert page.count('<li class="finding" data-finding=') == MOST_FINDINGS
    assert "55 more findings, of less weight" in page
    assert "… and 7 more: see the JSON output" in page
    assert ticket.count("tracekit record") == 5
    assert "… and 47 more: see the JSON output" in ticket


@pytest.mark.parametrize(
    "word",
    [
        "</script><img src=x onerror=alert(1)>",
        "\" onclick='x'",
        "a`b``c",
        "@user #1 | $x$ **b**",
        "\x1b[31m\u202e\0",
    ],
)
def test_names_in_findings_are_text(word: str) -> None:
    harmless, hostile = left_engine("Net", "App"), left_engine(word, word)
    pages = [findings_html(each.findings, each.trace.info) for each in (harmless, hostile)]
    assert tags(pages[0]) == tags(pages[1])
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", pages[1])
    tickets = [findings_markdown(each.findings, each.trace.info) for each in (harmless, hostile)]
    assert len(tickets[0].splitlines()) == len(tickets[1].splitlines())
    # Outside of code, every character that formats is escaped.
    bare = re.sub(r"(`+) ?.*? ?\1(?!`)", "", re.sub(r"<!-- -->|\\[^\w\s]|&#?\w+;", " ", tickets[1]))
    assert not re.search(r"[`|<>$]|@\w|#\d", bare)


def test_a_command_is_a_span_of_code_whatever_it_contains() -> None:
    analysis = left_engine(process="a`b``c")
    support = (Support("table", "ane-hw-intervals", "", 2),)
    finding = next(entry for entry in analysis.findings if entry.kind == "fell-back")
    shown = replace(finding, support=support, actions=(Action("compute-units", {"model": ""}),))
    text = findings_markdown([shown], analysis.trace.info)
    assert (
        "``` tracekit record --app 'a`b``c' --compute-units all,cpuAndNeuralEngine,cpuAndGPU,cpuOnly ```"
        in text
    )
