"""The server over HTTP: on the loopback interface alone, and with a token."""

from __future__ import annotations

import hmac
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
_REFUSAL = b"Unauthorized: the header Authorization must be 'Bearer' with the token of this server.\n"


class TokenGate:
    """Passes requests that have the token, and refuses all others."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._header = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        headers = dict(scope.get("headers", ()))
        if scope["type"] != "http" or hmac.compare_digest(headers.get(b"authorization", b""), self._header):
            await self._app(scope, receive, send)
            return
        head = [(b"content-type", b"text/plain"), (b"content-length", str(len(_REFUSAL)).encode())]
        await send({"type": "http.response.start", "status": 401, "headers": head})
        await send({"type": "http.response.body", "body": _REFUSAL})


def serve_http(server: MCPServer[Any], port: int, token: str) -> None:
    """Serve until interrupted."""
    app = TokenGate(server.streamable_http_app(host=HOST), token)
    uvicorn.run(app, host=HOST, port=port, log_level="warning")
