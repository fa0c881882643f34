"""The data of the trace page, and the report's modules that draw it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from flask import Flask, Response, abort, jsonify, request, send_file

from dashboard.library.library import Library
from dashboard.routes.markup import tree

_TYPES = {"js": "text/javascript", "css": "text/css"}


def register(server: Flask, library: Library) -> None:
    """Add ``/api/recordings/<id>/view``, ``…/sections``, ``/api/alive`` and ``/report-assets/<name>``."""

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
        sections = json.loads(library.sections_path(recording).read_text("utf-8"))
        return cacheable(jsonify([tree(markup) for markup in sections.values()]))

    @server.get("/report-assets/<name>")
    def report_asset(name: str) -> Response:
        if name not in _report_assets():
            abort(404)
        text = files("tracekit.report").joinpath("assets", name).read_bytes()
        return cacheable(Response(text, mimetype=_TYPES[name.rpartition(".")[2]]))


def cacheable(response: Response) -> Response:
    """Let the browser cache a response, and revalidate it by its ETag."""
    response.headers["Cache-Control"] = "private, no-cache"
    response.add_etag()
    response.make_conditional(request)
    return response


@cache
def _report_assets() -> frozenset[str]:
    folder = files("tracekit.report").joinpath("assets")
    return frozenset(file.name for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES)
