"""The data of the trace page."""

from __future__ import annotations

from flask import Flask, Response, jsonify, send_file

from dashboard.library.library import Library
from dashboard.library.reading_results import read_json
from dashboard.routes.caching import cacheable
from dashboard.routes.markup import tree


def register(server: Flask, library: Library) -> None:
    """Add ``/api/recordings/<id>/view``, ``…/sections`` and ``/api/alive``."""

    @server.get("/api/recordings/<recording>/view")
    def view(recording: str) -> Response:
        """Return the block as the library stores it, compressed; the browser inflates it."""
        response = send_file(library.view_path(recording), "application/octet-stream", conditional=True)
        response.headers["Content-Encoding"] = "gzip"
        return cacheable(response)

    @server.get("/api/alive")
    def alive() -> Response:
        return Response(status=204, headers={"Cache-Control": "no-store"})

    @server.get("/api/recordings/<recording>/sections")
    def report_sections(recording: str) -> Response:
        """Return the report's sections, which need no view, as trees in the order of the page."""
        sections = read_json(library.sections_path(recording))
        return cacheable(jsonify([tree(markup) for markup in sections.values()]))
