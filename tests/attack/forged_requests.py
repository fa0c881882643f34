"""Forged requests against a dashboard that runs as a user starts it.

    python tests/attack/forged_requests.py [--cases 2500] [--seconds 300] [--seed 1]

A case is a good request (a page, a download, an upload, a callback of Dash with values of its declared inputs)
with one to three changes: host, origin, token, cookie, method, path, headers, body, framing. Findings are a
status of 5xx (but 501 and 505, which are true), a traceback or an error in the log, content without the
token, a write that was accepted without its proof, a redirect to another site, a header that came from the
request, and a dashboard that does not serve its pages afterwards.
"""

from __future__ import annotations

import json
import random
import re
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(ROOT / name) for name in ("", "tests", "tests/support")]

from dashboard_support import SAMPLES, Started, start

from attack.runner import Report, parser_of

Dice = random.Random
ALLOWED_5XX = (501, 505)
READING = ("GET", "HEAD", "OPTIONS")
PUBLIC_STATUS = (400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 417, 431, 501, 505)
_WAIT_SECONDS = 20

PATHS = (
    "/", "/compare", "/record", "/compare/{id}/{id}", "/recordings/{id}", "/api/alive", "/api/uploads", "/api/uploads/{id}",
    "/api/recordings/{id}/view", "/api/recordings/{id}/sections", "/api/recordings/{id}/samples",
    "/api/recordings/{id}/counters", "/recordings/{id}/download/markdown",
    "/recordings/{id}/download/csv?redact=1&process=1", "/compare/{id}/{id}/download/json", "/api/compare/{id}/{id}/sections",
    "/bundle/pages.css", "/assets/start.js", "/_dash-layout", "/_dash-dependencies", "/_favicon.ico", "/_reload-hash",
    "/_dash-component-suites/dash/deps/x.js", "/_dash-component-suites/plotly/plotly.min.js",
)  # fmt: skip
SEGMENTS = (
    "..", "%2e%2e", "%2e%2e%2f", "..%5c", "%00", "%0d%0aX-Injected: 1", "%09", "//evil.example", "\\\\evil.example", "%2f%2fevil.example",
    "....//", "%c0%ae%c0%ae", "%u002e", "%ff", "%", "%zz", "é", "~root", "etc/passwd", "a" * 3000, "{{7*7}}", "<script>", "-1", "1e9",
    "9" * 400, "NaN", "%F0%9F%98%80", ";x=1", "?token=", "?token=x", "?redact=yes", "?process=%00", "?from=nan&to=1e999", "#x", "catalog.sqlite3",
)  # fmt: skip
HEADERS = (
    "Host: evil.example", "Host: 127.0.0.1", "Host:", "Host: 127.0.0.1:99999", "Host: [::1", "Host: a\tb", "Origin: http://evil.example",
    "Origin: null", "Origin: http://[::1", "Origin: http://127.0.0.1:99999999", "Origin: \xff", "Origin: http://127.0.0.1:{port}@evil.example",
    "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: none", "Sec-Fetch-Site: same-site", "Cookie: tracekit-{port}=x", "Cookie: \xff=\xfe; =",
    "Cookie: " + "a=b; " * 3000, "X-Tracekit: 0", "X-Tracekit: 1\x00", "Upload-Offset: -1", "Upload-Offset: " + "9" * 30, "Upload-Offset: ١",
    "Content-Length: -5", "Content-Length: 99999999999999999999", "Content-Length: 1e3", "Content-Length: +3", "Content-Length: 3, 4",
    "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: \x0bchunked", "Content-Type: application/json; charset=utf-7",
    "Content-Type: multipart/form-data; boundary=", "Content-Type: text/plain", "Content-Encoding: gzip", "Expect: 100-continue", "Expect: x",
    "Range: bytes=0-0,1-1,-1", "Range: bytes=99999999999-", "Range: x", "If-None-Match: *", "If-Modified-Since: x", "Accept-Encoding: \xff",
    "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: javascript", "X-Forwarded-For: " + "1," * 500, "Upgrade: websocket", "Connection: Upgrade",
    "X-HTTP-Method-Override: DELETE", "Content-Location: //evil.example", "X-Long: " + "x" * 20_000, "No colon here", ": no name", " folded: x",
    "Bad\x00Name: x", "Referer: http://evil.example/", "TE: trailers", "Proxy: http://evil.example",
)  # fmt: skip
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
METHODS = (
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "get",
    "PROPFIND",
    "X" * 300,
    "G\x00T",
    "",
)
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 10**400, 1e308, "", "x", "{id}", "/recordings/{id}", "../..", "\x00", "\ud800", "?base=x", "a" * 5000,
    [], {}, [[]], {"": {}}, [None], {"index": "x", "type": "y"}, [1] * 2000,
)  # fmt: skip
BODIES = (
    b"", b"{", b"null", b"[]", b"0", b'"x"', b"NaN", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b'{"name":1}', b'{"name":"x"}',
    b'{"name":"x","size_bytes":-1}', b'{"name":"x","size_bytes":1e400}', b'{"name":"x","size_bytes":' + b"9" * 5000 + b"}",
    b'{"name":"x","files":{}}', b'{"name":"x","files":[{}]}', b'{"name":"x","files":[{"path":"../x","size_bytes":1}]}',
    b'{"name":"x","files":[{"path":"/etc/x","size_bytes":1}]}', b'{"name":"x","files":[{"path":"a","size_bytes":1},{"path":"a/b","size_bytes":1}]}',
    b'{"name":"\\u0000\\ud800","size_bytes":9}', b'{"sha256":1}', b'{"sha256":"' + b"x" * 100_000 + b'"}', b"PK\3\4" * 1000,
)  # fmt: skip


@dataclass
class Forged:
    """One request, and what it proves."""

    method: str
    path: str
    headers: list[str]
    body: bytes = b""
    has_token: bool = True
    is_ours: bool = True
    is_raw: bool = False
    notes: list[str] = field(default_factory=list)

    def bytes(self) -> bytes:
        """Return the request as it is sent; the length of the body is stated unless a header does."""
        headers = list(self.headers)
        framed = ("content-length", "transfer-encoding")
        if self.body and not any(line.lower().startswith(framed) for line in headers):
            headers.append(f"Content-Length: {len(self.body)}")
        head = "\r\n".join([f"{self.method} {self.path} HTTP/1.1", *headers, "Connection: close", "", ""])
        return head.encode("utf-8", "surrogatepass") + self.body

    @property
    def is_write(self) -> bool:
        """True for a method that may change something."""
        return self.method not in READING


class Attack:
    """Makes requests by number, sends them, and judges the responses."""

    def __init__(self, started: Started, report: Report, seed: int) -> None:
        self._started, self._report, self._seed = started, report, seed
        match = re.search(r"recordings/(\w+)\?token=(\S+)", started.address)
        assert match is not None, started.address
        self.recording, self._token = match[1], match[2]
        self._host = f"127.0.0.1:{started.port}"
        _, head, _ = self.sent(self._plain(f"/?token={self._token}").bytes())
        cookie = re.search(r"set-cookie: ([^;\r]+)", head, re.IGNORECASE)
        assert cookie is not None, head
        self._cookie = cookie[1]
        self._callbacks = json.loads(self.sent(self._plain("/_dash-dependencies", cookie=True).bytes())[2])
        self._log_end = 0
        self.statuses: Counter[int] = Counter()

    def _plain(self, path: str, cookie: bool = False) -> Forged:
        return Forged("GET", path, [f"Host: {self._host}", *([f"Cookie: {self._cookie}"] if cookie else [])])

    # Making ---------------------------------------------------------------------------------------------

    def make(self, number: int) -> Forged:
        """Return a good request with one to three changes."""
        dice = Dice(f"{self._seed}/{number}")
        request = dice.choice((self._read, self._read, self._upload, self._callback))(dice)
        for _ in range(dice.choice((1, 1, 2, 3))):
            dice.choice(CHANGES)(self, dice, request)
        return request

    def filled(self, text: str) -> str:
        return text.replace("{id}", self.recording).replace("{port}", str(self._started.port))

    def _read(self, dice: Dice) -> Forged:
        return self._plain(self.filled(dice.choice(PATHS)), cookie=True)

    def _ours(self, method: str, path: str, body: bytes) -> Forged:
        headers = [
            f"Host: {self._host}", f"Cookie: {self._cookie}", f"Origin: http://{self._host}", "X-Tracekit: 1",
            "Content-Type: application/json",
        ]  # fmt: skip
        return Forged(method, path, headers, body)

    def _upload(self, dice: Dice) -> Forged:
        place = f"/api/uploads/{dice.choice((self.recording, 'x', '0' * 32, '..'))}"
        requests = (
            ("POST", "/api/uploads", b'{"name":"x.xml","size_bytes":9}'),
            ("PUT", place, b"content"),
            ("POST", f"{place}/finish", b"{}"),
            ("DELETE", place, b""),
        )
        return self._ours(*dice.choice(requests))

    def _callback(self, dice: Dice) -> Forged:
        """A callback of Dash, with some of its values of other types."""
        callback = dice.choice(self._callbacks)
        inputs, states = (
            [{**place, "value": dice.choice(VALUES)} for place in callback[name]]
            for name in ("inputs", "state")
        )
        body = {
            "output": callback["output"],
            "outputs": dice.choice((None, {"id": "page", "property": "children"}, [])),
            "inputs": inputs,
            "state": states,
            "changedPropIds": [f"{place['id']}.{place['property']}" for place in inputs[:1]],
        }
        for _ in range(dice.choice((0, 0, 1, 2))):
            key = dice.choice(list(body))
            body[key] = dice.choice((*VALUES, dice.choice(self._callbacks)["output"]))
        return self._ours("POST", "/_dash-update-component", self.filled(json.dumps(body)).encode())

    def change_header(self, dice: Dice, request: Forged) -> None:
        line = self.filled(dice.choice(HEADERS))
        name = line.partition(":")[0].lower()
        if name in ("host", "origin", "cookie", "x-tracekit", "sec-fetch-site"):
            request.headers = [
                header for header in request.headers if not header.lower().startswith(f"{name}:")
            ]
            request.has_token &= name != "cookie"
            request.is_ours &= name == "cookie"
        request.headers.insert(dice.randrange(len(request.headers) + 1), line)
        request.is_raw |= name in ("content-length", "transfer-encoding", "expect")

    def remove_header(self, dice: Dice, request: Forged) -> None:
        if request.headers:
            line = request.headers.pop(dice.randrange(len(request.headers))).lower()
            request.has_token &= not line.startswith("cookie:")
            request.is_ours &= not line.startswith(("x-tracekit:", "origin:"))

    def change_path(self, dice: Dice, request: Forged) -> None:
        path, mark, query = request.path.partition("?")
        parts = path.split("/")
        parts[dice.randrange(len(parts))] = dice.choice(SEGMENTS)
        request.path = dice.choice(
            ("/".join(parts) + mark + query, request.path + "/" + dice.choice(SEGMENTS))
        )
        request.path = request.path.replace(" ", "%20") or "/"

    def change_method(self, dice: Dice, request: Forged) -> None:
        request.method = dice.choice(METHODS)

    def change_body(self, dice: Dice, request: Forged) -> None:
        request.body = dice.choice(BODIES)

    def change_chunks(self, dice: Dice, request: Forged) -> None:
        """Send the body in chunks that lie about their size."""
        sizes = (
            b"5",
            b"FFFFFFFFFFFFFFFF",
            b"-1",
            b"0x5",
            b"5;ext=" + b"x" * 9000,
            b"",
            b"zz",
            b"5 ",
            b"+5",
            b"0",
        )
        request.headers = [line for line in request.headers if not line.lower().startswith("content-length")]
        request.headers.append("Transfer-Encoding: chunked")
        request.body = (
            dice.choice(sizes)
            + dice.choice((b"\r\n", b"\n"))
            + b"abcde\r\n"
            + dice.choice((b"0\r\n\r\n", b""))
        )
        request.is_raw = True

    # Sending --------------------------------------------------------------------------------------------

    def sent(self, data: bytes) -> tuple[int, str, bytes]:
        """Send a request and return status, head and body; status 0 for a connection without a response."""
        with socket.create_connection(("127.0.0.1", self._started.port), _WAIT_SECONDS) as client:
            received = bytearray()
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            except OSError:  # refused before the end of the request: the response is there
                pass
            try:
                while piece := client.recv(1 << 16):
                    received += piece
            except TimeoutError:
                return -1, "", b""
            except OSError:
                pass
        head, _, body = bytes(received).removeprefix(CONTINUE).partition(b"\r\n\r\n")
        match = re.match(rb"HTTP/1\.[01] (\d{3})", head)
        return int(match[1]) if match else 0, head.decode("latin-1"), body

    def problem(self, request: Forged) -> str:
        """Send a request; return what is wrong about the response or the log, or ""."""
        status, head, _ = self.sent(request.bytes())
        self.statuses[status] += 1
        location = re.search(r"\r\nlocation: *([^\r]*)", head, re.IGNORECASE)
        log = self.new_log()
        if "Traceback" in log or "ERROR" in log:
            return f"in the log: {log.strip().rpartition(chr(10))[2]}"
        if status >= 500 and status not in ALLOWED_5XX:
            return f"status {status}"
        if status < 0:
            return "no response"
        if "x-injected" in head.lower():
            return "a header of the request is in the response"
        if location and not re.match(r"/(?![/\\])", location[1]):
            return f"a redirect to {location[1][:80]!r}"
        if (
            status
            and not request.has_token
            and status not in PUBLIC_STATUS
            and self._token not in request.path
        ):
            return f"status {status} without the token"
        if 200 <= status < 300 and request.is_write and not request.is_ours:
            return f"status {status} for a write without its proof"
        return ""

    def new_log(self) -> str:
        """Return what the log has got since the last call."""
        log = self._started.log()
        fresh, self._log_end = log[self._log_end :], len(log)
        return fresh

    def is_well(self) -> bool:
        """Return True if the dashboard serves its pages and its recording."""
        paths = ("/", "/api/alive", f"/recordings/{self.recording}", f"/api/recordings/{self.recording}/view")
        return all(self.sent(self._plain(path, cookie=True).bytes())[0] in (200, 204) for path in paths)


CHANGES: tuple[Callable[[Attack, Dice, Forged], None], ...] = (
    Attack.change_header, Attack.change_header, Attack.change_header, Attack.remove_header, Attack.change_path, Attack.change_path,
    Attack.change_method, Attack.change_body, Attack.change_chunks,
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Send the requests to a dashboard of their own and print the table."""
    chosen = parser_of(__doc__, 2500).parse_args(arguments)
    report = Report("forged requests", chosen.cases)
    deadline = time.monotonic() + chosen.seconds
    sample = str(SAMPLES / "gpu-mpsgraph-macos15-bundle" / "recording.trace")
    with tempfile.TemporaryDirectory(prefix="requests-") as folder:
        started = start(Path(folder), "--allow-host", "proxy.example", sample)
        try:
            attack = Attack(started, report, chosen.seed)
            while not attack.is_well() and time.monotonic() < deadline + 60:
                time.sleep(0.2)
            attack.new_log()
            for number in range(chosen.cases):
                if time.monotonic() > deadline:
                    break
                request = attack.make(number)
                report.count(request.path.split("/")[1].partition("?")[0][:20] or "pages")
                if problem := attack.problem(request):
                    report.find(f"request {number}", f"{problem}: {request.bytes()[:300]!r}")
            report.notes["statuses"] = ", ".join(
                f"{status} × {count}" for status, count in sorted(attack.statuses.items())
            )
            if not attack.is_well():
                report.find("afterwards", "the dashboard does not serve its pages")
        finally:
            started.process.terminate()
            started.process.wait(30)
            log = started.log()
        if "Traceback" in log:
            report.find("log", log[log.index("Traceback") :][:500])
    known = {"pages", "api", "recordings", "compare", "assets", "bundle", "record"}
    elsewhere = sum(
        report.counts.pop(name)
        for name in list(report.counts)
        if name not in known and not name.startswith("_")
    )
    report.count("elsewhere", elsewhere)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
