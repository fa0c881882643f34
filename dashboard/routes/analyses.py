"""Further analyses of a recording: what can be chosen, requests for them, and their states.

GET    /api/recordings/<analysis>/choices              → the inventory of the run; {} if there is none
POST   /api/recordings/<analysis>/choices              a visitor is about to choose → 204
GET    /api/recordings/<id>/analyses                   → {"default", "analyses": […]}
POST   /api/recordings/<id>/analyses                   {"options", "files": {option: {"name", "text"}}}
                                                       → 202 the analysis; {"id": ""} without options;
                                                       a file of symbols, or a text laid over the
                                                       recording, has "base64" instead of "text"
GET    /api/recordings/<id>/analyses/<variant>         → the analysis
POST   /api/recordings/<id>/analyses/<variant>/<act>   cancel, again → the analysis
DELETE /api/recordings/<id>/analyses/<variant>         → 204
PUT    /api/recordings/<id>/default                    {"id"}: a variant, or "" → 204
"""

from __future__ import annotations

import base64
from typing import Any

from flask import Flask, Response, jsonify, request

from dashboard.errors import NotFound, TooLarge
from dashboard.library.analyses import GivenFile
from dashboard.library.library import Library
from dashboard.library.names import make_display_name
from dashboard.library.packed_files import wrap_symbols, wrap_text
from dashboard.library.run_inventory import INVENTORY, read_inventory
from dashboard.library.variants import PACKED, Variant, describe_options
from tracekit.errors import UsageError

_MAX_BYTES = 16 << 20
"""Of a request: two files of 2 MB, with JSON's escapes, or one in base64."""
_FILES_FORM = (
    "files is an object of files by options, each with name and text, or base64 for symbols and with."
)


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
        body = _read_body()
        options = body.get("options", {})
        if not isinstance(options, dict):
            raise UsageError("options is an object of options by their names.")
        variant = library.analyses.request(recording, options, _parse_files(body.get("files", {})))
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


def _parse_files(value: Any) -> dict[str, GivenFile]:
    if not isinstance(value, dict):
        raise UsageError(_FILES_FORM)
    return {name: _parse_file(name, file) for name, file in value.items()}


def _parse_file(option: str, file: Any) -> GivenFile:
    if not isinstance(file, dict) or not isinstance(file.get("name"), str):
        raise UsageError(_FILES_FORM)
    if option in PACKED and isinstance(file.get("base64"), str):
        try:
            content = base64.b64decode(file["base64"], validate=True)
        except ValueError:
            raise UsageError(_FILES_FORM) from None
        pack = wrap_symbols if option == "symbols" else wrap_text
        return GivenFile(file["name"], pack(make_display_name(file["name"]), content))
    if not isinstance(file.get("text"), str):
        raise UsageError(_FILES_FORM)
    return GivenFile(file["name"], file["text"].encode("utf-8", "replace"))


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
