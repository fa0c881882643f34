"""Each limit stands at the numbers that it limits, once."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from sample_recordings import sample_analysis
from trace_support import UI, trace_of
from view_support import view_of

from tracekit import analyze
from tracekit.analysis.diagnostics import Diagnostic
from tracekit.model.issue_codes import ANE_BUSY, CALLS, LENGTHS, RUN, SAMPLES, TABLES, Reach, find_reach
from tracekit.model.trace import Issue
from tracekit.report.analysis.json import to_dict
from tracekit.report.html.sections import sections
from tracekit.report.viewmodel.limits import Footnotes, list_limits
from tracekit.report.viewmodel.view import Extras

pytestmark = pytest.mark.integration

SAMPLE_TRACES = Path(__file__).resolve().parents[2] / "sample_traces"


@pytest.mark.parametrize(
    ("code", "message", "reach"),
    [
        ("windows-inferred", "", CALLS),
        ("table-unreadable", "'ane-hw-intervals' cannot be read; it is left out", ANE_BUSY),
        ("null-values", "3 rows of 'time-profile' without 'weight': 0 is used", SAMPLES),
        ("interval-open", "2 rows of 'hitches' have no end; they continue", TABLES),
        ("table-damaged", "stores/7 is cut off; a table cannot be read", RUN),
        ("unknown-issue", "as a newer pack may hold", RUN),
    ],
)
def test_what_an_issue_limits(code: str, message: str, reach: Reach) -> None:
    assert find_reach(code, message) == reach


def test_the_json_has_what_each_issue_affects() -> None:
    issues = {
        issue["code"]: issue["affects"]
        for issue in to_dict(sample_analysis("failing-requests-macos27"))["issues"]
    }
    assert issues["ane-requests-failed"] == {
        "part": "verdicts",
        "engine": None,
        "windows": [3, 7, 8],
        "models": ["SpeechEncoder"],
    }
    assert issues["ane-requests-of-others"] == {
        "part": "busy",
        "engine": "ANE",
        "windows": None,
        "models": None,
    }


def pooled(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize(
    "name", ["failing-requests-macos27", "concurrent-models-ios27", "kperf-samples-macos26"]
)
def test_the_text_shows_each_limit_once(name: str, verbose: bool) -> None:
    analysis = sample_analysis(name)
    text = pooled(analysis.to_text(verbose=verbose))
    for issue in analysis.issues:
        is_referred = not verbose and issue.code in ("ane-requests-failed", "operators-not-on-ane")
        assert text.count(pooled(issue.message)) == (not is_referred), issue.code
        assert f"{issue.code})" in text  # if only to refer to the finding


def test_what_a_finding_quotes_is_not_repeated() -> None:
    analysis = sample_analysis("kperf-samples-macos26")
    trace = replace(
        analysis.trace, issues=(Issue("warning", "recording-issue", "Instruments lost 7 events"),)
    )
    text = pooled(analyze(trace).to_text())
    assert text.count("Instruments lost 7 events") == 1
    assert "rows-lost" in text


def test_limits_are_other_ones_beside_a_finding_alone() -> None:
    trace = trace_of([(0, "main", UI)])
    for code, sentence in (
        ("weight-assumed", "Each limit stands at what it limits."),
        ("recording-issue", "Each other limit stands at what it limits."),
    ):
        issues = (Issue("warning", code, "Instruments lost 7 events"),)
        analysis = analyze(replace(trace, issues=issues))
        assert f"<p>{sentence}</p>" in str(sections(analysis, Extras())["issues"])


def test_a_limit_stands_at_its_number_and_below_its_table() -> None:
    lines = sample_analysis("failing-requests-macos27").to_text().splitlines()
    failed = [line.split()[:2] for line in lines if "UNKNOWN [2]" in line]
    assert failed == [["SpeechEncoder", number] for number in ("4", "8", "9")]
    assert any(line.split()[:5] == ["ANE", "110", "ms", "[4][5]", "34"] for line in lines)
    note = next(
        index
        for index, line in enumerate(lines)
        if line.startswith("  [2] error: see the finding requests-failed")
    )
    engines = next(index for index, line in enumerate(lines) if line.startswith("Engines"))
    assert note < engines


def test_a_warning_about_the_whole_answer_stands_below_the_headline() -> None:
    sections = sample_analysis("kperf-samples-macos26").to_text().split("\n\n")
    answer = [section for section in sections if not section.startswith("Findings")]
    assert answer[1].startswith("warning: 'time-sample' has addresses without symbols")


def test_limits_of_some_windows_and_models() -> None:
    analysis = sample_analysis("coreai-and-coreml-ios27")
    names = analysis.window_rows["model"].astype("str")
    some = tuple(int(row) for row in (names == names[0]).to_numpy().nonzero()[0])
    limited = replace(
        analysis, diagnostics=(Diagnostic("warning", "holes-bridged", 2, {"longest_ns": 7}, some),)
    )
    notes = Footnotes(limited)
    marks = notes.marks(LENGTHS, rows=len(names))
    assert (marks.head, [row for row in range(len(names)) if marks.of(row)]) == ("", list(some))
    assert notes.marks(LENGTHS, rows=min(some)).head == " [1]"  # none of its rows is listed
    of_models = notes.model_marks(LENGTHS, models=names.unique())
    assert {name for name in names if of_models.of(name)} == {names[0]}
    assert [note.mark for note in notes.notes()] == ["[1]"]
    assert notes.notes() == []
    assert notes.remaining() == ()
    (document,) = to_dict(limited)["issues"]
    assert document["affects"]["models"] == [names[0]]
    everywhere = replace(limited.diagnostics[0], windows=tuple(range(len(names))))
    assert list_limits(replace(limited, diagnostics=(everywhere,)))[0].windows is None


def test_many_alike_are_counted() -> None:
    issues = tuple(Issue("warning", "recording-issue", f"problem {number}") for number in range(9))
    text = replace(sample_analysis("kperf-samples-macos26"), diagnostics=issues).to_text()
    assert "problem 2 (recording-issue)\n… and 6 others (recording-issue)\n" in text
    assert "problem 3" not in text


def without_markup(markup: str) -> str:
    return pooled(unescape(re.sub("<[^>]+>", " ", markup)))


def test_the_pages_show_each_limit_once_with_its_mark() -> None:
    analysis = sample_analysis("failing-requests-macos27")
    shown = sections(analysis, Extras())
    text = without_markup("".join(shown.values()))
    for issue in analysis.issues:
        assert text.count(pooled(issue.message)) == 1, issue.code
    assert "UNKNOWN [2]" in without_markup(shown["windows"])
    assert "[2] error: 3 of 10 requests" in without_markup(shown["windows"])
    assert "110 ms [4][5]" in without_markup(shown["engines"])
    columns = {column["head"]: column for column in view_of(analysis).header["windows"]["columns"]}
    rows = {"3": " [2]", "7": " [2]", "8": " [2]"}
    assert columns["Verdict"]["marks"] == {"head": " [3]", "rows": rows}  # of the page's own table
    assert columns["ANE busy"]["marks"]["head"] == " [4][5]"


def test_the_ticket_and_the_notebook_mark_their_tables() -> None:
    analysis = sample_analysis("concurrent-models-ios27")
    ticket = analysis.to_markdown()
    assert r"| ANE | 185 ms \[1\] |" in ticket
    assert ticket.index(r"185 ms \[1\]") < ticket.index(r"- \[1\] warning: 4 of 18")
    notebook = without_markup(unescape(analysis._repr_html_()))
    assert "ANE busy [2]" in notebook
    assert notebook.index("ANE busy [2]") < notebook.index("[2] warning: 4 of 18")
