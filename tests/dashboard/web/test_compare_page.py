"""The compare page, the choice of two recordings, and their routes: literal recordings in, layouts out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dash import dcc, html
from dashboard_support import page_callback
from fake_library import BUSY, FAILED, READY, recording

from tracekit_dashboard.callbacks import compare as callbacks
from tracekit_dashboard.callbacks.library import find_ready_recordings
from tracekit_dashboard.errors import Conflict, NotFound
from tracekit_dashboard.jobs.queue import JobStatus
from tracekit_dashboard.pages import compare
from tracekit_dashboard.pages.library_row import build_row
from tracekit_dashboard.pages.tray import build_tray

Client = Callable[..., Any]
HOST = {"Host": "127.0.0.1:8127"}
NEW = "d" * 32
BASE = recording(READY, name="Before")
AFTER = recording(NEW, name="After", added=datetime(2026, 3, 6, tzinfo=UTC))
SECTIONS = {"verdict": '<section id="verdict"><p>Slower.</p></section>'}


def parts_of(layout: Any) -> list[Any]:
    """All components of a layout, from the outside in; no list stands in a list, which Dash cannot show."""
    parts: list[Any] = []

    def visit(component: Any, is_in_list: bool = False) -> None:
        if isinstance(component, (list, tuple)):
            assert not is_in_list, component
            for each in component:
                visit(each, True)
        elif component is not None:
            parts.append(component)
            visit(getattr(component, "children", None))

    visit(layout)
    return parts


def text_of(layout: Any) -> str:
    return "".join(str(part) for part in parts_of(layout) if isinstance(part, (str, int, float)))


def links(layout: Any) -> dict[str, str]:
    return {text_of(part.children): part.href for part in parts_of(layout) if isinstance(part, html.A)}


def acts(layout: Any) -> list[str]:
    return [part.id["act"] for part in parts_of(layout) if isinstance(part, html.Button)]


def polls(layout: Any) -> bool:
    return any(isinstance(part, dcc.Interval) for part in parts_of(layout))


class FakeComparisons:
    """Comparisons in a fixed state; they record the calls."""

    def __init__(self, folder: Path, stand: JobStatus | Exception = JobStatus("done")) -> None:  # noqa: B008
        self.folder, self.stand = folder, stand
        self.asked: list[tuple[str, str, str]] = []
        (folder / "sections.json").write_text(json.dumps(SECTIONS))
        for name in ("comparison.html", "comparison.md", "comparison.json"):
            (folder / name).write_text(name)

    def find_or_begin(self, base: str, new: str) -> JobStatus:
        self.asked.append(("ask", base, new))
        if isinstance(self.stand, Exception):
            raise self.stand
        return self.stand

    def find_file(self, base: str, new: str, name: str) -> Path:
        if (base, new) != (READY, NEW):
            raise NotFound("These recordings have not been compared yet.")
        return self.folder / name


@pytest.fixture
def web(client: Client, tmp_path: Path) -> Client:
    """Makes a client whose library holds recordings, and comparisons in a fixed state."""

    def make(*recordings: Any, stand: JobStatus | Exception = JobStatus("done")) -> Any:  # noqa: B008
        tab = client(*(recordings or (BASE, AFTER)))
        tab.library.comparisons = FakeComparisons(tmp_path, stand)
        return tab

    return make


# The page -------------------------------------------------------------------------------------------------


def test_the_page_of_a_comparison_that_is_ready() -> None:
    page = compare.build_ready_page(BASE, AFTER)
    given = page.to_plotly_json()["props"]
    assert (given["id"], given["data-base"], given["data-new"]) == ("compare", READY, NEW)
    assert text_of(page).startswith("ComparisonBASEBeforeiPhone17,1 · iOS 27.0 · added 2026-03-04")
    assert links(page) == {
        "Before": f"/recordings/{READY}",
        "After": f"/recordings/{NEW}",
        "Swap BASE and NEW": f"/compare/{NEW}/{READY}",
        "Comparison (HTML)": f"/compare/{READY}/{NEW}/download/html",
        "Comparison (Markdown)": f"/compare/{READY}/{NEW}/download/markdown",
        "Comparison (JSON)": f"/compare/{READY}/{NEW}/download/json",
    }
    assert not polls(page)


@pytest.mark.parametrize(
    ("stand", "message", "done", "follows"),
    [
        (JobStatus("waiting"), "Waiting for other comparisons", ["cancel"], True),
        (
            JobStatus("running", "opening NEW", 0.25),
            "Comparing: opening NEW, 25 %",
            ["cancel"],
            True,
        ),
        (JobStatus("running", "comparing"), "Comparing: comparing", ["cancel"], True),
        (JobStatus("failed", message="Before\u202e is broken."), "Before", ["again"], False),
        (JobStatus("cancelled"), "was cancelled", ["again"], False),
        (Conflict("Many comparisons wait."), "Many comparisons wait.", ["again"], False),
        (NotFound("After was read anew."), "After was read anew.", ["again"], False),
    ],
)
def test_a_comparison_that_is_not_ready(
    stand: JobStatus | Exception, message: str, done: list[str], follows: bool, web: Client
) -> None:
    page = callbacks.build_page(web(stand=stand).library, READY, NEW)
    assert message in text_of(page)
    assert (acts(page), polls(page)) == (done, follows)
    assert "\u202e" not in text_of(page)


@pytest.mark.parametrize(
    ("new", "message", "follows"),
    [
        (recording(NEW, name="After", state="waiting"), "NEW, After is not ready yet: waiting.", True),
        (
            recording(NEW, name="After", state="reading", stage="opening", progress=0.5),
            "NEW, After is not ready yet: opening, 50 %. The comparison begins as soon as it is.",
            True,
        ),
        (
            recording(NEW, name="After", state="failed", message="It is cut off."),
            "NEW, After, was not read. It is cut off.",
            False,
        ),
        (recording(NEW, name="After", state="cancelled"), "NEW, After, was not read. Cancelled.", False),
        (
            recording(NEW, name="After", deleted=datetime(2026, 3, 5, tzinfo=UTC)),
            "NEW, After, was deleted. Its page can restore it.",
            False,
        ),
    ],
)
def test_a_recording_that_is_not_fit_is_named_and_nothing_is_compared(
    new: Any, message: str, follows: bool, web: Client
) -> None:
    library = web(BASE, new).library
    page = callbacks.build_page(library, READY, NEW)
    assert message in text_of(page)
    assert "BASE, Before" not in text_of(page)
    assert (polls(page), library.comparisons.asked) == (follows, [])


def test_a_recording_and_itself(web: Client) -> None:
    library = web().library
    page = callbacks.build_page(library, READY, READY)
    assert "Both sides are the same recording" in text_of(page)
    assert library.comparisons.asked == []


def test_without_recordings_the_page_explains_how_two_are_chosen(web: Client) -> None:
    call = page_callback("/compare")
    headers = {"Host": "127.0.0.1:8127", "Origin": "http://127.0.0.1:8127"}
    answer = web().post("/_dash-update-component", headers=headers, json=call)
    assert "Tick two recordings in the library" in answer.get_data(as_text=True)


def test_a_recording_that_is_not_there(web: Client) -> None:
    library = web().library
    for pair in ((READY, "e" * 32), ("..", NEW)):
        assert text_of(callbacks.build_page(library, *pair)).startswith("Not found")


# The library's page ---------------------------------------------------------------------------------------


def ticks(page: Any) -> list[str]:
    return [part.id["choose"] for part in parts_of(page) if getattr(part, "role", "") == "checkbox"]


def test_recordings_that_are_ready_can_be_ticked() -> None:
    waits, failed = recording(BUSY, state="waiting"), recording(FAILED, state="failed")
    rows = [build_row(entry, False, False) for entry in (BASE, AFTER, waits, failed)]
    assert ticks(rows) == [READY, NEW]
    gone = recording(deleted=datetime(2026, 3, 5, tzinfo=UTC))
    assert ticks(build_row(gone, True, False)) == []


def test_the_tray_compares_each_with_the_oldest() -> None:
    page = build_tray([AFTER, BASE])
    assert "2 recordings chosen" in text_of(page)
    assert text_of(page).index("Before") < text_of(page).index("After")
    assert links(page) == {"Compare": f"/compare/{READY}/{NEW}", "Side by side": f"/trend/{READY}/{NEW}"}


def test_the_tray_orders_by_the_time_of_recording_where_it_is_known() -> None:
    early = replace(AFTER, recorded=datetime(2026, 1, 1, tzinfo=UTC))
    late = replace(BASE, recorded=datetime(2026, 2, 1, tzinfo=UTC))
    assert links(build_tray([late, early]))["Compare"] == f"/compare/{NEW}/{READY}"


def test_several_show_a_trend_and_one_is_not_enough() -> None:
    assert build_tray([]) is None
    single = build_tray([BASE])
    assert "Choose one more to compare" in text_of(single)
    assert links(single) == {}
    engines = json.dumps({"ANE": 6, "CPU": 4})
    three = build_tray([BASE, AFTER, recording(BUSY, p50_ns=25_900_000, engines=engines)])
    assert "25.9 ms" in text_of(three)
    assert "ANE 6, CPU 4" in text_of(three)
    assert text_of(three).count("Compare") == 2


def test_what_was_deleted_or_is_read_anew_is_no_longer_chosen(web: Client) -> None:
    fake = web(BASE, recording(BUSY, state="reading")).library
    assert [recording_.id for recording_ in find_ready_recordings(fake, [READY, BUSY, "e" * 32])] == [READY]


# The routes -----------------------------------------------------------------------------------------------


def test_the_sections_come_as_markup(web: Client) -> None:
    tab = web()
    place = f"/api/compare/{READY}/{NEW}/sections"
    answer = tab.get(place, headers=HOST, buffered=True)
    assert (answer.get_json(), answer.mimetype) == (SECTIONS, "application/json")
    again = tab.get(place, headers={**HOST, "If-None-Match": answer.headers["ETag"]}, buffered=True)
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize(
    ("name", "file", "kind"),
    [
        ("html", "comparison.html", "text/html"),
        ("markdown", "comparison.md", "text/markdown"),
        ("json", "comparison.json", "application/json"),
    ],
)
def test_a_download_is_named_by_both_and_never_opened_here(
    name: str, file: str, kind: str, web: Client
) -> None:
    answer = web().get(f"/compare/{READY}/{NEW}/download/{name}", headers=HOST, buffered=True)
    assert (answer.status_code, answer.text, answer.mimetype) == (200, file, kind)
    assert answer.headers["Content-Disposition"] == f"attachment; filename=Before-and-After.{file}"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    "place",
    [
        f"/api/compare/{NEW}/{READY}/sections",
        f"/compare/{NEW}/{READY}/download/html",
        f"/compare/{READY}/{NEW}/download/pdf",
        f"/compare/{READY}/{NEW}/download/sections.json",
        f"/api/compare/../{NEW}/sections",
    ],
)
def test_missing_inputs_are_reported(place: str, web: Client) -> None:
    answer = web().get(place, headers=HOST)
    assert answer.status_code == 404
    assert "Traceback" not in answer.text
