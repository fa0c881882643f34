"""Notes pinned to times of a recording.

GET    /api/recordings/<id>/notes         → {"notes": [{"id", "time_ns", "text"}]}
PUT    /api/recordings/<id>/notes/<note>  {"time_ns", "text"} → the note as it is kept
DELETE /api/recordings/<id>/notes/<note>  → 204
"""

from __future__ import annotations

from dataclasses import asdict

from flask import Flask, Response, jsonify, request

from tracekit.errors import UsageError
from tracekit_dashboard.library.library import Library

_LATEST_NS = 1 << 53
"""Browsers hold whole numbers up to here, 104 days."""


def register(server: Flask, library: Library) -> None:
    """Add the routes above."""

    @server.get("/api/recordings/<recording>/notes")
    def notes(recording: str) -> Response:
        response = jsonify(
            notes=[asdict(note) for note in library.notes.list_notes(library.find_recording(recording).id)]
        )
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.put("/api/recordings/<recording>/notes/<note>")
    def put_note(recording: str, note: str) -> Response:
        body = request.get_json(silent=True)
        time_ns, text = (body.get("time_ns"), body.get("text")) if isinstance(body, dict) else (None, None)
        if not isinstance(time_ns, int) or isinstance(time_ns, bool) or not isinstance(text, str):
            raise UsageError("This address expects time_ns, a whole number, and text.")
        if not 0 <= time_ns < _LATEST_NS:
            raise UsageError("The time of a note is in nanoseconds since the start of the run.")
        return jsonify(asdict(library.notes.put(library.find_recording(recording).id, note, time_ns, text)))

    @server.delete("/api/recordings/<recording>/notes/<note>")
    def remove_note(recording: str, note: str) -> Response:
        library.notes.remove(library.find_recording(recording).id, note)
        return Response(status=204)
