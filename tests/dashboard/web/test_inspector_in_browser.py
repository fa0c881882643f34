"""The inspector has content for whatever was chosen: calls, ranges, pauses, functions."""

from __future__ import annotations

from typing import Any

import pytest
from dashboard_support import SAMPLES, Serve, drawn, eventually, opened

_X_OF_CALL = """(name) => {
  const label = [...document.querySelectorAll(".timeline-labels .lane")].find((lane) => lane.textContent.includes(name));
  return label.getBoundingClientRect().y + label.getBoundingClientRect().height / 2;
}"""


@pytest.fixture
def page(serve: Serve, tab: Any) -> Any:
    tab.set_viewport_size({"width": 1440, "height": 900})
    opened(tab, serve(SAMPLES / "waiting-app-ios27").address)
    eventually(tab, "document.documentElement.dataset.samples === 'true'")
    return tab


def place(page: Any, lane: str, time_ms: float) -> tuple[float, float]:
    """Return the point of a time of the whole run, 1206 ms, in a lane."""
    pane = page.locator(".timeline-pane").bounding_box()
    return pane["x"] + pane["width"] * time_ms / 1206, page.evaluate(_X_OF_CALL, lane)


def shown(page: Any, title: str) -> str:
    page.locator("#inspector h2", has_text=title).wait_for()
    drawn(page)
    return str(page.locator("#inspector").inner_text())


def test_a_call_begins_with_its_budget_and_its_difference_to_the_typical_call(page: Any) -> None:
    page.mouse.click(*place(page, "Segmenter", 263))
    text = shown(page, "Call 4 of Segmenter")
    assert "other work on engine" in text
    assert "Against the typical call: +7.00 ms" in text
    assert "Waiting for ANE" not in text  # that time is divided among the parts
    # A part leads to its time, and to what ran then.
    page.locator("#inspector").get_by_role("button", name="other work on engine").click()
    text = shown(page, "other work on engine")
    assert "ANE for others" in text
    page.locator("#inspector").get_by_role("button", name="Call 4 of Segmenter").click()
    shown(page, "Call 4 of Segmenter")


def test_threads_of_the_chosen_call_are_below_the_calls_while_it_is_chosen(page: Any) -> None:
    group = page.locator(".timeline-labels .group", has_text="Threads of the chosen call")
    assert group.count() == 0
    page.mouse.click(*place(page, "Segmenter", 263))
    group.wait_for()
    measured = page.locator(".timeline-labels .group", has_text="Measured")
    assert group.bounding_box()["y"] < measured.bounding_box()["y"]
    page.locator("#inspector .close").click()
    group.wait_for(state="hidden")


def test_two_calls_are_shown_side_by_side(page: Any) -> None:
    page.mouse.click(*place(page, "Segmenter", 263))
    shown(page, "Call 4 of Segmenter")
    page.keyboard.down("Shift")
    page.mouse.click(*place(page, "Tagger", 765))
    page.keyboard.up("Shift")
    text = shown(page, "Two calls")
    assert "Call 4 of Segmenter" in text and "Call 2 of Tagger" in text
    eventually(page, "location.hash.includes('pick=pair')")
    opened(page, page.url)  # a link shows the same
    shown(page, "Two calls")


def test_a_range_has_the_calls_the_engines_and_the_functions_in_it(page: Any) -> None:
    left, right = place(page, "Tagger", 690), place(page, "Tagger", 985)
    page.mouse.move(*left)
    page.mouse.down()
    page.mouse.move(*right, steps=4)
    page.mouse.up()
    text = shown(page, "Selection: 29")
    assert "Tagger\t6 of 6" in text
    for heading in ("Time of these calls", "Engines", "Samples", "Heaviest functions"):
        assert heading in text
    page.locator("#inspector .close").click()
    page.locator("#inspector").wait_for(state="hidden")
    eventually(page, "location.hash.includes('s=')")  # the selection stays


def test_a_pause_of_a_thread_has_what_ran_then(page: Any) -> None:
    page.mouse.click(*place(page, "0x5a3a", 400))
    text = shown(page, "No sample for 695 ms")
    assert "Engines then" in text and "SampleApp (0x5a1d)" in text


def test_a_row_of_the_call_tree_has_the_calls_that_run_the_function(page: Any) -> None:
    page.locator("#tab-calltree").click()
    page.locator(".tree-body .tree-row", has_text="_dispatch_workloop_worker_thread").locator(
        ".function"
    ).click()
    text = shown(page, "_dispatch_workloop_worker_thread")
    assert "Segmenter\t10 of 10\t60" in text
    assert "RUNTIME\t125\t125 ms" in text


def test_the_text_of_a_finding_stands_once(page: Any) -> None:
    title = page.locator(".finding h3").first.evaluate("title => title.lastChild.textContent")
    page.locator(".finding a.live-only").first.click()
    shown(page, "Finding 1: its time")
    assert page.evaluate("(text) => document.body.innerText.split(text).length - 1", title) == 1
