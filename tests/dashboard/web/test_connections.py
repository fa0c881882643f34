"""Slow and greedy clients: deadlines, and who makes room when all connections are in use."""

from __future__ import annotations

import http.client
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
from waitress.adjustments import Adjustments
from waitress.task import ThreadedTaskDispatcher

from tracekit_dashboard import connections
from tracekit_dashboard.connections import Checks, Server, sort_by_entitlement

pytestmark = pytest.mark.integration  # each test has a server

COOKIE = "access=yes"
HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-"
LONG = b"x" * (32 << 20)


class Application:
    """Answers with the size of the body that it received; counts requests."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.may_end = threading.Event()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        self.paths.append(environ["PATH_INFO"])
        if environ["PATH_INFO"] == "/wait":
            self.may_end.wait(10)
        size = len(environ["wsgi.input"].read())
        body = LONG if environ["PATH_INFO"] == "/long" else str(size).encode()
        start("200 OK", [("Content-Length", str(len(body)))])
        return [body]


@contextmanager
def served(application: Application, count: int) -> Iterator[int]:
    """Serve on a port, with room for ``count`` connections."""
    listener = socket.create_server(("127.0.0.1", 0))
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.set_thread_count(2)
    server = Server(
        application,
        checks=Checks(lambda cookies: cookies == COOKIE, lambda headers: headers.get("Cookie") == COOKIE),
        connections=count,
        _sock=listener,
        sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
        dispatcher=dispatcher,
        adj=Adjustments(sockets=[listener], log_socket_errors=False),
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        application.may_end.set()
        server.stop()
        thread.join(10)
        for connection in list(server.active_channels.values()):
            connection.handle_close()
        server.close()
        assert not thread.is_alive()


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def port(application: Application, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server whose deadlines are short."""
    monkeypatch.setattr(connections, "_ROUND_SECONDS", 0.02)
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "STALL_SECONDS"):
        monkeypatch.setattr(connections, name, 0.2)
    with served(application, 50) as number:
        yield number


def opened(port: int, data: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), 5)
    client.sendall(data)
    return client


def answer(client: socket.socket) -> bytes:
    """Return everything until the server closes the connection."""
    received = bytearray()
    with client, suppress(ConnectionError):
        while data := client.recv(1 << 16):
            received += data
    return bytes(received)


def status(port: int, cookie: str = COOKIE) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/", headers={"Cookie": cookie})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


@pytest.mark.parametrize("opening", [HALF, b""])
def test_300_sockets_that_never_finish_shut_no_visitor_out(opening: bytes, application: Application) -> None:
    with served(application, 100) as port, ExitStack() as slow:
        for _ in range(300):
            slow.enter_context(opened(port, opening))
        assert [status(port) for _ in range(20)] == [200] * 20
        assert status(port, cookie="") == 200  # a visitor who is about to show the token


@pytest.mark.parametrize(
    ("opening", "drip"),
    [
        (b"", b""),
        (HALF, b"a"),
        (b"", b"\r\n\r\n"),
        (b"PUT / HTTP/1.1\r\nHost: x\r\nCookie: access=yes\r\nContent-Length: 9999\r\n\r\n", b"a"),
        (
            b"PUT / HTTP/1.1\r\nHost: x\r\nCookie: access=yes\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n",
            b"a",
        ),
    ],
)
def test_a_request_that_drips_is_ended_at_its_deadline(
    opening: bytes, drip: bytes, port: int, application: Application
) -> None:
    began = time.monotonic()
    with opened(port, opening) as client, suppress(ConnectionError):
        client.settimeout(0.05)
        while time.monotonic() < began + 5:
            client.sendall(drip)
            with suppress(TimeoutError):
                if not client.recv(1):
                    break
    assert 0.15 < time.monotonic() - began < 3
    assert application.paths == []


def test_a_body_that_keeps_its_rate_may_take_longer(
    port: int, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BODY_BYTES_PER_SECOND", 10)
    head = (
        b"PUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: access=yes\r\nContent-Length: 30\r\n\r\n"
    )
    client = opened(port, head)
    for _ in range(6):
        time.sleep(0.06)
        client.sendall(b"12345")
    assert answer(client).endswith(b"\r\n\r\n30")


def test_an_unread_response_is_ended(port: int) -> None:
    client = opened(port, b"GET /long HTTP/1.1\r\nHost: x\r\nCookie: access=yes\r\n\r\n")
    time.sleep(0.6)
    assert len(answer(client)) < len(LONG)


def test_a_request_that_takes_long_here_has_no_deadline(port: int, application: Application) -> None:
    client = opened(port, b"GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    time.sleep(0.5)
    application.may_end.set()
    assert answer(client).startswith(b"HTTP/1.1 200")


def test_a_body_that_is_not_expected_is_not_received(port: int, application: Application) -> None:
    inner = b"GET /inner HTTP/1.1\r\nHost: x\r\n\r\n"
    for length in (
        b"Content-Length: 9000000",
        b"Transfer-Encoding: chunked",
        b"Expect: 100-continue\r\nContent-Length: 5",
    ):
        head = b"PUT /put HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n\r\n"
        received = answer(opened(port, head + inner))
        assert received.count(b"HTTP/1.1") == 1
        assert received.startswith(b"HTTP/1.1 200") and received.endswith(b"\r\n\r\n0")
    assert application.paths == ["/put"] * 3


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"PUT / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"\x00\xff HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nA B: c\r\n\r\n",
    ],
)
def test_a_malformed_request_is_refused_and_not_logged(
    request_bytes: bytes, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "waitress.queue")  # on a busy machine it warns that a request waits
    with caplog.at_level(logging.DEBUG):
        assert answer(opened(port, request_bytes))[9:].startswith(b"400 Bad Request")
    assert caplog.text == ""


def test_the_order_in_which_connections_make_room() -> None:
    def connection(name: str, address: str, since: float, access: bool = False, waiting: bool = True) -> Any:
        return SimpleNamespace(
            name=name, addr=(address, 1), since=since, has_access=access, is_waiting=waiting
        )

    crowd = [connection(f"crowd {n}", "10.0.0.1", 10 - n) for n in range(3)]
    others_waiting = [
        connection("oldest, alone at its address", "10.0.0.2", 1),
        connection("with access", "10.0.0.1", 0, access=True),
        connection("in use", "10.0.0.1", 0, waiting=False),
    ]
    assert [each.name for each in sort_by_entitlement([*others_waiting, *crowd])] == [
        "crowd 2", "crowd 1", "crowd 0", "oldest, alone at its address", "with access"
    ]  # fmt: skip
