"""The way that browsers may keep a response."""

from __future__ import annotations

from flask import Response, request


def make_cacheable(response: Response) -> Response:
    """Let the browser cache a response, and revalidate it by its ETag."""
    response.add_etag()
    response.make_conditional(request)
    return make_private(response)


def make_private(response: Response) -> Response:
    """Let only the browser keep a response, and ask again each time."""
    response.headers["Cache-Control"] = "private, no-cache"
    return response
