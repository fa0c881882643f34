"""The parts of the compare page, and the downloads of a comparison."""

from __future__ import annotations

from flask import Flask, Response, send_file

from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.jobs.workers import compare as worker
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.routes.caching import make_cacheable
from tracekit_dashboard.routes.downloads import make_file_stem

_FILES = {
    "html": (worker.HTML, "text/html"),
    "markdown": (worker.MARKDOWN, "text/markdown"),
    "json": (worker.JSON, "application/json"),
}
_MAX_STEM_LENGTH = 60


def register(server: Flask, library: Library) -> None:
    """Add ``sections`` and ``difference`` below ``/api/compare/<base>/<new>/``, and the downloads."""

    @server.get("/api/compare/<base>/<new>/sections")
    def comparison_sections(base: str, new: str) -> Response:
        """Return the sections as markup, in the order of the page."""
        path = library.comparisons.find_file(base, new, worker.SECTIONS)
        return make_cacheable(send_file(path, "application/json", conditional=True))

    @server.get("/api/compare/<base>/<new>/difference")
    def comparison_difference(base: str, new: str) -> Response:
        """Return the block of the flame graph of both sides."""
        block = library.comparisons.find_file(base, new, worker.DIFFERENCE).read_bytes()
        return make_cacheable(Response(block, mimetype="application/octet-stream"))

    @server.get("/compare/<base>/<new>/download/<name>")
    def comparison_file(base: str, new: str, name: str) -> Response:
        if name not in _FILES:
            raise NotFound(f"There is no such download; there are {', '.join(_FILES)}.")
        file, media_type = _FILES[name]
        path = library.comparisons.find_file(base, new, file)
        names = (library.find_recording(recording_id).name for recording_id in (base, new))
        file_name = f"{'-and-'.join(make_file_stem(name)[:_MAX_STEM_LENGTH] for name in names)}.{file}"
        response = send_file(path, media_type, as_attachment=True, download_name=file_name)
        response.headers["Content-Security-Policy"] = (
            "sandbox; default-src 'none'"  # no access to the dashboard
        )
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "private, no-cache"
        return response
