"""Identifiers: stable names of calls, findings, limits, models and tables, and the detail of each."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
from evidence_support import prediction, with_evidence
from trace_support import CALL, trace_of
from view_support import ROOT

import tracekit
from tracekit import Analysis, analyze
from tracekit.errors import UsageError
from tracekit.report.brief import to_brief
from tracekit.report.document.text_printer import print_text
from tracekit.report.identified_document import build_identified
from tracekit.report.identifiers import (
    _find_models,
    find_call,
    find_identified,
    name_call,
    name_findings,
    write_name,
)


@cache
def waiting() -> Analysis:
    return tracekit.analyze(tracekit.open_trace(ROOT / "sample_traces" / "waiting-app-ios27"))


def calls_of(*models: str) -> Analysis:
    rows = [prediction(20.0 * number, 20.0 * number + 10, model) for number, model in enumerate(models)]
    return analyze(with_evidence(trace_of([(0.0, "a", CALL)]), rows))


def show(identifier: str, analysis: Analysis | None = None) -> str:
    analysis = analysis or waiting()
    return print_text(build_identified(analysis, find_identified(analysis, identifier), "x/App.trace"))


def test_every_call_is_found_by_its_name() -> None:
    analysis = calls_of("Net", "A/B", "Net", "ignore: this\n", "Net")
    for row in range(len(analysis.window_rows)):
        assert find_call(analysis, name_call(analysis, row).removeprefix("call:")) == row
    assert find_call(analysis, "ignore: this\\n/1") == 3


def test_a_number_alone_names_a_call_where_one_model_has_calls() -> None:
    assert find_call(calls_of("Net", "Net"), "/2") == 1
    with pytest.raises(UsageError, match="Several models have a call 1: write MODEL/1, of 'Net', 'Other'"):
        find_call(calls_of("Net", "Other"), "/1")


HOSTILE = [
    "ignore: this\n",
    "\x1b[31mred",
    "\u202eabc",
    "x" * 10_000,
    "a'b\"c",
    "A/2",
    "/",
    "call:Net/1",
    " ",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_brief_prints_can_be_pasted_back(name: str) -> None:
    analysis = calls_of("Net", name, name, name)
    rows = dict.fromkeys(
        re.findall(r"\(((?:call|model|limit|finding):.*)\)$", to_brief(analysis), re.MULTILINE)
    )
    assert f"model:{write_name(name)}" in rows
    for identifier in (*rows, f"call:{write_name(name)}/2"):
        text = print_text(build_identified(analysis, find_identified(analysis, identifier)))
        assert not {"\x1b", "\u202e"} & set(text)
        assert max(map(len, text.splitlines())) < 200


def test_a_range_is_found_by_what_its_list_prints() -> None:
    trace = tracekit.open_trace(ROOT / "sample_traces" / "waiting-app-ios27")
    analysis = tracekit.analyze(trace, windows=["0ms-300ms", "300ms-700ms"])
    assert name_call(analysis, 1) == "call:ranges/2"
    assert find_identified(analysis, "call:ranges/2").position == 1
    assert "call:ranges/2" in show("model:ranges", analysis)


def test_a_model_of_two_processes_is_found_by_either_name() -> None:
    """One is named as the other and its process: neither is named twice."""
    analysis = calls_of("Net", "Net")
    model = analysis.call_models[0]
    names = ("Net", "Net (process 7)")
    unnamed = SimpleNamespace(call_models=[replace(model, model=""), model])
    assert _find_models(unnamed, ("", "Net"), "") == [0]  # type: ignore[arg-type]
    assert _find_models(unnamed, ("predict()", "Net"), "") == [0, 1]  # type: ignore[arg-type]
    both = SimpleNamespace(call_models=[model, replace(model, pid=7)])
    assert [_find_models(both, names, name) for name in names] == [[0], [1]]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("call:Net/9", "'Net' has no call 9: its calls are 1 to 2"),
        ("call:Net/0", "'Net' has no call 0"),
        ("call:Net/99999999999999", "names no call"),
        ("call:Nope/1", "No model 'Nope' has calls here. Models with calls: 'Net'"),
        ("call:", "names no call"),
        ("finding:fell-back", "This recording has no 'finding:fell-back'"),
        ("table:../../etc/passwd", "This recording has no 'table:../../etc/passwd'"),
        ("nonsense", "is no identifier: one begins with call:, finding:"),
    ],
)
def test_an_unknown_identifier_is_a_sentence(identifier: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        find_identified(calls_of("Net", "Net"), identifier)


def test_findings_of_one_kind_are_numbered() -> None:
    names = name_findings(waiting())
    assert len(set(names)) == len(names)
    assert "finding:gaps-in-calls" in names


def test_each_identifier_leads_to_its_detail() -> None:
    for identifier in name_findings(waiting()):
        assert identifier.removeprefix("finding:").split("/")[0] in show(identifier)
    call = show("call:Segmenter/4")
    assert "Call 4 of Segmenter took 24.9 ms, the typical call 17.9 ms: it is 7.00 ms" in call
    assert "other work on engine    6.17 ms" in call
    assert "6 × ANE" in show("model:Tagger")
    assert "tracekit explain ane-work-of-others" in show("limit:ane-work-of-others")
    assert "tracekit tables x/App.trace --schema ane-hw-intervals" in show("table:ane-hw-intervals")


def test_a_call_without_a_typical_one_has_its_parts() -> None:
    text = show("call:Net/1", calls_of("Net", "Net"))
    assert "typical" not in text
    assert "Length     10.0 ms" in text
