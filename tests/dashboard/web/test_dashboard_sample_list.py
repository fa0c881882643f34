"""The list of samples in a real browser: it follows the selection, and shows the stack of the one chosen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from dashboard_support import Served

PATIENCE_MS = 40_000
SAMPLES_ROUTE = re.compile(r"/samples\?")
FIRST_STACK = re.compile(r"/stacks/\d+$")
Listed = Callable[..., Any]


@pytest.fixture
def listed(fallback: Served, tab: Any) -> Listed:
    """Opens a recording and the tab of its samples; `before` may put itself between page and server."""

    def open_page(
        fragment: str = "", before: Callable[[Any], None] = lambda _: None, awaited: str = "tbody tr"
    ) -> Any:
        before(tab)
        tab.goto(f"{fallback.address}{fragment}")
        tab.wait_for_selector("html[data-ready]", timeout=PATIENCE_MS)
        tab.locator("#tab-samples").click()
        tab.wait_for_selector(f"#samples {awaited}", timeout=PATIENCE_MS)
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
    requests: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    thread.click()
    tab.wait_for_timeout(300)
    assert not any(SAMPLES_ROUTE.search(address) for address in requests)  # nobody sees the list
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
    for _ in range(40):
        if match := re.search(r"t=(\d+)-(\d+)", tab.url):
            break
        tab.wait_for_timeout(50)
    start, end = (int(each) / 1e6 for each in match.groups())  # type: ignore[union-attr]
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
    for _ in range(40):
        if match := re.search(r"at=(\d+)\.(\d+)", tab.url):
            break
        tab.wait_for_timeout(50)
    assert int(match[1]) / 1e6 == pytest.approx(milliseconds(tab)[50], rel=0.01)  # type: ignore[index]
    tab.get_by_role("button", name="Clear selection").click()
    assert marked.count() == 0


def test_a_refusal_is_reported_and_can_be_tried_again(listed: Listed) -> None:
    refusing = {"status": 404, "json": {"error": "Read it again."}}

    def refuse(tab: Any) -> None:
        tab.route(SAMPLES_ROUTE, lambda route: route.fulfill(**refusing))

    tab = listed(before=refuse, awaited=".problem")
    expect_count(tab, "The samples could not be loaded: Read it again.")
    tab.unroute(SAMPLES_ROUTE)
    tab.route(FIRST_STACK, lambda route: route.fulfill(**refusing))
    tab.get_by_role("button", name="Try again").click()
    expect_count(tab, "384 of 384 samples")
    rows(tab).first.click()
    tab.locator("#inspector .problem", has_text="Read it again.").wait_for()
    tab.unroute(FIRST_STACK)
    rows(tab).first.click()
    tab.locator("#inspector .frames").wait_for()
    tab.expected.append("404")


def test_other_people_s_text_is_text(listed: Listed) -> None:
    evil = "<img src=x onerror=alert(1)>\u202e\n" + "x" * 5000
    sample = {"time_ns": 5, "lane": 0, "engine": "OTHER", "phase": None, "weight": 1e6, "stack": 3}
    answer = {
        "rows": [sample | {"leaf": evil, "binary": evil, "rule": ""}],
        "next": None,
        "selected": 1,
        "total": 384,
    }
    none = {"rows": [sample | {"stack": -1, "leaf": None, "binary": None, "rule": ""}]}
    frames = {"frames": [[evil, evil], [None, None]], "deciding": -1, "rule": "", "why": evil, "engine": "OTHER",
              "phase": None, "above": 7, "below": 0}  # fmt: skip

    def stub(tab: Any) -> None:
        tab.route(
            SAMPLES_ROUTE,
            lambda route: route.fulfill(json=answer | (none if "filter" in route.request.url else {})),
        )
        tab.route(FIRST_STACK, lambda route: route.fulfill(json=frames))

    tab = listed(before=stub)
    rows(tab).first.locator(".leaf").click()
    tab.locator("#inspector .frames").wait_for()
    for text in (tab.locator("#samples").inner_text(), tab.locator("#inspector").inner_text()):
        assert "<img src=x" in text
        assert "‹202e›" in text
    assert "… 7 more" in tab.locator("#inspector").inner_text()
    assert tab.locator(":is(#samples, #inspector) img").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.fill("#toolbar input[type=search]", "x")
    tab.get_by_role("button", name="no stack").click()
    tab.get_by_text("This sample has no stack.").wait_for()


def test_the_list_is_accessible(listed: Listed, axe: str) -> None:
    tab = listed()
    rows(tab).nth(1).click()
    tab.locator("#inspector .frames").wait_for()
    tab.evaluate(axe)
    violations = tab.evaluate("axe.run(document).then(({ violations }) => violations.map(one => one.id))")
    assert violations == []
