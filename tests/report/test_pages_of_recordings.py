"""Pages that the commands write from real analyses, in a browser: no request, no failure, nothing missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from page_support import settled
from sample_recordings import sample_analysis
from thread_support import ELSEWHERE, ON_ANE, Thread, text_trace

import tracekit
from tracekit import compare
from tracekit.report.html import compare_page, page
from tracekit.report.viewmodel.view import Extras

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e=cmd()|\x00\x1b[2J"


def shown(opened: Any, text: str, **options: Any) -> Any:
    tab = opened(text=text, **options)
    tab.wait_for_selector("html[data-ready]", timeout=20_000)
    return tab


@pytest.mark.parametrize("name", sorted(path.parent.name for path in SAMPLES.glob("*/truth.json")))
def test_every_sample_recording_has_a_page_that_starts(opened: Any, name: str) -> None:
    analysis = sample_analysis(name)
    tab = shown(opened, page.to_html(analysis))
    assert analysis.headline.split(":")[0][:60] in tab.locator("#verdict").inner_text()
    assert (
        f"{len(analysis.trace.samples):,} of {len(analysis.trace.samples):,} samples"
        in tab.locator("#toolbar").inner_text()
    )


def test_a_report_ends_soon_and_its_details_open(opened: Any) -> None:
    tab = shown(opened, page.to_html(sample_analysis("waiting-app-ios27")))
    tab.set_viewport_size({"width": 1440, "height": 900})
    assert tab.locator("#calltree").bounding_box()["y"] < 5_000
    assert tab.evaluate("document.documentElement.scrollHeight") < 6_000
    assert not tab.locator("#inspector").is_visible()
    frames = tab.locator("#stacks .live-only > ol > li").first
    assert not frames.is_visible()
    tab.get_by_role("heading", name="Heaviest stacks").click()
    assert frames.is_visible()
    tab.emulate_media(media="print")
    assert tab.locator("#evidence table").first.evaluate("e => e.getBoundingClientRect().height") > 0


def test_limits_are_marked_in_the_table_and_noted_below_it(opened: Any) -> None:
    tab = shown(opened, page.to_html(sample_analysis("failing-requests-macos27")))
    rows = tab.locator("#windows-live tbody tr")
    texts = [rows.nth(row).locator("td").nth(5).inner_text().split() for row in (2, 3)]
    assert texts == [["ANE", "a"], ["UNKNOWN", "b", "[2]"]]
    assert "Engine [3]" in tab.locator("#windows-live thead").inner_text()
    note = tab.locator("#windows .limits li", has_text="[2] error: 3 of 10 requests")
    assert note.bounding_box()["y"] > rows.last.bounding_box()["y"]


def test_a_finding_selects_its_calls_and_gives_its_command(opened: Any) -> None:
    text = page.to_html(sample_analysis("fallback-midway-ios27"))
    tab = shown(opened, text)
    item = tab.locator(".finding", has_text="SpeechEncoder left the Neural Engine after its 6th call")
    assert item.locator(".severity").inner_text() == "!"
    link = item.get_by_role("link")
    link.click()
    settled(tab)
    assert tab.locator("#windows-live tr.inside").count() == 6
    assert "chosen" in item.get_attribute("class")
    again = shown(opened, text, fragment=link.get_attribute("href"))  # the link is an address of its own
    assert settled(again).locator("#windows-live tr.inside").count() == 6
    copy = item.get_by_role("button", name="Copy the command")
    copy.first.click()
    settled(tab)
    assert copy.first.inner_text() in ("Copied", "Selected")  # as the browser permits


def test_a_recording_without_samples_and_without_windows_has_a_remark(opened: Any) -> None:
    trace = tracekit.open_trace(SAMPLES / "ane-intervals-macos26")
    nothing = replace(
        trace, samples=trace.samples[:0], intervals=trace.intervals[:0], signposts=trace.signposts[:0]
    )
    tab = shown(opened, page.to_html(tracekit.analyze(nothing)))
    assert "No sample has a stack." in tab.locator("#stacks").inner_text()
    assert "no samples" in tab.locator("#toolbar").inner_text()


def test_hostile_names_are_text(opened: Any) -> None:
    trace = tracekit.open_trace(SAMPLES / "fallback-midway-ios27")
    frames = trace.stacks.frames.assign(symbol=HOSTILE + trace.stacks.frames["symbol"].astype("str"))
    threads = trace.threads.assign(name=HOSTILE, process=HOSTILE)
    info = replace(trace.info, name=HOSTILE, process=HOSTILE, template=HOSTILE)
    hostile = replace(trace, stacks=replace(trace.stacks, frames=frames), threads=threads, info=info)
    tab = shown(
        opened,
        page.to_html(
            tracekit.analyze(hostile), Extras(HOSTILE, HOSTILE, f"javascript:{HOSTILE}", (HOSTILE,))
        ),
    )
    assert tab.locator("img").count() == 0
    assert "</script><img src=x onerror=alert(1)>" in tab.locator("h1").inner_text()
    assert tab.locator("a[href^=javascript]").count() == 0


def test_without_javascript_the_report_is_read_all_the_same(opened: Any) -> None:
    tab = opened(text=page.to_html(sample_analysis("fallback-midway-ios27")), java_script_enabled=False)
    assert tab.locator("#timeline-static svg").is_visible()
    assert tab.locator("#windows-static tbody tr").count() == 12
    assert "tracekit record --app SampleApp" in tab.locator("#findings .command").first.inner_text()
    assert "BNNSGraphContextExecute_v2" in (tab.locator("#stacks").text_content() or "")


def test_a_comparison_shows_both_timelines_which_move_together(opened: Any) -> None:
    base, new = sample_analysis("ane-intervals-macos26"), sample_analysis("fallback-midway-ios27")
    tab = shown(opened, compare_page.to_html(compare([base], [new]), base, new))
    assert not tab.locator("#timeline-base").is_visible()
    tab.locator("#timelines summary").first.click()
    assert (
        tab.locator("canvas[role=img]").count() == 5
    )  # an overview and lanes each, and the flame graph of both
    assert not tab.locator("#timeline-base svg").first.is_visible()
    before = [tab.locator(f"#timeline-{side} canvas.axis").screenshot() for side in ("base", "new")]
    tab.locator("#timeline-base .timeline-scroll").focus()
    tab.keyboard.press("w")
    settled(tab)
    after = [tab.locator(f"#timeline-{side} canvas.axis").screenshot() for side in ("base", "new")]
    assert before[0] != after[0] and before[1] != after[1]
    tab.locator("#timeline-new select").select_option("3")
    settled(tab)
    moved = [tab.locator(f"#timeline-{side} canvas.axis").screenshot() for side in ("base", "new")]
    assert moved[0] == after[0] and moved[1] != after[1]


def test_the_chart_of_differences_fits_a_phone_without_javascript(opened: Any) -> None:
    base, new = sample_analysis("fallback-midway-ios27"), sample_analysis("concurrent-models-ios27")
    text = compare_page.to_html(compare([base], [new]), base, new)
    tab = opened(text=text, java_script_enabled=False, viewport={"width": 390, "height": 844})
    line = tab.locator("#charts .forest li").first
    assert "longer, worse" in tab.locator("#charts figcaption").first.inner_text()
    assert "worse in these recordings: +14.6 % (+0.2 … +31.1)" in line.inner_text()
    dot, low, high = (line.locator(shape).first.bounding_box() for shape in ("circle", "line", "svg"))
    assert (
        dot["width"] == pytest.approx(dot["height"], abs=0.01)
        and low["x"] < dot["x"] < high["x"] + high["width"] <= 390
    )
    assert tab.locator("#charts").evaluate("section => section.scrollWidth <= section.clientWidth")


def test_written_pages_are_accessible(opened: Any, axe: str) -> None:
    base, new = sample_analysis("counters-bnns-macos15"), sample_analysis("fallback-midway-ios27")
    for text in (
        page.to_html(new),
        page.to_html(base),
        compare_page.to_html(compare([base], [new]), base, new),
    ):
        assert barriers(shown(opened, text), axe) == []


def test_a_page_without_times_has_threads_a_call_tree_and_a_filter(opened: Any, axe: str) -> None:
    analysis = tracekit.analyze(
        text_trace(Thread("Main", ON_ANE, 413), Thread("Other", ELSEWHERE, 1000), kind="sample")
    )
    tab = shown(opened, page.to_html(analysis), viewport={"width": 390, "height": 844})
    assert tab.locator("#timeline, #windows, #latency, #inspector, #notes").count() == 0
    assert tab.locator("#toolbar .controls button").all_inner_texts() == ["?"]
    assert "1,413 of 1,413 samples" in tab.locator("#toolbar").inner_text()
    tab.locator("#toolbar input").fill("engine:ane")
    tab.locator("#toolbar", has_text="413 of 1,413 samples").wait_for()
    assert "413 samples" in tab.locator("#calltree").inner_text()
    assert barriers(tab, axe) == []
