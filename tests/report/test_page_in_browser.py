"""The page in a real browser: every control used once with its effect checked, no request and no error."""

from __future__ import annotations

import re

import pytest
from page_support import (
    Opened,
    breadcrumb,
    chosen,
    drag,
    finished,
    flame_note,
    lanes_box,
    point_at,
    settled,
    shown_range,
    summary,
)
from view_fixture import big_view
from view_support import MS, analyze, trace_of

from tracekit.report.viewmodel.view import view_block


def test_opening_shows_everything(opened: Opened) -> None:
    tab = opened()
    assert summary(tab) == "200 of 200 samples"
    assert tab.locator("#windows-live tbody tr").count() == 10
    assert not tab.locator("#timeline-static").is_visible()
    assert (
        tab.locator("#flame .flame-scroll canvas")
        .get_attribute("aria-label")
        .startswith("Flame graph; 200 ms in all.")
    )


def test_the_wheel_zooms_at_the_pointer_with_control_and_scrolls_the_page_without(opened: Opened) -> None:
    tab = opened()
    x, y = point_at(tab, 25, "com.apple.main-thread")
    tab.mouse.move(x, y)
    tab.keyboard.down("Control")
    tab.mouse.wheel(0, -100)
    tab.keyboard.up("Control")
    start, end = shown_range(tab)
    assert end - start == pytest.approx(100 / 2**0.6, rel=0.01)
    assert (25 - start) / (end - start) == pytest.approx(0.25, abs=0.01)
    before = tab.evaluate("scrollY")
    for _ in range(10):  # Chromium swallows the first step after one that the page has taken for itself
        tab.mouse.wheel(0, 300)
        tab.wait_for_timeout(100)
        if tab.evaluate("scrollY") > before:
            break
    assert tab.evaluate("scrollY") > before
    assert shown_range(tab) == (start, end)


def test_dragging_selects_time_and_everything_follows(opened: Opened) -> None:
    tab = opened()
    drag(tab, point_at(tab, 50, "com.apple.main-thread"), point_at(tab, 100, "com.apple.main-thread"))
    assert re.match(r"100 of 200 samples · 5\d\.\d+ ms – 100\.\d+ ms \(50\.\d ms\)|100 of 200", summary(tab))
    assert tab.locator("#windows-live tr.inside").count() == 5
    assert tab.locator("#engines .bars").first.inner_text().split()[0] == "CPU"
    assert flame_note(tab).startswith("100 ms in all.")
    tab.locator("#stacks summary").nth(1).click()
    assert tab.locator("#stacks .deciding").inner_text().startswith("▸ BNNSFilterApply")


def test_a_link_reproduces_what_was_chosen(opened: Opened) -> None:
    tab = opened()
    drag(tab, point_at(tab, 20, "worker"), point_at(tab, 40, "worker"))
    tab.locator(".timeline-labels .thread", has_text="worker").click()
    tab.locator("#flame").get_by_role("button", name="Invert").click()
    fragment, text = chosen(tab), summary(tab)
    again = opened(fragment=fragment)
    assert summary(again) == text
    assert "1 of 2 threads" in text
    assert (
        again.locator("#flame").get_by_role("button", name="Invert").get_attribute("aria-pressed") == "true"
    )
    assert again.locator(".timeline-labels [aria-pressed=true]").inner_text().startswith("worker")


def test_the_keys(opened: Opened) -> None:
    tab = opened()
    tab.locator(".timeline-scroll").focus()
    tab.keyboard.press("w")
    start, end = shown_range(tab)
    assert end - start == pytest.approx(100 / 1.4, rel=0.01)
    tab.keyboard.press("a")
    assert shown_range(tab)[0] == pytest.approx(start - 0.15 * (end - start), abs=0.1)
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("-")
    tab.keyboard.press("0")
    assert shown_range(tab) == (0, 100)
    tab.keyboard.press("]")
    assert "(8.00 ms)" in summary(tab)
    first = chosen(tab)
    tab.keyboard.press("]")
    assert chosen(tab) != first
    tab.keyboard.press("[")
    assert chosen(tab) == first
    tab.keyboard.press("f")
    start, end = shown_range(tab)
    assert end - start == pytest.approx(9.6, abs=0.1)
    tab.keyboard.press("Escape")
    assert summary(tab) == "200 of 200 samples"
    tab.keyboard.press("?")
    assert tab.get_by_role("dialog").is_visible()
    tab.keyboard.press("Escape")
    assert not tab.get_by_role("dialog").is_visible()
    tab.locator(".timeline-scroll").focus()
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "Filter samples"


def test_shift_and_drag_moves(opened: Opened) -> None:
    tab = opened(fragment="#t=20000000-60000000")
    box = lanes_box(tab)
    middle = (box["x"] + box["width"] / 2, box["y"] + 120)
    tab.keyboard.down("Shift")
    drag(tab, middle, (middle[0] + box["width"] / 4, middle[1]))
    tab.keyboard.up("Shift")
    assert shown_range(tab) == pytest.approx((10, 50), abs=0.2)


def test_clicks_select_intervals_and_double_clicks_zoom_to_them(opened: Opened) -> None:
    tab = opened()
    tab.mouse.click(*point_at(tab, 14, "Detector"))
    assert "(8.00 ms)" in summary(tab)
    tab.mouse.click(*point_at(tab, 14, "ANE"))
    assert "(6.00 ms)" in summary(tab)
    tab.mouse.click(*point_at(tab, 88.5, "ANE"))
    assert summary(tab) == "200 of 200 samples"
    tab.mouse.dblclick(*point_at(tab, 14, "Detector"))
    assert shown_range(tab) == pytest.approx((9.2, 18.8), abs=0.1)


def test_pointing_describes_the_element(opened: Opened) -> None:
    tab = opened()
    tooltip = tab.locator(".tooltip")
    for time, label, words in (
        (44, "Detector", "Call 5 of Detector: ANE"),
        (24, "ANE", "Neural Engine Prediction"),
        (44, "ANE", "another process's work"),
        (54, "com.apple.main-thread", "CPU 100 %"),
        (15, "app", "frame"),
        (40, "thermal state", "serious"),
        (80, "thermal state", "no value"),
    ):
        tab.mouse.move(*point_at(tab, time, label))
        settled(tab)
        assert words in tooltip.inner_text()
    tab.mouse.move(5, 5)
    assert not tooltip.is_visible()


def test_the_overview_chooses_the_part_that_is_shown(opened: Opened) -> None:
    tab = opened()
    box = tab.locator("canvas.overview").bounding_box()
    drag(tab, (box["x"] + box["width"] * 0.2, box["y"] + 9), (box["x"] + box["width"] * 0.6, box["y"] + 9))
    assert shown_range(tab) == pytest.approx((20, 60), abs=0.3)


def test_the_filter_drops_samples(opened: Opened) -> None:
    tab = opened()
    box = tab.get_by_label("Filter samples")
    for text, samples in (
        ("engine:cpu", 40),
        ("window:0-1 -thread:worker", 16),
        ("call:1-2 -thread:worker", 16),
        ("binary:camera", 200),
        ("nowhere", 0),
    ):
        box.fill(text)
        assert summary(finished(tab)) == f"{samples} of 200 samples"
    assert flame_note(tab) == "No samples in the selection."
    box.press("Escape")
    assert summary(tab) == "200 of 200 samples"


def test_the_windows_table_sorts_filters_and_leads_to_the_timeline(opened: Opened) -> None:
    tab = opened()
    rows = tab.locator("#windows-live tbody tr")
    assert " ".join(rows.first.inner_text().split()) == "Detector 1* 0 8.00 ms the typical call ANE a"
    assert rows.first.get_by_role("img").get_attribute("aria-label") == (
        "Neural Engine 6.00 ms (75 %, measured)\nML runtime 2.00 ms (25 %, sampled)"
    )
    assert rows.first.bounding_box()["height"] <= 22
    tab.get_by_label("Fold equal calls").check()
    folded = [row.split("\t")[0] for row in rows.all_inner_texts()]
    assert folded == ["Detector 1* and 4 equal", "Detector 6 and 4 equal"]
    tab.get_by_label("Fold equal calls").uncheck()
    tab.get_by_label("All columns").check()
    head = tab.locator("#windows-live th", has_text="ANE busy")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert tab.locator("#windows-live tbody tr").first.locator("td").nth(4).inner_text() == "ANE"
    assert tab.locator("#windows-live tbody tr").last.locator("td").nth(5).inner_text() == "–"
    tab.get_by_label("Filter calls by text").fill("cpu")
    assert tab.locator("#windows-live tbody tr").count() == 5
    tab.get_by_role("button", name="Call 8 of Detector: show it in the timeline").press("Enter")
    assert shown_range(tab) == pytest.approx((69.2, 78.8), abs=0.1)
    assert tab.locator("#windows-live tr.inside").inner_text().startswith("8")


def test_the_flame_graph(opened: Opened) -> None:
    tab = opened()
    canvas = tab.locator("#flame .flame-scroll canvas")
    canvas.scroll_into_view_if_needed()
    canvas.click(position={"x": 200, "y": 28})
    assert breadcrumb(tab) == ["all", "main", "predict"]
    canvas.press("Escape")
    assert breadcrumb(tab) == ["all", "main"]
    tab.get_by_role("button", name="all", exact=True).click()
    tab.get_by_label("Highlight functions").fill("bnns")
    assert "Highlighted: 20 %." in flame_note(tab)
    tab.locator("#flame").get_by_role("button", name="Hide system libraries").click()
    assert "Highlighted: 0 %." in flame_note(tab)
    tab.get_by_text("Functions as a table").click()
    tab.locator("#flame tbody tr").first.wait_for()
    rows = tab.locator("#flame tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["worker_loop", "main", "render"]
    canvas.press("ArrowDown")
    assert flame_note(tab).startswith("main · Camera")
    tab.get_by_label("Colour by").select_option("binary")
    assert "colour=binary" in chosen(tab)


def test_the_zoom_of_the_flame_graph_outlasts_turning_it(opened: Opened) -> None:
    tab = opened()
    canvas = tab.locator("#flame .flame-scroll canvas")
    canvas.scroll_into_view_if_needed()
    canvas.click(position={"x": 200, "y": 28})
    note = flame_note(tab)
    invert = tab.locator("#flame").get_by_role("button", name="Invert")
    invert.click()
    assert "The function zoomed to is not in this selection" in flame_note(tab)
    assert "focus=" in chosen(tab)
    invert.click()
    assert breadcrumb(tab) == ["all", "main", "predict"]
    assert flame_note(tab) == note


def test_what_a_report_cannot_distinguish_is_reported(opened: Opened) -> None:
    """4,000 branches of two functions each, of which the page has 6,000 nodes; all leaves but one weigh the same."""
    stacks = [(f"App | leaf {index}", f"App | branch {index}", "App | main") for index in range(4_000)]
    rows = [(index / 10, "main", stack, MS if index else 1_000 * MS) for index, stack in enumerate(stacks)]
    tab = opened(view_block(analyze(trace_of(rows))))
    assert re.search(r"in all\. 40 % is in branches too light to be drawn\.$", flame_note(tab))
    tab.get_by_text("Functions as a table").click()
    tab.get_by_text("The 2,000 heaviest by self time of 6,001 functions.").wait_for()
    assert "too light" not in flame_note(opened())


def test_highlights_are_shares_of_what_the_flame_graph_shows(opened: Opened) -> None:
    tab = opened()
    tab.get_by_label("Highlight functions").fill("bnns")
    all_of_it = flame_note(tab)
    canvas = tab.locator("#flame .flame-scroll canvas")
    canvas.scroll_into_view_if_needed()
    canvas.click(position={"x": 200, "y": 28})
    inside = flame_note(tab)
    assert "in all" in all_of_it
    assert " of " in inside
    whole, part = (int(re.search(r"Highlighted: (\d+) %", text)[1]) for text in (all_of_it, inside))  # type: ignore[index]
    assert part > whole


def test_the_theme_is_chosen_and_kept_in_the_link(opened: Opened) -> None:
    tab = opened(color_scheme="light")
    light = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.get_by_label("Theme").select_option("dark")
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (light, dark) == ("rgb(246, 247, 249)", "rgb(16, 20, 24)")
    pixel = "() => [...document.querySelector('.timeline-pane canvas').getContext('2d').getImageData(1, 1, 1, 1).data]"
    summary(tab)
    assert tab.evaluate(pixel)[:3] == [16, 20, 24]
    again = opened(fragment=chosen(tab), color_scheme="light")
    assert again.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_groups_fold_and_lanes_are_reached_by_keyboard(opened: Opened) -> None:
    tab = opened()
    group = tab.get_by_role("button", name="Signposts")
    group.press("Enter")
    assert group.get_attribute("aria-expanded") == "false"
    assert tab.locator(".timeline-labels .label", has_text=re.compile("^app$")).count() == 0
    tab.locator(".timeline-labels .thread", has_text="worker").press("Space")
    assert "1 of 2 threads" in summary(tab)


def test_many_threads_are_folded_up_to_twelve(opened: Opened) -> None:
    tab = opened(big_view(rows=3000, nodes=300, windows=450))
    assert tab.locator(".timeline-labels .thread").count() == 12
    tab.get_by_role("button", name="show all 30 threads").click()
    assert tab.locator(".timeline-labels .thread").count() == 30
    assert tab.locator("#windows-live tbody tr").count() == 100
    tab.get_by_role("button", name="Next page").click()
    assert "page 2 of 5" in tab.locator("#windows-live").inner_text()
    assert tab.locator("#windows-live tbody tr").first.inner_text().startswith("Segmenter 101")


def test_keys_are_the_timelines_where_nothing_has_the_focus(opened: Opened) -> None:
    tab = opened()
    tab.keyboard.press("w")
    assert "t=" in chosen(tab)
    tab.keyboard.press("0")
    assert "t=" not in chosen(tab)
    tab.keyboard.press("/")
    tab.keyboard.type("swd")
    assert tab.locator("#toolbar input[type=search], #toolbar input").first.input_value() == "swd"
    assert "t=" not in chosen(tab)


def test_zooming_below_a_bin_is_reported_and_goes_on_as_intervals_are_exact(opened: Opened) -> None:
    tab = opened(big_view(rows=3000, nodes=300, windows=10), fragment="#t=1000000000-1000020000")
    tab.locator(".timeline-scroll").focus()
    tab.keyboard.press("w")
    assert "summed up in bins" in tab.locator("#status").inner_text()
    for _ in range(45):
        tab.keyboard.press("w")
    assert tab.locator("#status").inner_text() == "This is the deepest zoom."
    match = re.search(r"t=(\d+)-(\d+)", chosen(tab))
    assert match and int(match[2]) - int(match[1]) == pytest.approx(1000, abs=2)
