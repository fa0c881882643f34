"""Slow clients against a dashboard: ``python tests/attack/slow_clients.py [--sockets N] [--seconds S] [--limit-ms M]``.

Starts a dashboard that needs its token, and keeps N sockets busy that never finish a request; each that is closed is
opened again. Meanwhile a visitor with the token loads pages, on new connections and on a kept one. Prints one JSON
object, and ends with 1 if the visitor's 95th percentile exceeds the limit, or if a request of his fails.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import math
import multiprocessing
import random
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
PATHS = ("/", "/api/alive", "/_dash-layout", "/_dash-dependencies", "/bundle/pages.css")
OPENINGS = {
    "silence": b"",
    "half a header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-",
    "blank lines": b"\r\n\r\n",
    "half a body": b"PUT /api/uploads/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 8000000\r\n\r\nabc",
    "half a chunk": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\nabc",
}
"""What a slow client sends first; a byte now and then follows."""
DRIP = {"silence": b"", "blank lines": b"\r\n\r\n"}
_DRIP_SECONDS = 0.5
_REOPEN_SECONDS = 0.01


class SlowClients:
    """A process with many sockets, each of which sends as little as it can."""

    def __init__(self, port: int, count: int) -> None:
        self._port, self._count = port, count
        context = multiprocessing.get_context("spawn")
        self._is_over, self._opened = context.Event(), context.Value("i", 0)
        self._process = context.Process(target=self._run, daemon=True)

    @property
    def opened(self) -> int:
        """The number of connections so far."""
        return int(self._opened.value)

    def __enter__(self) -> Self:
        self._process.start()
        while self.opened < self._count and self._process.is_alive():
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._process.join()

    def _run(self) -> None:
        kinds = itertools.cycle(OPENINGS)
        selector = selectors.DefaultSelector()
        next_drip = time.monotonic()
        while not self._is_over.is_set():
            while len(selector.get_map()) < self._count:
                self._open(selector, next(kinds))
            for key, _ in selector.select(_REOPEN_SECONDS):
                assert isinstance(key.fileobj, socket.socket)
                if not _is_open(key.fileobj):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
            if time.monotonic() > next_drip:
                next_drip += _DRIP_SECONDS
                for key in list(selector.get_map().values()):
                    assert isinstance(key.fileobj, socket.socket)
                    _try_to_send(key.fileobj, DRIP.get(key.data, b"a"))
            time.sleep(_REOPEN_SECONDS)
        for key in list(selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()

    def _open(self, selector: selectors.BaseSelector, kind: str) -> None:
        client = socket.create_connection(("127.0.0.1", self._port), 10)
        client.setblocking(False)
        _try_to_send(client, OPENINGS[kind])
        selector.register(client, selectors.EVENT_READ, kind)
        self._opened.value += 1


def _try_to_send(client: socket.socket, data: bytes) -> None:
    try:
        client.send(data)
    except OSError:  # it was closed, which the selector reports
        return


def _is_open(client: socket.socket) -> bool:
    try:
        return bool(client.recv(1 << 16))
    except BlockingIOError:
        return True
    except OSError:
        return False


@dataclass
class Visitor:
    """Someone with the token who loads pages; ``seconds`` are the durations of his requests."""

    port: int
    cookie: str
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def visit(self, count: int, pause_seconds: float = 0.0) -> None:
        """Make requests, in turns on a connection of their own and on one that is kept."""
        persistent = self._connection()
        for number in range(count):
            is_new = number % 2 == 0
            connection = self._connection() if is_new else persistent
            began = time.perf_counter()
            try:
                connection.request("GET", random.choice(PATHS), headers={"Cookie": self.cookie})
                response = connection.getresponse()
                response.read()
                if response.status >= 300:
                    self.failures.append(f"status {response.status}")
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                persistent = self._connection()
            self.seconds.append(time.perf_counter() - began)
            if is_new:
                connection.close()
            time.sleep(pause_seconds)

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def quantile_ms(self, share: float) -> float:
        """Return a quantile of the durations."""
        ordered = sorted(self.seconds)
        return round(1000 * ordered[max(0, math.ceil(share * len(ordered)) - 1)], 1)


def cookie_of(port: int, token: str) -> str:
    """Return the cookie for which a browser exchanges the token."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/?token={token}")
    return str(connection.getresponse().headers["Set-Cookie"]).partition(";")[0]


def measure(port: int, token: str, sockets: int, seconds: float) -> dict[str, object]:
    """Return what a visitor with the token experiences beside so many slow sockets."""
    visitor = Visitor(port, cookie_of(port, token))
    visitor.visit(20)
    alone_ms = visitor.quantile_ms(0.95)
    visitor.seconds.clear()
    with SlowClients(port, sockets) as clients:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            visitor.visit(20, 0.01)
    return {
        "slow_sockets": sockets,
        "slow_connections_opened": clients.opened,
        "requests": len(visitor.seconds),
        "failures": visitor.failures,
        "p95_alone_ms": alone_ms,
        "p50_ms": visitor.quantile_ms(0.5),
        "p95_ms": visitor.quantile_ms(0.95),
        "slowest_ms": visitor.quantile_ms(1),
    }


def main(arguments: list[str]) -> int:
    """Run the attack and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sockets", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--limit-ms", type=float, default=250.0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tracekit", "dashboard", "--no-browser", "--library", folder]
        # A file: with a pipe that nothing reads, the server stops at 64 kB of warnings.
        log = Path(folder, "log")
        with log.open("w") as stderr:
            server = subprocess.Popen([*command, "--allow-host", "proxy.example"], cwd=ROOT, stderr=stderr)
        try:
            while not (address := re.search(r":(\d+)/\?token=(\S+)\n", log.read_text())):
                assert server.poll() is None, log.read_text()
                time.sleep(0.05)
            results = measure(int(address[1]), address[2], options.sockets, options.seconds)
        finally:
            server.terminate()
            server.wait(timeout=30)
        results["tracebacks_in_log"] = log.read_text().count("Traceback")
    print(json.dumps(results, indent=1))
    is_held = not results["failures"] and not results["tracebacks_in_log"]
    return 0 if is_held and visitor_limit_is_kept(results, options.limit_ms) else 1


def visitor_limit_is_kept(results: dict[str, object], limit_ms: float) -> bool:
    """Return True if the visitor's 95th percentile is within the limit."""
    p95_ms = results["p95_ms"]
    return isinstance(p95_ms, float) and p95_ms < limit_ms


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
