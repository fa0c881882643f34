"""What can be downloaded of a recording."""

from __future__ import annotations

import re

from flask import Flask, Response, request, send_file

from dashboard.error_responses import answer, sentence_of
from dashboard.jobs.downloads import Busy, DownloadFailed
from dashboard.jobs.formats import chosen
from dashboard.library.library import Library
from tracekit.errors import UsageError

_UNFIT = re.compile(r"[^\w.+-]+")
_LONGEST_NAME = 100
_RETRY_SECONDS = 10


def register(server: Flask, library: Library) -> None:
    """Add ``/recordings/<id>/download/<format>``, with ``?redact=1`` where the format can.

    ``process=PID`` goes with it for a recording of all processes: the one that is kept.
    """

    @server.get("/recordings/<recording>/download/<name>")
    def download(recording: str, name: str) -> Response:
        redact = _is_yes("redact")
        what = chosen(name, redact)
        process = request.args.get("process", "") if redact else ""
        stem = file_stem(library.recording(recording).name)
        try:
            path = library.downloads.path(recording, what, redact, process)
        except Busy as error:
            refused = answer(503, sentence_of(error))
            refused.headers["Retry-After"] = str(_RETRY_SECONDS)
            return refused
        except DownloadFailed as error:
            return answer(422, sentence_of(error))
        response = send_file(
            path, what.media_type, as_attachment=True, download_name=what.file_name(stem, redact, process)
        )
        response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"  # never in our origin
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "private, no-cache"
        return response


def _is_yes(option: str) -> bool:
    """Return a switch of the address; what is neither 1 nor 0 is refused, lest a file be less than asked."""
    value = request.args.get(option, "0")
    if value not in ("0", "1"):
        raise UsageError(f"{option} is 1 or 0.")
    return value == "1"


def file_stem(name: str) -> str:
    """Return a recording's name as a file's: no folder, nothing that a system or a shell takes amiss."""
    return _UNFIT.sub("-", name).strip("-. ")[:_LONGEST_NAME] or "recording"
