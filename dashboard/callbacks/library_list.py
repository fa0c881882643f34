"""The list of the library's page: a page of the table, and of it only what the browser does not have."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dash

from dashboard.library.catalog_orders import BY_APP, NEWEST
from dashboard.library.library import Library
from dashboard.pages import library as pages
from dashboard.pages.components import Node

_LIBRARY, _TABLE, _TAGS = "library", "table", "tags"


@dataclass(frozen=True)
class ListRequest:
    """The part of the library that a page shows."""

    search: str
    tag: str
    deleted: bool
    page: int
    order: str = NEWEST

    def in_library(self) -> dict[str, Any]:
        """Return the request as ``Library.recordings`` and ``Library.count`` take it."""
        return {"search": self.search, "tag": self.tag, "deleted": self.deleted}


def changes(
    library: Library, request: ListRequest, before: dict[str, str]
) -> tuple[Any, Any, dict[str, str] | Any]:
    """Return table, tag buttons and state of a page whose state is ``before``; each only if it changed.

    A state has the digest of every row by its recording's id, of the table around them, of the tags, and the
    library's revision. With nothing new, a poll costs no query; a table brings the rows that changed.
    """
    # Read before the recordings: a write meanwhile is a change for the next poll.
    state = {_LIBRARY: repr((library.revision, request))}
    if state[_LIBRARY] == before.get(_LIBRARY):
        return dash.no_update, dash.no_update, dash.no_update
    all_tags = library.tags()
    tags = pages.shown_tags(all_tags, request.tag)
    others = len({tag for tag, _count in all_tags} - set(tags))
    state[_TAGS] = _digest(tags, request.tag, others)
    table = _table(library, request, state, before)
    is_same = all(state[name] == before.get(name) for name in state if name not in (_LIBRARY, _TAGS))
    return (
        dash.no_update if is_same else table,
        dash.no_update if state[_TAGS] == before.get(_TAGS) else pages.tag_buttons(tags, request.tag, others),
        state,
    )


def _table(library: Library, request: ListRequest, state: dict[str, str], before: dict[str, str]) -> Node:
    """Return the table's page, with the rows that ``before`` does not have, and add it to ``state``."""
    total = library.count(**request.in_library())
    page = min(max(request.page, 1), pages.page_count(total))
    first = (page - 1) * pages.PAGE_ROWS
    recordings = library.recordings(
        **request.in_library(), first=first, count=pages.PAGE_ROWS, order=request.order
    )
    originals = library.originals(recordings)
    order: list[tuple[str, str]] = []
    rows: dict[str, Node] = {}

    def add(row_id: str, digest: str, row: Callable[[], Node]) -> None:
        state[row_id] = digest
        order.append((row_id, digest))
        if digest != before.get(row_id):
            rows[row_id] = row()

    app: str | None = None
    for recording in recordings:
        if request.order.startswith(BY_APP) and recording.app != app:
            app = recording.app
            name = _digest("app", app)
            add(name, name, partial(pages.app_row, app))
        is_recorded, original = library.is_recorded(recording), originals.get(recording.id, "")
        row = partial(pages.row, recording, request.deleted, is_recorded, original)
        add(recording.id, _digest(recording, is_recorded, original), row)
    is_filtered = bool(request.search or request.tag)
    state[_TABLE] = _digest(
        [recording.id for recording in recordings], page, total, is_filtered, request.deleted, request.order
    )
    around = (
        pages.table(page, total, request.order) if recordings else pages.nothing(is_filtered, request.deleted)
    )
    return {"around": around, "order": order, "rows": rows}


def _digest(*content: object) -> str:
    return hashlib.sha256(repr(content).encode("utf-8", "replace")).hexdigest()[:16]
