"""The data of the trace page."""

from __future__ import annotations

from pathlib import Path

from flask import Flask, Response, send_file

from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.reading_results import COUNTERS, SAMPLES
from tracekit_dashboard.routes.caching import make_cacheable, make_private


def register(server: Flask, library: Library) -> None:
    """Add ``/api/recordings/<id>/view``, ``…/samples``, ``…/sections``, ``…/counters`` and ``/api/alive``."""

    @server.get("/api/recordings/<recording>/view")
    def view(recording: str) -> Response:
        return _send_stored(library.find_view(recording), "application/octet-stream")

    @server.get("/api/recordings/<recording>/samples")
    def samples(recording: str) -> Response:
        """Return the samples as a compressed file, or a range of it; the page inflates it itself."""
        path = library.find_result(recording, SAMPLES)
        return make_private(send_file(path, "application/gzip", conditional=True))

    @server.get("/api/recordings/<recording>/sections")
    def report_sections(recording: str) -> Response:
        """Return the report's sections as markup, in the order of the page."""
        return _send_stored(library.find_sections(recording), "application/json")

    @server.get("/api/recordings/<recording>/counters")
    def counters(recording: str) -> Response:
        return _send_stored(library.find_result(recording, COUNTERS), "application/json")

    @server.get("/api/alive")
    def alive() -> Response:
        return Response(status=204, headers={"Cache-Control": "no-store"})


def _send_stored(path: Path, media_type: str) -> Response:
    """Return a file as the library stores it, compressed; the browser inflates it."""
    response = send_file(path, media_type, conditional=True)
    response.headers["Content-Encoding"] = "gzip"
    return make_cacheable(response)
