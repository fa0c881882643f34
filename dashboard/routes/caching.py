"""The way that browsers may keep a response."""

from __future__ import annotations

from flask import Response, request


def cacheable(response: Response) -> Response:
    """Let the browser cache a response, and revalidate it by its ETag."""
    response.add_etag()
    response.make_conditional(request)
    return private(response)


def private(response: Response) -> Response:
    """Let only the browser keep a response, and ask again each time."""
    response.headers["Cache-Control"] = "private, no-cache"
    return response
