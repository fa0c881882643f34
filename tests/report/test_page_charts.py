"""Joined stacks, the time-ordered chart, arrows, and the flame graph of both sides of a comparison in a browser."""

from __future__ import annotations

from typing import Any

from browser_support import barriers
from page_support import chosen, settled
from sample_recordings import sample_analysis
from test_pages_of_recordings import shown

from tracekit import compare
from tracekit.report.html import compare_page, page

FALLBACK = "fallback-midway-ios27"
CALL_8 = "#t=340000000-400000000&pick=call.8"


def picture(tab: Any, selector: str) -> str:
    canvas: str = settled(tab).locator(selector).first.evaluate("canvas => canvas.toDataURL()")
    return canvas


def test_workers_are_joined_and_stacks_are_shown_in_order_of_time(opened: Any, axe: Any) -> None:
    text = page.to_html(sample_analysis(FALLBACK))
    tab = shown(opened, text, fragment="#stacks=system")
    note = tab.locator("#flame .flame > .note")
    apart = picture(tab, "#flame .flame canvas")
    join = tab.locator("#flame").get_by_role("button", name="Join workers to calls")
    join.click()
    assert picture(tab, "#flame .flame canvas") != apart
    assert "joined=1" in chosen(tab)
    assert "in all" in note.inner_text()

    tab.get_by_role("button", name="Time order").click()
    lanes = settled(tab).locator("#flame .stack-lane")
    assert lanes.count() == 3
    assert not tab.locator("#flame .flame").is_visible()
    canvas = lanes.first.locator("canvas")
    assert "in order of time, 174 samples" in canvas.get_attribute("aria-label")
    canvas.focus()
    canvas.press("ArrowRight")
    assert "pick=sample" in chosen(tab)
    assert "SampleApp (0x5a3a)" in tab.locator("#status").inner_text()
    first = chosen(tab)
    canvas.press("ArrowRight")
    assert chosen(tab) != first
    hidden = canvas.evaluate("canvas => [canvas.height, canvas.toDataURL()]")
    tab.locator("#calltree").get_by_role("button", name="Hide system libraries").click()
    settled(tab)
    assert canvas.evaluate("canvas => [canvas.height, canvas.toDataURL()]") != hidden
    canvas.focus()
    canvas.press("w")
    assert "&t=" in chosen(tab).replace("#t=", "&t=")
    assert barriers(tab, axe) == []
    again = shown(opened, text, fragment=chosen(tab))
    assert settled(again).locator("#flame .stack-lane").count() == 3


def test_a_step_that_is_on_the_page_is_a_link_to_its_place(opened: Any) -> None:
    tab = settled(shown(opened, page.to_html(sample_analysis("waiting-app-ios27"))))
    finding = tab.locator(".finding", has_text="the app computes longer than the calls take")
    finding.get_by_role("link", name="See the functions in the flame graph").click()
    settled(tab)
    assert "pick=finding" in chosen(tab)
    canvas = tab.locator("#flame .flame canvas")
    assert 0 <= canvas.bounding_box()["y"] < tab.viewport_size["height"]
    assert "9 spans" in tab.locator("#inspector").inner_text()
    finding.get_by_role("link", name="Show in the timeline").click()
    settled(tab)
    assert 0 <= tab.locator(".timeline-scroll").bounding_box()["y"] < tab.viewport_size["height"]
    assert tab.get_by_text("tracekit report sample").locator("visible=true").count() == 0


def test_a_threads_lane_unfolds_into_its_stacks(opened: Any, axe: Any) -> None:
    text = page.to_html(sample_analysis(FALLBACK))
    tab = settled(shown(opened, text, fragment="#t=340000000-400000000"))
    lane = tab.locator(".timeline-labels .lane", has_text="SampleApp (0x5a3a)")
    button = lane.get_by_role("button", name="Stacks of SampleApp (0x5a3a)")
    assert (lane.bounding_box()["height"], button.get_attribute("aria-expanded")) == (32, "false")
    button.click()
    settled(tab)
    unfolded = lane.bounding_box()
    assert unfolded["height"] > 200
    assert button.get_attribute("aria-expanded") == "true"
    # The box of the deciding function lies where the timeline has its time, below the lane.
    pane = tab.locator(".timeline-pane").bounding_box()
    tab.mouse.move(pane["x"] + pane["width"] * 0.33, unfolded["y"] + 32 + 9)
    lines = tab.locator(".tooltip").inner_text().splitlines()
    assert lines[:2] == ["SampleApp (0x5a3a)", "start_wqthread"]
    assert "itself 0" in lines[2]
    assert barriers(tab, axe) == []
    again = settled(shown(opened, text, fragment=chosen(tab)))
    assert again.locator(".timeline-labels .lane", has_text="0x5a3a").bounding_box()["height"] > 200
    button = again.get_by_role("button", name="Stacks of SampleApp (0x5a3a)")
    button.click()
    assert settled(again).locator(".timeline-labels .lane", has_text="0x5a3a").bounding_box()["height"] == 32


def test_a_chosen_call_has_arrows_and_another_none_of_them(opened: Any) -> None:
    tab = shown(opened, page.to_html(sample_analysis(FALLBACK)), fragment=CALL_8)
    lanes = ".timeline-pane canvas"
    with_arrows = picture(tab, lanes)
    tab.locator("#inspector").get_by_role("button").first.click()  # closes it: nothing is chosen
    assert "pick=" not in chosen(tab)
    assert picture(tab, lanes) != with_arrows


def test_a_comparison_has_a_flame_graph_of_both_sides(opened: Any, axe: Any) -> None:
    base, new = sample_analysis(FALLBACK), sample_analysis("concurrent-models-ios27")
    tab = shown(opened, compare_page.to_html(compare([base], [new]), base, new))
    tab.locator("#difference summary").click()
    canvas = settled(tab).locator("#difference canvas")
    note = tab.locator("#difference .difference > .note")
    assert "BASE 20.0 ms per call, NEW 7.43 ms per call." in note.inner_text()
    both = picture(tab, "#difference canvas")
    tab.locator("#difference").get_by_label("Width").select_option("NEW")
    assert "is in paths of BASE only" in note.inner_text()
    assert picture(tab, "#difference canvas") != both
    canvas.focus()
    canvas.press("ArrowDown")
    assert note.inner_text().startswith("start_wqthread · libsystem_pthread.dylib · BASE")
    assert note.inner_text().endswith("Not tested.")
    canvas.press("ArrowDown")
    canvas.press("Enter")
    assert tab.get_by_role("button", name="Whole tree").is_enabled()
    assert barriers(tab, axe) == []
