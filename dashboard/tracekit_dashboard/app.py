"""The Dash application: pages, callbacks and routes of one library."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any

import dash
from dash import Input, Output, State
from flask import Flask, Response, request

import tracekit
from tracekit.errors import TracekitError
from tracekit_dashboard import auth, error_responses
from tracekit_dashboard.callbacks import compare as compare_callbacks
from tracekit_dashboard.callbacks import library as library_callbacks
from tracekit_dashboard.callbacks import record as record_callbacks
from tracekit_dashboard.callbacks import trace as trace_callbacks
from tracekit_dashboard.callbacks import trend as trend_callbacks
from tracekit_dashboard.callbacks.values import check_values
from tracekit_dashboard.errors import Busy, NotFound
from tracekit_dashboard.history_store import HistoryStore
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages import compare, history, live, trend
from tracekit_dashboard.pages.frame import build_frame, build_not_found, build_problem
from tracekit_dashboard.routes import analyses, bundle, downloads, notes, tables, uploads, views
from tracekit_dashboard.routes import compare as compare_routes
from tracekit_dashboard.routes import history as history_routes
from tracekit_dashboard.routes import live as live_routes
from tracekit_dashboard.settings import Settings

_log = logging.getLogger(__name__)
_ASSETS = Path(__file__).parent / "assets"
_ANY_PAGE = "/<path:path>"
_INDEX = f"""<!doctype html>
<html lang="en" data-version="VERSION">
<head>
{{%metas%}}
<title>{{%title%}}</title>
<link rel="icon" href="/assets/favicon.svg" type="image/svg+xml">
{{%css%}}
{bundle.build_style_element()}
</head>
<body>
{{%app_entry%}}
{{%config%}}
{{%scripts%}}
{{%renderer%}}
{bundle.build_script_element()}
</body>
</html>"""


def create_app(settings: Settings, library: Library) -> dash.Dash:
    """Return the application that shows ``library`` to the visitors that ``settings`` allow."""
    app = dash.Dash(
        "tracekit_dashboard",
        assets_folder=str(_ASSETS),
        include_assets_files=False,  # routes/bundle.py joins them
        pages_folder="",
        use_pages=False,
        title="tracekit",
        update_title="",
        suppress_callback_exceptions=True,  # the pages come and go
        compress=False,
        enable_mcp=False,
        on_error=_show_problem,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.layout = build_frame(is_watching=settings.live is not None)
    _add_page_route(app, settings, library)
    library_callbacks.register(app, library)
    trace_callbacks.register(app, library)
    compare_callbacks.register(app, library)
    record_callbacks.register(app, settings, library)
    check_values(app)
    error_responses.register(app.server)
    bundle.register(app.server)
    _mark_version(app, settings)
    views.register(app.server, library)
    tables.register(app.server, library)
    analyses.register(app.server, library)
    uploads.register(app.server, library)
    downloads.register(app.server, library)
    notes.register(app.server, library)
    compare_routes.register(app.server, library)
    history_routes.register(app.server, HistoryStore(settings.fleet, library), library)
    live_routes.register(app.server, library, settings.live)
    auth.protect(app.server, settings, app.csp_hashes())
    return app


def _add_page_route(app: dash.Dash, settings: Settings, library: Library) -> None:
    @app.callback(Output("page", "children"), Input("address", "pathname"), State("address", "search"))
    def show(path: str | None, query: str | None) -> Any:
        match _split_path(path or "/"):
            case []:
                return library_callbacks.build_page(query or "")
            case ["recordings", recording]:
                return trace_callbacks.build_page(library, recording, query or "")
            case ["compare"]:
                return compare.build_how_page()
            case ["compare", base, new]:
                return compare_callbacks.build_page(library, base, new)
            case ["trend", *analyses] if analyses:
                return trend_callbacks.build_page(library, analyses)
            case ["record"]:
                return record_callbacks.build_page(settings)
            case ["history"]:
                return history.build_page(of_library=settings.fleet is None)
            case ["live"]:
                return live.build_page(is_watching=settings.live is not None)
        return build_not_found("There is nothing at this address.")

    server: Flask = app.server
    server.url_map.merge_slashes = False  # which would redirect //x, the address of another site

    @server.after_request
    def mark_missing_pages(response: Response) -> Response:
        """Set the status 404 for addresses without a page: Dash sends its single page for every address."""
        if request.endpoint == _ANY_PAGE and response.status_code == 200:
            try:
                response.status_code = 200 if _has_page(library) else 404
            except TracekitError as error:  # too late for the error handlers
                return error_responses.build_error_response(
                    error_responses.find_status(error), error_responses.format_sentence(error)
                )
        return response


def _mark_version(app: dash.Dash, settings: Settings) -> None:
    """Give every page and every response a version, by which update.js finds a page from before an update.

    The requests of such a page may not fit the callbacks.
    """
    callbacks = [(name, spec["inputs"], spec["state"]) for name, spec in sorted(app.callback_map.items())]
    content = repr((tracekit.__version__, dash.__version__, bundle.compute_version(), callbacks))
    version = hashlib.sha256(content.encode()).hexdigest()[:16]
    app.index_string = _INDEX.replace("VERSION", version)

    server: Flask = app.server

    @server.after_request
    def mark(response: Response) -> Response:
        if auth.has_access(request.headers.get("Cookie", ""), settings):
            response.headers["X-Tracekit-Version"] = version
        return response


def _has_page(library: Library) -> bool:
    """Return True if the request's address leads to a page."""
    match _split_path(request.path):
        case [] | ["compare"] | ["record"] | ["history"] | ["live"]:
            return True
        case ["recordings", recording]:
            return _has_recording(library, recording)
        case ["compare", base, new]:
            return _has_recording(library, base) and _has_recording(library, new)
        case ["trend", *analyses] if analyses:
            return all(_has_recording(library, analysis) for analysis in analyses[: trend.MAX_COLUMNS])
    return False


def _has_recording(library: Library, recording: str) -> bool:
    try:
        library.find_recording(recording)
    except NotFound:
        return False
    return True


def _split_path(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _show_problem(error: Exception) -> None:
    """Show an exception of a callback as a sentence on the page."""
    if isinstance(error, Busy):  # a status: busy.js repeats the request
        raise error
    if isinstance(error, OSError):
        _log.warning("a callback failed: %s", error)
    if isinstance(error, (TracekitError, OSError)):
        sentence = error_responses.format_sentence(error)
    else:
        _log.error("a callback failed", exc_info=error)
        sentence = error_responses.UNEXPECTED
    dash.set_props("problem", {"children": build_problem(sentence)})
