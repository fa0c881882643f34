"""Uploads in slices: begin, put the slices in order, finish. An interrupted upload continues at its offset.

POST   /api/uploads              {"name", "size_bytes"} or {"name", "files": [{"path", "size_bytes"}]}
                                 → 201 {"id", "slice_bytes"}
GET    /api/uploads              → {"uploads": [{"id", "name", "size_bytes", "offset", "idle_seconds"}]}
HEAD   /api/uploads/<id>         → Upload-Offset: the number of bytes received
PUT    /api/uploads/<id>         Upload-Offset: the position of the body → 204 or 409, with Upload-Offset
                                 Upload-Digest (optional): of the bytes before it → 409 if they are others
POST   /api/uploads/<id>/finish  {"sha256", "digest"} (optional) → 200 {"recording", "address"}
DELETE /api/uploads/<id>         → 204

A digest is that of ``library/block_digest.py``, as 64 hex digits; ``sha256`` is the plain one of all bytes. A
409 without Upload-Offset is final: the file is another one.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, cast

from flask import Flask, Response, jsonify, request

from tracekit.errors import UsageError
from tracekit_dashboard.error_responses import build_error_response, format_sentence
from tracekit_dashboard.errors import Conflict, OtherContent
from tracekit_dashboard.library.library import Library

OFFSET = "Upload-Offset"
DIGEST = "Upload-Digest"
SLICE_BYTES = 8 << 20
_MOST_BYTES = 1 << 63
_HEX = re.compile("[0-9a-fA-F]{64}")


def register(server: Flask, library: Library) -> None:
    """Add the routes above."""
    uploads = library.uploads

    @server.post("/api/uploads")
    def begin() -> tuple[Response, int]:
        body = _read_json_object()
        name = _require_text(body, "name")
        if "files" in body:
            upload = uploads.begin(name, files=_parse_files(body["files"]))
        else:
            upload = uploads.begin(name, _require_count(body, "size_bytes"))
        return jsonify(id=upload, slice_bytes=SLICE_BYTES), 201

    @server.get("/api/uploads")
    def unfinished() -> Response:
        response = jsonify(uploads=[asdict(upload) for upload in uploads.list_unfinished()])
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.get("/api/uploads/<upload>")  # and with it HEAD
    def progress(upload: str) -> Response:
        return _build_offset_response(uploads.find_offset(upload))

    @server.put("/api/uploads/<upload>")
    def put(upload: str) -> Response:
        offset, length = _parse_whole_number(request.headers.get(OFFSET)), request.content_length
        if offset is None or length is None:
            raise UsageError(f"A slice comes with the headers {OFFSET} and Content-Length.")
        try:
            digest = _check_digest(request.headers.get(DIGEST, ""))
            return _build_offset_response(uploads.append(upload, offset, request.stream, length, digest))
        except OtherContent:
            raise
        except Conflict as conflict:
            refused = build_error_response(409, format_sentence(conflict))
            refused.headers[OFFSET] = str(uploads.find_offset(upload))
            return refused

    @server.post("/api/uploads/<upload>/finish")
    def finish(upload: str) -> Response:
        body = _read_json_object()
        sha256 = _require_text(body, "sha256") if "sha256" in body else ""
        digest = _check_digest(_require_text(body, "digest")) if "digest" in body else ""
        recording = uploads.finish(upload, sha256, digest)
        return jsonify(recording=recording.id, address=f"/recordings/{recording.id}")

    @server.delete("/api/uploads/<upload>")
    def cancel(upload: str) -> Response:
        uploads.cancel(upload)
        return Response(status=204)


def _build_offset_response(offset: int) -> Response:
    return Response(status=204, headers={OFFSET: str(offset), "Cache-Control": "no-store"})


def _read_json_object() -> dict[str, Any]:
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise UsageError("This address expects a JSON object.")
    return cast(dict[str, Any], body)


def _require_text(body: dict[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{key} must be a text.")
    return value


def _require_count(body: dict[str, Any], key: str) -> int:
    value = body.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST_BYTES:
        raise UsageError(f"{key} must be a whole number, zero or more, below 2^63.")
    return value


def _parse_whole_number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 20 else None


def _check_digest(text: str) -> str:
    if text and not _HEX.fullmatch(text):
        raise UsageError("A digest has 64 hex digits.")
    return text.lower()


def _parse_files(value: Any) -> list[tuple[str, int]]:
    if not isinstance(value, list) or not all(isinstance(file, dict) for file in value):
        raise UsageError("files must be a list of objects with path and size_bytes.")
    return [(_require_text(file, "path"), _require_count(file, "size_bytes")) for file in value]
