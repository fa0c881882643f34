"""Further analyses of a recording: what can be chosen, requests for them, and their states.

GET    /api/recordings/<analysis>/choices              → the inventory of the run; {} if there is none
POST   /api/recordings/<analysis>/choices              a visitor is about to choose → 204
GET    /api/recordings/<id>/analyses                   → {"default", "analyses": […]}
POST   /api/recordings/<id>/analyses                   {"options"}, or a form with these as JSON in a field
                                                       and files in fields named for their options
                                                       → 202 the analysis; {"id": ""} without options
GET    /api/recordings/<id>/analyses/<variant>         → the analysis
POST   /api/recordings/<id>/analyses/<variant>/<act>   cancel, again → the analysis
DELETE /api/recordings/<id>/analyses/<variant>         → 204
PUT    /api/recordings/<id>/default                    {"id"}: a variant, or "" → 204
"""

from __future__ import annotations

import json
from typing import Any

from flask import Flask, Response, jsonify, request
from werkzeug.datastructures import FileStorage

from tracekit.errors import UsageError
from tracekit.text import format_size
from tracekit_dashboard.errors import NotFound, TooLarge
from tracekit_dashboard.library.analyses import GivenFile
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.outside_names import make_display_name
from tracekit_dashboard.library.packed_files import MAX_BYTES, wrap_file, wrap_symbols
from tracekit_dashboard.library.run_inventory import INVENTORY, read_inventory
from tracekit_dashboard.library.variants import PACKED, Variant, describe_options

_MAX_BYTES = 1 << 20
"""Of the options in a request."""


def register(server: Flask, library: Library) -> None:
    """Add the routes above."""

    @server.get("/api/recordings/<recording>/choices")
    def choices(recording: str) -> Response:
        shown = library.find_recording(recording)
        # Where nothing was read there is nothing to choose from: a page that waits for an analysis asks, too.
        is_read = shown.state == "ready" and not shown.is_dropped
        return _forbid_caching(
            jsonify(read_inventory(library.find_results(recording) / INVENTORY) if is_read else {})
        )

    @server.post("/api/recordings/<recording>/choices")
    def prepared(recording: str) -> Response:
        library.analyses.prepare(recording)
        return Response(status=204)

    @server.get("/api/recordings/<recording>/analyses")
    def listed(recording: str) -> Response:
        default = library.find_recording(recording).default_variant
        return _forbid_caching(
            jsonify(
                default=default,
                analyses=[
                    _build_variant_document(each) for each in library.analyses.list_variants(recording)
                ],
            )
        )

    @server.post("/api/recordings/<recording>/analyses")
    def requested(recording: str) -> tuple[Response, int]:
        body, files = _read_form() if request.mimetype == "multipart/form-data" else (_read_body(), {})
        options = body.get("options", {})
        if not isinstance(options, dict):
            raise UsageError("options is an object of options by their names.")
        variant = library.analyses.request(recording, options, files)
        return jsonify({"id": ""} if variant is None else _build_variant_document(variant)), 202

    @server.get("/api/recordings/<recording>/analyses/<variant>")
    def state(recording: str, variant: str) -> Response:
        return _forbid_caching(jsonify(_build_variant_document(library.analyses.find(recording, variant))))

    @server.post("/api/recordings/<recording>/analyses/<variant>/<act>")
    def act(recording: str, variant: str, act: str) -> Response:
        if act == "cancel":
            library.analyses.cancel(recording, variant)
        elif act == "again":
            library.analyses.retry(recording, variant)
        else:
            raise NotFound("There is nothing at this address.")
        return jsonify(_build_variant_document(library.analyses.find(recording, variant)))

    @server.delete("/api/recordings/<recording>/analyses/<variant>")
    def removed(recording: str, variant: str) -> Response:
        library.analyses.remove(recording, variant)
        return Response(status=204)

    @server.put("/api/recordings/<recording>/default")
    def default(recording: str) -> Response:
        variant = _read_body().get("id")
        if not isinstance(variant, str):
            raise UsageError("id is that of an analysis, or an empty text.")
        library.analyses.set_default(recording, variant)
        return Response(status=204)


def _build_variant_document(variant: Variant) -> dict[str, Any]:
    return {
        "id": variant.id,
        "options": variant.options,
        "described": describe_options(variant.options),
        "state": variant.state,
        "stage": variant.stage,
        "progress": variant.progress,
        "message": variant.message,
        "verdict": variant.verdict,
    }


def _read_form() -> tuple[dict[str, Any], dict[str, GivenFile]]:
    """Return the options and the files of a form; what is large of it waits on the disk."""
    if (request.content_length or 0) > MAX_BYTES + _MAX_BYTES:
        raise TooLarge(f"Files for an analysis have no more than {format_size(MAX_BYTES)}.")
    try:
        options = json.loads(request.form.get("options", "{}"))
    except (ValueError, RecursionError):
        raise UsageError("options is an object of options by their names, as JSON.") from None
    return {"options": options}, {name: _open_file(name, file) for name, file in request.files.items()}


def _open_file(option: str, file: FileStorage) -> GivenFile:
    name = file.filename or ""
    if option not in PACKED:
        return GivenFile(name, file.stream)
    pack = wrap_symbols if option == "symbols" else wrap_file
    return GivenFile(name, pack(make_display_name(name), file.stream))


def _read_body() -> dict[str, Any]:
    if (request.content_length or 0) > _MAX_BYTES:
        raise TooLarge(f"A request for an analysis has no more than {_MAX_BYTES >> 20} MB.")
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise UsageError("This address expects a JSON object.")
    return body


def _forbid_caching(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
