"""The recording's page leaves its room to the lanes: heights at usual sizes of a window."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from dashboard_support import SAMPLES, Serve, Served, opened

MANY_LANES = SAMPLES / "concurrent-engines-macos27"

_LANES_IN_SIGHT = """() => {
  const pane = document.querySelector(".timeline-scroll").getBoundingClientRect();
  const isInSight = (lane) => lane.top >= pane.top && lane.bottom <= Math.min(pane.bottom, innerHeight);
  const lanes = [...document.querySelectorAll(".timeline-labels .lane")];
  return lanes.filter((lane) => isInSight(lane.getBoundingClientRect())).length;
}"""
_IS_SCROLLED = "(pane => pane.scrollHeight > pane.clientHeight)(document.querySelector('.timeline-scroll'))"


@pytest.fixture
def many_lanes(serve: Serve) -> Iterator[Served]:
    yield serve(MANY_LANES)


@pytest.fixture
def waiting(serve: Serve) -> Iterator[Served]:
    yield serve(SAMPLES / "waiting-app-ios27")


def show(tab: Any, address: str, width: int, height: int) -> None:
    tab.set_viewport_size({"width": width, "height": height})
    opened(tab, address)


def height_of(tab: Any, selector: str) -> float:
    return float(tab.locator(selector).bounding_box()["height"])


def test_a_laptop_s_window_shows_380_pixels_of_lanes(many_lanes: Served, tab: Any) -> None:
    show(tab, many_lanes.address, 1440, 900)
    assert height_of(tab, ".workbench header") == 40
    assert height_of(tab, "#headline") < 30  # one line
    assert tab.evaluate(_IS_SCROLLED)  # there are more lanes than room
    assert height_of(tab, ".timeline-scroll") >= 380
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_tab_of_calls_opens_with_twenty_rows_in_sight(waiting: Served, tab: Any) -> None:
    show(tab, waiting.address, 1440, 900)
    assert height_of(tab, ".timeline-scroll") >= 300  # all of its lanes
    tab.get_by_role("tab", name="Calls").click()
    rows = tab.locator("#windows-live tbody tr")
    rows.first.wait_for()
    assert rows.first.bounding_box()["height"] == 20
    assert rows.nth(19).bounding_box()["y"] + 20 <= 900
    assert height_of(tab, ".timeline-scroll") >= 230
    tab.get_by_role("button", name="Segmenter 4, ").click()
    tab.locator("#inspector.has-content").wait_for()
    assert rows.nth(19).bounding_box()["y"] + 20 <= 900


def test_a_double_click_on_the_edge_gives_the_tabs_the_room_and_back(waiting: Served, tab: Any) -> None:
    show(tab, waiting.address, 1440, 900)
    share = height_of(tab, ".bench-upper")
    edge = tab.get_by_role("separator", name="Height of the timeline")
    edge.dblclick()
    assert height_of(tab, ".bench-upper") < share / 2
    edge.dblclick()
    assert height_of(tab, ".bench-upper") == share


def test_a_small_window_shows_six_lanes(fallback: Served, tab: Any) -> None:
    show(tab, fallback.address, 1024, 768)
    assert height_of(tab, ".workbench header") == 40
    assert tab.evaluate(_LANES_IN_SIGHT) >= 6
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_phone_shows_the_whole_headline_and_the_first_lane_in_the_upper_third(
    fallback: Served, tab: Any
) -> None:
    show(tab, fallback.address, 390, 844)
    assert tab.locator(".timeline-labels .lane").first.bounding_box()["y"] < 300
    assert tab.locator("#verdict p").first.evaluate("text => text.scrollHeight <= text.clientHeight")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1024, 768), (1440, 900), (2560, 1440)])
def test_the_row_of_a_slow_call_shows_the_part_that_grew(
    waiting: Served, tab: Any, width: int, height: int
) -> None:
    show(tab, waiting.address, width, height)
    tab.get_by_role("tab", name="Calls").click()
    cell = tab.locator("#windows-live tbody td").filter(has_text="+6.17 ms other work on engine")
    box = cell.bounding_box()
    assert box["x"] + box["width"] <= width
    assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")


def test_a_phone_shows_the_numbers_of_threads(waiting: Served, tab: Any) -> None:
    show(tab, waiting.address, 390, 844)
    names = tab.locator(".timeline-labels .thread > span:first-child")
    assert names.all_inner_texts()[:3] == ["…(0x5a3a)", "…(0x5a1d)", "…(0x5a57)"]
    assert names.evaluate_all("names => names.every(name => name.scrollHeight <= name.clientHeight)")


@pytest.mark.parametrize("width", [900, 1024, 1200, 1440, 1600, 1920, 2560])
def test_nothing_of_the_bar_lies_over_another_part_of_it(waiting: Served, tab: Any, width: int) -> None:
    show(tab, waiting.address, width, 900)
    parts = tab.locator(".workbench header > *:visible, .site a:visible, .site .brand:visible")
    boxes = sorted(
        parts.evaluate_all("parts => parts.map(part => part.getBoundingClientRect().toJSON())"),
        key=lambda box: box["left"],
    )
    assert len(boxes) >= 5
    assert all(left["right"] <= right["left"] for left, right in pairwise(boxes))


def test_the_timeline_is_no_higher_than_its_lanes(fallback: Served, tab: Any) -> None:
    show(tab, fallback.address, 1440, 2400)
    assert not tab.evaluate(_IS_SCROLLED)
    rows = height_of(tab, ".timeline-rows")
    assert height_of(tab, ".timeline-scroll") == pytest.approx(rows, abs=3)
    lower, upper = tab.locator(".bench-lower").bounding_box(), tab.locator(".timeline-scroll").bounding_box()
    assert lower["y"] - upper["y"] - upper["height"] < 12


def test_the_inspector_takes_width_only_while_something_is_chosen(fallback: Served, tab: Any) -> None:
    show(tab, fallback.address, 1440, 900)
    assert tab.locator(".bench-main").bounding_box()["width"] == 1440
    tab.keyboard.press("]")
    inspector = tab.locator("#inspector")
    inspector.wait_for()
    assert tab.locator(".bench-main").bounding_box()["width"] < 1200
    # A tooltip near the inspector's edge stays off it.
    pane = tab.locator(".timeline-pane").bounding_box()
    tab.mouse.move(pane["x"] + pane["width"] * 0.9, pane["y"] + 34)
    tooltip = tab.locator(".tooltip")
    tooltip.wait_for()
    box = tooltip.bounding_box()
    assert box["x"] + box["width"] <= inspector.bounding_box()["x"]
    inspector.locator(".close").click()
    inspector.wait_for(state="hidden")
    assert tab.locator(".bench-main").bounding_box()["width"] == 1440


def test_the_headline_stands_once_and_unfolds(fallback: Served, tab: Any) -> None:
    show(tab, fallback.address, 1024, 768)
    sentence = tab.locator("#verdict p").first.inner_text()
    assert tab.locator("main, #headline").evaluate_all(
        "(parts, text) => parts.map((part) => part.innerText.split(text).length - 1)", sentence
    ) == [1, 0]
    tab.get_by_role("button", name="Unfold the headline").click()
    assert height_of(tab, "#headline") > 40
    tab.get_by_role("button", name="Fold the headline").click()
    assert height_of(tab, "#headline") < 30


def test_a_phone_shows_five_recordings_of_the_library(fallback: Served, tab: Any) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    opened(tab, fallback.base, "#library tbody tr")
    row = tab.locator("#library tbody tr")
    assert row.bounding_box()["height"] < 844 / 5
    assert row.locator("a").bounding_box()["y"] < row.locator(".state").bounding_box()["y"]
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
