"""Answers that tell what went wrong: a sentence, as JSON to our own scripts and as a short page to people."""

from __future__ import annotations

import json
import logging

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

import tracekit
from dashboard.errors import Conflict, NotFound, TooLarge
from tracekit.errors import InputError, TracekitError, UsageError
from tracekit.report.html.elements import Html, join, tag
from tracekit.text import printable

_log = logging.getLogger(__name__)
_STATUS: tuple[tuple[type[TracekitError], int], ...] = (
    (NotFound, 404),
    (TooLarge, 413),
    (Conflict, 409),
    (UsageError, 400),
    (InputError, 422),
)
_SHEETS = ("/report-assets/page.css", "/assets/dashboard.css")
_ICON = tag("link", rel="icon", href="/assets/favicon.svg", type="image/svg+xml")
_BACK = {"recordings": "Back to the recording", "compare": "Back to the comparison"}
UNKNOWN = "Something went wrong that is no fault of yours. The dashboard's terminal says more."
_STYLE = Html(
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:34rem;padding:0 1rem}"
)
_SENTENCES = {
    400: "This request makes no sense here.",
    404: "There is nothing at this address.",
    405: "This address cannot be used in this way.",
    413: "This is larger than the dashboard takes.",
}


def answer(status: int, sentence: str) -> Response:
    """Return an error as our scripts, or people, read it."""
    if request.path.startswith(("/api/", "/_dash-")):
        response = Response(status=status, mimetype="application/json")
        response.set_data(json.dumps({"error": sentence}))
        return response
    return Response(_page(sentence, _is_let_in(status)), status=status, mimetype="text/html")


def status_of(error: TracekitError) -> int:
    """Return the HTTP status of an error of ours."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def sentence_of(error: TracekitError) -> str:
    """Return what people are told: the message and the lines below it."""
    return " ".join(map(printable, [str(error), *error.lines]))


def register(server: Flask) -> None:
    """Turn whatever is raised in a route into such an answer; a traceback goes to the log alone."""
    server.config["PROPAGATE_EXCEPTIONS"] = False

    @server.errorhandler(TracekitError)
    def ours(error: TracekitError) -> Response:
        return answer(status_of(error), sentence_of(error))

    @server.errorhandler(HTTPException)
    def theirs(error: HTTPException) -> Response:
        status = error.code or 500
        return answer(status, _SENTENCES.get(status, f"{error.name}."))

    @server.errorhandler(Exception)
    def unknown(error: Exception) -> Response:
        _log.error("%s %s failed", request.method, request.path, exc_info=error)
        return answer(500, UNKNOWN)


def _is_let_in(status: int) -> bool:
    """False for who gets no other page and no style sheet either."""
    return status not in (401, 403)


def _page(sentence: str, is_let_in: bool) -> str:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "Not possible – tracekit" if is_let_in else "tracekit"),
        join([_ICON, *map(_sheet, _SHEETS)]) if is_let_in else tag("style", _STYLE),
    )
    body = _in_the_site(sentence) if is_let_in else tag("main", tag("h1", "tracekit"), tag("p", sentence))
    return join([Html("<!doctype html>"), tag("html", head, tag("body", body), lang="en")])


def _sheet(name: str) -> Html:
    return tag("link", rel="stylesheet", href=f"{name}?v={tracekit.__version__}")


def _in_the_site(sentence: str) -> Html:
    """Return a page as the others are, with the way back to what it was asked of."""
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
