"""The timeline in a real browser: notes, rows of overlapping intervals, scales, names, tooltips."""

from __future__ import annotations

from typing import Any

from browser_support import barriers
from page_support import Opened, chosen, finished, point_at, settled
from view_fixture import big_view, small_view

HOSTILE = "<img src=x onerror=alert(1)> \u202eevil"


def notes(tab: Any) -> list[str]:
    return settled(tab).locator(".notes-list li > span").all_inner_texts()


def write(tab: Any, text: str) -> None:
    tab.get_by_label("Text of the note").fill(text)
    tab.get_by_role("button", name="Save").click()


def test_notes_are_pinned_changed_deleted_and_in_the_link(opened: Opened, axe: str) -> None:
    tab = opened(fragment="#s=30000000-40000000")
    tab.keyboard.press("n")
    assert tab.get_by_role("dialog").get_by_role("heading").inner_text().startswith("Note at 30.0")
    write(tab, HOSTILE)
    tab.get_by_role("button", name="Clear selection").click()
    tab.get_by_role("button", name="Add note").click()
    write(tab, "in the middle")
    assert notes(tab) == ["<img src=x onerror=alert(1)> ‹202e›evil", "in the middle"]
    assert tab.locator(".timeline-labels .label", has_text="Notes").is_visible()
    tab.mouse.click(*point_at(tab, 51, "Notes"))
    tab.get_by_label("Text of the note").fill("changed")
    tab.keyboard.press("Enter")
    again = opened(fragment=chosen(tab))
    assert notes(again) == ["<img src=x onerror=alert(1)> ‹202e›evil", "changed"]
    again.mouse.move(*point_at(again, 51, "Notes"))
    assert "changed" in settled(again).locator(".tooltip").inner_text()
    assert barriers(again, axe) == []
    again.get_by_role("button", name="Delete the note at 50").click()
    assert len(notes(again)) == 1
    again.keyboard.press("w")
    finished(again)
    again.go_back()
    assert len(notes(again)) == 1  # going back undoes the zoom, not the notes
    assert "30000000" in finished(again).evaluate("decodeURIComponent(location.hash)")


def test_lanes_unfold_scale_and_name_what_they_hold(opened: Opened) -> None:
    tab = opened(big_view(rows=3000, nodes=300, windows=400))
    lane = tab.locator(".timeline-labels .lane", has_text="Segmenter")
    before = lane.bounding_box()["height"]
    tab.get_by_role("button", name="ANE: show").click()
    unfolded = tab.locator(".timeline-labels .lane", has_text="ANE").bounding_box()["height"]
    assert unfolded > before
    assert "rows=m0" in chosen(tab)
    fewer = tab.get_by_role("button", name="ANE: fewer rows")
    assert fewer.get_attribute("aria-expanded") == "true"
    fewer.click()
    tab.get_by_role("button", name="Same scale").click()
    assert chosen(tab) == "#scale=same"
    long = "com.example.framework.with.a.rather.long.name (0x1)"
    named = opened(small_view({"thread": long}))
    name = named.locator(".timeline-labels .thread").first
    assert name.locator("span").first.inner_text().endswith("(0x1)")
    assert long in name.get_attribute("title")
    assert "Camera" not in name.inner_text()
    assert "Camera" in named.locator(".timeline-labels .group", has_text="Threads").inner_text()


def test_no_tooltip_is_empty_or_in_the_way(opened: Opened) -> None:
    tab = opened(viewport={"width": 1200, "height": 500})
    tooltip = tab.locator(".tooltip")
    tab.mouse.move(*point_at(tab, 30, "Calls"))
    assert not settled(tab).locator(".tooltip").is_visible()
    place = point_at(tab, 14, "Detector")
    tab.mouse.move(*place)
    assert settled(tab).locator(".tooltip").is_visible()
    tab.evaluate("scrollBy(0, 30)")
    settled(tab)
    assert not tooltip.is_visible()
    place = point_at(tab, 54, "Detector")
    tab.mouse.move(*place)
    assert settled(tab).locator(".tooltip").is_visible()
    tab.mouse.down()
    tab.mouse.move(place[0] + 80, place[1], steps=3)
    settled(tab)
    assert not tooltip.is_visible()
    tab.mouse.up()


def test_colours_of_engines_are_for_engines(opened: Opened) -> None:
    tab = opened()
    bars = tab.locator("#latency .histogram rect")
    assert {bar.get_attribute("class") for bar in bars.all()} == {"of-ANE", "of-CPU"}
    assert tab.locator("#latency .histogram path.first").count() == 1
    assert "A ANE 5" in tab.locator("#latency .legend").inner_text()
    colour = tab.get_by_label("Colour by")
    assert colour.input_value() == "engine"
    assert opened(small_view(samples=False)).get_by_label("Colour by").input_value() == "binary"
    colour.select_option("binary")
    assert "colour=binary" in chosen(tab)
