"""The page of a recording as a place to work in: panes that keep their place, and clicks that explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import PATIENCE_MS, Serve, Served, eventually, opened
from thread_support import SAMPLE_TEXT

WORKER = "SampleApp (0x5a3a)"

_MIDDLE = """(name) => {
  const labels = [...document.querySelectorAll(".timeline-labels .label")];
  const box = labels.find((label) => label.textContent.includes(name))?.getBoundingClientRect();
  return box?.height ? box.y + box.height / 2 : null;
}"""


@pytest.fixture
def bench(fallback: Served, tab: Any) -> Any:
    tab.set_viewport_size({"width": 1440, "height": 900})
    opened(tab, fallback.address)
    return tab


def point_in_lane(tab: Any, name: str, time_ms: float) -> tuple[float, float]:
    """Return where a lane shows a time of the whole run."""
    # In one step, because labels are made anew while data arrives.
    middle = tab.wait_for_function(_MIDDLE, arg=name, timeout=PATIENCE_MS).json_value()
    box = tab.locator(".timeline-pane").bounding_box()
    length_ms = tab.evaluate("document.querySelector('.timeline-pane').clientWidth") / 568
    return box["x"] + time_ms * length_ms, middle


def inspected(tab: Any) -> str:
    return str(tab.locator("#inspector").inner_text())


def test_the_page_fits_the_window_and_the_timeline_stays_in_sight(bench: Any) -> None:
    assert bench.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert bench.evaluate("document.documentElement.scrollWidth <= innerWidth")
    timeline = bench.locator("#timeline").bounding_box()
    assert timeline["y"] < 200
    for name in ("calls", "flame", "samples", "evidence", "summary"):
        bench.locator(f"#tab-{name}").click()
        panel = bench.locator(f"#panel-{name}")
        panel.wait_for()
        assert bench.locator("[role=tabpanel]:visible").count() == 1
        assert bench.locator("#timeline").bounding_box() == timeline
        bottom = panel.bounding_box()["y"] + panel.bounding_box()["height"]
        assert bottom == pytest.approx(900, abs=1)


def test_a_click_in_a_thread_shows_the_stack_and_the_frame_that_decided(bench: Any) -> None:
    bench.mouse.move(*point_in_lane(bench, WORKER, 285))
    bench.locator(".tooltip", has_text="in APL_sgemm (libBLAS.dylib)").wait_for()
    bench.mouse.click(*point_in_lane(bench, WORKER, 285))
    bench.locator("#inspector .deciding", has_text="libBNNS.dylib").wait_for()
    assert WORKER in inspected(bench)
    assert "rule cpu.bnns" in inspected(bench)
    eventually(bench, "location.hash.includes('pick=sample')")
    opened(bench, bench.url)  # a link shows the same
    bench.locator("#inspector .deciding").wait_for()


def test_a_call_is_explained_beside_the_timeline(bench: Any) -> None:
    bench.mouse.click(*point_in_lane(bench, "SpeechEncoder", 280))
    bench.locator("#inspector h2", has_text="Call 7").wait_for()
    text = inspected(bench)
    assert "CPU busy" in text and "measured" in text
    assert "longer than the median of its model's other calls" in text
    assert "Why:" in text
    bench.locator("#inspector h3", has_text="Heaviest stack during this call: 15 samples").wait_for()
    bench.locator("#tab-calls").click()
    row = bench.locator("#windows-live tr[aria-current=true]")
    assert row.count() == 1
    row_top = "document.querySelector('#windows-live tr[aria-current=true]').getBoundingClientRect().top"
    eventually(bench, f"{row_top} < 890")  # it is in sight, though six tall rows stand above it
    bench.keyboard.press("]")
    bench.locator("#inspector h2", has_text="Call 8").wait_for()
    bench.keyboard.press("r")  # another selection: its heaviest stack is not the call's
    bench.locator("#inspector h3", has_text="Heaviest stack").wait_for(state="detached")
    bench.locator("#inspector .close").click()
    bench.locator("#inspector").wait_for(state="hidden")  # folded: the timeline has its width


def test_the_calls_of_a_selection_are_listed_and_all_of_them_on_request(bench: Any) -> None:
    bench.get_by_role("link", name="Show in the timeline: SpeechEncoder left").click()
    bench.locator("#tab-calls").click()
    rows = bench.locator("#windows-live tbody tr")
    assert rows.count() == 6
    bench.get_by_label("List all calls").check()
    assert rows.count() == 12
    assert "a ANE: measured in the table" in bench.locator("#windows-live .call-reasons").inner_text()
    assert bench.locator("#windows-live .table-scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
    bench.get_by_role("button", name="Clear selection").click()
    assert rows.count() == 12


def test_an_interval_leads_to_its_call(bench: Any) -> None:
    bench.mouse.click(*point_in_lane(bench, "CPU inference", 285))
    bench.locator("#inspector", has_text="lies in this call of it only").wait_for()
    bench.locator("#inspector").get_by_role("button", name="Call 7 of SpeechEncoder").click()
    bench.locator("#inspector h2", has_text="Call 7").wait_for()


def test_back_undoes_a_selection_a_tab_and_a_zoom(bench: Any) -> None:
    steps = (
        (lambda: bench.keyboard.press("w"), "t=", "!location.hash.includes('t=')"),
        (lambda: bench.locator("#tab-flame").click(), "tab=flame", "!location.hash.includes('tab=')"),
        (lambda: bench.keyboard.press("]"), "s=", "!location.hash.includes('s=')"),
    )
    for act, mark, _ in steps:
        act()
        eventually(bench, f"location.hash.includes('{mark}')")
    for _, _, undone in reversed(steps):
        bench.go_back()
        eventually(bench, undone)
    assert bench.locator("#panel-summary").is_visible()
    bench.go_forward()
    eventually(bench, "location.hash.includes('t=')")
    assert bench.locator("h1").inner_text() == "fallback-midway-ios27"  # the page was not left


def test_keys_open_tabs_and_change_the_timeline_s_height(bench: Any) -> None:
    bench.keyboard.press("2")
    assert bench.locator("#panel-calls").is_visible()
    bench.locator("#tab-calls").focus()
    bench.keyboard.press("ArrowLeft")
    assert bench.locator("#panel-summary").is_visible()
    before = bench.locator("#timeline").bounding_box()["height"]
    edge = bench.get_by_role("separator", name="Height of the timeline")
    edge.focus()
    for _ in range(3):
        bench.keyboard.press("ArrowUp")
    assert bench.locator("#timeline").bounding_box()["height"] < before - 50
    eventually(bench, "location.hash.includes('split=')")
    edge.dblclick()
    assert bench.locator("#timeline").bounding_box()["height"] == before


def test_a_wide_window_shows_two_tabs(bench: Any) -> None:
    bench.set_viewport_size({"width": 2560, "height": 1440})
    bench.locator("#tab-calls").click()
    bench.get_by_label("Tab beside this one").select_option("flame")
    calls, flame = (bench.locator(f"#panel-{name}").bounding_box() for name in ("calls", "flame"))
    assert calls["y"] == flame["y"]
    assert calls["x"] + calls["width"] <= flame["x"]
    assert bench.locator("#timeline").bounding_box()["width"] == 2560  # no margin is left
    assert bench.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_the_parts_stack_up_and_details_are_a_sheet(fallback: Served, tab: Any, axe: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    opened(tab, fallback.address)
    assert not tab.locator("#inspector").is_visible()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.get_by_role("link", name="Show in the timeline: SpeechEncoder left").click()
    sheet = tab.locator("#inspector").bounding_box()
    assert sheet["y"] + sheet["height"] == pytest.approx(844, abs=2)
    assert sheet["height"] <= 0.56 * 844
    assert barriers(tab, axe) == []


@pytest.mark.parametrize("name", ["summary", "calls", "flame", "samples", "evidence"])
def test_every_tab_is_accessible(bench: Any, axe: str, name: str) -> None:
    bench.locator(f"#tab-{name}").click()
    bench.mouse.click(*point_in_lane(bench, WORKER, 285))
    bench.locator("#inspector .frames").wait_for()
    assert barriers(bench, axe) == []


def test_what_an_address_names_but_is_not_there_is_left_out(fallback: Served, tab: Any) -> None:
    for fragment in (
        "#pick=call.99",
        "#pick=interval.m99.3",
        "#pick=nothing.1",
        "#tab=nowhere",
        "#pick=finding.77",
    ):
        tab.goto("about:blank")
        opened(tab, fallback.address + fragment)
        assert tab.locator("[role=tabpanel]:visible").count() == 1
        is_named = fragment.startswith("#pick=") and fragment != "#pick=nothing.1"
        assert ("something that this recording does not have" in inspected(tab)) == is_named


def test_a_text_without_times_fills_the_window_with_its_tabs(serve: Serve, tab: Any, tmp_path: Path) -> None:
    text = tmp_path / "MyApp.sample.txt"
    text.write_text(SAMPLE_TEXT)
    tab.set_viewport_size({"width": 1440, "height": 900})
    opened(tab, serve(text).address)
    tabs = tab.locator("[role=tab]").all_inner_texts()
    assert tabs == ["Summary", "Call tree", "Flame graph", "Samples", "Tables", "Questions", "Evidence"]
    assert tab.locator("#timeline, .splitter, #inspector:visible").count() == 0
    panel = tab.locator("#panel-summary").bounding_box()
    assert panel["x"] + panel["width"] == pytest.approx(1440, abs=20)
    assert panel["y"] + panel["height"] == pytest.approx(900, abs=1)
    assert "E5RT::Ops::AneInferenceOperation" in tab.locator("#threads").inner_text()
    assert tab.locator("#options button", has_text="Calls from").count() == 0
    tab.locator("#tab-flame").click()
    tab.locator("#flame canvas").first.wait_for()
