"""The list of the library's page: sends only those rows of a table page that the browser lacks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dash

from tracekit_dashboard.library.catalog_orders import BY_APP, NEWEST
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages import library as pages
from tracekit_dashboard.pages.components import Node
from tracekit_dashboard.pages.library_row import build_row

_LIBRARY, _TABLE, _TAGS = "library", "table", "tags"


@dataclass(frozen=True)
class ListRequest:
    """The part of the library that a page shows."""

    search: str
    tag: str
    deleted: bool
    page: int
    order: str = NEWEST

    def to_search_arguments(self) -> dict[str, Any]:
        """Return the request as ``Library.recordings`` and ``Library.count`` take it."""
        return {"search": self.search, "tag": self.tag, "deleted": self.deleted}


def find_changes(
    library: Library, request: ListRequest, known_rows: dict[str, str]
) -> tuple[Any, Any, dict[str, str] | Any]:
    """Return table, tag buttons and state of a page whose state is ``known_rows``; each only if it changed.

    A state has the digest of every row by its recording's id, of the table around them, of the tags, and the
    library's revision. With nothing new, a poll costs no query; a table brings the rows that changed.
    """
    # Read before the recordings: a write meanwhile is a change for the next poll.
    state = {_LIBRARY: repr((library.revision, request))}
    if state[_LIBRARY] == known_rows.get(_LIBRARY):
        return dash.no_update, dash.no_update, dash.no_update
    all_tags = library.count_tags()
    tags = pages.choose_shown_tags(all_tags, request.tag)
    other_tags = len({tag for tag, _count in all_tags} - set(tags))
    state[_TAGS] = _digest_content(tags, request.tag, other_tags)
    table = _build_table(library, request, state, known_rows)
    is_same = all(state[name] == known_rows.get(name) for name in state if name not in (_LIBRARY, _TAGS))
    return (
        dash.no_update if is_same else table,
        dash.no_update
        if state[_TAGS] == known_rows.get(_TAGS)
        else pages.build_tag_buttons(tags, request.tag, other_tags),
        state,
    )


def _build_table(
    library: Library, request: ListRequest, state: dict[str, str], known_rows: dict[str, str]
) -> Node:
    """Return the table's page, with the rows that ``known_rows`` does not have, and add it to ``state``."""
    total = library.count(**request.to_search_arguments())
    page = min(max(request.page, 1), pages.count_pages(total))
    first_row = (page - 1) * pages.PAGE_ROWS
    recordings = library.list_recordings(
        **request.to_search_arguments(), offset=first_row, count=pages.PAGE_ROWS, order=request.order
    )
    originals = library.find_originals(recordings)
    order: list[tuple[str, str]] = []
    rows: dict[str, Node] = {}

    def add(row_id: str, digest: str, row: Callable[[], Node]) -> None:
        state[row_id] = digest
        order.append((row_id, digest))
        if digest != known_rows.get(row_id):
            rows[row_id] = row()

    app: str | None = None
    for recording in recordings:
        if request.order.startswith(BY_APP) and recording.app != app:
            app = recording.app
            name = _digest_content("app", app)
            add(name, name, partial(pages.build_app_row, app))
        is_recorded, original = library.is_recorded(recording), originals.get(recording.id, "")
        row = partial(build_row, recording, request.deleted, is_recorded, original)
        add(recording.id, _digest_content(recording, is_recorded, original), row)
    is_filtered = bool(request.search or request.tag)
    state[_TABLE] = _digest_content(
        [recording.id for recording in recordings], page, total, is_filtered, request.deleted, request.order
    )
    around = (
        pages.build_table(page, total, request.order)
        if recordings
        else pages.explain_empty_list(is_filtered, request.deleted)
    )
    return {"around": around, "order": order, "rows": rows}


def _digest_content(*content: object) -> str:
    return hashlib.sha256(repr(content).encode("utf-8", "replace")).hexdigest()[:16]
