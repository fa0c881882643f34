"""Two recordings compared in a real browser: from the ticks in the library to the aligned timelines."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import (
    PATIENCE_MS,
    READY,
    SAMPLES,
    Serve,
    Served,
    act,
    drawn,
    eventually,
    opened,
    pictures,
)

BASE, NEW = "ane-intervals-macos26", "fallback-midway-ios27"
BOTH = (SAMPLES / BASE, SAMPLES / NEW)


@pytest.fixture(scope="module")
def both(shelf: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard on two recordings, for tests that leave them as they were."""
    folder = tmp_path_factory.mktemp("both") / "library"
    shutil.copytree(shelf(*BOTH), folder)
    dashboard = Served(folder)
    yield dashboard
    dashboard.close()


def compared(tab: Any, dashboard: Served) -> Any:
    """Open the page that compares both, with everything that is folded."""
    opened(tab, address_of(dashboard, BASE, NEW))
    unfold(tab)
    return tab


def address_of(dashboard: Served, base: str, new: str) -> str:
    ids = {recording.name: recording.id for recording in dashboard.library.list_recordings()}
    return f"{dashboard.base}compare/{ids[base]}/{ids[new]}"


def unfold(tab: Any) -> None:
    tab.evaluate("for (const part of document.querySelectorAll('main details')) part.open = true")


def axes(tab: Any) -> list[str]:
    drawn(tab)
    pictures_of_axes = (
        "['base', 'new'].map((side) => document.querySelector(`#timeline-${side} canvas.axis`).toDataURL())"
    )
    colors: list[str] = tab.evaluate(pictures_of_axes)
    return colors


def linked(tab: Any, *parts: str) -> None:
    """Wait until the address names these."""
    eventually(tab, f"{json.dumps(parts)}.every((part) => location.hash.includes(part))")


def test_a_fallback_of_one_run_is_not_shown_to_be_gone_and_the_page_fits(serve: Serve, tab: Any) -> None:
    base, new = "fallback-midway-ios27", "concurrent-models-ios27"
    dashboard = serve(SAMPLES / base, SAMPLES / new)
    tab.set_viewport_size({"width": 1440, "height": 900})
    opened(tab, address_of(dashboard, base, new))
    pictures(tab, "compare-fallback-gone")
    assert tab.evaluate("document.documentElement.scrollHeight") <= 1500
    assert tab.locator("#verdict .outcome").inner_text() == "? Slower in these recordings."
    models = tab.locator("#models tbody tr").all_inner_texts()
    assert [row.split("\t")[:2] for row in models] == [
        ["SpeechEncoder", "? slower here"],
        ["Detector", "NEW only"],
    ]
    fallback = tab.locator("#findings li", has_text="left the Neural Engine")
    assert "not shown to differ" in fallback.inner_text()
    assert fallback.locator(".severity-gone").count() == 0
    unfold(tab)
    assert find_impossible(tab.locator("main").inner_text()) == []


def test_the_page_has_one_answer_and_one_scale_per_chart(serve: Serve, tab: Any) -> None:
    """Of one model that both have, of one recording twice, and of recordings without a model in common."""
    names = ("fallback-midway-ios27", "concurrent-models-ios27", "waiting-app-ios27")
    dashboard = serve(*(SAMPLES / name for name in names))
    tab.set_viewport_size({"width": 1440, "height": 900})
    for base, new in ((names[1], names[0]), (names[0], names[2])):
        opened(tab, address_of(dashboard, base, new))
        assert tab.evaluate("document.documentElement.scrollHeight") <= 1500
        assert tab.evaluate("document.documentElement.scrollWidth") <= 1440
        is_shown = not tab.locator("#verdict .outcome").inner_text().startswith("? No difference")
        filled = tab.locator("#charts svg.forest-more, #charts svg.forest-less").count()
        assert is_shown or not filled
        unfold(tab)
        assert all(width >= 0.1 for width in tab.evaluate(MEDIAN_WIDTHS))
    assert tab.locator("#findings li").count() == 1
    assert "Findings of models that one side alone runs: " in tab.locator("#findings").inner_text()
    assert "no model in common" in tab.locator("#functions").inner_text()


# For each chart, the part of its width that the middle one of its intervals takes.
MEDIAN_WIDTHS = """[...document.querySelectorAll("#charts .forest")].map((chart) => {
  const widths = [...chart.querySelectorAll("li > svg")].map((svg) => {
    const line = svg.querySelector("line.forest-interval");
    return line ? line.getBoundingClientRect().width / svg.getBoundingClientRect().width : 0;
  });
  return widths.sort((a, b) => a - b)[Math.floor(widths.length / 2)];
})"""


def find_impossible(text: str) -> list[str]:
    """Return the intervals that no difference can have: below -100 % of BASE, or beyond 100 points."""
    ends = [
        (match[0], float(match[1].replace(",", "")), float(match[2].replace(",", "")), match[3])
        for match in re.finditer(r"([-+][0-9,.]+) … ([-+][0-9,.]+)(?: (%|pts))?", text)
    ]
    assert len(ends) > 30
    relative = [found for found, low, _, unit in ends if unit == "%" and low < -100]
    shares = re.findall(r"^(?:.* share)\t.*$", text, re.MULTILINE)
    assert shares
    points = [
        row
        for row in shares
        for end in re.findall(r"[-+][0-9.]+(?= …)|(?<=… )[-+][0-9.]+", row)
        if abs(float(end)) > 100
    ]
    return [*relative, *points]


def test_from_two_ticks_to_the_verdict(both: Served, tab: Any) -> None:
    opened(tab, both.base, "#library .tick >> nth=1")
    for name in (NEW, BASE):
        tab.get_by_role("checkbox", name=f"Compare: {name}").click()
    tab.get_by_role("link", name=re.compile("^Compare .* with ")).click()
    tab.wait_for_url("**/compare/**")
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    assert [side.strip() for side in tab.locator(".sides a").all_inner_texts()] == [BASE, NEW]
    assert "Other engines in these recordings: calls on" in tab.locator("#verdict").inner_text()
    unfold(tab)
    assert "different devices" in tab.locator("#sides").inner_text()
    assert tab.locator("#differences table caption", has_text="Model SpeechEncoder").count() == 1
    assert tab.locator("#functions tbody tr").count() > 3
    assert tab.locator("header h1, main h2").all_inner_texts() == [
        "Comparison",
        "Summary",
        "Models",
        "Parts of a call",
        "Findings: gone, new and remaining",
        "Charts of SpeechEncoder: 13 calls in BASE, 12 in NEW",
        "Compared, with 8 cautions",
        "All numbers",
        "Functions that changed",
        "Timelines",
        "Flame graph of both sides",
    ]
    assert "NEW" in tab.locator("#difference canvas").get_attribute("aria-label")
    pictures(tab, "compare")


def test_what_is_shown_or_selected_in_one_is_in_the_other_and_in_the_link(both: Served, tab: Any) -> None:
    compared(tab, both)
    before = axes(tab)
    tab.get_by_role("button", name="Aligned calls").click()
    linked(tab, "t=-")
    near = axes(tab)
    assert near[0] != before[0] and near[1] != before[1]
    tab.locator("#timeline-new .timeline-pane").scroll_into_view_if_needed()
    pane = tab.locator("#timeline-new .timeline-pane").bounding_box()
    tab.mouse.move(pane["x"] + 200, pane["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(pane["x"] + 400, pane["y"] + 20, steps=4)
    tab.mouse.up()
    linked(tab, "t=-", "s=")
    text = tab.locator("#status").inner_text()
    assert text.startswith("Selected ") and "BASE from 25" in text and "NEW from 5" in text
    tab.locator("#timeline-new select").select_option("8")
    linked(tab, "new=8")
    shown = axes(tab)
    assert shown[0] == near[0] and shown[1] != near[1]
    link = tab.url
    opened(tab, "about:blank", "html")
    opened(tab, link)
    assert tab.locator("#timeline-new select").input_value() == "8"
    assert axes(tab) == shown
    tab.get_by_role("button", name="Clear selection").click()
    eventually(tab, "!location.hash.includes('s=')")
    tab.get_by_role("button", name="Both runs whole").click()
    eventually(tab, "!location.hash.includes('t=')")


def test_swapped_sides_show_the_same_time(both: Served, tab: Any) -> None:
    compared(tab, both)
    tab.locator("#timeline-new select").select_option("8")
    tab.get_by_role("button", name="Aligned calls").click()
    linked(tab, "new=8", "t=-")
    shown = axes(tab)
    tab.get_by_role("link", name="Swap BASE and NEW").click()
    tab.wait_for_selector("#timeline-base h3:has-text('fallback-midway')", timeout=PATIENCE_MS)
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    assert tab.locator("#timeline-base select").input_value() == "8"
    assert axes(tab) == shown[::-1]


def test_keys_move_both_once_and_help_names_them(both: Served, tab: Any) -> None:
    compared(tab, both)
    tab.locator("#timeline-base .timeline-scroll").focus()
    tab.keyboard.press("w")
    linked(tab, "t=")
    focused = axes(tab)
    opened(tab, tab.url.partition("#")[0])
    unfold(tab)
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("w")  # nothing has the focus: the key is for the timelines, once
    linked(tab, "t=")
    assert axes(tab) == focused
    tab.keyboard.press("?")
    assert "Zoom in" in tab.get_by_role("dialog", name="Help").inner_text()


def test_downloads_are_of_this_comparison(both: Served, tab: Any) -> None:
    compared(tab, both)
    tab.locator("summary", has_text="Download").click()
    for title, ending in (("HTML", "html"), ("Markdown", "md"), ("JSON", "json")):
        with tab.expect_download() as download:
            tab.get_by_role("link", name=f"Comparison ({title})").click()
        assert download.value.suggested_filename == f"{BASE}-and-{NEW}.comparison.{ending}"
        text = Path(download.value.path()).read_text("utf-8")
        assert BASE in text and NEW in text


def test_it_is_cancelled_and_begun_again(serve: Serve, tab: Any) -> None:
    compared(tab, serve(*BOTH))
    tab.get_by_role("link", name="Swap BASE and NEW").click(no_wait_after=True)
    tab.get_by_role("button", name="Cancel").click(timeout=PATIENCE_MS)
    tab.get_by_text("was cancelled").wait_for(timeout=PATIENCE_MS)
    pictures(tab, "compare-cancelled")
    tab.get_by_role("button", name="Try again").click()
    tab.locator("#timeline-base h3", has_text="fallback-midway").wait_for(
        state="attached", timeout=PATIENCE_MS
    )


def test_a_recording_deleted_while_it_is_compared_with_is_reported(both: Served, tab: Any) -> None:
    compared(tab, both)
    place = tab.url
    opened(tab, both.base, "#library .tick")
    act(tab, f"Delete: {NEW}")
    tab.get_by_text("Deleted “").wait_for()
    opened(tab, place, "main li")
    assert f"NEW, {NEW}, was deleted." in tab.locator("main").inner_text()
    tab.locator("main").get_by_role("link", name=NEW).click()
    tab.get_by_role("button", name="Restore").click()
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    opened(tab, place)
    assert "Other engines" in tab.locator("#verdict").inner_text()


def test_a_source_file_that_is_gone_is_reported(serve: Serve, tab: Any, tmp_path: Path) -> None:
    local_folder = tmp_path / "mine"
    shutil.copytree(SAMPLES / NEW, local_folder)
    opened(tab, serve(SAMPLES / BASE, local_folder).base, "#library .tick >> nth=1")
    shutil.rmtree(local_folder)
    for name in ("mine", BASE):
        tab.get_by_role("checkbox", name=f"Compare: {name}").click()
    tab.get_by_role("link", name=re.compile("^Compare .* with ")).click()
    problem = tab.locator("main .problem")
    problem.wait_for(timeout=PATIENCE_MS)
    assert "mine cannot be compared: its file is gone" in problem.inner_text()


def test_ticks_stay_over_a_search_and_are_cleared(both: Served, tab: Any) -> None:
    opened(tab, both.base, "#library .tick >> nth=1")
    tab.get_by_role("checkbox", name=f"Compare: {BASE}").click()
    tab.get_by_text("Choose one more to compare").wait_for()
    tab.locator("#library-search").fill("ios27")
    eventually(tab, "document.querySelectorAll('#library-rows tbody tr').length === 1")
    tab.get_by_role("checkbox", name=f"Compare: {NEW}").click()
    tab.get_by_role("link", name=re.compile("^Compare .* with ")).wait_for()
    tab.locator("#library-search").fill("")
    eventually(tab, "document.querySelectorAll('#library-rows tbody tr').length === 2")
    eventually(
        tab, "[...document.querySelectorAll('#library .tick')].every((one) => one.ariaChecked === 'true')"
    )
    tab.get_by_role("button", name="Clear").click()
    eventually(
        tab, "![...document.querySelectorAll('#library .tick')].some((one) => one.ariaChecked === 'true')"
    )
    eventually(tab, "document.querySelector('#library-compare').textContent === ''")


def test_nothing_on_it_stands_in_the_way_of_assistive_technology(both: Served, tab: Any, axe: str) -> None:
    compared(tab, both)
    assert barriers(tab, axe) == []


def test_the_strips_of_both_are_on_one_scale_and_a_side_without_windows_has_a_remark(
    serve: Serve, tab: Any
) -> None:
    long, short = "ane-intervals-macos26", "text-addresses-ios16"
    opened(tab, serve(SAMPLES / long, SAMPLES / short).base, "#library .tick >> nth=1")
    for name in (long, short):
        tab.get_by_role("checkbox", name=f"Compare: {name}").click()
    tab.get_by_role("link", name=re.compile("^Compare .* with ")).click()
    tab.wait_for_selector(READY, timeout=PATIENCE_MS)
    unfold(tab)
    tab.wait_for_timeout(500)
    pictures(tab, "compared-strips")
    assert (
        tab.locator(".aligned-at").last.inner_text() == "This run has no calls. It is aligned at its start."
    )
    assert tab.locator(".aligned-at select").count() == 1
    shares = [tab.locator("canvas.overview").nth(side).evaluate(DRAWN) for side in (0, 1)]
    assert shares[0] == 1 and 0.6 < shares[1] < 0.66  # 0.85 s, and of them 0.53 s


# The part of the strip's columns in which anything is drawn.
DRAWN = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, canvas.height / 2, canvas.width, 1);
  return Array.from({ length: canvas.width }, (_, x) => data[4 * x + 3] > 0).filter(Boolean).length / canvas.width;
}"""
