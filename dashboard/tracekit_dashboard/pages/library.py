"""The library page: the recordings, and the ways to add more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from dash import dcc, html

from tracekit.parsers.input_kinds import INPUTS
from tracekit.text import format_size, plural, printable
from tracekit_dashboard.library.catalog import DiskUse, Recording
from tracekit_dashboard.library.catalog_orders import BY_APP, NEWEST, parse_order
from tracekit_dashboard.pages import components
from tracekit_dashboard.pages.components import Node, build_aria_attributes, build_data_attributes
from tracekit_dashboard.pages.library_row import AGAIN_HINT

POLL_MS = 1_000
PAGE_ROWS = 50
_MAX_TAGS = 40
"""Tags with a button; the search finds the others."""
_LONGEST_PAGE_NUMBER = 9
_COLUMNS = (
    ("Recording", "name"),
    ("App", "app"),
    ("State and answer", ""),
    ("Device", "device"),
    ("Length", "length"),
    ("Calls", "calls"),
    ("Recorded", "-recorded"),
    ("Added", NEWEST),
)
"""Heading, and the order that a press on it begins with; "" cannot be sorted."""


@dataclass(frozen=True)
class LibraryQuery:
    """The page's state in its address; library.js writes it there."""

    search: str = ""
    tag: str = ""
    deleted: bool = False
    chosen_ids: tuple[str, ...] = ()
    page: int = 1
    order: str = NEWEST


def parse_query(query: str) -> LibraryQuery:
    """Return the state in an address's query."""
    values = parse_qs(query.removeprefix("?"))
    names = ("q", "tag", "deleted", "chosen", "page", "sort")
    search, tag, deleted, chosen_ids, page, order = (values.get(name, [""])[0] for name in names)
    is_number = page.isascii() and page.isdigit() and len(page) <= _LONGEST_PAGE_NUMBER
    return LibraryQuery(
        search,
        tag,
        bool(deleted),
        tuple(number for number in chosen_ids.split(".") if number),
        max(1, int(page)) if is_number else 1,
        (BY_APP if order.startswith(BY_APP) else "") + parse_order(order),
    )


_DEFAULT = LibraryQuery()


def build_library_page(query: LibraryQuery = _DEFAULT) -> Node:
    """Return the page without its rows, which callbacks send and library.js draws."""
    return html.Div(
        [
            html.Header(html.H1("Recordings")),
            html.Main(
                [
                    html.Div(id="library-found", role="status"),
                    _build_upload_section(),
                    _build_list_section(query),
                ],
                id="library",
            ),
            *components.build_poll_timers("library", POLL_MS),
            dcc.Store(id="library-shown"),
            dcc.Store(id="library-table"),
            dcc.Store(id="library-drawn"),
            dcc.Store(id="library-tag", data=query.tag),
            dcc.Store(id="library-page", data=query.page),
            dcc.Store(id="library-order", data=query.order),
            dcc.Store(id="library-edited", data=""),
            dcc.Store(id="library-closed"),
            dcc.Store(id="library-chosen", data=list(query.chosen_ids)),
            dcc.Store(id="library-ticked"),
            dcc.Store(id="library-asked"),
            dcc.Store(id="library-answered"),
        ]
    )


def _build_upload_section() -> Node:
    return html.Section(
        [
            html.H2("Add a recording", id="add-heading"),
            html.P(
                [
                    "A recording on this machine: ",
                    html.Code("tracekit dashboard MyApp.trace"),
                    " reads it in its place, without a copy. Or drop one here:",
                ]
            ),
            html.Div(id="upload", **build_data_attributes(hint=f"{INPUTS[0].upper()}{INPUTS[1:]}.")),
        ],
        **build_aria_attributes(labelledby="add-heading"),
    )


def _build_list_section(query: LibraryQuery) -> Node:
    return html.Section(
        [
            html.H2("In the library", id="list-heading"),
            html.Div(
                [
                    html.Label(
                        [
                            html.Span("Search the recordings", className="unseen"),
                            dcc.Input(
                                id="library-search",
                                type="search",
                                placeholder="Search names, devices, verdicts, notes, tags",
                                debounce=0.2,
                                value=query.search,
                            ),
                        ],
                        className="search",
                    ),
                    html.Div(
                        id="library-tags",
                        className="tags",
                        role="group",
                        **build_aria_attributes(label="Tags"),
                    ),
                    html.Button(
                        "Show deleted",
                        id="library-deleted",
                        type="button",
                        n_clicks=0,
                        **build_aria_attributes(pressed=str(query.deleted).lower()),
                    ),
                    html.Button(
                        "Group by app",
                        id="library-grouped",
                        type="button",
                        **build_aria_attributes(pressed=str(query.order.startswith(BY_APP)).lower()),
                    ),
                ],
                className="controls",
            ),
            html.Div(id="library-notice", role="status"),
            html.Div(id="library-edit"),
            html.Div(id="library-rows"),
            html.Div(id="library-compare", role="status"),
            html.Div(id="library-disk", className="controls note"),
        ],
        **build_aria_attributes(labelledby="list-heading"),
    )


def count_pages(total: int) -> int:
    """Return the number of pages that the list of so many recordings has: at least one."""
    return max(1, -(-total // PAGE_ROWS))


def build_table(page: int, total: int, order: str = NEWEST) -> list[Node]:
    """Return the table of a page without its rows, which library.js adds, and the way to other pages."""
    heads = [
        html.Th(html.Span("Compare", className="unseen"), scope="col"),
        *(_build_heading(name, first_order, order) for name, first_order in _COLUMNS),
    ]
    head = html.Thead(html.Tr([*heads, html.Th(html.Span("Actions", className="unseen"), scope="col")]))
    scroll = html.Div(
        html.Table([html.Caption("Recordings"), head, html.Tbody([])]),
        className="table-scroll recordings",
        tabIndex=0,
        role="region",
        **build_aria_attributes(label="Recordings, table"),
    )
    return [scroll, _build_page_navigation(page, total)] if total > PAGE_ROWS else [scroll]


def _build_heading(name: str, first_order: str, order: str) -> Node:
    """Return a heading with a button that sorts, or turns the order that the table has."""
    if not first_order:
        return html.Th(name, scope="col")
    shown_order = parse_order(order)
    is_sorted = shown_order.removeprefix("-") == first_order.removeprefix("-")
    turned = shown_order.removeprefix("-") if shown_order.startswith("-") else f"-{shown_order}"
    grouped = BY_APP if order.startswith(BY_APP) else ""
    way: Any = {"id": {"sort": grouped + (turned if is_sorted else first_order)}}
    state = (
        build_aria_attributes(sort="descending" if shown_order.startswith("-") else "ascending")
        if is_sorted
        else {}
    )
    return html.Th(html.Button(name, type="button", **way), scope="col", **state)


def build_app_row(app: str) -> Node:
    """Return the row above the recordings of an app."""
    name = printable(app) or "App not known"
    return html.Tr(
        html.Th(name, scope="rowgroup", colSpan=len(_COLUMNS) + 2), className="app", key=f"app {app}"
    )


def _build_page_navigation(page: int, total: int) -> Node:
    first_row, last_row = (page - 1) * PAGE_ROWS + 1, min(page * PAGE_ROWS, total)
    return html.Nav(
        [
            _build_page_button("Newest", 1, page > 1),
            _build_page_button("Newer", page - 1, page > 1),
            html.Span(f"{first_row:,}–{last_row:,} of {total:,}", role="status"),
            _build_page_button("Older", page + 1, last_row < total),
            _build_page_button("Oldest", count_pages(total), last_row < total),
        ],
        className="pages",
        **build_aria_attributes(label="Pages of the list"),
    )


def _build_page_button(text: str, page: int, is_possible: bool) -> Node:
    """Return a button that library.js follows; one that leads nowhere stays, and with it the focus."""
    way: Any = {"id": {"turn": page}} if is_possible else build_aria_attributes(disabled="true")
    return html.Button(text, key=text, type="button", **way)


def explain_empty_list(filtered: bool, deleted: bool) -> Node:
    """Return the reason why no recording is listed."""
    if filtered:
        return html.P("No recording matches the search.", className="empty")
    if deleted:
        return html.P("Nothing was deleted.", className="empty")
    hint = "No recording yet. Recordings that you add above, or open from the terminal, are listed here. "
    identity: Any = {"page": "library", "act": "sample", "recording": ""}
    sample = html.Button("Add a sample recording", id=identity, type="button", n_clicks=0)
    return html.Div([html.P(hint), html.P(sample)], className="empty")


def describe_disk_use(use: DiskUse) -> list[Node]:
    """Return the line on what the library takes on the disk, with a button that makes room."""
    parts = (
        (use.uploads_bytes, "uploads"),
        (use.recorded_bytes, "recorded here"),
        (use.results_bytes, "analyses"),
    )
    sizes = ", ".join(f"{name} {format_size(size_bytes)}" for size_bytes, name in parts if size_bytes)
    if not sizes:
        return []
    line = html.Span(f"On the disk: {sizes}.")
    if not use.results_bytes:
        return [line]
    identity: Any = {"page": "library", "act": "drop-all", "recording": ""}
    return [
        line,
        html.Button("Drop all analyses", id=identity, type="button", n_clicks=0, title=AGAIN_HINT),
    ]


def build_found_notices(notices: Sequence[str]) -> Node:
    """Return what the start of the dashboard found in the library's folder; None for nothing."""
    if not notices:
        return None
    identity: Any = {"page": "library", "act": "hide-found", "recording": ""}
    hide = html.Button("Hide", id=identity, type="button", n_clicks=0)
    return html.Div([*(html.P(printable(notice)) for notice in notices), hide], className="notice")


def build_dropped_notice(size_bytes: int, stayed: int = 0) -> Node:
    """Return the notice of dropped analyses, of which ``stayed`` could not be dropped."""
    remaining_text = f" {stayed:,} stayed, because the recording is gone or has changed." if stayed else ""
    return html.P(
        f"{format_size(size_bytes)} on the disk were freed. {AGAIN_HINT}{remaining_text}",
        className="notice",
    )


def choose_shown_tags(tags: Sequence[tuple[str, int]], selected_tag: str) -> list[str]:
    """Return the tags that get a button: the most used ones, and the chosen one, so that it can be undone."""
    most_used = sorted(tags, key=lambda tag: -tag[1])[:_MAX_TAGS]
    return sorted({tag for tag, _count in most_used} | ({selected_tag} if selected_tag else set()))


def build_tag_buttons(tags: Sequence[str], selected_tag: str, hidden_count: int = 0) -> list[Node]:
    """Return a button for each tag; the selected one is pressed. ``hidden_count`` tags have no button."""
    hint = f"{plural(hidden_count, 'more tag')}, found by searching"
    buttons: list[Node] = [
        html.Button(
            printable(tag),
            id={"tag": tag},
            type="button",
            n_clicks=0,
            className="tag",
            **build_aria_attributes(pressed=str(tag == selected_tag).lower()),
        )
        for tag in tags
    ]
    return [*buttons, html.Span(hint, className="note")] if hidden_count else buttons


def build_deleted_notice(recording: Recording) -> Node:
    """Return the notice of a deletion, with a button that undoes it."""
    undo = components.build_action_button("Undo", "undo", recording, "library")
    undo.autoFocus = True  # the button that was pressed goes with its row
    return html.P([f"Deleted “{printable(recording.name)}”. ", undo], className="notice", key=recording.id)


def build_purged_notice(recording: Recording) -> Node:
    """Return the notice of a deletion for good."""
    return html.P(f"Deleted “{printable(recording.name)}” for good.", className="notice")
