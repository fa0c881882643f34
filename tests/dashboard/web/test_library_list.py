"""The library's list: pages of a fixed number of rows, and polls that bring what changed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dash
import pytest
from dash import html
from fake_library import recording as literal
from library_support import add_many, opened

from tracekit_dashboard.callbacks.library_list import ListRequest, find_changes
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages.library import PAGE_ROWS, choose_shown_tags

pytestmark = pytest.mark.slow

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIRST_PAGE = ListRequest("", "", False, 1)


def entry(number: int, **changed: Any) -> Recording:
    """Return a recording; one with a smaller number is newer."""
    added = NOON - timedelta(minutes=number)
    return replace(literal(f"{number:032x}"), name=f"run-{number}", added=added, **changed)


def filled(library: Library, count: int) -> Library:
    add_many(library, [entry(number) for number in range(count)])
    return library


@pytest.fixture
def library(tmp_path: Path) -> Any:
    with opened(tmp_path / "library") as made:
        yield made


def names(table: Any) -> list[int]:
    return [int(recording_id, 16) for recording_id, _digest in table["order"]]


def turns(layout: Any) -> dict[str, int | None]:
    """Return the buttons that turn pages, with the number of the page that each leads to."""
    nav = next(part for part in layout if isinstance(part, html.Nav))
    found = [part for part in nav.children if isinstance(part, html.Button)]
    return {button.children: getattr(button, "id", {}).get("turn") for button in found}


def position(layout: Any) -> str:
    nav = next(part for part in layout if isinstance(part, html.Nav))
    return next(str(part.children) for part in nav.children if isinstance(part, html.Span))


# Pages ----------------------------------------------------------------------------------------------------


def test_a_page_has_a_fixed_number_of_rows_and_leads_to_the_others(library: Library) -> None:
    filled(library, 2 * PAGE_ROWS + 7)
    table, _tags, _state = find_changes(library, replace(FIRST_PAGE, page=2), {})
    assert names(table) == list(range(PAGE_ROWS, 2 * PAGE_ROWS))
    assert turns(table["around"]) == {"Newest": 1, "Newer": 1, "Older": 3, "Oldest": 3}
    assert position(table["around"]) == f"{PAGE_ROWS + 1}–{2 * PAGE_ROWS} of {2 * PAGE_ROWS + 7}"


def test_at_the_ends_the_buttons_stay_and_lead_nowhere(library: Library) -> None:
    filled(library, PAGE_ROWS + 1)
    first, _tags, _state = find_changes(library, FIRST_PAGE, {})
    last, _tags, _state = find_changes(library, replace(FIRST_PAGE, page=2), {})
    assert turns(first["around"]) == {"Newest": None, "Newer": None, "Older": 2, "Oldest": 2}
    assert turns(last["around"]) == {"Newest": 1, "Newer": 1, "Older": None, "Oldest": None}


@pytest.mark.parametrize("page", [3, 10**9, 10**30])
def test_behind_the_last_page_stands_the_last_one(page: int, library: Library) -> None:
    filled(library, PAGE_ROWS + 2)
    table, _tags, _state = find_changes(library, replace(FIRST_PAGE, page=page), {})
    assert names(table) == [PAGE_ROWS, PAGE_ROWS + 1]


def test_a_list_of_one_page_has_no_buttons(library: Library) -> None:
    filled(library, PAGE_ROWS)
    table, _tags, _state = find_changes(library, FIRST_PAGE, {})
    assert len(table["around"]) == 1


def test_pages_of_a_search_and_of_the_deleted(library: Library) -> None:
    filled(library, PAGE_ROWS + 12)
    library.delete(f"{3:032x}")
    found, _tags, _state = find_changes(library, replace(FIRST_PAGE, search="RUN-1"), {})
    assert names(found) == [1, *range(10, 20)]
    deleted, _tags, _state = find_changes(library, replace(FIRST_PAGE, deleted=True), {})
    assert names(deleted) == [3]


# Polls ----------------------------------------------------------------------------------------------------


def test_a_poll_with_nothing_new_asks_nothing_of_the_catalog(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    _table, _tags, state = find_changes(filled(library, 3), FIRST_PAGE, {})
    monkeypatch.setattr(library._catalog, "_reading", None)
    assert find_changes(library, FIRST_PAGE, state) == (dash.no_update,) * 3


def test_a_poll_brings_the_rows_that_changed(library: Library) -> None:
    _table, _tags, state = find_changes(filled(library, PAGE_ROWS), FIRST_PAGE, {})
    library.edit(f"{7:032x}", note="slow")
    library._catalog.add(replace(literal("f" * 32), added=NOON + timedelta(minutes=1)))
    table, tags, after = find_changes(library, FIRST_PAGE, state)
    assert list(table["rows"]) == ["f" * 32, f"{7:032x}"]
    assert len(table["order"]) == PAGE_ROWS and table["order"][0][0] == "f" * 32
    assert tags is dash.no_update
    assert find_changes(library, FIRST_PAGE, after) == (dash.no_update,) * 3


def test_a_change_on_another_page_brings_no_row(library: Library) -> None:
    _table, _tags, state = find_changes(filled(library, PAGE_ROWS + 5), FIRST_PAGE, {})
    library.edit(f"{PAGE_ROWS + 2:032x}", note="slow")
    table, tags, after = find_changes(library, FIRST_PAGE, state)
    assert (table, tags) == (dash.no_update, dash.no_update)
    assert find_changes(library, FIRST_PAGE, after) == (dash.no_update,) * 3


def test_a_row_that_goes_takes_no_other_with_it(library: Library) -> None:
    _table, _tags, state = find_changes(filled(library, 4), FIRST_PAGE, {})
    library.delete(f"{2:032x}")
    table, _tags, _state = find_changes(library, FIRST_PAGE, state)
    assert names(table) == [0, 1, 3] and table["rows"] == {}


def test_another_server_s_state_is_not_taken_for_a_current_one(tmp_path: Path) -> None:
    for _ in range(2):
        with opened(tmp_path / "library") as library:
            _table, _tags, state = find_changes(library, FIRST_PAGE, {})
            revision = library.revision
    with opened(tmp_path / "library") as library:
        assert library.revision != revision
        table, _tags, _state = find_changes(library, FIRST_PAGE, {"library": state["library"]})
        assert table["order"] == []


def test_what_a_poll_sends_is_small(library: Library) -> None:
    from plotly.utils import PlotlyJSONEncoder

    _table, _tags, state = find_changes(filled(library, 4 * PAGE_ROWS), FIRST_PAGE, {})
    for number in range(10):
        library._catalog.change(f"{number:032x}", progress=0.5, state="reading")
    response = find_changes(library, FIRST_PAGE, state)
    assert len(json.dumps([response[0], response[2]], cls=PlotlyJSONEncoder)) < 40_000


# Search ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("IPHONE17,1", True),
        ("ios camera", True),
        ("27.0 straße", True),
        ("camera 100%", True),
        ("ane.iPhone", False),
        ("100_", False),
        ("slow", True),
        ("slo camera nowhere", False),
    ],
)
def test_words_are_looked_for_in_every_text_and_tag_and_in_no_two_at_once(
    words: str, expected: bool, library: Library
) -> None:
    library._catalog.add(literal(note="100% STRASSE"))
    library.edit("a" * 32, tags=["Slow"])
    assert [bool(library.list_recordings(words)), library.count(words) == 1] == [expected] * 2


def test_the_most_used_tags_have_buttons_and_the_chosen_one() -> None:
    tags = [(f"t{number:03}", 100 - number) for number in range(90)]
    assert choose_shown_tags(tags, "t085") == [f"t{number:03}" for number in range(40)] + ["t085"]
    assert choose_shown_tags([], "") == []


def test_tags_without_a_button_are_counted(library: Library) -> None:
    add_many(library, [entry(number) for number in range(3)])
    for number in range(3):
        library.edit(f"{number:032x}", tags=[f"t{number}-{index}" for index in range(15)])
    _table, buttons, _state = find_changes(library, FIRST_PAGE, {})
    assert len(buttons) == 41 and buttons[-1].children == "5 more tags, found by searching"
