"""Calls have one number and one name in every output: those of their model, from 1."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from typing import IO

import pytest
from evidence_support import prediction, with_evidence
from trace_support import CALL, UI, trace_of

import tracekit
from tracekit import Analysis, analyze
from tracekit.export.firefox import write_firefox
from tracekit.export.folded import write_folded
from tracekit.export.perfetto import write_perfetto
from tracekit.export.pprof import write_pprof
from tracekit.export.speedscope import write_speedscope
from tracekit.report.analysis.json import to_dict
from tracekit.report.checks.text import to_text as checks_to_text
from tracekit.report.wording import call_names

FROM_ZERO = re.compile(r"(?i)\b(?:call|window|range|prediction|inference)s? 0\b|(?<![&\w])#0\b")
NOTHING = [(0.0, "main", UI)]


def titles(analysis: Analysis) -> list[str]:
    names = call_names(analysis)
    return [names.title(row) for row in range(len(analysis.window_rows))]


def two_models() -> Analysis:
    rows = [
        prediction(1, 5, "Net"),
        prediction(2, 4, "Tag"),
        prediction(6, 9, "Net"),
        prediction(7, 8, "Tag"),
        prediction(10, 12, "Net"),
    ]
    return analyze(with_evidence(trace_of(NOTHING), rows))


def test_calls_are_counted_within_their_model() -> None:
    assert titles(two_models()) == [
        "call 1 of Net",
        "call 1 of Tag",
        "call 2 of Net",
        "call 2 of Tag",
        "call 3 of Net",
    ]


def test_the_number_stands_beside_the_id_in_json_and_frames() -> None:
    analysis = two_models()
    document = to_dict(analysis)["windows"]
    assert [(entry["id"], entry["call"]) for entry in document] == [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3)]
    assert analysis.windows["call"].tolist() == [1, 1, 2, 2, 3]


def test_calls_without_a_model_are_counted_by_function() -> None:
    samples = [(1.0, "main", CALL), (2.0, "main", UI), (30.0, "main", CALL), (31.0, "main", UI)]
    first, second = titles(analyze(trace_of(samples)))
    assert first.startswith("call 1 of -[MLModel prediction")
    assert second.startswith("call 2 of -[MLModel prediction")


def test_calls_of_one_function_at_the_same_time_are_counted_by_thread() -> None:
    samples = [(time, thread, CALL) for time in (1.0, 2.0, 3.0) for thread in ("a", "b")]
    names = titles(analyze(trace_of(samples)))
    assert len(set(names)) == 2
    assert all(name.startswith("call 1 of ") and "(thread 0x" in name for name in names)


@pytest.mark.parametrize(
    ("windows", "expected"),
    [(["1ms-3ms", "5ms-9ms"], ["range 1 (1ms-3ms)", "range 2 (5ms-9ms)"]), ("run", ["the whole run"])],
)
def test_ranges_of_the_user_are_no_calls(windows: list[str] | str, expected: list[str]) -> None:
    trace = with_evidence(trace_of([*NOTHING, (20.0, "main", UI)]), [prediction(1, 5, "Net")])
    analysis = analyze(trace, windows=windows)
    assert titles(analysis) == expected
    assert [entry["call"] for entry in to_dict(analysis)["windows"]] == [None] * len(expected)


@pytest.mark.parametrize(
    "write", [write_firefox, write_folded, write_perfetto, write_pprof, write_speedscope]
)
def test_no_export_counts_from_zero(write: Callable[[Analysis, IO[bytes]], None]) -> None:
    out = io.BytesIO()
    write(two_models(), out)
    content = out.getvalue()
    text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8", "replace")
    assert len(text) > 50
    assert not FROM_ZERO.search(text)


def test_no_text_for_people_counts_from_zero() -> None:
    analysis = two_models()
    results = tracekit.check(analysis, ["ANE used share == 100%", "max <= 1us"])
    page = re.sub(r"<script.*?</script>|<style.*?</style>", "", analysis.to_html(), flags=re.DOTALL)
    texts = [
        analysis.to_text(),
        analysis.to_markdown(),
        page,
        checks_to_text(results, "recording"),
        tracekit.compare(analysis, analysis).to_text(),
    ]
    assert any("1 of Net" in text for text in texts)
    for text in texts:
        assert not FROM_ZERO.search(text)
