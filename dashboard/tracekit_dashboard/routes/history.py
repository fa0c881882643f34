"""The data of the history page."""

from __future__ import annotations

import json

from flask import Flask, Response, request

from tracekit.errors import UsageError
from tracekit_dashboard.history_store import HistoryStore
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.routes.caching import make_cacheable

_LONGEST_NAME = 4_000


def register(server: Flask, store: HistoryStore, library: Library) -> None:
    """Add ``/api/history``, ``/api/history/parts`` and ``/api/history/recordings``."""

    @server.get("/api/history")
    def history() -> Response:
        """Return the view of an app."""
        return _respond_json(store.build_view(_read_name("app")))

    @server.get("/api/history/parts")
    def history_parts() -> Response:
        """Return the parts of a call in two builds."""
        names = ("app", "device", "model", "before", "after")
        return _respond_json({"parts": store.compare_parts(*(_read_name(name) for name in names))})

    @server.get("/api/history/recordings")
    def history_recordings() -> Response:
        """Return the recordings of two builds on a device; those of the library with their links."""
        builds = [_read_name("before"), _read_name("after")]
        rows = store.list_recordings(_read_name("app"), _read_name("device"), _read_name("model"), builds)
        links = {library.place(each): f"/recordings/{each.id}" for each in library.list_recordings()}
        return _respond_json({"recordings": [{**row, "link": links.get(row["path"], "")} for row in rows]})


def _respond_json(document: object) -> Response:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return make_cacheable(Response(text, mimetype="application/json"))


def _read_name(name: str) -> str:
    value = request.args.get(name, "")
    if len(value) > _LONGEST_NAME:
        raise UsageError(f"{name} is too long.")
    return value
