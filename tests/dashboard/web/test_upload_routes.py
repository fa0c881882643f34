"""The upload's addresses: what they pass on, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_library import READY

from tracekit_dashboard.library.uploads import UnfinishedUpload

pytestmark = pytest.mark.integration

Client = Callable[..., Any]
OURS = {"Host": "127.0.0.1:8127", "Origin": "http://127.0.0.1:8127", "X-Tracekit": "1"}
UPLOAD = f"/api/uploads/{'f' * 32}"


def put(tab: Any, offset: object, body: bytes, **more: str) -> Any:
    return tab.put(UPLOAD, headers={**OURS, "Upload-Offset": str(offset), **more}, data=body)


def test_a_file_in_two_slices(client: Client) -> None:
    tab = client()
    begun = tab.post("/api/uploads", headers=OURS, json={"name": "x.zip", "size_bytes": 5})
    assert (begun.status_code, begun.get_json()) == (201, {"id": "f" * 32, "slice_bytes": 8 << 20})
    assert tab.library.uploads.begun == [("x.zip", 5)]
    assert tab.head(UPLOAD, headers=OURS).headers["Upload-Offset"] == "0"
    assert put(tab, 0, b"abc").headers["Upload-Offset"] == "3"
    assert tab.head(UPLOAD, headers=OURS).headers["Upload-Offset"] == "3"
    assert put(tab, 3, b"de").headers["Upload-Offset"] == "5"
    assert tab.library.uploads.content == b"abcde"
    done = tab.post(f"{UPLOAD}/finish", headers=OURS, json={})
    assert done.get_json() == {"recording": READY, "address": f"/recordings/{READY}"}


def test_the_unfinished_are_listed(client: Client) -> None:
    tab = client()
    tab.library.uploads.left = [UnfinishedUpload("f" * 32, "x.zip", 5, 3, 60.0)]
    answer = tab.get("/api/uploads", headers=OURS)
    assert answer.get_json() == {
        "uploads": [{"id": "f" * 32, "name": "x.zip", "size_bytes": 5, "offset": 3, "idle_seconds": 60.0}]
    }
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_folder_is_begun_with_its_files(client: Client) -> None:
    tab = client()
    files = [{"path": "x.trace/a", "size_bytes": 1}, {"path": "x.trace/b/c", "size_bytes": 0}]
    assert tab.post("/api/uploads", headers=OURS, json={"name": "x.trace", "files": files}).status_code == 201
    assert tab.library.uploads.begun == [("x.trace", [("x.trace/a", 1), ("x.trace/b/c", 0)])]


def test_the_refusal_of_a_slice_at_the_wrong_place_names_the_right_one(client: Client) -> None:
    tab = client()
    put(tab, 0, b"abc")
    again = put(tab, 0, b"abc")
    assert (again.status_code, again.headers["Upload-Offset"]) == (409, "3")
    assert tab.library.uploads.content == b"abc"


def test_a_slice_for_another_file_is_refused_for_good(client: Client) -> None:
    tab = client()
    put(tab, 0, b"abc")
    refused = put(tab, 3, b"de", **{"Upload-Digest": "e" * 64})
    assert (refused.status_code, refused.get_json()) == (409, {"error": "It is not the file."})
    assert "Upload-Offset" not in refused.headers  # with which the page would continue
    assert put(tab, 3, b"de", **{"Upload-Digest": "D" * 64}).headers["Upload-Offset"] == "5"


@pytest.mark.parametrize("digest", ["x", "a" * 63, "a" * 65, "g" * 64])
def test_a_digest_that_is_none_is_refused(digest: str, client: Client) -> None:
    tab = client()
    assert put(tab, 0, b"abc", **{"Upload-Digest": digest}).status_code == 400
    assert tab.post(f"{UPLOAD}/finish", headers=OURS, json={"digest": digest}).status_code == 400
    assert tab.library.uploads.content == b""


@pytest.mark.parametrize("offset", ["", "-1", "x", "1.5", "٣", "9" * 30, "0x1"])
def test_an_offset_that_is_no_number_is_refused(offset: str, client: Client) -> None:
    tab = client()
    assert put(tab, offset, b"abc").status_code == 400
    assert tab.library.uploads.content == b""


@pytest.mark.parametrize(
    "body",
    [
        None, [], "x", {}, {"name": 1, "size_bytes": 1}, {"name": "x"}, {"name": "x", "size_bytes": -1},
        {"name": "x", "size_bytes": True}, {"name": "x", "size_bytes": "1"}, {"name": "x", "size_bytes": 1.5},
        {"name": "x", "files": {}}, {"name": "x", "files": ["a"]}, {"name": "x", "files": [{"path": "a"}]},
        {"name": "x", "files": [{"path": 1, "size_bytes": 1}]},
    ],
)  # fmt: skip
def test_a_beginning_without_information_is_refused(body: Any, client: Client) -> None:
    tab = client()
    answer = tab.post("/api/uploads", headers=OURS, json=body)
    assert answer.status_code == 400
    assert answer.get_json()["error"]
    assert tab.library.uploads.begun == []


def test_json_that_is_none_is_refused(client: Client) -> None:
    answer = client().post("/api/uploads", headers={**OURS, "Content-Type": "application/json"}, data="{")
    assert answer.status_code == 400


def test_cancelling(client: Client) -> None:
    tab = client()
    put(tab, 0, b"abc")
    assert tab.delete(UPLOAD, headers=OURS).status_code == 204
    assert tab.library.uploads.content == b""


@pytest.mark.integration
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT"])
def test_an_unknown_upload(method: str, client: Client) -> None:
    answer = client().open(
        "/api/uploads/none", method=method, headers={**OURS, "Upload-Offset": "0"}, data=b"x"
    )
    assert answer.status_code == 404
