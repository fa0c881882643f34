"""Texts and drawings of the page in a browser: filters without matches, missing windows, percentiles."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from page_support import Opened, settled
from view_fixture import big_view, small_view

import tracekit
from tracekit.report.html.page import to_html

DARK = "rgb(16, 20, 24)"


def background(tab: Any) -> str:
    return tab.evaluate("getComputedStyle(document.body).backgroundColor")


def boxes(tab: Any, selector: str) -> list[dict[str, float]]:
    """Return the boxes of a drawing's parts, in the drawing's units."""
    read = "all => all.map(part => { const { x, y, width, height } = part.getBBox(); return { x, y, width, height } })"
    return tab.locator(selector).evaluate_all(read)


def meet(first: dict[str, float], second: dict[str, float]) -> bool:
    return (
        first["x"] < second["x"] + second["width"]
        and second["x"] < first["x"] + first["width"]
        and first["y"] < second["y"] + second["height"]
        and second["y"] < first["y"] + first["height"]
    )


def test_a_filter_that_can_find_nothing_gives_the_reason(opened: Opened) -> None:
    tab = opened()
    box, note = tab.get_by_label("Filter samples"), tab.locator("#filter-note")
    assert "phase:" in box.get_attribute("placeholder")
    assert not note.is_visible()
    box.fill("engine:XYZ")
    note.wait_for()
    assert note.inner_text() == "No engine is called “XYZ”: ANE, GPU, CPU, RUNTIME, GRAPHICS, OTHER, UNKNOWN."
    assert box.get_attribute("aria-invalid") == "true"
    box.fill("call:99")
    tab.get_by_text("There is no call “99”: calls are numbered 1 to 10.").wait_for()
    box.fill("engine:cpu")
    note.wait_for(state="hidden")
    assert box.get_attribute("aria-invalid") == "false"
    assert opened(fragment="#q=phase:run").locator("#filter-note").is_visible()


def test_a_theme_is_remembered_unless_the_address_names_one(opened: Opened) -> None:
    tab = opened(color_scheme="light")
    light, address = background(tab), tab.url
    tab.get_by_label("Theme").select_option("dark")
    assert background(tab) == DARK

    def reopened(fragment: str) -> str:
        tab.goto("about:blank")
        tab.goto(f"{address}{fragment}")
        tab.wait_for_selector("html[data-ready]")
        return background(tab)

    assert reopened("") == DARK
    assert tab.get_by_label("Theme").input_value() == "dark"
    assert reopened("#theme=light") == light
    assert reopened("") == DARK
    tab.get_by_label("Theme").select_option("auto")
    assert reopened("") == light


@pytest.mark.parametrize("windows", ["alike", "many"])
def test_the_names_of_percentiles_meet_neither_each_other_nor_a_line(opened: Opened, windows: str) -> None:
    tab = opened(small_view() if windows == "alike" else big_view(rows=3000, nodes=300, windows=900))
    names = boxes(tab, ".histogram .mark-name")
    lines = [line | {"width": 1} for line in boxes(tab, ".histogram .mark")]
    assert len(names) == len(lines) == 3
    assert not any(meet(first, second) for first, second in combinations(names, 2))
    assert not any(meet(name, line) for name in names for line in lines)
    assert all(name["x"] + name["width"] <= 760 for name in names)


def test_without_windows_there_is_no_table_of_them(opened: Opened) -> None:
    tab = settled(opened(small_view(windows=False)))
    assert tab.locator("#windows-live").inner_text() == ""
    assert tab.locator("#windows-live").locator("input, table").count() == 0


def test_the_timeline_is_described_by_its_contents(opened: Opened) -> None:
    label = opened().locator(".timeline-pane canvas[role=img]").get_attribute("aria-label")
    assert label == (
        "Timeline of 2 threads, 10 calls, 1 measured lane, 1 lane of signposts and 1 track;"
        " the tables and figures below show the calls and the selection"
    )


def test_on_a_narrow_screen_groups_counts_and_threads_are_distinguished(opened: Opened) -> None:
    thread = "SampleApp (0x5a3a)"
    tab = settled(opened(small_view({"thread": thread}), viewport={"width": 420, "height": 800}))
    for selector in (".group > span:first-child", ".group > small", ".thread > span:first-child"):
        labels = tab.locator(f".timeline-labels {selector}")
        cut = "all => all.filter(label => label.scrollWidth > label.clientWidth || label.scrollHeight > label.clientHeight)"
        assert labels.count() > 0
        assert labels.evaluate_all(f"{cut}.map(label => label.textContent)") == []
    help_button = tab.get_by_role("button", name="Keys and filter: help").bounding_box()
    box = tab.get_by_label("Filter samples").bounding_box()
    assert abs(help_button["y"] - box["y"]) < 5


def test_on_a_narrow_screen_an_engine_takes_one_line(opened: Opened) -> None:
    recording = Path(__file__).resolve().parents[2] / "sample_traces" / "concurrent-models-ios27"
    text = to_html(tracekit.analyze(tracekit.open_trace(recording)))
    tab = opened(text=text, viewport={"width": 420, "height": 800})
    rows = tab.locator("#engines table tbody tr")
    assert rows.count() > 2
    assert all(row.bounding_box()["height"] < 40 for row in rows.all())
