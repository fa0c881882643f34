"""The page where things are not as usual: hostile text, nothing to show, odd screens, paper, no JavaScript."""

from __future__ import annotations

import re

import pytest
from browser_support import barriers
from page_support import Opened, drag, lanes_box, point_at, settled, shown_range, summary
from view_fixture import page, small_view

HOSTILE = {
    "window": '</script><img src=x onerror="alert(1)">',
    "model": "<svg/onload=alert(2)>" + "M" * 10_000,
    "thread": "\u202eevil\u202c\n\x00 " + "W" * 10_000,
    "symbol": "</script><script>alert(3)</script>" + "x" * 100_000,
    "binary": "javascript:alert(4)\ud800",
    "process": "__proto__",
    "span": "'\"><b onmouseover=alert(5)>",
}


def test_hostile_names_are_shown_as_text_and_break_nothing(opened: Opened) -> None:
    tab = opened(small_view(HOSTILE))
    for time, label in ((14, "<svg"), (14, "ANE"), (54, "worker")):
        tab.mouse.move(*point_at(tab, time, label))
        settled(tab)
        assert tab.locator(".tooltip").bounding_box()["width"] <= 420
    drag(tab, point_at(tab, 50, "worker"), point_at(tab, 90, "worker"))
    tab.get_by_text("Functions as a table").click()
    tab.get_by_label("All columns").check()
    assert "</script><img src=x" in tab.locator("#windows-live").inner_text()
    assert tab.locator("img, script:not([type]), [onerror], [onload], [onmouseover]").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "evil" in tab.locator(".timeline-labels").inner_text()
    assert "‹202e›" in tab.locator(".timeline-labels").inner_text()


@pytest.mark.parametrize(("windows", "samples"), [(False, True), (True, False), (False, False)])
def test_a_recording_without_windows_or_samples_still_opens(
    opened: Opened, windows: bool, samples: bool
) -> None:
    tab = opened(small_view(windows=windows, samples=samples))
    count = 200 if samples else 0
    assert summary(tab) == (f"{count} of {count} samples" if count else "no samples")
    tab.locator(".timeline-scroll").focus()
    for key in "ws]f0":
        tab.keyboard.press(key)
    drag(tab, point_at(tab, 10, "worker"), point_at(tab, 50, "worker"))
    assert "(40" in summary(tab) or "(39" in summary(tab)


@pytest.mark.parametrize("width", [400, 700, 1600])
def test_nothing_sticks_out_on_a_narrow_or_wide_screen(opened: Opened, width: int) -> None:
    tab = opened(viewport={"width": width, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert lanes_box(tab)["width"] > width * 0.5


def test_two_fingers_zoom(opened: Opened) -> None:
    tab = opened(has_touch=True)
    box = lanes_box(tab)
    middle, y = box["x"] + box["width"] / 2, box["y"] + 120
    session = tab.context.new_cdp_session(tab)
    for kind, distance in (("touchStart", 50), ("touchMove", 75), ("touchMove", 100), ("touchEnd", None)):
        fingers = (
            [] if distance is None else [{"x": middle - distance, "y": y}, {"x": middle + distance, "y": y}]
        )
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    start, end = shown_range(tab)
    assert end - start == pytest.approx(50, abs=4)


def test_printed_it_shows_the_static_parts(opened: Opened) -> None:
    tab = opened(color_scheme="dark")
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 794, "height": 1123})
    table = tab.locator("#windows-static table").bounding_box()
    assert table["x"] + table["width"] <= tab.viewport_size["width"]  # paper cuts off what is wider
    for part, is_shown in (("#timeline-static", True), ("#windows-static", True), ("#timeline-live", False),
                           ("#windows-live", False), ("#toolbar", False), ("#engines .bars", False)):  # fmt: skip
        assert tab.locator(part).first.is_visible() == is_shown, part
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(23, 27, 33)"


def test_without_javascript_the_static_parts_stand(opened: Opened) -> None:
    tab = opened(text=page(small_view()), java_script_enabled=False)
    assert tab.locator("#timeline-static").is_visible()
    assert tab.locator("#windows-static").is_visible()


def test_damaged_data_are_named_and_the_static_parts_stand(opened: Opened) -> None:
    text = re.sub(r'(id="tracekit-data">.{400}).*?<', r"\1<", page(small_view()))
    tab = opened(text=text)
    tab.wait_for_selector("#status.problem")
    assert tab.locator("#status").inner_text().startswith("The interactive part could not start")
    assert tab.locator("#timeline-static").is_visible()
    opened.bad.clear()  # type: ignore[attr-defined]


def test_the_page_is_accessible(opened: Opened, axe: str) -> None:
    tab = opened()
    drag(tab, point_at(tab, 50, "worker"), point_at(tab, 90, "worker"))
    tab.get_by_text("Functions as a table").click()
    assert barriers(tab, axe) == []
