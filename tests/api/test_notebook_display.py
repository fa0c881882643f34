"""What a notebook shows: the head of the report in a frame that runs nothing, and the timeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tracekit
from tracekit import Analysis
from tracekit.report.pictures import figure

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'</iframe>\x1b[31m"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return tracekit.analyze(tracekit.open_trace(SAMPLES / "fallback-midway-ios27"))


@pytest.fixture(scope="module")
def hostile() -> Analysis:
    trace = tracekit.open_trace(SAMPLES / "fallback-midway-ios27")
    names = pd.Series([HOSTILE] * len(trace.threads), dtype="str")
    info = replace(trace.info, name=HOSTILE, device=HOSTILE)
    analyzed = tracekit.analyze(replace(trace, info=info, threads=trace.threads.assign(name=names)))
    labels = pd.Series([HOSTILE] * len(analyzed.window_rows), dtype="str")
    return replace(analyzed, window_rows=analyzed.window_rows.assign(label=labels, model=labels))


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(text: str) -> _Elements:
    parser = _Elements()
    parser.feed(text)
    return parser


def inner_page(text: str) -> _Elements:
    """Return the elements of the page inside the frame; nothing else may stand outside of it."""
    outer = parsed(text)
    assert [tag for tag, _ in outer.elements] == ["iframe"]
    attributes = outer.elements[0][1]
    assert attributes["sandbox"] in ("", None)  # no permission at all
    assert attributes["srcdoc"] is not None
    return parsed(attributes["srcdoc"])


def shown(analysis: Analysis) -> Iterator[str]:
    yield analysis.trace._repr_html_()
    yield analysis._repr_html_()
    yield tracekit.compare(analysis, analysis)._repr_html_()


def test_the_head_of_the_report_is_shown(analysis: Analysis) -> None:
    page = inner_page(analysis._repr_html_())
    assert analysis.headline in page.text
    assert page.text.count("SpeechEncoder") >= 13  # 12 calls and the headline
    for finding in analysis.to_frame("findings").to_dict("records")[:5]:
        assert finding["title"] in page.text
        assert finding["next"] in page.text
    for issue in analysis.issues:
        assert issue.message in page.text


def test_hostile_names_are_text(hostile: Analysis) -> None:
    for text in shown(hostile):
        page = inner_page(text)
        assert "<script>alert(1)</script>" in page.text
        tags = {tag for tag, _ in page.elements}
        assert not tags & {"script", "img", "iframe", "object", "embed", "link", "form", "a"}
        for _, attributes in page.elements:
            assert not any(name.startswith("on") for name in attributes)
        assert "\x1b" not in text


def test_hostile_names_stay_on_one_line(hostile: Analysis) -> None:
    for text in (repr(hostile), repr(hostile.trace), repr(tracekit.compare(hostile, hostile))):
        assert "\x1b" not in text
        assert "\n" not in text


def test_at_most_twenty_windows_are_listed(analysis: Analysis) -> None:
    many = tracekit.analyze(
        analysis.trace,
        windows=[tracekit.analysis.parse_window(f"{start}-{start + 1}ms") for start in range(50)],
    )
    page = inner_page(many._repr_html_())
    assert "… and 30 more" in page.text


def test_a_recording_without_windows_is_shown(analysis: Analysis) -> None:
    inner_page(tracekit.analyze(analysis.trace, windows=[])._repr_html_())


def test_the_timeline_has_windows_and_busy_intervals(analysis: Analysis) -> None:
    drawn = analysis.timeline()
    lanes = {lane for bars in drawn.data for lane in bars.y}
    assert "ANE busy" in lanes
    windows = [bars for bars in drawn.data if not bars.y[0].endswith(" busy")]
    assert sum(len(bars.x) for bars in windows) == len(analysis.window_rows)
    starts = sorted(start for bars in windows for start in bars.base)
    assert starts == sorted((analysis.window_rows["start_ns"] / 1e6).tolist())


def test_the_timeline_escapes_names(hostile: Analysis) -> None:
    drawn = hostile.timeline()
    texts = [drawn.layout.title.text, *(text for bars in drawn.data for text in bars.hovertext)]
    texts += [lane for bars in drawn.data for lane in bars.y]
    assert not any("<" in text for text in texts)


def test_the_timeline_draws_a_bounded_number_of_bars(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figure, "MOST_MARKS", 3)
    drawn = analysis.timeline()
    assert max(len(bars.x) for bars in drawn.data) == 3
    longest = max((analysis.window_rows["end_ns"] - analysis.window_rows["start_ns"]) / 1e6)
    assert np.isclose(max(length for bars in drawn.data for length in bars.x), longest)


def test_a_timeline_without_anything_to_draw(analysis: Analysis) -> None:
    trace = replace(analysis.trace, intervals=analysis.trace.intervals[:0])
    assert len(tracekit.analyze(trace, windows=[]).timeline().data) == 0
