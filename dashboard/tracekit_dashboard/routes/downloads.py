"""Downloads of a recording: reports, tables, profiles."""

from __future__ import annotations

import re

from flask import Flask, Response, request, send_file

from tracekit.errors import UsageError
from tracekit_dashboard.error_responses import build_error_response, format_sentence
from tracekit_dashboard.jobs.download_formats import choose_format
from tracekit_dashboard.jobs.download_jobs import DownloadFailed
from tracekit_dashboard.library.library import Library

_UNFIT = re.compile(r"[^\w.+-]+")
_MAX_NAME_LENGTH = 100


def register(server: Flask, library: Library) -> None:
    """Add ``/recordings/<id>/download/<format>``, with ``?redact=1`` where the format can.

    For a recording of all processes, ``process=PID`` names the process to keep.
    """

    @server.get("/recordings/<recording>/download/<name>")
    def download(recording: str, name: str) -> Response:
        redact = _is_yes("redact")
        file_format = choose_format(name, redact)
        process = request.args.get("process", "") if redact else ""
        stem = make_file_stem(library.find_recording(recording).name)
        try:
            path = library.downloads.find_or_make(recording, file_format, redact, process)
        except DownloadFailed as error:
            return build_error_response(422, format_sentence(error))
        response = send_file(
            path,
            file_format.media_type,
            as_attachment=True,
            download_name=file_format.build_file_name(stem, redact, process),
        )
        response.headers["Content-Security-Policy"] = (
            "sandbox; default-src 'none'"  # no access to the dashboard
        )
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "private, no-cache"
        return response


def _is_yes(option: str) -> bool:
    """Return a switch of the address; refuse values other than 1 and 0, lest a file be left unredacted."""
    value = request.args.get(option, "0")
    if value not in ("0", "1"):
        raise UsageError(f"{option} is 1 or 0.")
    return value == "1"


def make_file_stem(name: str) -> str:
    """Return a file name for a recording, without folders and characters special to a system or shell."""
    return _UNFIT.sub("-", name).strip("-. ")[:_MAX_NAME_LENGTH] or "recording"
