"""The library as an overview: orders, groups, engines, copies of one recording, reasons in short."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import FALLBACK, SAMPLES, Serve, opened, pictures
from fake_library import recording as literal
from library_support import add_many, settled
from library_support import opened as opened_library
from worker_support import TWO

import tracekit
from tracekit.samples import SAMPLE_RECORDINGS
from tracekit_dashboard.callbacks.library_list import ListRequest, find_changes
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages import library as pages
from tracekit_dashboard.pages.engine_bar import count_calls_by_verdict
from tracekit_dashboard.pages.library_row import build_row

pytestmark = pytest.mark.integration

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def entry(number: int, **changed: Any) -> Recording:
    added = NOON + timedelta(minutes=number)
    return replace(literal(f"{number:032x}"), name=f"run-{number}", added=added, **changed)


@pytest.fixture
def library(tmp_path: Path) -> Any:
    with opened_library(tmp_path / "library") as made:
        yield made


def listed(library: Library, order: str) -> list[str]:
    return [recording.name for recording in library.list_recordings(order=order)]


def test_the_list_is_sorted_by_what_the_headings_name(library: Library) -> None:
    add_many(
        library,
        [
            entry(1, app="zebra", windows=5, duration_ns=30, recorded=NOON),
            entry(2, app="Apple", windows=9, duration_ns=10, recorded=NOON - timedelta(days=2)),
            entry(3, app="mango", windows=1, duration_ns=20, recorded=NOON - timedelta(days=1)),
        ],
    )
    assert listed(library, "-added") == ["run-3", "run-2", "run-1"]
    assert listed(library, "recorded") == ["run-2", "run-3", "run-1"]
    assert listed(library, "-calls") == ["run-2", "run-1", "run-3"]
    assert listed(library, "length") == ["run-2", "run-3", "run-1"]
    assert listed(library, "app") == ["run-2", "run-3", "run-1"]
    assert listed(library, "no such order") == listed(library, "-added")


def test_recordings_of_an_app_follow_each_other_below_its_name(library: Library) -> None:
    add_many(
        library, [entry(1, app="Notes"), entry(2, app="Camera"), entry(3, app="Notes"), entry(4, app="")]
    )
    table, _tags, state = find_changes(library, ListRequest("", "", False, 1, "by-app:-added"), {})
    names = [
        shown.children.children if getattr(shown, "className", "") == "app" else int(shown.key, 16)
        for shown in (table["rows"][row] for row, _digest in table["order"])
    ]
    assert names == ["Camera", 2, "Notes", 3, 1, "App not known", 4]
    again, _tags, _state = find_changes(library, ListRequest("", "", False, 1, "by-app:-added"), state)
    assert again is not table  # nothing changed: not sent again


def test_an_address_with_another_order_lists_the_newest_first() -> None:
    assert pages.parse_query("?sort=name").order == "name"
    assert pages.parse_query("?sort=by-app:-calls").order == "by-app:-calls"
    assert pages.parse_query("?sort=<b>").order == "-added"
    assert pages.parse_query("?sort=by-app:<b>").order == "by-app:-added"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"CPU": 6, "ANE": 3, "made up": 2}', {"ANE": 3, "CPU": 6, "UNKNOWN": 2}),
        ("", {}),
        ("[1]", {}),
        ('{"ANE": "<b>"}', {}),
        ("cut {", {}),
    ],
)
def test_the_engines_of_the_calls_are_those_of_the_analysis(text: str, calls: dict[str, int]) -> None:
    assert count_calls_by_verdict(literal(engines=text)) == calls


def test_facts_of_a_real_reading_and_the_mark_of_a_copy(tmp_path: Path) -> None:
    with opened_library(tmp_path / "library", TWO) as library:
        first = settled(library, library.add_file(FALLBACK))
        packed = settled(library, library.add_file(SAMPLE_RECORDINGS[0].path))
        other = settled(library, library.add_file(SAMPLES / "counters-bnns-macos15"))
        assert (first.app, first.windows, json.loads(first.engines)) == (
            "SampleApp",
            12,
            {"ANE": 6, "CPU": 6},
        )
        assert first.system.startswith("iOS 27.0")
        assert first.recorded is not None
        assert first.p50_ns == tracekit.analyze(tracekit.open_trace(FALLBACK)).summary.p50_ns
        assert library.find_originals([first, packed, other]) == {packed.id: first.name}
        row = build_row(packed, False, False, first.name)
        assert "The same recording as “fallback-midway-ios27”" in str(row)


def test_a_long_reason_is_shown_on_demand() -> None:
    reason = "It has none of the tables that are needed: " + ", ".join(
        f"table-{number}" for number in range(60)
    )
    failed = literal(state="failed", message=reason)
    details = build_row(failed, False, False).children[3].children
    summary, whole = details.children
    assert len(summary.children) < 150
    assert reason.startswith(summary.children.removesuffix(" …"))
    assert whole.children == reason


def test_the_empty_library_offers_a_sample(serve: Serve, tab: Any) -> None:
    dashboard = serve()
    opened(tab, dashboard.base, ".empty")
    tab.get_by_role("button", name="Add a sample recording").click()
    link = tab.get_by_role("link", name="SpeechEncoder.tkpack")
    link.wait_for()
    tab.locator(".engine-bar", has_text="ANE 6, CPU 6").wait_for(timeout=40_000)


def test_sorting_grouping_and_the_tray_in_the_browser(serve: Serve, tab: Any, axe: str) -> None:
    dashboard = serve(FALLBACK, SAMPLES / "counters-bnns-macos15", SAMPLES / "ane-intervals-macos26")
    tab.set_viewport_size({"width": 1024, "height": 768})
    opened(tab, dashboard.base, "#library tbody tr >> nth=2")
    names = tab.locator("#library tbody th > a")
    tab.locator("th button", has_text=re.compile("^Recording$")).click()
    tab.locator("th[aria-sort=ascending]", has_text="Recording").wait_for()
    assert names.all_inner_texts() == sorted(names.all_inner_texts())
    tab.locator("th button", has_text=re.compile("^Recording$")).click()
    tab.locator("th[aria-sort=descending]", has_text="Recording").wait_for()
    assert names.all_inner_texts() == sorted(names.all_inner_texts(), reverse=True)
    assert "sort=-name" in tab.url
    tab.get_by_role("button", name="Group by app").click()
    tab.locator("#library tr.app").first.wait_for()
    opened(tab, tab.url, "#library tr.app")  # a link shows the same
    for name in names.all_inner_texts():
        tab.get_by_role("checkbox", name=f"Compare: {name}").click()
    tray = tab.locator(".tray")
    tray.get_by_role("link", name="Compare").nth(1).wait_for()
    box = tray.bounding_box()
    assert box["y"] + box["height"] <= 768 + 1  # in sight, wherever the rows are
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    table = tab.locator(".recordings")
    assert table.evaluate("element => element.scrollWidth <= element.clientWidth"), "cut off at 1,024 pixels"
    assert barriers(tab, axe) == []
    tray.get_by_role("link", name="Side by side").click()
    tab.wait_for_url("**/trend/**")
    tab.locator("#trend caption", has_text="Model SpeechEncoder").wait_for()
    assert tab.locator("#trend h1").inner_text() == "3 analyses side by side"
    models = tab.locator("#trend table", has=tab.locator("caption", has_text="Model SpeechEncoder"))
    assert models.first.locator("thead th").count() == 4
    first = models.locator("tr", has=tab.get_by_role("rowheader", name="p50", exact=True)).first
    assert first.locator(".trend-bar").count() >= 2
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert barriers(tab, axe) == []
    pictures(tab, "trend")
