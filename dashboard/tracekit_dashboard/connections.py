"""The connections of the HTTP server: their deadlines, and which one makes room for the next.

waitress reads requests in one thread, without a deadline for headers or bodies, and stops accepting when it
has its number of connections: clients that send half a header shut everybody out. Here a client that is late
loses its connection, and when all connections are in use, the one with the least right to wait makes room. A
connection whose request is being served is never closed for another one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError, TransferEncodingNotImplemented
from waitress.server import TcpWSGIServer

HEADER_SECONDS = 10.0
BODY_SECONDS = 20.0
"""The time for a body, plus one second per ``BODY_BYTES_PER_SECOND`` received."""
BODY_BYTES_PER_SECOND = 4096
STALL_SECONDS = 30.0
"""The time after which a client that reads nothing of its response loses its connection."""
IDLE_SECONDS = 60.0
"""The time in which a visitor with access keeps a connection without a request."""
_ROUND_SECONDS = 1.0
_MAX_EXCESS_CONNECTIONS = 32
"""Connections that may exceed the limit until the next round: closing one within a round could free a file
number to which an event of the same round still refers."""


@dataclass(frozen=True)
class Checks:
    """Checks of a request's headers, before its body is received."""

    has_access: Callable[[str], bool]
    """A function of the ``Cookie`` header."""
    may_send_body: Callable[[Mapping[str, str]], bool]
    """A function of the headers, by their usual names."""


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """Reads one request. A body that is not expected is not received: the application refuses the headers."""

    has_access = False
    _is_cut = False

    def __init__(self, adj: Any, checks: Checks) -> None:
        super().__init__(adj)
        self._checks = checks

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the headers; any failure is the client's, so that none ends in the server's log."""
        try:
            super().parse_header(header_plus)
        except (ParsingError, TransferEncodingNotImplemented):
            raise
        except Exception as error:  # for example a Content-Length of 5,000 digits, or the host "["
            raise ParsingError("Header invalid") from error
        # waitress has the names in capitals, with underscores.
        headers = {name.replace("_", "-").title(): value for name, value in self.headers.items()}
        self.has_access = self._checks.has_access(headers.get("Cookie", ""))
        if (self.chunked or self.content_length) and not self._checks.may_send_body(headers):
            self._cut_request()

    def _cut_request(self) -> None:
        """End the request with its headers, and the connection with the response."""
        self._is_cut = True
        self.body_rcv, self.chunked, self.content_length, self.expect_continue = None, False, 0, False
        self.headers.pop("CONTENT_LENGTH", None)
        self.headers["CONNECTION"] = "close"

    def received(self, data: bytes) -> int:
        """Take the next bytes; of a body that is not received, none may be taken for another request."""
        consumed = int(super().received(data))
        return len(data) if self._is_cut else consumed


class Connection(HTTPChannel):  # type: ignore[misc]
    """A connection with a deadline for each phase: a header, a body, a response, and the time between."""

    def __init__(self, server: Server, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:  # noqa: A002
        self.since = time.monotonic()
        """The moment at which the present request, or the waiting for it, began."""
        self._moved = self.since
        self._sent_bytes = self._seen_bytes = 0
        self._had_access = False
        super().__init__(server, sock, addr, adj, map=map)
        self.parser_class = lambda adjustments: RequestParser(adjustments, server.checks)

    @property
    def has_access(self) -> bool:
        """True once a request with access was received."""
        return self._had_access or (self.request is not None and self.request.has_access)

    @property
    def is_waiting(self) -> bool:
        """True while no request runs and no response is being sent."""
        return not self.requests and not self.total_outbufs_len

    def received(self, data: bytes) -> bool:
        """Take bytes; the first ones of a request begin its deadline."""
        earlier_request = self.request
        is_taken = bool(super().received(data))
        if self.request is not None and self.request is not earlier_request:
            self.since = time.monotonic()
        return is_taken

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send bytes and count them."""
        sent = int(super().send(data, do_close=do_close))
        self._sent_bytes += sent
        return sent

    def service(self) -> None:
        """Run one request; the next one's time begins when it has ended."""
        self._had_access |= self.requests[0].has_access
        try:
            super().service()
        finally:
            self.since = time.monotonic()

    def is_late(self, now: float) -> bool:
        """Return True if the client has used up its time; to be called regularly."""
        if not self.total_outbufs_len or self._sent_bytes != self._seen_bytes:
            self._seen_bytes, self._moved = self._sent_bytes, now
        if self.total_outbufs_len:
            return now - self._moved > STALL_SECONDS
        return not self.requests and now - self.since > self._find_allowed_seconds()

    def _find_allowed_seconds(self) -> float:
        if self.request is None:
            return IDLE_SECONDS if self.has_access else HEADER_SECONDS
        if not self.request.headers_finished:
            return HEADER_SECONDS
        return BODY_SECONDS + float(self.request.body_bytes_received) / BODY_BYTES_PER_SECOND


class Server(TcpWSGIServer):  # type: ignore[misc]
    """Serves an application on one listening socket until ``stop`` is called."""

    channel_class = Connection

    def __init__(self, application: Any, *, checks: Checks, connections: int, **options: Any) -> None:
        self.checks = checks
        self._connections = connections
        self._is_stopping = False
        self._next_round = 0.0
        super().__init__(application, bind_socket=False, **options)

    def run(self) -> None:
        """Serve; returns after ``stop``."""
        while not self._is_stopping:
            self._close_connections(time.monotonic())
            self.asyncore.loop(timeout=_ROUND_SECONDS, map=self._map, use_poll=True, count=1)
        self.task_dispatcher.shutdown()

    def stop(self) -> None:
        """End ``run``; any thread and any signal handler may call it."""
        self._is_stopping = True
        self.pull_trigger()

    def readable(self) -> bool:
        """Return True while more connections can be accepted."""
        return (
            bool(self.accepting) and len(self.active_channels) < self._connections + _MAX_EXCESS_CONNECTIONS
        )

    def handle_accept(self) -> None:
        """Accept the connections that wait, so that a visitor does not queue behind a crowd."""
        for _ in range(_MAX_EXCESS_CONNECTIONS):
            count = len(self.active_channels)
            super().handle_accept()
            if len(self.active_channels) == count:
                return

    def _close_connections(self, now: float) -> None:
        if now >= self._next_round:
            self._next_round = now + _ROUND_SECONDS
            for connection in [
                connection_in_use
                for connection_in_use in self.active_channels.values()
                if connection_in_use.is_late(now)
            ]:
                connection.handle_close()
        excess = len(self.active_channels) - self._connections
        if excess > 0:
            for connection in sort_by_entitlement(list(self.active_channels.values()))[:excess]:
                connection.handle_close()


def sort_by_entitlement(connections: list[Connection]) -> list[Connection]:
    """Return the waiting connections, the one that makes room for another first.

    Visitors without access come first, of these the address with the most connections, of these the one that
    has waited longest: whoever sends a request at once is served, even behind the same proxy as the others.
    """
    count_by_address = Counter(connection.addr[0] for connection in connections)
    return sorted(
        (connection for connection in connections if connection.is_waiting),
        key=lambda connection: (
            connection.has_access,
            -count_by_address[connection.addr[0]],
            connection.since,
        ),
    )
