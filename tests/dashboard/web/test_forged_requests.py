"""Requests that no page of ours makes: a status below 500, a sentence, and no traceback in the log."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from dashboard_support import page_callback
from fake_library import READY

from tracekit_dashboard.callbacks.values import has_type
from tracekit_dashboard.error_responses import MALFORMED

pytestmark = pytest.mark.integration

Client = Callable[..., Any]
HOST = {"Host": "127.0.0.1:8127"}
OURS = {**HOST, "Origin": "http://127.0.0.1:8127", "X-Tracekit": "1"}
CALLBACK = "/_dash-update-component"
TOKEN = "an-open-secret"
DEEP = "[" * 100_000

ELSEWHERE = [
    "//evil.example",
    "//evil.example/recordings",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "\t//evil.example",
    "/\r\n/evil.example",
    "/\x00/evil.example",
    "/ /evil.example",
    "//evil.example/%2e%2e",
    "/.//evil.example",
    "//recordings//x",
    "/x\r\nSet-Cookie: a=b",
    "/http://evil.example",
    "/é//evil.example",
]


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No request of these tests may leave a traceback."""
    with caplog.at_level(logging.DEBUG):
        yield
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert "Traceback" not in caplog.text


def refused(response: Any) -> str:
    """Return the sentence of a refusal."""
    assert 400 <= response.status_code < 500
    if response.is_json:
        return str(response.get_json()["error"])
    return str(response.get_data(as_text=True))


@pytest.mark.parametrize(
    "origin",
    ["http://[", "http://]/", "http://[::1", "http://[x]:8127", "http://a:b:c", "\x7f", "é", "//", "http://"],
)
def test_an_origin_that_cannot_be_parsed(origin: str, client: Client) -> None:
    visitor = client()
    for method in ("POST", "PUT", "DELETE"):
        assert refused(visitor.open("/api/uploads", method=method, headers={**OURS, "Origin": origin}))


def test_no_path_leads_to_another_site(client: Client) -> None:
    for settings, query in (({}, ""), ({"token": TOKEN}, f"token={TOKEN}")):
        visitor = client(**settings)
        for path in ELSEWHERE:
            response = visitor.get(
                "/", headers=HOST, query_string=query, environ_overrides={"PATH_INFO": path}
            )
            assert response.status_code < 500
            place = response.headers.get("Location", "/").replace("\t", "").strip()  # as browsers do
            assert (
                urlsplit(urljoin("http://127.0.0.1:8127/x", place.replace("\\", "/"))).netloc
                == "127.0.0.1:8127"
            )


def test_a_redirect_to_another_site_is_not_sent(client: Client) -> None:
    from flask import redirect

    visitor = client()
    visitor.application.add_url_rule("/away", view_func=lambda: redirect("//evil.example"))
    response = visitor.get("/away", headers=HOST)
    assert (response.status_code, "Location" in response.headers) == (404, False)


@pytest.mark.parametrize(
    "path",
    [
        "/_dash-component-suites/none/x.js",
        "/_dash-component-suites/dash/../../etc/passwd",
        "/_dash-component-suites/dash/nonsense.js",
        "/_dash-component-suites/dash/\ud83d\ude00",
        "/assets/../server.py",
        "/assets/none.js",
        "/recordings/%0d%0aSet-Cookie:a=b",
        "/%00",
        "/bundle/%0a",
        f"/recordings/{READY}/download/%0d%0a",
        f"/recordings/{READY}/samples",
        "/api/recordings/99999999999999999999/samples",
        "/" + "a/" * 5000,
    ],
)
def test_an_address_of_nothing_is_a_404(path: str, client: Client) -> None:
    assert (
        client().get(path.encode("utf-16", "surrogatepass").decode("utf-16"), headers=HOST).status_code == 404
    )


BODIES: list[Any] = [
    b"",
    b"{",
    b"null",
    b"5",
    b"[]",
    b"{}",
    b"\xff\xfe",
    DEEP.encode(),
    b'{"name": ' + DEEP.encode() + b"}",
    {"name": "x"},
    {"name": 5, "size_bytes": 1},
    {"name": "x", "size_bytes": -1},
    {"name": "x", "size_bytes": 10**4000},
    {"name": "x", "size_bytes": 1e400},
    {"name": "x", "files": 5},
    {"name": "x", "files": [5]},
    {"name": "x", "files": [{"path": "a"}]},
    {"output": 5},
    {"output": "none.children", "inputs": [], "changedPropIds": []},
    {"output": "page.children", "inputs": 5, "changedPropIds": 5},
    {"output": "page.children", "inputs": [5], "state": [[]], "changedPropIds": [5]},
]


@pytest.mark.parametrize("address", [CALLBACK, "/api/uploads", f"/api/uploads/{'f' * 32}/finish"])
def test_a_body_of_nonsense_is_refused_with_a_sentence(address: str, client: Client) -> None:
    visitor = client()
    for body in BODIES:
        data = body if isinstance(body, bytes) else json.dumps(body)
        response = visitor.post(address, headers=OURS, data=data, content_type="application/json")
        if address.endswith("/finish") and response.status_code == 200:
            continue  # it is an object, which is enough there
        assert refused(response).endswith("."), body


FORGED: list[dict[str, Any]] = [
    {"inputs": [{"id": "address", "property": "pathname", "value": 5}]},
    {"inputs": [{"id": "address", "property": "pathname", "value": ["/"]}]},
    {"inputs": [{"id": "address", "property": "pathname", "value": "\ud800"}]},
    {"inputs": [{"id": "other", "property": "pathname", "value": "/"}]},
    {"inputs": [{"id": "address", "property": "other", "value": "/"}]},
    {"inputs": [{"id": {"a": "b"}, "property": "pathname", "value": "/"}]},
    {"inputs": [[{"id": "address", "property": "pathname", "value": "/"}]]},
    {"inputs": []},
    {"state": []},
    {"state": None},
    {"outputs": [{"id": "page", "property": "children"}] * 2},
    {"outputs": {"id": {"a": [1]}, "property": "children"}},
    {"changedPropIds": ["{bad.n_clicks"]},
    {"changedPropIds": [{"a": 1}]},
    {"inputs": {"id": "address"}},
    {"inputs": [{"id": "address", "property": "pathname", "value": json.loads("[" * 500 + "]" * 500)}]},
]


def test_a_forged_callback_does_not_run(client: Client) -> None:
    visitor = client()
    assert visitor.post(CALLBACK, headers=OURS, json=page_callback("/")).status_code == 200
    for changed in FORGED:
        assert (
            refused(visitor.post(CALLBACK, headers=OURS, json=page_callback("/", **changed))) == MALFORMED
        ), changed


def test_a_forged_button_does_nothing(client: Client) -> None:
    visitor = client()
    output = next(
        name
        for name, entry in visitor.application.view_functions[CALLBACK]
        .__closure__[0]
        .cell_contents.callback_map.items()
        if '"page":"trace"' in entry["inputs"][0]["id"]
    )

    def press(button: Any) -> Any:
        prop_id = f"{json.dumps(button, sort_keys=True, separators=(',', ':'))}.n_clicks"
        pressed = {"id": button, "property": "n_clicks", "value": 1}
        return visitor.post(
            CALLBACK,
            headers=OURS,
            json={
                "output": output,
                "outputs": {"id": "page", "property": output.partition(".")[2]},
                "inputs": [[pressed]],
                "changedPropIds": [prop_id],
            },
        )

    button = {"act": "cancel", "page": "trace", "recording": READY}
    assert press(button).status_code == 200
    for forged in (
        5,
        "x",
        {},
        {"act": "cancel"},
        {**button, "act": 5},
        {**button, "page": "x"},
        {**button, "more": ""},
    ):
        assert refused(press(forged)) == MALFORMED


def test_a_library_whose_folder_was_removed_is_named_in_a_sentence(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = client()

    def removed(*_: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory", "/home/somebody/library")

    monkeypatch.setattr(visitor.library, "find_recording", removed)
    for name in ("find_view", "find_sections"):
        monkeypatch.setattr(visitor.library, name, removed)
    sentence = "The library cannot be read or written: No such file or directory."
    for path in ("view", "sections", "samples"):
        answer = visitor.get(f"/api/recordings/{READY}/{path}", headers=HOST)
        assert answer.status_code == 500
        assert sentence in answer.get_json()["error"] and "somebody" not in answer.get_json()["error"]
    forged = page_callback(
        "/", inputs=[{"id": "address", "property": "pathname", "value": f"/recordings/{READY}"}]
    )
    assert sentence in visitor.post(CALLBACK, headers=OURS, json=forged).get_data(as_text=True)


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        ("x", str, True), (None, str, False), (None, str | None, True), (5, str | None, False), ("\udfff", str, False),
        (5, int, True), (None, int, True), (True, int, False), (True, bool, True), ([1, None], list[int], True),
        ([1, "x"], list[int], False), ({"a": "b"}, dict[str, str], True), ({"a": 1}, dict[str, str], False),
        ([{"a": "b"}], list[dict[str, str]], True), ("x", list[str], False),
    ],
)  # fmt: skip
def test_the_type_of_a_value(value: object, hint: Any, expected: bool) -> None:
    assert has_type(value, hint) is expected
