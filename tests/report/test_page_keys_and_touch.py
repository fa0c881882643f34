"""Selecting without a mouse in a real browser: by keys, by touch, and the marks that follow."""

from __future__ import annotations

import re
from typing import Any

import pytest
from page_support import Opened, chosen, drag, point_at, settled, shown_range, summary
from view_fixture import big_view, small_view


def many(windows: int = 450) -> bytes:
    return big_view(rows=3000, nodes=300, windows=windows)


def announced(tab: Any) -> str:
    return settled(tab).locator(".lane-finder [role=status]").inner_text()


def focused(tab: Any) -> str:
    return tab.evaluate(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
    )


def width_of_names(tab: Any) -> float:
    return settled(tab).locator(".timeline-labels").bounding_box()["width"]


def test_the_first_step_is_to_the_first_window_in_view(opened: Opened) -> None:
    tab = opened()
    tab.keyboard.press("]")
    assert "s=0-8000000" in chosen(tab)
    tab = opened(fragment="#t=25000000-65000000")
    tab.keyboard.press("]")
    assert "s=20000000-28000000" in chosen(tab)  # the one that reaches into view
    tab = opened(fragment="#t=25000000-65000000")
    tab.keyboard.press("[")
    assert "s=60000000-68000000" in chosen(tab)


def test_what_is_shown_is_selected_by_key_and_by_button(opened: Opened) -> None:
    tab = opened(fragment="#t=20000000-60000000")
    tab.keyboard.press("r")
    assert "s=20000000-60000000" in chosen(tab)
    assert summary(tab).startswith("80 of 200 samples")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Select what is shown").click()
    assert summary(tab).startswith("80 of 200 samples")


def test_intervals_and_signposts_are_stepped_through_by_key(opened: Opened) -> None:
    tab = opened()
    tab.locator(".timeline-labels").get_by_role("button", name="app", exact=True).focus()
    tab.keyboard.press(".")
    assert "s=5000000-25000000" in chosen(tab)
    assert announced(tab).startswith("frame, 20.0 ms at 5")
    tab.keyboard.press(".")
    assert "s=40000000-40000001" in chosen(tab)
    tab.keyboard.press(".")
    assert announced(tab) == "There is no later interval."
    tab.keyboard.press(",")
    assert "s=5000000-25000000" in chosen(tab)
    measured = tab.locator(".timeline-labels").get_by_role("button", name=re.compile("^ANE "))
    measured.press("Enter")  # from the selection on, in its own lane
    assert "s=11000000-17000000" in chosen(tab)
    assert "Neural Engine Prediction" in announced(tab)


def test_keys_go_on_from_the_interval_that_was_clicked(opened: Opened) -> None:
    tab = opened()
    tab.mouse.click(*point_at(tab, 15, "app"))
    assert "s=5000000-25000000" in chosen(tab)
    tab.keyboard.press(".")
    assert "s=40000000-40000001" in chosen(tab)


def hold(tab: Any, start: tuple[float, float], end: tuple[float, float], wait_ms: int) -> None:
    """One finger from one place to another after some time."""
    wire = tab.context.new_cdp_session(tab)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y} for x, y in points]
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
        tab.wait_for_timeout(30)

    touch("touchStart", start)
    tab.wait_for_timeout(wait_ms)
    for step in range(1, 6):
        touch("touchMove", tuple(a + (b - a) * step / 5 for a, b in zip(start, end, strict=True)))  # type: ignore[arg-type]
    touch("touchEnd")


def test_a_finger_that_holds_selects_and_one_that_does_not_moves(opened: Opened) -> None:
    tab = opened(fragment="#t=0-50000000", has_touch=True)
    start, end = point_at(tab, 40, "worker"), point_at(tab, 80, "worker")
    hold(tab, start, end, wait_ms=0)
    assert "s=" not in chosen(tab)
    moved = shown_range(tab)
    hold(tab, end, start, wait_ms=500)
    selected = re.search(r"s=(\d+)-(\d+)", chosen(tab))
    assert selected
    assert int(selected[2]) - int(selected[1]) == pytest.approx(20e6, rel=0.05)
    assert shown_range(tab) == moved


def test_the_selected_window_is_marked_in_the_table_and_its_page_shown(opened: Opened) -> None:
    tab = opened(many(), fragment="#t=50000000000-52000000000")
    rows = tab.locator("#windows-live tr[aria-current=true]")
    assert rows.count() == 0
    tab.keyboard.press("]")
    settled(tab)
    assert rows.count() == 1
    model, number = rows.locator("td").first.inner_text().split()
    assert model == "Segmenter"
    assert int(number) > 200
    assert f"Call {number} of Segmenter is selected" in tab.locator("#windows-live .note").first.inner_text()
    assert "page 4 of 5" in tab.locator("#windows-live").inner_text()
    tab.keyboard.press("Escape")
    assert settled(tab).locator("#windows-live tr[aria-current=true]").count() == 0


def test_the_table_of_windows_is_one_stop_and_arrows_move_in_it(opened: Opened) -> None:
    tab = opened(many())
    table = tab.locator("#windows-live tbody")
    assert table.locator("button:not([tabindex='-1'])").count() == 1
    table.locator("button").first.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    assert focused(tab) == "Segmenter 3, Call 3 of Segmenter: show it in the timeline"
    tab.keyboard.press("End")
    assert focused(tab) == "Segmenter 100, Call 100 of Segmenter: show it in the timeline"
    tab.keyboard.press("Tab")
    assert not tab.evaluate("document.activeElement.closest('#windows-live tbody')")
    tab.keyboard.press("Shift+Tab")
    assert focused(tab) == "Segmenter 100, Call 100 of Segmenter: show it in the timeline"
    tab.keyboard.press("Home")
    assert focused(tab) == "Segmenter 1*, Call 1 of Segmenter: show it in the timeline"
    tab.get_by_role("button", name="Next page").click()
    assert table.locator("button:not([tabindex='-1'])").count() == 1


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (420, 800)])
def test_the_help_opens_at_its_top_and_fits_the_screen(opened: Opened, width: int, height: int) -> None:
    tab = opened(viewport={"width": width, "height": height})
    tab.keyboard.press("?")
    sheet = tab.get_by_role("dialog")
    assert sheet.evaluate("element => element.scrollTop") == 0
    heading = sheet.get_by_role("heading", name="Keys and gestures").bounding_box()
    assert 0 <= heading["y"] < height / 2
    assert sheet.evaluate("element => element.scrollWidth <= element.clientWidth")
    narrowest = sheet.locator("dd").evaluate_all(
        "all => Math.min(...all.map(element => element.clientWidth))"
    )
    assert narrowest > 250


def test_the_help_is_closed_by_escape_its_button_and_a_click_beside_it(opened: Opened) -> None:
    tab = opened()
    sheet = tab.get_by_role("dialog")
    for close in (
        lambda: tab.keyboard.press("Escape"),
        lambda: sheet.get_by_role("button", name="Close").click(),
        lambda: tab.mouse.click(5, 400),
    ):
        tab.get_by_role("button", name="Keys and filter: help").click()
        box = sheet.bounding_box()
        tab.mouse.click(box["x"] + 4, box["y"] + 100)  # its own edge
        assert sheet.is_visible()
        close()
        assert not sheet.is_visible()


def test_lanes_that_are_all_in_sight_leave_the_wheel_to_the_page(opened: Opened) -> None:
    tab = opened(viewport={"width": 1200, "height": 600})
    scroll = tab.locator(".timeline-scroll")
    tab.locator("button.group", has_text="Threads").click()
    assert settled(tab) and scroll.evaluate("element => element.scrollHeight - element.clientHeight") == 0


def test_the_edge_of_the_names_is_moved_by_keys_and_by_dragging(opened: Opened) -> None:
    tab = opened(fragment="#t=20000000-60000000", viewport={"width": 1000, "height": 900})
    edge = tab.get_by_role("separator", name="Width of the lanes' names")
    assert width_of_names(tab) == 190
    edge.focus()
    tab.keyboard.press("ArrowRight")
    assert width_of_names(tab) == 206
    assert edge.get_attribute("aria-valuenow") == "206"
    assert "width=206" in chosen(tab)
    assert shown_range(tab) == (20, 60)
    tab.keyboard.press("Home")
    assert width_of_names(tab) == 60
    box = edge.bounding_box()
    y = tab.locator(".timeline-labels .lane").first.bounding_box()["y"]
    drag(tab, (box["x"] + 4, y), (box["x"] + 304, y))
    assert width_of_names(tab) == 360
    pane, corner = (
        settled(tab).locator(each).bounding_box() for each in (".timeline-pane", "#timeline canvas.axis")
    )
    assert pane["x"] == pytest.approx(corner["x"], abs=1)
    assert pane["width"] == pytest.approx(corner["width"], abs=1)
    again = opened(fragment=chosen(tab), viewport={"width": 1000, "height": 900})
    assert width_of_names(again) == 360
    again.get_by_role("separator").dblclick()
    assert width_of_names(again) == 190
    narrow = opened(fragment="#width=900", viewport={"width": 420, "height": 800})
    assert width_of_names(narrow) < 250


def test_the_whole_name_is_in_the_title(opened: Opened) -> None:
    name = "com.apple." + "SkyLight." * 12
    tab = opened(small_view({"thread": name}))
    thread = tab.locator(".timeline-labels .thread").first
    assert name in thread.get_attribute("title")
    assert "samples" in thread.get_attribute("title")


def test_the_focus_stays_where_a_lane_is_unpinned_out_of_sight(opened: Opened) -> None:
    tab = opened(fragment="#pin=t1&closed=threads")
    tab.get_by_role("button", name="Pin worker").press("Enter")
    assert focused(tab).startswith("Threads")
    tab = opened(fragment="#pin=s0&closed=signposts&names=")
    tab.get_by_role("button", name="Pin app").press("Enter")
    assert focused(tab).startswith("Signposts")


def test_names_and_their_descriptions_are_read_apart(opened: Opened) -> None:
    tab = opened()
    texts = tab.locator(".timeline-labels .group, .timeline-labels .thread").evaluate_all(
        "all => all.map(element => element.textContent)"
    )
    assert texts[0] == "Calls, 10"
    assert "Threads, 2, Camera" in texts
    assert "worker, 100 samples" in texts


def test_a_chosen_sample_is_marked_and_its_lane_shown(opened: Opened) -> None:
    tab = opened(many(10), fragment="#at=30000000000.29")
    current = tab.locator(".timeline-labels [aria-current=true]")
    assert current.inner_text().startswith("worker 29")
    dark = """() => {
        const canvas = document.querySelector('.timeline-pane .overlay');
        const copy = new OffscreenCanvas(canvas.width, 1).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        const { data, width } = copy.getImageData(0, 0, canvas.width, 1);
        const columns = [];
        for (let x = 0; x < width; x += 1) if (data[4 * x + 3] > 200) columns.push(x / width);
        return columns;
    }"""
    columns = settled(tab).evaluate(dark)
    assert [round(column, 2) for column in columns] == [0.5, 0.5]
    tab.keyboard.press("Escape")
    assert settled(tab).evaluate(dark) == []
    assert current.count() == 0
    assert "at=" not in chosen(tab)
