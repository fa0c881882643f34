"""The page of a library with 3,000 recordings in a real browser: pages, keyboard, search, and small responses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import eventually, opened, pictures, until
from fake_library import recording as literal
from library_support import add_many

from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages.library import PAGE_ROWS

COUNT = 3_000
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROWS = "#library tbody tr"


@pytest.fixture
def long(idle: tuple[str, Library]) -> tuple[str, Library]:
    """A dashboard on a library of many recordings: number 0 is the newest, and every third failed."""
    base, library = idle
    failure = {"state": "failed", "message": "The file ends early."}
    recordings = [
        replace(
            literal(f"{number:032x}"),
            name=f"run-{number:04}",
            added=NOON - timedelta(minutes=number),
            **({} if number % 3 else failure),
        )
        for number in range(COUNT)
    ]
    add_many(library, recordings)
    for number in range(0, COUNT, 500):
        library.edit(f"{number:032x}", tags=["milestone"])
    return base, library


def first_row(tab: Any, name: str) -> None:
    tab.locator(ROWS).first.get_by_role("link", name=name).wait_for()


def test_pages_are_turned_by_mouse_and_keyboard_and_stay_in_the_address(
    long: tuple[str, Library], tab: Any, axe: str
) -> None:
    base, _library = long
    opened(tab, base, ROWS)
    assert tab.locator(ROWS).count() == PAGE_ROWS
    assert tab.evaluate("document.querySelectorAll('*').length") < 2_500
    pages = tab.get_by_role("navigation", name="Pages of the list")
    assert pages.get_by_role("status").inner_text() == "1–50 of 3,000"
    assert 0 < pages.bounding_box()["y"] < 900  # in sight, wherever one reads
    tab.get_by_role("checkbox", name="Compare: run-0001").click()
    pages.get_by_role("button", name="Older").click()
    first_row(tab, "run-0050")
    assert tab.evaluate("document.getElementById('library-rows').getBoundingClientRect().top") >= 0
    tab.keyboard.press("Enter")  # the focus has stayed on the button
    first_row(tab, "run-0100")
    eventually(tab, "location.search.includes('page=3')")
    tab.get_by_role("checkbox", name="Compare: run-0101").click()
    tab.locator(".tray tbody tr", has_text="run-0101").get_by_text("BASE").wait_for()
    assert barriers(tab, axe) == []
    pictures(tab, "library-long")
    pages.get_by_role("button", name="Oldest").click()
    first_row(tab, f"run-{COUNT - PAGE_ROWS}")
    pages.get_by_role("button", name="Older").press("Enter")  # leads nowhere
    tab.reload()
    first_row(tab, f"run-{COUNT - PAGE_ROWS}")
    assert pages.get_by_role("status").inner_text() == "2,951–3,000 of 3,000"


def test_a_search_looks_at_all_pages_and_begins_with_the_first(long: tuple[str, Library], tab: Any) -> None:
    base, library = long
    opened(tab, f"{base}?page=9", ROWS)
    tab.locator("#library-search").fill("run-29 early")
    first_row(tab, "run-2901")
    assert tab.locator(ROWS).count() == 33  # every third failed
    eventually(tab, "location.search === '?q=run-29+early'")
    tab.locator("#library-search").fill("")
    first_row(tab, "run-0000")
    tab.get_by_role("button", name="milestone").click()
    tab.locator(f"{ROWS} >> nth=6").wait_for(state="detached")
    library.delete(f"{500:032x}")
    tab.locator(f"{ROWS} >> nth=5").wait_for(state="detached")


def test_a_poll_brings_what_changed_or_all_rows_after_a_loss(long: tuple[str, Library], tab: Any) -> None:
    base, library = long
    opened(tab, base, ROWS)
    edit = tab.get_by_label("Actions: run-0003")
    edit.focus()
    tab.evaluate("window.before = document.activeElement")
    sizes: list[int] = []
    tab.on("response", lambda response: "_dash-update" in response.url and sizes.append(size_of(response)))
    library._catalog.change(f"{1:032x}", state="reading", stage="opening", progress=0.25)
    tab.get_by_text("opening, 25 %").wait_for()
    library.delete(f"{0:032x}")
    tab.get_by_role("link", name="run-0050").wait_for()
    until(tab, lambda: len(sizes) > 3)
    assert max(sizes) < 20_000
    assert tab.evaluate("document.activeElement === window.before && window.before.isConnected")
    tab.evaluate("document.getElementById('library-rows').rows = new Map()")  # a response was lost
    library.edit(f"{2:032x}", name="another")
    tab.get_by_role("link", name="another").wait_for()
    assert tab.locator(ROWS).count() == PAGE_ROWS


def size_of(response: Any) -> int:
    return int(response.headers.get("content-length", 0))


def test_a_screen_has_twenty_recordings_of_a_line_each(long: tuple[str, Library], tab: Any) -> None:
    base, library = long
    library.edit(f"{1:032x}", tags=["milestone"], note="after the update, with the note in its row " * 3)
    tab.set_viewport_size({"width": 1440, "height": 900})
    opened(tab, base, ROWS)
    tab.get_by_text("after the update").wait_for()
    heights = tab.evaluate(f"[...document.querySelectorAll('{ROWS}')].map(row => row.offsetHeight)")
    assert max(heights) <= 34
    below = "row => row.getBoundingClientRect().bottom <= innerHeight - document.querySelector('.pages').offsetHeight"
    assert tab.evaluate(f"[...document.querySelectorAll('{ROWS}')].filter({below}).length") >= 20


def test_a_row_has_a_menu_that_closes_with_escape_and_elsewhere(long: tuple[str, Library], tab: Any) -> None:
    base, _library = long
    opened(tab, base, ROWS)
    menu, entry = tab.get_by_label("Actions: run-0001"), tab.get_by_role("button", name="Edit: run-0001")
    menu.press("Enter")
    tab.keyboard.press("Tab")
    eventually(tab, "document.activeElement.ariaLabel === 'Edit: run-0001'")
    tab.keyboard.press("Escape")
    entry.wait_for(state="hidden")
    eventually(tab, "document.activeElement.ariaLabel === 'Actions: run-0001'")
    menu.click()
    tab.get_by_label("Actions: run-0002").click()
    entry.wait_for(state="hidden")
