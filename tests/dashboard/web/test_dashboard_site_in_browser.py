"""Parts that all pages of the dashboard share, in a real browser: titles, the top bar, refusals."""

from __future__ import annotations

import json
from typing import Any

from dashboard_support import FALLBACK, PATIENCE_MS, VERDICT, Serve, Served, eventually, opened, pictures

from tracekit_dashboard.library.library import Library


def test_every_page_has_a_title_and_its_link_is_marked(idle: tuple[str, Library], tab: Any) -> None:
    address, library = idle
    recording = library.add_file(FALLBACK)
    for path, title, current in (
        ("", "Recordings", "page null null"),
        ("record", "Record", "null page null"),
        (f"recordings/{recording.id}", "fallback-midway-ios27", "true null null"),
        (
            f"compare/{recording.id}/{recording.id}",
            "fallback-midway-ios27 and fallback-midway-ios27",
            "true null null",
        ),
        ("compare", "Comparison", "true null null"),
        ("history", "History", "null null page"),
    ):
        opened(tab, address + path, "h1")
        eventually(tab, f"document.title === {json.dumps(f'{title} – tracekit')}")
        marks = "[...document.querySelectorAll('.site .place')].map(one => one.getAttribute('aria-current'))"
        assert tab.evaluate(f"{marks}.map(String).join(' ')") == current


def test_what_is_redacted_of_all_processes_keeps_the_chosen_one(serve: Serve, tab: Any) -> None:
    dashboard = serve(FALLBACK)
    results = next((dashboard.folder / "recordings").glob("*/results"))
    (results / "processes.json").write_text('[[1, "launchd"], [390, "SampleApp"]]')
    opened(tab, dashboard.address)
    tab.locator("summary", has_text="Download").click()
    assert tab.get_by_role("link", name="redacted").count() == 0
    tab.locator("select[name=process]").select_option("390")
    pictures(tab, "redacting")
    with tab.expect_download(timeout=PATIENCE_MS) as download:
        tab.get_by_role("button", name="Report (Markdown), redacted").click()
    assert download.value.suggested_filename == "fallback-midway-ios27.redacted-390.md"


def test_a_download_that_is_refused_leads_back(fallback: Served, tab: Any) -> None:
    opened(tab, fallback.address)
    place = tab.url.partition("#")[0]
    tab.goto(f"{place}/download/samples?redact=1")
    assert "Samples (CSV) cannot be redacted" in tab.get_by_role("alert").inner_text()
    pictures(tab, "refused")
    tab.get_by_role("link", name="Back to the recording").click()
    tab.wait_for_url(f"{place}**")
    tab.expected.append("400")


def test_on_a_narrow_screen_everything_of_the_library_is_within_reach(
    idle: tuple[str, Library], tab: Any
) -> None:
    address, library = idle
    recording = library.add_file(FALLBACK)
    verdict, device = f"{VERDICT} " * 3, "Synthetic iPhone"
    library._catalog.change(recording.id, state="ready", verdict=verdict, device=device, windows=12)
    library.edit(recording.id, name="a-name-without-a-gap-" * 8, tags=["slow"])
    tab.set_viewport_size({"width": 420, "height": 900})
    opened(tab, address, "#library tbody tr")
    pictures(tab, "library-narrow")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 420
    tab.locator("#library .row-menu > summary").click()
    for name in ("Edit", "Delete"):
        box = tab.get_by_role("button", name=f"{name}: a-name").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 420
    label = "getComputedStyle(document.querySelector('td[data-label=Calls]'), '::before').content"
    assert "Calls" in tab.evaluate(label)
    tab.set_viewport_size({"width": 1280, "height": 900})
    assert tab.get_by_role("columnheader", name="Compare").is_visible()
    assert tab.evaluate(label) == "none"
    pictures(tab, "library-wide")
