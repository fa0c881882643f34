"""Error responses: a sentence, as JSON for the dashboard's scripts and as a short page for people."""

from __future__ import annotations

import json
import logging

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from tracekit.errors import InputError, TracekitError, UsageError
from tracekit.report.html.elements import Html, join, tag
from tracekit.text import printable
from tracekit_dashboard.errors import Busy, Conflict, LibraryFailed, NotFound, TooLarge
from tracekit_dashboard.routes import bundle

_log = logging.getLogger(__name__)
_STATUS: tuple[tuple[type[TracekitError], int], ...] = (
    (NotFound, 404),
    (TooLarge, 413),
    (Conflict, 409),
    (UsageError, 400),
    (InputError, 422),
    (Busy, 503),
    (LibraryFailed, 500),
)
_ICON = tag("link", rel="icon", href="/assets/favicon.svg", type="image/svg+xml")
_BACK = {"recordings": "Back to the recording", "compare": "Back to the comparison"}
UNEXPECTED = "The dashboard failed because of an error in tracekit. Its terminal has the details."
_STYLE = Html(
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:34rem;padding:0 1rem}"
)
MALFORMED = "The dashboard does not understand this request."
NOTHING_HERE = "There is nothing at this address."
_DASH_REFUSALS = {
    "/_dash-component-suites/<string:package_name>/<path:fingerprinted_path>": 404,
    "/_dash-update-component": 400,
}
_MAX_LOGGED = 200
_SENTENCES = {
    400: MALFORMED,
    404: NOTHING_HERE,
    405: "This address cannot be used in this way.",
    413: "This is larger than the dashboard accepts.",
}


def build_error_response(status: int, sentence: str) -> Response:
    """Return an error in the form that a script, or a person, reads."""
    if request.path.startswith(("/api/", "/_dash-")):
        response = Response(status=status, mimetype="application/json")
        response.set_data(json.dumps({"error": sentence}))
        return response
    return Response(_build_page(sentence, _has_access(status)), status=status, mimetype="text/html")


def find_status(error: TracekitError) -> int:
    """Return the HTTP status of a tracekit error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def format_sentence(error: TracekitError | OSError) -> str:
    """Return the text for people: the message and the lines below it, or the reason that the system gave."""
    if isinstance(error, OSError):  # for example a library whose folder was removed, or a disk that failed
        reason = printable(error.strerror or type(error).__name__)
        return (
            f"The library cannot be read or written: {reason}. Check that its folder is in its place, and the"
            " disk."
        )
    return " ".join(map(printable, [str(error), *error.lines]))


def register(server: Flask) -> None:
    """Turn every exception of a route into an error response; tracebacks go to the log alone."""
    server.config["PROPAGATE_EXCEPTIONS"] = False

    @server.errorhandler(TracekitError)
    def tracekit_error(error: TracekitError) -> Response:
        response = build_error_response(find_status(error), format_sentence(error))
        if isinstance(error, Busy):
            response.headers["Retry-After"] = str(error.retry_seconds)
        return response

    @server.errorhandler(OSError)
    def system_error(error: OSError) -> Response:
        _log.warning("%s %s failed: %s", request.method, printable(request.path), printable(str(error)))
        return build_error_response(500, format_sentence(error))

    @server.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> Response:
        status = error.code or 500
        return build_error_response(status, _SENTENCES.get(status, f"{error.name}."))

    @server.errorhandler(RecursionError)
    def too_deep(_error: RecursionError) -> Response:
        return build_error_response(400, _SENTENCES[400])  # nothing is nested so deeply but JSON of a request

    @server.errorhandler(Exception)
    def unexpected_error(error: Exception) -> Response:
        if status := _DASH_REFUSALS.get(request.endpoint or ""):
            # Dash checks nothing. Our callbacks report their own exceptions.
            what = printable(f"{type(error).__name__}: {error}")[:_MAX_LOGGED]
            _log.warning("%s %s was not understood (%s)", request.method, printable(request.path), what)
            return build_error_response(status, _SENTENCES[status])
        _log.error("%s %s failed", request.method, request.path, exc_info=error)
        return build_error_response(500, UNEXPECTED)


def _has_access(status: int) -> bool:
    """Return False for a visitor without access, who gets no style sheet either."""
    return status not in (401, 403)


def _build_page(sentence: str, has_access: bool) -> str:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "Not possible – tracekit" if has_access else "tracekit"),
        join([_ICON, bundle.build_style_element()]) if has_access else tag("style", _STYLE),
    )
    body = (
        _build_site_body(sentence) if has_access else tag("main", tag("h1", "tracekit"), tag("p", sentence))
    )
    return join([Html("<!doctype html>"), tag("html", head, tag("body", body), lang="en")])


def _build_site_body(sentence: str) -> Html:
    """Return a page of the site with a link back to the page of the request."""
    place, is_download, _name = request.path.rpartition("/download/")
    name = _BACK.get(place.split("/")[1]) if is_download else None
    back = tag("a", name or "All recordings", href=place if name else "/")
    return join(
        [
            tag(
                "nav",
                tag("a", "tracekit", href="/", class_="brand"),
                tag("a", "Recordings", href="/", class_="place"),
                tag("a", "Record", href="/record", class_="place"),
                class_="site",
                aria_label="Pages",
            ),
            tag(
                "main",
                tag("h1", "Not possible"),
                tag(
                    "section",
                    tag("p", sentence, role="alert"),
                    tag("p", back),
                ),
            ),
        ]
    )
