"""The view, the modules that draw it, and downloads."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from fake_library import BUSY, READY, SAMPLES, recording

pytestmark = pytest.mark.slow

Client = Callable[..., Any]
HOST = {"Host": "127.0.0.1:8127"}
SAMPLES_PLACE = f"/api/recordings/{READY}/samples"


def test_the_view_goes_out_as_it_lies_there(client: Client) -> None:
    answer = client().get(f"/api/recordings/{READY}/view", headers=HOST, buffered=True)
    assert answer.status_code == 200
    assert gzip.decompress(answer.data) == b"the view"
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Cache-Control"] == "private, no-cache"


def test_the_samples_are_a_compressed_file_that_the_page_inflates(client: Client) -> None:
    answer = client().get(SAMPLES_PLACE, headers=HOST, buffered=True)
    assert (answer.status_code, answer.data) == (200, SAMPLES)
    assert answer.headers["Content-Type"] == "application/gzip"
    assert answer.headers["Content-Length"] == str(len(SAMPLES))
    assert "Content-Encoding" not in answer.headers
    assert answer.headers["Cache-Control"] == "private, no-cache"


def test_the_rest_of_the_samples_is_sent_as_long_as_the_file_is_the_same(client: Client) -> None:
    tab = client()
    etag = tab.get(SAMPLES_PLACE, headers=HOST, buffered=True).headers["ETag"]

    def remainder(version: str) -> Any:
        headers = {**HOST, "Range": "bytes=10-", "If-Range": version}
        return tab.get(SAMPLES_PLACE, headers=headers, buffered=True)

    answer = remainder(etag)
    assert (answer.status_code, answer.data) == (206, SAMPLES[10:])
    assert answer.headers["Content-Range"] == f"bytes 10-{len(SAMPLES) - 1}/{len(SAMPLES)}"
    assert answer.headers["ETag"] == etag
    anew = gzip.compress(b"other samples, read again", mtime=0)
    (tab.library.folder / "samples.bin.gz").write_bytes(anew)
    answer = remainder(etag)
    assert (answer.status_code, answer.data) == (200, anew)
    assert answer.headers["ETag"] != etag


def test_a_range_behind_the_end_is_refused(client: Client) -> None:
    answer = client().get(SAMPLES_PLACE, headers={**HOST, "Range": "bytes=999999-"})
    assert answer.status_code == 416


def test_a_deleted_recording_has_no_samples_and_a_reason(client: Client) -> None:
    tab = client()
    tab.library.delete(READY)
    answer = tab.get(SAMPLES_PLACE, headers=HOST)
    assert (answer.status_code, answer.get_json()) == (404, {"error": "Camera.trace was deleted."})


@pytest.mark.parametrize(
    "place",
    [*(f"/api/recordings/{READY}/{name}" for name in ("view", "samples", "sections")), "/bundle/pages.js"],
)
def test_what_the_browser_has_is_not_sent_again(place: str, client: Client) -> None:
    tab = client()
    etag = tab.get(place, headers=HOST, buffered=True).headers["ETag"]
    again = tab.get(place, headers={**HOST, "If-None-Match": etag}, buffered=True)
    assert (again.status_code, again.data) == (304, b"")


def test_the_sections_come_as_markup_that_no_browser_opens_as_a_page(client: Client) -> None:
    answer = client().get(f"/api/recordings/{READY}/sections", headers=HOST, buffered=True)
    assert (answer.mimetype, answer.headers["Content-Encoding"]) == ("application/json", "gzip")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    sections = json.loads(gzip.decompress(answer.data))
    assert sections == {
        "verdict": '<section id="verdict"><h2>Verdict</h2><p>All on the <b>ANE</b>.</p></section>'
    }


@pytest.mark.parametrize(
    "what",
    [
        "/api/recordings/{}/view",
        "/api/recordings/{}/samples",
        "/api/recordings/{}/sections",
        "/recordings/{}/download/json",
    ],
)
@pytest.mark.parametrize("recording_id", ["0" * 32, "..", BUSY, "%2e%2e%2fx"])
def test_missing_inputs_are_reported(what: str, recording_id: str, client: Client) -> None:
    answer = client(recording(BUSY, state="reading")).get(what.format(recording_id), headers=HOST)
    if "%2f" in recording_id or recording_id == "..":  # no address of a recording: the page of everything
        assert answer.status_code in {200, 404}
        assert b"the view" not in answer.data and b"schema" not in answer.data
    else:
        assert answer.status_code == 404
        assert "recording" in answer.get_data(as_text=True)


@pytest.mark.parametrize(
    ("name", "kind", "parts"),
    [
        ("pages.js", "text/javascript", ["function showLibrary(", "function startPage("]),
        ("pages.css", "text/css", [".brand", ".timeline"]),
    ],
)
def test_script_and_style_are_one_file_each_that_browsers_keep(
    name: str, kind: str, parts: list[str], client: Client
) -> None:
    tab = client()
    place = re.search(rf'"(/bundle/{name}\?v=\w+)"', tab.get("/", headers=HOST).text)[1]  # type: ignore[index]
    answer = tab.get(place, headers=HOST)
    assert (answer.status_code, answer.mimetype) == (200, kind)
    assert [part for part in parts if part not in answer.text] == []
    assert not re.search(r"^(import|export)\b", answer.text, re.MULTILINE)
    assert answer.headers["Cache-Control"] == "private, max-age=31536000, immutable"


@pytest.mark.parametrize("version", ["", "?v=0", "?v="])
def test_a_page_from_before_an_update_gets_what_there_is_now(version: str, client: Client) -> None:
    answer = client().get(f"/bundle/pages.js{version}", headers=HOST)
    assert "function showLibrary(" in answer.text
    assert answer.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    "name", ["none.js", "../__init__.py", "..%2f__init__.py", "%2e%2e/text.py", "pages.css%00", "__init__.py"]
)
def test_nothing_beside_them_is(name: str, client: Client) -> None:
    answer = client().get(f"/bundle/{name}", headers=HOST)
    assert b"import" not in answer.data.replace(b"importmap", b"")


def test_without_a_reading_there_are_no_choices(client: Client) -> None:
    tab = client(recording(), recording(BUSY, state="reading"))
    for recording_id in (READY, BUSY):
        answer = tab.get(f"/api/recordings/{recording_id}/choices", headers=HOST)
        assert (answer.status_code, answer.get_json()) == (200, {})
    assert tab.get(f"/api/recordings/{'0' * 32}/choices", headers=HOST).status_code == 404
