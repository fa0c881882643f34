"""Findings in the HTML report and in Markdown: complete, in their order, and others' words are only text."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from evidence_support import Interval
from sample_recordings import sample_analysis
from view_support import ANE, BNNS, MS, analyze, ane, decoded, prediction, trace_of, with_evidence

from tracekit import Analysis
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.finding import Finding, Support, WindowRanges
from tracekit.analysis.findings.placement import FELL_BACK
from tracekit.model.vocabulary import Basis
from tracekit.report.analysis.document import NOTHING_FOUND, build_document
from tracekit.report.analysis.extent import PAGE, TICKET
from tracekit.report.document.html_printer import print_html
from tracekit.report.document.markdown_printer import print_markdown
from tracekit.report.html.page import to_html
from tracekit.report.viewmodel.findings import MOST_FINDINGS, locate_findings
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


def with_findings(analysis: Analysis, *findings: Finding) -> Analysis:
    analysis.__dict__["findings"] = findings
    return analysis


def page_of(analysis: Analysis) -> str:
    return print_html(build_document(analysis, PAGE))["findings"]


def ticket_of(analysis: Analysis) -> str:
    document = build_document(analysis, TICKET)
    return print_markdown(section for section in document if section.id == "findings")


def words(markup: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", markup).split()))


def test_the_page_begins_with_the_findings() -> None:
    text = to_html(sample_analysis("fallback-midway-ios27"))
    first = text.index('<section id="findings"')
    assert text.index('<section id="verdict"') < first < text.index('<section id="timeline"')
    section = words(text[first : text.index('<section id="timeline"')])
    for part in (
        "! warning: SpeechEncoder left the Neural Engine after its 6th call (at 265 ms).",
        "The 6 calls since ran on the CPU: 22.7 ms of CPU work each (measured), 12 % slower",
        "Measured: 6 rows of ane-hw-intervals",
        COMMAND,
        "Nothing was recorded just then that could explain it: no load or compile, thermal change or failed request.",
        "The model ran on an engine, left it, and did not come back in this recording.",
    ):
        assert part in section


def test_the_view_has_the_place_of_each_finding() -> None:
    analysis = sample_analysis("fallback-midway-ios27")
    (finding,) = (entry for entry in analysis.findings if entry.kind == "fell-back")
    place = decoded(view_block(analysis)).header["findings"][analysis.findings.index(finding)]
    calls = analysis.window_rows.iloc[6:12]
    assert place == [calls["start_ns"].iloc[0], calls["end_ns"].iloc[-1]]


def test_a_finding_without_a_moment_has_the_place_of_its_calls_or_none() -> None:
    analysis = left_engine()
    about_calls = Finding(
        kind=FELL_BACK,
        severity="info",
        confidence="likely",
        basis=Basis.SAMPLED,
        numbers={},
        windows=WindowRanges(3, ((1, 1), (3, 4))),
    )
    about_run = replace(about_calls, windows=WindowRanges())
    assert locate_findings(with_findings(analysis, about_calls, about_run)) == [[40 * MS, 110 * MS], None]


def test_without_a_finding_the_page_states_it() -> None:
    analysis = with_findings(left_engine())
    assert words(page_of(analysis)) == f"Findings {NOTHING_FOUND}"
    assert ticket_of(analysis) == "\n"


def test_a_note_has_all_but_its_title_folded() -> None:
    analysis = left_engine()
    warning = next(finding for finding in analysis.findings if finding.kind == "fell-back")
    note = page_of(with_findings(left_engine(), replace(warning, severity="info")))
    assert note.index("<details>") < note.index("tracekit record")
    page = page_of(with_findings(analysis, warning))
    assert page.index("tracekit record") < page.index("<details>")


def test_many_findings_are_folded_and_counted() -> None:
    analysis = left_engine()
    warning = next(finding for finding in analysis.findings if finding.kind == "fell-back")
    many = with_findings(analysis, *[warning] * (MOST_FINDINGS + 7))
    page, ticket = page_of(many), ticket_of(many)
    assert page.count('<li class="finding" data-finding=') == MOST_FINDINGS
    assert "55 more findings, of less weight" in page
    assert "… and 7 more: see the JSON output" in page
    assert ticket.count("tracekit record") == 5
    assert "… and 47 more: see the JSON output" in ticket


def test_a_command_is_a_span_of_code_whatever_it_contains() -> None:
    analysis = left_engine(process="a`b``c")
    support = (Support("table", "ane-hw-intervals", "", 2),)
    finding = next(entry for entry in analysis.findings if entry.kind == "fell-back")
    shown = replace(finding, support=support, actions=(Action("compute-units", {"model": ""}),))
    text = ticket_of(with_findings(analysis, shown))
    assert (
        "``` tracekit record --app 'a`b``c' --compute-units all,cpuAndNeuralEngine,cpuAndGPU,cpuOnly ```"
        in text
    )
