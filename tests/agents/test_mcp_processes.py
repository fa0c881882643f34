"""The server as a client starts it: a process on standard input and output, or over HTTP with a token."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("mcp")
from mcp_support import SAMPLES

pytestmark = pytest.mark.integration

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
OPEN = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "open", "arguments": {"path": "fallback-midway-ios27"}},
}
PATIENCE_S = 120


@contextmanager
def serve(*options: str) -> Iterator[Any]:
    command = [sys.executable, "-m", "tracekit", "mcp", "--allow", str(SAMPLES), *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        yield process
        process.kill()


def send(process: Any, *messages: Any) -> None:
    for message in messages:
        process.stdin.write(f"{message if isinstance(message, str) else json.dumps(message)}\n")
    process.stdin.flush()


def read_reply(process: Any) -> Any:
    return json.loads(process.stdout.readline())


def test_lines_that_are_no_messages_end_no_session() -> None:
    with serve() as process:
        send(process, INITIALIZE)
        assert read_reply(process)["result"]["serverInfo"]["name"] == "tracekit"
        send(process, "{no message", {**OPEN, "id": 7, "params": {"name": "open", "arguments": []}})
        reply = read_reply(process)
        assert reply["id"] == 7
        assert "error" in reply
        send(process, OPEN)
        assert "SpeechEncoder left" in read_reply(process)["result"]["content"][0]["text"]


@pytest.mark.parametrize("message", [None, OPEN])
def test_a_client_that_ends_its_input_ends_the_server(message: Any) -> None:
    with serve() as process:
        send(process, INITIALIZE)
        read_reply(process)
        send(process, *([message] if message else []))
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == ""


def test_a_client_that_reads_no_replies_any_more_is_a_sentence() -> None:
    with serve() as process:
        send(process, INITIALIZE)
        read_reply(process)
        process.stdout.close()
        send(process, OPEN)
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 141
        assert process.stderr.read() == "The client has disconnected.\n"


def test_http_serves_the_holder_of_the_token_alone() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with serve("--http", str(port)) as process:
        assert process.stderr.readline() == f"http://127.0.0.1:{port}/mcp\n"
        token = re.fullmatch(r"Authorization: (Bearer \S{40,})\n", process.stderr.readline())
        assert token
        wait_for_server(port)
        assert post(port, "Bearer wrong") == 401
        assert post(port, token[1]) == 200
        assert post(port, token[1], host="attacker.example") == 421


def wait_for_server(port: int) -> None:
    for _ in range(10 * PATIENCE_S):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the server does not listen")


def post(port: int, authorization: str, host: str = "") -> int:
    """Return the status of the reply to an initialization."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": authorization,
        "Host": host or f"127.0.0.1:{port}",
    }
    connection.request("POST", "/mcp", json.dumps(INITIALIZE), headers)
    status = connection.getresponse().status
    connection.close()
    return status
