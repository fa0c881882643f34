"""Access to the dashboard, rule by rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dashboard_support import page_callback
from fake_library import READY

from tracekit.errors import UsageError
from tracekit_dashboard.auth import (
    build_content_policy,
    check_names,
    is_loopback,
    list_allowed_hosts,
    make_body_check,
)
from tracekit_dashboard.errors import CatalogLocked
from tracekit_dashboard.settings import Settings

pytestmark = pytest.mark.integration

Client = Callable[..., Any]
HOST = {"Host": "127.0.0.1:8127"}
OURS = {**HOST, "Origin": "http://127.0.0.1:8127", "X-Tracekit": "1"}
EVERY_ROUTE = [
    "/",
    "/recordings/x",
    "/api/recordings/x/view",
    "/bundle/pages.css",
    "/bundle/pages.js",
    "/_dash-layout",
    "/_dash-dependencies",
    "/nonsense",
]
TOKEN = "an-open-secret"
FROM_HERE = {"HTTP_ORIGIN": "http://127.0.0.1:8127"}


def body_of(answer: Any) -> str:
    return answer.get_data(as_text=True)


# Host -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:8127", "localhost:8127", "LOCALHOST:8127", "[::1]:8127"])
def test_requests_to_the_names_of_this_machine_are_served(host: str, client: Client) -> None:
    assert client().get("/_dash-layout", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", EVERY_ROUTE)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8127",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1.evil.example:8127",
        "localhost:8127.evil.example",
        "",
        "0.0.0.0:8127",
    ],
)
def test_a_name_that_points_here_from_elsewhere_is_refused_on_every_route(
    host: str, path: str, refusing: Any
) -> None:
    answer = refusing.get(path, headers={"Host": host})
    assert answer.status_code == 403
    assert "This address is not one of the dashboard's." in body_of(answer)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.168.1.2:8127", 200),
        ("[fd00::1]:8127", 200),
        ("192.168.1.2:80", 403),
        ("192.168.1.2", 403),
        ("evil.example:8127", 403),
        ("192.168.1.2.evil.example:8127", 403),
    ],
)
def test_where_all_addresses_listen_any_number_is_ours_and_no_name_is(
    host: str, expected: int, client: Client
) -> None:
    assert client(host="0.0.0.0").get("/_dash-layout", headers={"Host": host}).status_code == expected


NAMES = ("mac.local", "proxy.example:443", "inner.example:8443", "fd00::3")


@pytest.mark.parametrize(
    "name", ["http://x/", "http://x", "x/y", "x y", "", "x:port", "*", "x:1:2", "[x]:1", "é.example", "x\n"]
)
def test_what_is_no_name_is_not_taken_for_one(name: str) -> None:
    check_names(NAMES)
    with pytest.raises(UsageError, match=r"not a host's name. Give it as browsers do, such as mac\.local"):
        check_names([name])


def test_the_configured_host_and_further_names_are_ours() -> None:
    settings = Settings(Path(), host="fd00::2", port=9, allowed_hosts=NAMES)
    assert list_allowed_hosts(settings) == {
        "127.0.0.1:9", "localhost:9", "[::1]:9", "[fd00::2]:9",
        "mac.local", "mac.local:9", "proxy.example", "proxy.example:443", "inner.example:8443", "[fd00::3]", "[fd00::3]:9",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("192.168.1.2", False), ("::", False), ("mac.local", False), ("localhost.evil.example", False)],
)  # fmt: skip
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


# Writes ---------------------------------------------------------------------------------------------------

CALLBACK = "/_dash-update-component"


@pytest.mark.integration
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://localhost:8127"},  # ours, and yet not where this page came from
        {"Origin": "http://evil.example:8127@127.0.0.1:8127"},
        {"Origin": "ftp://127.0.0.1:8127"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://127.0.0.1:8127", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", CALLBACK),
        ("POST", "/api/uploads"),
        ("PUT", "/api/uploads/x"),
        ("DELETE", "/api/uploads/x"),
        ("PATCH", "/nonsense"),
        ("POST", "/"),
    ],
)
def test_a_write_from_elsewhere_is_refused(
    method: str, path: str, headers: dict[str, str], refusing: Any
) -> None:
    answer = refusing.open(path, method=method, headers={**HOST, "X-Tracekit": "1", **headers}, json={})
    assert answer.status_code == 403
    assert "another site" in body_of(answer)


@pytest.mark.parametrize("headers", [{"Origin": "http://127.0.0.1:8127"}, {"Sec-Fetch-Site": "same-origin"}])
def test_a_write_of_ours_is_let_through(headers: dict[str, str], client: Client) -> None:
    answer = client().post(
        "/api/uploads", headers={**HOST, "X-Tracekit": "1", **headers}, json={"name": "x", "size_bytes": 1}
    )
    assert answer.status_code == 201


def test_our_own_api_wants_its_header_and_dash_does_not(client: Client) -> None:
    headers = {**HOST, "Origin": "http://127.0.0.1:8127"}
    refused = client().post("/api/uploads", headers=headers, json={"name": "x", "size_bytes": 1})
    assert (refused.status_code, refused.get_json()) == (
        403,
        {"error": "The header X-Tracekit is missing, so nothing was changed."},
    )
    call = page_callback("/")
    assert client().post(CALLBACK, headers=headers, json=call).status_code == 200


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://["}, False),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Cookie": "tracekit-8127=wrong"}, False),
    ],
)
def test_only_an_expected_body_is_received(changed: dict[str, str], expected: bool, client: Client) -> None:
    settings = Settings(Path(), port=8127, token=TOKEN)
    cookie = client(token=TOKEN).get(f"/?token={TOKEN}", headers=HOST).headers["Set-Cookie"].split(";")[0]
    assert make_body_check(settings)({**OURS, "Cookie": cookie, **changed}) is expected
    if "Cookie" not in changed:
        assert make_body_check(Settings(Path(), port=8127))({**OURS, **changed}) is expected


# Token ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EVERY_ROUTE)
def test_without_the_token_nothing_is_revealed(path: str, client: Client) -> None:
    answer = client(token=TOKEN).get(path, headers=HOST)
    assert answer.status_code == 401
    assert "needs its token" in body_of(answer)
    assert "X-Tracekit-Version" not in answer.headers


def test_a_page_has_the_version_of_the_responses(client: Client) -> None:
    answer = client().get("/", headers=HOST)
    assert f'<html lang="en" data-version="{answer.headers["X-Tracekit-Version"]}">' in body_of(answer)
    refused = client().post("/_dash-update-component", headers=OURS, json={})
    assert refused.status_code == 400
    assert refused.headers["X-Tracekit-Version"] == answer.headers["X-Tracekit-Version"]


def test_the_token_becomes_a_cookie_and_leaves_the_address(client: Client) -> None:
    tab = client(token=TOKEN)
    answer = tab.get(f"/recordings/x?view=a&token={TOKEN}&b=%20", headers=HOST)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/recordings/x?view=a&b=+")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("tracekit-8127=")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    assert TOKEN not in cookie
    value = cookie.split(";")[0]
    assert tab.get("/_dash-layout", headers={**HOST, "Cookie": value}).status_code == 200
    assert client(token="another").get("/_dash-layout", headers={**HOST, "Cookie": value}).status_code == 401


@pytest.mark.parametrize("given", ["", "wrong", TOKEN[:-1], f"{TOKEN}x", "ä", "%00"])
def test_a_wrong_token_is_refused(given: str, client: Client) -> None:
    answer = client(token=TOKEN).get(f"/?token={given}", headers=HOST)
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


def test_a_token_in_the_address_of_a_write_is_not_enough(client: Client) -> None:
    answer = client(token=TOKEN).post(
        f"/api/uploads?token={TOKEN}", headers=OURS, json={"name": "x", "size_bytes": 1}
    )
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example"])
def test_the_way_back_from_the_token_leads_nowhere_else(path: str, client: Client) -> None:
    answer = client(token=TOKEN).get(f"/?token={TOKEN}", headers=HOST, environ_overrides={"PATH_INFO": path})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/evil.example")


def test_who_is_not_let_in_gets_a_page_that_needs_nothing_more(client: Client) -> None:
    text = body_of(client(token=TOKEN).get("/", headers=HOST))
    assert "<style>" in text and "<link" not in text and "<nav" not in text


def test_a_refusal_leads_nowhere_but_home(client: Client) -> None:
    answer = client().get(
        "/",
        headers=HOST,
        environ_overrides={"PATH_INFO": "//evil.example/download/x", "REQUEST_METHOD": "PUT", **FROM_HERE},
    )
    assert (answer.status_code, "evil" in body_of(answer)) == (405, False)
    assert '<a href="/">All recordings</a>' in body_of(answer)


# Headers and errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/_dash-layout", "/bundle/pages.css", "/nonsense/..", "/bundle/none"])
def test_the_headers_are_on_every_answer(path: str, client: Client) -> None:
    for host in (HOST, {"Host": "evil.example"}):
        headers = client().get(path, headers=host).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy
        assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_the_policy() -> None:
    assert build_content_policy(["'sha256-x'"]) == (
        "default-src 'none'; script-src 'self' 'sha256-x'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; worker-src 'self' blob:; font-src 'self' data:; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    )


@pytest.mark.integration
def test_an_unforeseen_error_is_a_sentence_and_its_details_stay_here(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tab = client()

    def broken(_id: str) -> Path:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(tab.library, "find_view", broken)
    answer = tab.get("/api/recordings/x/view", headers=HOST)
    assert answer.status_code == 500
    assert answer.get_json()["error"].startswith("The dashboard failed")
    assert "secret detail" in caplog.text


def test_an_error_in_a_callback_is_a_sentence_on_the_page(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tab = client()

    def broken(_id: str) -> Path:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(tab.library, "find_recording", broken)
    call = page_callback("/recordings/x")
    answer = tab.post(CALLBACK, headers=OURS, json=call)
    assert "The dashboard failed" in body_of(answer)
    assert "secret detail" not in body_of(answer) and "Traceback" not in body_of(answer)
    assert "secret detail" in caplog.text


def test_a_locked_catalog_is_a_status_after_which_the_page_repeats_its_request(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tab = client()

    def locked(_id: str) -> Path:
        raise CatalogLocked("It is locked.")

    monkeypatch.setattr(tab.library, "find_recording", locked)
    call = page_callback("/recordings/x")
    for answer in (
        tab.post(CALLBACK, headers=OURS, json=call),
        tab.get("/recordings/x/download/html", headers=HOST),
    ):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        assert "It is locked." in body_of(answer)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", 200),
        ("/record", 200),
        ("/compare", 200),
        (f"/recordings/{READY}", 200),
        (f"/recordings/{READY}/", 200),
        (f"/compare/{READY}/{READY}", 200),
        ("/nonsense", 404),
        ("/record/x", 404),
        ("/recordings", 404),
        ("/recordings/nonsense", 404),
        (f"/recordings/{READY}/x", 404),
        (f"/compare/{READY}", 404),
        (f"/compare/{READY}/nonsense", 404),
    ],
)
def test_what_is_no_page_is_not_found_by_programs_either(path: str, expected: int, client: Client) -> None:
    answer = client().get(path, headers=HOST)
    assert (answer.status_code, answer.mimetype) == (expected, "text/html")
    assert "/bundle/pages.js?v=" in body_of(answer)  # which draws the page that says so


@pytest.mark.parametrize("path", ["/_mcp", "/_alive_0", "/_dash-dev-tools"])
def test_dash_s_own_tools_are_off(path: str, client: Client) -> None:
    answer = client().get(path, headers=HOST)
    assert answer.mimetype == "text/html"  # the page of everything, and no tool
