"""The list of samples in a real browser: it follows the selection, and shows the stack of the one chosen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from dashboard_support import PATIENCE_MS, Served, changed_block, delayed_work_done, drawn, opened

Listed = Callable[..., Any]


@pytest.fixture
def listed(fallback: Served, tab: Any) -> Listed:
    """Opens a recording and the tab of its samples."""

    def open_page(fragment: str = "") -> Any:
        opened(tab, f"{fallback.address}{fragment}")
        tab.locator("#tab-samples").click()
        tab.wait_for_selector("#samples tbody tr", timeout=PATIENCE_MS)
        return tab

    return open_page


def rows(tab: Any) -> Any:
    return tab.locator("#samples tbody tr")


def expect_count(tab: Any, text: str) -> None:
    """Wait until the list shows a text."""
    tab.locator("#samples .samples-head", has_text=text).wait_for(timeout=10_000)


def engines(tab: Any) -> set[str]:
    return {text.split(" ")[0] for text in tab.locator("#samples .engine-name").all_inner_texts()}


def milliseconds(tab: Any) -> list[float]:
    texts = tab.locator("#samples .time").all_inner_texts()
    units = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
    return [float(number) * units[unit] for number, unit in map(str.split, texts)]


def test_the_samples_come_in_order_of_time_a_hundred_at_a_time(listed: Listed) -> None:
    tab = listed()
    expect_count(tab, "384 of 384 samples, the first 100 listed")
    assert rows(tab).count() == 100
    more = tab.get_by_role("button", name="Show more")
    more.press("Enter")
    expect_count(tab, "the first 200 listed")
    assert tab.evaluate("document.activeElement.closest('tr').rowIndex") == 101
    more.click()
    expect_count(tab, "the first 300 listed")
    more.click()
    more.wait_for(state="hidden")
    expect_count(tab, "384 of 384 samples")
    assert rows(tab).count() == 384
    times = milliseconds(tab)
    assert times == sorted(times)
    assert times[0] != times[-1]


def test_the_list_follows_range_threads_and_filter(listed: Listed) -> None:
    tab = listed("#s=0-200000000")
    expect_count(tab, " of 384 samples")
    assert max(milliseconds(tab)) < 200
    tab.fill("#toolbar input[type=search]", "engine:ANE")
    tab.get_by_role("button", name="Clear selection").click()
    expect_count(tab, "26 of 384 samples")
    assert engines(tab) == {"ANE"}
    tab.fill("#toolbar input[type=search]", "")
    expect_count(tab, "384 of 384 samples")
    thread = tab.locator(".timeline-labels .thread").first
    name, count = thread.locator("span").first.inner_text(), thread.locator("small").inner_text()
    tab.locator("#tab-summary").click()
    thread.click()
    drawn(tab)
    # A list that is not in sight is not made anew.
    assert "384 of 384 samples" in tab.locator("#samples .samples-head").text_content()
    tab.locator("#tab-samples").click()
    expect_count(tab, f"{re.search(r'([0-9,]+) samples', count)[1]} of 384 samples")  # type: ignore[index]
    assert set(tab.locator("#samples tr td:nth-child(2)").all_inner_texts()) == {name}
    tab.fill("#toolbar input[type=search]", "nowhere")
    expect_count(tab, "No samples in the selection.")
    assert not tab.locator("#samples table").is_visible()


def test_a_chosen_sample_shows_its_stack_and_the_frame_that_decided(listed: Listed) -> None:
    tab = listed("#q=engine:ANE")
    expect_count(tab, "26 of 384 samples")
    stack = tab.locator("#inspector")
    assert "a sample in a thread's lane" in stack.inner_text()
    rows(tab).nth(2).locator("td").nth(3).click()
    deciding = stack.locator(".deciding")
    deciding.wait_for()
    assert deciding.inner_text().startswith("▸ ")
    assert deciding.text_content().endswith("(decided the engine)")
    rule = rows(tab).nth(2).locator("td").nth(5).inner_text()
    engine = rows(tab).nth(2).locator(".engine-name").inner_text()
    assert stack.locator(".stack-engine").inner_text() == f"{engine} · rule {rule}"
    leaf = rows(tab).nth(2).locator(".leaf").inner_text()
    assert leaf in stack.locator(".frames li").first.inner_text()
    assert stack.locator(".frames li").count() > 3
    assert rows(tab).nth(2).get_attribute("aria-current") == "true"
    assert tab.locator("#samples tr.inside").count() == 1


def test_arrows_move_between_rows_and_the_stack_follows(listed: Listed) -> None:
    tab = listed()
    rows(tab).nth(0).locator(".leaf").press("Enter")
    tab.locator("#inspector .frames").wait_for()
    for key, row in (
        ("ArrowDown", 1),
        ("ArrowDown", 2),
        ("ArrowUp", 1),
        ("End", 99),
        ("Home", 0),
        ("ArrowUp", 0),
    ):
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.closest('tr').rowIndex") == row + 1
        time = rows(tab).nth(row).locator(".time").inner_text()
        tab.locator("#inspector dd", has_text=re.compile(f"^{re.escape(time)}$")).wait_for()
    assert tab.locator("#samples tbody button[tabindex='0']").count() == 2


def test_a_time_in_the_list_leads_there_in_the_timeline(listed: Listed) -> None:
    tab = listed()
    time = milliseconds(tab)[50]
    rows(tab).nth(50).locator(".time").press("Enter")
    delayed_work_done(tab)
    start, end = (int(each) / 1e6 for each in re.search(r"t=(\d+)-(\d+)", tab.url).groups())  # type: ignore[union-attr]
    assert start < time < end
    assert end - start <= 110
    assert "384 of 384" in tab.locator("#samples .samples-head").inner_text()


def test_a_chosen_sample_is_marked_in_the_timeline_and_its_lane_comes_into_sight(listed: Listed) -> None:
    tab = listed("#closed=threads")
    timeline = tab.locator("#timeline")
    marked = timeline.locator("[aria-current=true]")
    rows(tab).nth(3).locator(".leaf").press("Enter")
    tab.wait_for_timeout(100)
    assert marked.count() == 0  # the group stays folded until the time is asked for
    thread = rows(tab).nth(50).locator("td").nth(1).inner_text()
    rows(tab).nth(50).locator(".time").press("Enter")
    marked.wait_for()
    assert marked.locator("span").first.inner_text() == thread
    scroll = timeline.locator(".timeline-scroll").bounding_box()
    box = marked.bounding_box()
    assert scroll["y"] <= box["y"] and box["y"] + box["height"] <= scroll["y"] + scroll["height"] + 1
    delayed_work_done(tab)
    address = re.search(r"at=(\d+)\.", tab.url)
    assert int(address[1]) / 1e6 == pytest.approx(milliseconds(tab)[50], rel=0.01)  # type: ignore[index]
    tab.get_by_role("button", name="Clear selection").click()
    assert marked.count() == 0


def test_hostile_names_of_functions_are_text(listed: Listed, tab: Any) -> None:
    evil = "<img src=x onerror=alert(1)>\u202e\n" + "x" * 5000

    def rename(route: Any) -> None:
        view = route.fetch()
        assert "APL_sgemm" in view.text()
        rename = {"APL_sgemm": evil, "libBLAS.dylib": "<b>"}
        body = changed_block(
            view.body(), lambda header: {"strings": [rename.get(text, text) for text in header["strings"]]}
        )
        route.fulfill(status=200, body=body)

    tab.route("**/api/recordings/*/view", rename)
    listed('#q="<img"')
    rows(tab).first.locator(".leaf").click()
    tab.locator("#inspector .frames").wait_for()
    for text in (tab.locator("#samples").inner_text(), tab.locator("#inspector").inner_text()):
        assert "<img src=x" in text
        assert "‹202e›" in text
        assert "<b>" in text
    assert tab.locator(":is(#samples, #inspector) :is(img, b)").count() == 0
    name, rule = (rows(tab).first.locator(place).bounding_box() for place in (".leaf", ".rule"))
    assert name["x"] + name["width"] <= rule["x"], "a long name covers the rule"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_list_is_accessible(listed: Listed, axe: str) -> None:
    tab = listed()
    rows(tab).nth(1).click()
    tab.locator("#inspector .frames").wait_for()
    tab.evaluate(axe)
    violations = tab.evaluate("axe.run(document).then(({ violations }) => violations.map(one => one.id))")
    assert violations == []
