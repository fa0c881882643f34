"""Several analyses side by side: a column each in order of time, changes against the first, nothing tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_library import recording
from sample_recordings import sample_analysis

import tracekit
from tracekit_dashboard.library.page_measures import MEASURES, build_measures_document, read_measures
from tracekit_dashboard.pages import trend

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"


def texts(node: Any) -> list[str]:
    """The texts of a page's elements, in order."""
    if isinstance(node, str):
        return [node]
    children = getattr(node, "children", None) or []
    listed = children if isinstance(children, (list, tuple)) else [children]
    return [text for child in listed if child is not None for text in texts(child)]


def column(number: int, measures: Any, **more: Any) -> trend.TrendColumn:
    letter = "abcdef"[number]
    options = more.pop("options", "")
    return trend.TrendColumn(recording(letter * 32, name=letter.upper(), **more), options, measures)


def test_changes_are_against_the_first_and_zeros_and_gaps_are_named() -> None:
    first = {
        "": {
            "calls": ("calls", 12.0, ""),
            "p50": ("ns", 20e6, ""),
            "ANE share": ("share", 1.0, ""),
            "x": ("ns", 0.0, ""),
        }
    }
    second = {
        "": {"calls": ("calls", 90_000.0, ""), "p50": ("ns", 22e6, ""), "ANE share": ("share", 0.25, "")}
    }
    third = {"": {"p50": ("ns", 20e6, ""), "CPU busy": ("ns", 5e6, "")}}
    shown = texts(
        trend.build_page([column(0, first), column(1, second, options="window 1ms-2ms"), column(2, third)])
    )
    rows = " ".join(shown)
    assert "p50 20.0 ms 22.0 ms +10.0 % 20.0 ms the same" in rows
    assert "ANE share 100 % 25 % -75.0 pts not measured" in rows
    assert "CPU busy not measured not measured 5.00 ms" in rows
    assert "calls 12 90,000 +89,988 not measured" in rows
    assert "window 1ms-2ms" in shown and "Calls without a model" in shown and shown.count("BASE") == 1
    assert "x" not in shown  # 0 everywhere
    assert "not tested" in rows


def test_lengths_of_other_calls_and_of_another_basis_are_not_compared() -> None:
    base = {"M": {"p50": ("ns", 20e6, "measured, calls from a")}}
    new = {"M": {"p50": ("ns", 30e6, "measured, calls from b")}}
    shown = " ".join(texts(trend.build_page([column(0, base), column(1, new)])))
    assert "p50 20.0 ms 30.0 ms measured, calls from b: not comparable" in shown and "+50" not in shown


def test_models_are_never_one_number() -> None:
    alone = {"": {"p50": ("ns", 26e6, "")}, "Encoder": {"p50": ("ns", 26e6, "")}}
    both = {
        "": {"p50": ("ns", 25e6, "")},
        "Encoder": {"p50": ("ns", 31e6, "")},
        "Detector": {"p50": ("ns", 24e6, "")},
    }
    unnamed = {"": {"p50": ("ns", 9e6, "")}}
    shown = " ".join(texts(trend.build_page([column(0, alone), column(1, both), column(2, unnamed)])))
    assert "25.0 ms" not in shown
    assert "p50 26.0 ms 31.0 ms +19.2 % no call" in shown and "p50 no call 24.0 ms no call" in shown
    assert shown.index("Calls without a model") < shown.index("p50 9.00 ms") < shown.index("Model Encoder")


def test_what_cannot_be_shown_is_named() -> None:
    rows = " ".join(texts(trend.build_page([column(0, None), column(1, {"": {"p50": ("ns", 1.0, "")}})])))
    assert (
        "Not shown, because they have no calls, are not ready, or were read by an earlier version: A." in rows
    )
    assert "Two analyses with calls are needed" in rows


def test_the_numbers_are_those_of_a_comparison(tmp_path: Path) -> None:
    analysis = sample_analysis("concurrent-models-ios27")
    (tmp_path / MEASURES).write_bytes(b"".join(build_measures_document(analysis)))
    measures = read_measures(tmp_path)
    assert measures is not None and list(measures) == ["", "Detector", "SpeechEncoder"]
    compared = tracekit.compare(analysis, sample_analysis("fallback-midway-ios27"))
    group = next(
        g for g in compared.groups if ("model", "SpeechEncoder", "") in ((g.kind, g.name, g.source), *g.also)
    )
    for metric in ("p50", "warm p50", "ANE share", "ANE busy"):
        row = group.row(metric)
        assert row is not None
        assert measures["SpeechEncoder"][metric][:2] == (row.unit, pytest.approx(row.base.value))
    assert measures[""]["p50"][2] == "measured, calls from coreml-os-signpost"
    for content in ("[]", "{", json.dumps({"": {"p50": 1}})):
        (tmp_path / MEASURES).write_text(content)
        assert read_measures(tmp_path) is None
