"""A client of the server for assistants, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import CallToolResult
from view_support import ROOT

from tracekit.mcp.mcp_server import build_server
from tracekit.mcp.recordings import RecordingStore

SAMPLES = ROOT / "sample_traces"
APPS = {"mimeTypes": [APP_MIME_TYPE]}
"""The settings of a client that shows MCP Apps."""
Call = tuple[str, dict[str, Any]]


def run_async(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine; in a thread of its own, because a browser's driver has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def call_tools(
    calls: Sequence[Call],
    folders: Sequence[Path] = (SAMPLES,),
    may_record: bool = False,
    apps: dict[str, Any] | None = None,
) -> list[CallToolResult]:
    """Return the results of calls, for a client that advertises MCP Apps with the settings ``apps``."""
    extensions = [] if apps is None else [advertise(EXTENSION_ID, apps)]

    async def run() -> list[CallToolResult]:
        server = build_server(RecordingStore(folders), may_record=may_record)
        async with Client(server, extensions=extensions) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    results: list[CallToolResult] = run_async(run())
    return results
