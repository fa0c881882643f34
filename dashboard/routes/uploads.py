"""Uploads in slices: begin, put one slice after the other, finish; after a break, from where it stopped.

POST   /api/uploads              {"name", "size_bytes"} or {"name", "files": [{"path", "size_bytes"}]}
                                 → 201 {"id", "slice_bytes"}
GET    /api/uploads              → {"uploads": [{"id", "name", "size_bytes", "offset", "idle_seconds"}]}
HEAD   /api/uploads/<id>         → Upload-Offset: how much is here
PUT    /api/uploads/<id>         Upload-Offset: where the body belongs → 204 or 409, with Upload-Offset
POST   /api/uploads/<id>/finish  {"sha256"}, which may be left out → 200 {"recording", "address"}
DELETE /api/uploads/<id>         → 204
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

from flask import Flask, Response, jsonify, request

from dashboard.error_responses import answer, sentence_of
from dashboard.errors import Conflict
from dashboard.library.library import Library
from tracekit.errors import UsageError

OFFSET = "Upload-Offset"
SLICE_BYTES = 8 << 20


def register(server: Flask, library: Library) -> None:
    """Add the routes above."""
    uploads = library.uploads

    @server.post("/api/uploads")
    def begin() -> tuple[Response, int]:
        asked = _object()
        name = _text(asked, "name")
        if "files" in asked:
            upload = uploads.begin(name, files=_files(asked["files"]))
        else:
            upload = uploads.begin(name, _count(asked, "size_bytes"))
        return jsonify(id=upload, slice_bytes=SLICE_BYTES), 201

    @server.get("/api/uploads")
    def unfinished() -> Response:
        listed = jsonify(uploads=[asdict(one) for one in uploads.unfinished()])
        listed.headers["Cache-Control"] = "no-store"
        return listed

    @server.get("/api/uploads/<upload>")  # and with it HEAD
    def how_far(upload: str) -> Response:
        return _here(uploads.offset(upload))

    @server.put("/api/uploads/<upload>")
    def put(upload: str) -> Response:
        offset, length = _whole(request.headers.get(OFFSET)), request.content_length
        if offset is None or length is None:
            raise UsageError(f"A slice comes with the headers {OFFSET} and Content-Length.")
        try:
            return _here(uploads.append(upload, offset, request.stream, length))
        except Conflict as conflict:
            refused = answer(409, sentence_of(conflict))
            refused.headers[OFFSET] = str(uploads.offset(upload))
            return refused

    @server.post("/api/uploads/<upload>/finish")
    def finish(upload: str) -> Response:
        asked = _object()
        sha256 = _text(asked, "sha256") if "sha256" in asked else ""
        recording = uploads.finish(upload, sha256)
        return jsonify(recording=recording.id, address=f"/recordings/{recording.id}")

    @server.delete("/api/uploads/<upload>")
    def cancel(upload: str) -> Response:
        uploads.cancel(upload)
        return Response(status=204)


def _here(offset: int) -> Response:
    return Response(status=204, headers={OFFSET: str(offset), "Cache-Control": "no-store"})


def _object() -> dict[str, Any]:
    found = request.get_json(silent=True)
    if not isinstance(found, dict):
        raise UsageError("This address takes a JSON object.")
    return cast(dict[str, Any], found)


def _text(asked: dict[str, Any], key: str) -> str:
    value = asked.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{key} must be a text.")
    return value


def _count(asked: dict[str, Any], key: str) -> int:
    value = asked.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageError(f"{key} must be a whole number, zero or more.")
    return value


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 20 else None


def _files(value: Any) -> list[tuple[str, int]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise UsageError("files must be a list of objects with path and size_bytes.")
    return [(_text(one, "path"), _count(one, "size_bytes")) for one in value]
