"""The stream that the dashboard watches, as server-sent events, and what is kept of it.

GET  /api/live/events?since=N   an event a second with what is new after N calls, for a minute; then the
                                browser connects again
POST /api/live/keep             → 201 {"recording", "address"}: the last minutes, a recording of the library
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime

from flask import Flask, Response, jsonify, request

from tracekit_dashboard.errors import Busy, NotFound
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.live_session import LiveSession

_EVENTS = 55
"""In a minute the connection ends: its memory and its thread are free for another visitor."""
_VIEWERS = 3
"""Of the server's eight threads; others serve the pages."""
_RETRY_MS = 1_000


def register(server: Flask, library: Library, session: LiveSession | None) -> None:
    """Add the routes above."""
    viewers = threading.BoundedSemaphore(_VIEWERS)

    @server.get("/api/live/events")
    def live_events() -> Response:
        """Return a stream of states; a page that reads slowly gets fewer, and holds up nothing."""
        watched = _require(session)
        since = request.args.get("since", 0, type=int)
        if not viewers.acquire(blocking=False):
            raise Busy(f"{_VIEWERS} pages show this stream already: close one of them.")
        response = Response(_iter_events(watched, since), mimetype="text/event-stream")
        response.call_on_close(viewers.release)
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.post("/api/live/keep")
    def keep_stream() -> tuple[Response, int]:
        """Keep the last minutes as a recording."""
        watched = _require(session)
        library.recorded.mkdir(parents=True, exist_ok=True)
        path = library.recorded / f"stream-{datetime.now():%Y%m%d-%H%M%S-%f}.ndjson"
        watched.keep(path)
        recording = library.add_file(path)
        address = f"/recordings/{recording.id}"
        if watched.patterns:
            variant = library.analyses.request(recording.id, {"window-signpost": list(watched.patterns)}, {})
            address += f"?variant={variant.id}" if variant else ""
        return jsonify(recording=recording.id, address=address), 201


def _iter_events(session: LiveSession, since: int) -> Iterator[bytes]:
    yield f"retry: {_RETRY_MS}\n\n".encode()
    for _ in range(_EVENTS):
        state = session.build_state(since)
        since = state["calls_seen"]
        yield f"data: {json.dumps(state, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
        if session.wait(1.0):
            state = session.build_state(since)
            yield f"event: end\ndata: {json.dumps(state, ensure_ascii=False)}\n\n".encode()
            return


def _require(session: LiveSession | None) -> LiveSession:
    if session is None:
        raise NotFound("No stream is watched: start the dashboard with --watch.")
    return session
