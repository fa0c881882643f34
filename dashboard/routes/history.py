"""The data of the history page."""

from __future__ import annotations

import json

from flask import Flask, Response, request

from dashboard.history import HistoryStore
from dashboard.library.library import Library
from dashboard.routes.caching import cacheable
from tracekit.errors import UsageError

_LONGEST_NAME = 4_000


def register(server: Flask, store: HistoryStore, library: Library) -> None:
    """Add ``/api/history``, ``/api/history/parts`` and ``/api/history/recordings``."""

    @server.get("/api/history")
    def history() -> Response:
        """Return the view of an app."""
        return _json(store.view(_text("app")))

    @server.get("/api/history/parts")
    def history_parts() -> Response:
        """Return the parts of a call in two builds."""
        names = ("app", "device", "model", "before", "after")
        return _json({"parts": store.parts(*(_text(name) for name in names))})

    @server.get("/api/history/recordings")
    def history_recordings() -> Response:
        """Return the recordings of two builds on a device; those of the library with their links."""
        builds = [_text("before"), _text("after")]
        rows = store.recordings(_text("app"), _text("device"), _text("model"), builds)
        links = {library.place(each): f"/recordings/{each.id}" for each in library.recordings()}
        return _json({"recordings": [{**row, "link": links.get(row["path"], "")} for row in rows]})


def _json(document: object) -> Response:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return cacheable(Response(text, mimetype="application/json"))


def _text(name: str) -> str:
    value = request.args.get(name, "")
    if len(value) > _LONGEST_NAME:
        raise UsageError(f"{name} is too long.")
    return value
