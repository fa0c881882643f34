"""The script and the style sheet of the pages: all modules joined to one file, all style sheets to another.

Loaded one by one, the 70 modules take half of the CPU time of a page, in the browser and on the server.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from flask import Flask, Response, abort, request

from tracekit.report.html.bundle import joined
from tracekit.report.html.elements import Html, tag
from tracekit_dashboard.routes.caching import make_cacheable

_ENTRY = "/assets/start.js"
_SHEETS = (
    "/report-assets/page.css",
    "/assets/dashboard.css",
    "/assets/library.css",
    "/assets/workbench.css",
    "/assets/tables.css",
    "/assets/history.css",
    "/assets/live.css",
)
"""The style sheets, in the order in which they override each other."""
_PLACES = {"assets": "tracekit_dashboard", "report-assets": "tracekit.report"}
"""The packages whose assets the modules import by these paths."""
_TYPES = {"pages.js": "text/javascript", "pages.css": "text/css"}


def build_script_element() -> Html:
    """Return the element that loads the script."""
    return tag("script", type="module", src=_build_address("pages.js"))


def build_style_element() -> Html:
    """Return the element that loads the style sheet."""
    return tag("link", rel="stylesheet", href=_build_address("pages.css"))


def compute_version() -> str:
    """Return a digest of both files."""
    return _compute_file_version("pages.js") + _compute_file_version("pages.css")


def register(server: Flask) -> None:
    """Add ``/bundle/<name>``."""

    @server.get("/bundle/<name>")
    def bundle(name: str) -> Response:
        """Return a file that the browser keeps for good if its address has the current version."""
        if name not in _TYPES:
            abort(404)
        response = Response(_load_text(name), mimetype=_TYPES[name])
        if request.args.get("v") != _compute_file_version(name):  # a page from before an update
            return make_cacheable(response)
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response


def _build_address(name: str) -> str:
    return f"/bundle/{name}?v={_compute_file_version(name)}"


@cache
def _compute_file_version(name: str) -> str:
    return hashlib.sha256(_load_text(name).encode()).hexdigest()[:16]


@cache
def _load_text(name: str) -> str:
    return joined(_ENTRY, read_asset) if name == "pages.js" else "\n".join(map(read_asset, _SHEETS))


def read_asset(path: str) -> str:
    """Return the text of a file by the path from which pages import it, such as ``/assets/start.js``."""
    place, name = path[1:].split("/", 1)
    return files(_PLACES[place]).joinpath("assets", name).read_text("utf-8")
