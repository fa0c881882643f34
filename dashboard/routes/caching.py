"""The way that browsers may keep a response."""

from __future__ import annotations

from flask import Response, request


def cacheable(response: Response) -> Response:
    """Let the browser cache a response, and revalidate it by its ETag."""
    response.headers["Cache-Control"] = "private, no-cache"
    response.add_etag()
    response.make_conditional(request)
    return response
