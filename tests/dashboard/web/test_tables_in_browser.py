"""The tables of a recording in a real browser: the list, an open table, its link to the timeline, drawn lanes."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from browser_support import barriers
from dashboard_support import READY, Serve, Served, delayed_work_done, drawn, eventually, opened, pictures
from documents_support import one_table

ROWS = ".grid-table tbody tr"
SCHEMA = "coreml-os-signpost"


def texts(tab: Any, column: int) -> list[str]:
    found: list[str] = tab.locator(f"{ROWS} td:nth-child({column})").all_inner_texts()
    return found


def count(tab: Any, text: str) -> None:
    """Wait until the summary of the open table has a text."""
    tab.locator(".table-count", has_text=text).wait_for(timeout=10_000)


def lanes(tab: Any) -> list[str]:
    found: list[str] = tab.locator(".timeline-labels .lane:has(.remove) .name").all_inner_texts()
    return found


@pytest.fixture
def listed(fallback: Served, tab: Any) -> Any:
    """The list of tables."""
    opened(tab, f"{fallback.address}#tab=tables")
    tab.locator(".table-items li").first.wait_for(timeout=30_000)
    return tab


def test_a_table_is_found_opened_filtered_scoped_and_drawn(listed: Any, axe: str) -> None:
    tab = listed
    tab.fill("[aria-label='Search tables']", "core ml")
    eventually(tab, "document.querySelectorAll('.table-items li').length === 1")
    pictures(tab, "tables-list")
    tab.get_by_role("button", name=SCHEMA, exact=True).click()
    tab.locator(ROWS).first.wait_for(timeout=30_000)
    count(tab, "19 rows")
    heads = tab.locator(".grid-table th button").all_inner_texts()
    assert heads[:2] == ["Creation (s)", "Duration (ms)"]

    # Sorted by the server, on a press of the heading.
    tab.get_by_role("button", name="Duration (ms)").click()
    tab.get_by_role("button", name="Duration (ms)").click()
    tab.locator(".grid-table th[aria-sort=descending]").wait_for()
    cells = f"[...document.querySelectorAll('{ROWS} td:nth-child(2)')]"
    numbers = f"{cells}.map((cell) => parseFloat(cell.innerText)).filter((number) => number > 0)"
    eventually(
        tab, f"{numbers}.length > 5 && {numbers}.every((number, row, all) => !row || number <= all[row - 1])"
    )
    durations = [float(text.replace(",", "")) for text in texts(tab, 2) if text != "…"]
    assert durations == sorted(durations, reverse=True)

    # Filtered by a column; a condition that is not understood is a sentence, and the page goes on.
    tab.fill("[aria-label='Filter of Duration (ms)']", "long")
    tab.locator(".table-status .problem", has_text="no condition for Duration").wait_for()
    tab.expected.append("400 (BAD REQUEST)")
    tab.fill("[aria-label='Filter of Duration (ms)']", "> 20 ms")
    tab.locator(".table-count", has_text="match").wait_for()
    assert tab.locator(".table-status .problem").count() == 0
    assert all(float(text) > 20 for text in texts(tab, 2) if text != "…")
    tab.fill("[aria-label='Filter of Duration (ms)']", "")
    count(tab, "19 rows")

    # A row in the inspector, and its time in the timeline.
    tab.locator(f"{ROWS} td").first.click()
    tab.locator("#inspector h2", has_text=f"{SCHEMA}, row").wait_for()
    tab.locator("#inspector dt", has_text="Duration").first.wait_for()
    eventually(tab, "location.hash.includes('pick=row.') && location.hash.includes('at=')")
    tab.get_by_role("button", name="Select its time").click()
    count(tab, "of 19 rows in the selection")
    tab.get_by_role("button", name="Whole table").click()
    count(tab, "19 rows")

    # Drawn as lanes: rows, and values of a column.
    tab.get_by_text("Draw in the timeline").click()
    tab.get_by_role("button", name="Draw", exact=True).click()
    tab.get_by_text("Draw in the timeline").click()
    tab.get_by_label("Draw", exact=True).select_option(label="values of Duration")
    tab.get_by_role("button", name="Draw", exact=True).click()
    eventually(tab, "document.querySelectorAll('.timeline-labels .lane:has(.remove)').length === 2")
    eventually(
        tab, f"document.querySelector('.timeline-labels .lane:has(.remove) .name').title === '{SCHEMA}'"
    )
    drawn(tab)
    assert barriers(tab, axe) == []
    pictures(tab, "tables-open")

    # The address holds all of it.
    delayed_work_done(tab)
    address = unquote(tab.url)
    assert "scope=whole" in address
    assert ".1-23v1" in address.replace("draw=1-23", "draw=x", 1)
    opened(tab, "about:blank", "html")
    opened(tab, address, READY)
    tab.locator(f"{ROWS}[aria-current=true]").wait_for(timeout=10_000)
    eventually(tab, "document.querySelectorAll('.timeline-labels .lane:has(.remove)').length === 2")
    tab.locator(".timeline-labels .remove").first.click()
    eventually(tab, "document.querySelectorAll('.timeline-labels .lane:has(.remove)').length === 1")


def test_a_mark_of_a_drawn_lane_opens_its_row(fallback: Served, tab: Any) -> None:
    opened(tab, f"{fallback.address}#draw=1-23&closed=windows.measured.threads.signposts.tracks")
    eventually(
        tab, f"document.querySelector('.timeline-labels .lane:has(.remove) .name')?.title === '{SCHEMA}'"
    )
    lane = tab.locator(".timeline-labels .lane:has(.remove)")
    # Labels are made anew when data arrives, so that an element does not stay long enough for Playwright to scroll to it.
    tab.evaluate(
        "document.querySelector('.timeline-labels .lane:has(.remove)').scrollIntoView({block: 'nearest'})"
    )
    drawn(tab)
    label, pane = lane.bounding_box(), tab.locator(".timeline-pane").bounding_box()
    for part in range(2, 40):  # wherever the first marks are
        tab.mouse.click(pane["x"] + pane["width"] * part / 40, label["y"] + 9)
        tab.wait_for_timeout(100)
        if SCHEMA in tab.locator("#inspector h2").inner_text():
            break
    heading = tab.locator("#inspector h2", has_text=f"{SCHEMA}, row")
    heading.wait_for(timeout=10_000)
    first = heading.inner_text()
    lane.locator(".remove").focus()  # keys step in the lane that has the focus, from row to row
    tab.keyboard.press(".")
    eventually(tab, f"document.querySelector('#inspector h2').textContent !== {first!r}")
    tab.keyboard.press(",")
    eventually(tab, f"document.querySelector('#inspector h2').textContent === {first!r}")
    tab.get_by_role("button", name="Open the table").click()
    tab.locator(f"{ROWS}[aria-current=true]").wait_for(timeout=10_000)


def test_ten_million_rows_scroll_to_their_end(listed: Any) -> None:
    tab = listed
    about = {
        "schema": "huge",
        "rows": 10_000_000,
        "has_time": False,
        "is_timed": False,
        "hidden": [],
        "notes": [],
    }
    shown = {"kind": "int", "engineering_type": "uint64", "shape": "number", "unit": "", "is_value": True}
    columns = [{"name": f"<b>{'n' * 300}", "title": "<i>Number</i>", **shown}]
    tab.route(re.compile(r"/tables/1-19$"), lambda route: route.fulfill(json={**about, "columns": columns}))

    def page(route: Any) -> None:
        query = dict(pair.split("=") for pair in route.request.url.partition("?")[2].split("&"))
        rows = list(range(int(query["first"]), min(10_000_000, int(query["first"]) + int(query["count"]))))
        counts = {"total": 10_000_000, "matching": 10_000_000, "selected": 10_000_000, "first": rows[0]}
        route.fulfill(json={**counts, "rows": rows, "cells": [[row] for row in rows]})

    tab.route(re.compile(r"/tables/1-19/page"), page)
    row = {"row": 0, "cells": [0], "stacks": {}, "start_ns": None, "end_ns": None}
    tab.route(re.compile(r"/tables/1-19/rows/"), lambda route: route.fulfill(json=row))
    tab.get_by_role("button", name="time-profile", exact=True).click()
    tab.locator(ROWS, has_text="3").first.wait_for(timeout=10_000)
    assert tab.locator(".grid-table th").inner_text() == "<i>Number</i>"
    assert tab.locator(ROWS).count() < 60
    tab.locator(".grid-scroll").focus()
    tab.keyboard.press("End")
    tab.locator(f"{ROWS}[aria-current=true]", has_text="9,999,999").wait_for()
    tab.keyboard.press("ArrowUp")
    tab.locator(f"{ROWS}[aria-current=true]", has_text="9,999,998").wait_for()
    tab.keyboard.press("Home")
    tab.locator(f"{ROWS}[aria-rowindex='3']").wait_for()
    tab.locator(".grid-scroll").hover()
    tab.mouse.wheel(0, 220)  # a step of the wheel is rows, not thousands of them
    eventually(tab, f"document.querySelector('{ROWS}').dataset.place === '10'")


def test_a_zip_of_exports_without_anything_to_analyze_opens_with_its_tables(
    serve: Serve, tab: Any, tmp_path: Path
) -> None:
    rows = [f"<start-time>{number}</start-time><string>call {number}</string>" for number in (1, 2, 3)]
    columns = [("time", "start-time"), ("call", "string")]
    with zipfile.ZipFile(tmp_path / "calls.zip", "w") as archive:
        archive.writestr("export/fs-syscalls.xml", one_table("fs-syscalls", columns, *rows))
    opened(tab, f"{serve(tmp_path / 'calls.zip').address}#tab=tables")
    tab.get_by_role("button", name="fs-syscalls", exact=True).click()
    tab.locator(ROWS, has_text="call 3").wait_for(timeout=30_000)
    count(tab, "3 rows")


HANG = (
    '<start-time id="1" fmt="00:00.597">597113458</start-time><duration id="2" fmt="2.08 s">2075111540</duration>'
    '<hang-type id="3" fmt="Severe Hang">Severe Hang</hang-type>'
)
CALL = '<start-time id="1" fmt="00:00.100">100000000</start-time><duration id="2" fmt="3 s">3000000000</duration>'
TIMED = [("start", "start-time"), ("duration", "duration")]


def test_tables_are_drawn_unasked_where_the_timeline_would_be_empty(
    serve: Serve, tab: Any, tmp_path: Path
) -> None:
    hangs = one_table("potential-hangs", [*TIMED, ("hang-type", "hang-type")], HANG)
    with zipfile.ZipFile(tmp_path / "hangs.zip", "w") as archive:
        archive.writestr("export/fs-syscall.xml", one_table("fs-syscall", TIMED, CALL))
        archive.writestr("export/hangs.xml", hangs)
        archive.writestr("export/other.xml", one_table("other-table", TIMED, CALL))
    opened(tab, serve(tmp_path / "hangs.zip").address)
    for name in ("potential-hangs", "fs-syscall"):
        tab.locator(".timeline-labels .lane:has(.remove)", has_text=name).wait_for(timeout=30_000)
    assert lanes(tab) == ["potential-hangs", "fs-syscall"]
    assert tab.locator(".nothing-drawn:visible").count() == 0
    pictures(tab, "default-lanes")
    # A lane that is removed is not drawn again by itself.
    for name in ("fs-syscall", "potential-hangs"):
        tab.get_by_role("button", name=f"Remove {name}").click()
    tab.locator(".nothing-drawn").wait_for()


def test_a_table_of_no_known_meaning_is_drawn_where_there_is_no_other(
    serve: Serve, tab: Any, tmp_path: Path
) -> None:
    (tmp_path / "other.xml").write_text(one_table("other-table", TIMED, CALL))
    opened(tab, serve(tmp_path / "other.xml").address)
    tab.locator(".timeline-labels .lane:has(.remove)", has_text="other-table").wait_for(timeout=30_000)
    assert lanes(tab) == ["other-table"]


def test_twenty_thousand_tables_are_a_list_in_which_one_is_found(fallback: Served, tab: Any) -> None:
    tables = [
        {
            "number": number,
            "schema": f"<i>schema-{number}",
            "rows": 1,
            "attributes": "a" * 300,
            "is_cut": False,
        }
        for number in range(1, 20_001)
    ]
    contents = {
        "run": 1,
        "runs": [{"run": 1, "process": "", "duration_ns": 1, "tables": tables}],
        "meanings": {},
        "issues": ["'x' cannot be read: <b>store-3</b> is cut off"],
    }
    tab.route(re.compile(r"/tables$"), lambda route: route.fulfill(json=contents))
    failure = {"status": 400, "json": {"error": "'<i>schema-19999' cannot be read: it is cut off."}}
    tab.route(re.compile(r"/tables/1-19999"), lambda route: route.fulfill(**failure))
    tab.expected.append("400 (Bad Request)")
    opened(tab, f"{fallback.address}#tab=tables")
    tab.locator(".table-items li").first.wait_for(timeout=10_000)
    assert tab.locator(".table-items li").count() < 60
    assert "<b>store-3</b>" in tab.locator("#tables").inner_text()
    tab.fill("[aria-label='Search tables']", "schema-19999")
    tab.get_by_role("button", name="<i>schema-19999", exact=True).click()
    tab.locator(
        ".table-status .problem", has_text="it is cut off"
    ).wait_for()  # its sentence; the others work
    tab.get_by_role("button", name="‹ All tables").click()
    tab.locator(".table-items li").first.wait_for()
