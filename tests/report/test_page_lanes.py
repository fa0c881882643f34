"""The timeline's lanes in a real browser: pinned, moved and found, by mouse, by keys and by touch."""

from __future__ import annotations

from typing import Any

from browser_support import barriers
from page_support import Opened, chosen, drag, settled
from view_fixture import big_view

LANES = [
    "Detector",
    "ANE (ane-hw-intervals-internal)",
    "com.apple.main-thread",
    "worker",
    "app",
    "thermal state",
]

HIGH = {"width": 1200, "height": 1200}


def names(tab: Any) -> list[str]:
    """The lanes' names from top to bottom."""
    names = settled(tab).locator(".timeline-labels .lane .name")
    boxes = [(name.bounding_box()["y"], name.get_attribute("title").split("\n")[0]) for name in names.all()]
    return [name for _, name in sorted(boxes)]


def groups(tab: Any) -> list[str]:
    return settled(tab).locator(".timeline-labels .group > span:first-child").all_inner_texts()


def name_of(tab: Any, lane: str) -> Any:
    return tab.locator(".timeline-labels .lane .name", has=tab.get_by_text(lane, exact=True))


def many() -> bytes:
    return big_view(rows=3000, nodes=300, windows=10)


def test_a_lane_is_pinned_by_its_button_and_by_key(opened: Opened) -> None:
    tab = opened()
    assert names(tab) == LANES
    name_of(tab, "worker").hover()
    tab.get_by_role("button", name="Pin worker").click()
    assert names(tab) == ["worker", *(name for name in LANES if name != "worker")]
    assert groups(tab)[0] == "Pinned"
    pin = tab.get_by_role("button", name="Pin thermal state")
    pin.press("Enter")
    assert names(tab)[:3] == ["worker", "thermal state", "Detector"]
    assert pin.get_attribute("aria-pressed") == "true"
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "Pin thermal state"
    assert "pin=t1.k0" in chosen(tab)
    assert names(opened(fragment=chosen(tab))) == names(tab)
    pin.press("Space")
    assert names(tab)[:2] == ["worker", "Detector"]


def test_a_pin_is_seen_where_the_pointer_or_the_focus_is(opened: Opened) -> None:
    tab = opened()
    pin = tab.get_by_role("button", name="Pin worker")

    def opacity() -> float:
        return float(pin.evaluate("pin => getComputedStyle(pin).opacity"))

    assert opacity() == 0
    name_of(tab, "worker").hover()
    assert opacity() > 0.5
    tab.mouse.move(5, 5)
    name_of(tab, "worker").focus()
    assert opacity() > 0.5


def test_a_lane_is_moved_with_alt_and_arrows(opened: Opened) -> None:
    tab = opened(many())
    name_of(tab, "worker 3").press("Alt+ArrowUp")
    assert names(tab)[3:8] == ["worker 0", "worker 1", "worker 3", "worker 2", "worker 4"]
    assert tab.evaluate("document.activeElement.textContent").startswith("worker 3")
    for _ in range(2):
        tab.keyboard.press("Alt+ArrowUp")
    announcement = tab.locator(".lane-finder [role=status]")
    assert names(tab)[3:7] == ["worker 3", "worker 0", "worker 1", "worker 2"]
    assert announcement.inner_text() == "worker 3: position 1 of 12"
    tab.keyboard.press("Alt+ArrowUp")
    assert names(tab)[3:7] == ["worker 3", "worker 0", "worker 1", "worker 2"]
    assert announcement.inner_text() == "worker 3 is already the first of its group."
    tab.get_by_role("button", name="Pin ANE").press("Alt+ArrowDown")
    assert names(tab)[1:3] == ["GPU", "ANE"]
    assert "order=t3.m1" in chosen(tab)
    assert names(opened(many(), fragment=chosen(tab))) == names(tab)


def test_a_lane_is_dragged_by_its_name_and_not_selected_by_that(opened: Opened) -> None:
    tab = opened(many(), viewport=HIGH)
    start, end = name_of(tab, "worker 1").bounding_box(), name_of(tab, "worker 4").bounding_box()
    drag(tab, (start["x"] + 30, start["y"] + 9), (end["x"] + 30, end["y"] + end["height"] - 4))
    assert names(tab)[3:9] == ["worker 0", "worker 2", "worker 3", "worker 4", "worker 1", "worker 5"]
    assert tab.locator(".timeline-labels .thread[aria-pressed=true]").count() == 0
    start, end = name_of(tab, "worker 5").bounding_box(), name_of(tab, "ANE").bounding_box()
    drag(tab, (start["x"] + 30, start["y"] + 9), (end["x"] + 30, end["y"] + 4))
    assert names(tab)[1:5] == ["ANE", "GPU", "worker 5", "worker 0"]  # it stays in its group
    name_of(tab, "worker 5").click()
    assert tab.locator(".timeline-labels .thread[aria-pressed=true]").count() == 1


def test_escape_and_a_short_way_leave_a_dragged_lane_where_it_was(opened: Opened) -> None:
    tab = opened(many(), viewport=HIGH)
    box = name_of(tab, "worker 2").bounding_box()
    name_of(tab, "worker 2").focus()
    tab.mouse.move(box["x"] + 30, box["y"] + 9)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 30, box["y"] + 150, steps=3)
    assert tab.locator(".drop-line").is_visible()
    tab.keyboard.press("Escape")
    tab.mouse.up()
    assert not tab.locator(".drop-line").is_visible()
    assert names(tab)[3:6] == ["worker 0", "worker 1", "worker 2"]
    assert "order" not in chosen(tab)


def test_a_finger_that_holds_drags_and_one_that_does_not_scrolls(opened: Opened) -> None:
    tab = opened(many(), has_touch=True)
    wire = tab.context.new_cdp_session(tab)
    tab.locator("#timeline").scroll_into_view_if_needed()

    def touch(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y} for x, y in points]
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
        tab.wait_for_timeout(30)

    def swipe(wait_ms: int) -> None:
        start, end = name_of(tab, "worker 1").bounding_box(), name_of(tab, "worker 4").bounding_box()
        x, top, bottom = start["x"] + 30, start["y"] + 9, end["y"] + end["height"] - 4
        touch("touchStart", (x, top))
        tab.wait_for_timeout(wait_ms)
        for step in range(1, 6):
            touch("touchMove", (x, top + (bottom - top) * step / 5))
        touch("touchEnd")

    swipe(wait_ms=0)
    assert names(tab)[4] == "worker 1"
    tab.wait_for_timeout(600)  # the page comes to rest
    swipe(wait_ms=500)
    assert names(tab)[3:8] == ["worker 0", "worker 2", "worker 3", "worker 4", "worker 1"]


def test_lanes_are_found_by_name(opened: Opened) -> None:
    tab = opened(many())
    tab.keyboard.press("l")
    tab.keyboard.type("ER 2")
    assert names(tab) == ["worker 2", *(f"worker 2{each}" for each in range(10))]
    assert tab.locator(".lane-finder .note").inner_text() == "11 of 34 lanes"
    assert "names=ER+2" in chosen(tab)
    assert names(opened(many(), fragment=chosen(tab))) == names(tab)
    tab.keyboard.press("Escape")
    assert len(names(tab)) == 16
    tab.keyboard.type("nowhere")
    assert names(tab) == []
    assert "no lane has this in its name" in tab.locator(".timeline-labels").inner_text()


def test_one_button_takes_everything_back(opened: Opened) -> None:
    fresh = opened()
    assert not fresh.get_by_role("button", name="Reset lanes").is_visible()
    tab = opened(fragment="#pin=k0.t1&order=t1.t0&names=e")
    assert names(tab) != LANES
    tab.get_by_role("button", name="Reset lanes").press("Enter")
    assert names(tab) == LANES
    assert not tab.get_by_role("button", name="Reset lanes").is_visible()
    assert chosen(tab) == ""


def test_pinned_lanes_stay_in_sight_and_are_what_the_pointer_finds(opened: Opened) -> None:
    tab = opened(many(), fragment="#all=1&pin=k0")
    tab.locator(".timeline-scroll").evaluate("element => { element.scrollTop = 400; }")
    pane = tab.locator(".timeline-pane").bounding_box()
    pinned = name_of(settled(tab), "power").bounding_box()
    assert 0 <= pinned["y"] - pane["y"] < 30
    tab.mouse.move(pane["x"] + 200, pinned["y"] + 10)
    settled(tab)
    assert "power" in tab.locator(".tooltip").inner_text()
    tab.mouse.move(pane["x"] + 200, pinned["y"] + 200)
    settled(tab)
    assert "worker" in tab.locator(".tooltip").inner_text()


def test_the_help_names_the_keys(opened: Opened) -> None:
    tab = opened()
    tab.keyboard.press("?")
    text = tab.get_by_role("dialog").inner_text()
    for words in ("Find lanes by name", "Move the lane up or down", "Keep the lane at the top"):
        assert words in text


def test_lanes_by_name_are_accessible(opened: Opened, axe: str) -> None:
    tab = opened(fragment="#pin=t1.k0&names=a")
    assert barriers(tab, axe) == []
