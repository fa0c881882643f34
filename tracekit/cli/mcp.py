"""``tracekit mcp``: recordings for assistants, over the Model Context Protocol."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracekit.cli.output import HELP
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError
from tracekit.installation import format_install_command

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


@click.command(
    "mcp", context_settings=HELP, short_help="Serve recordings to assistants (Model Context Protocol)."
)
@click.option(
    "--allow",
    "folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="A folder whose recordings may be read; nothing else is. Repeatable. Default: the current folder.",
)
@click.option("--allow-record", is_flag=True, help="Let assistants record apps on this Mac.")
@click.option(
    "--http",
    "port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Serve HTTP on 127.0.0.1 with a token, which is printed, instead of standard input and output.",
)
def mcp_command(folders: tuple[str, ...], allow_record: bool, port: int | None) -> None:
    """Serve recordings to assistants: eight tools, each with replies of at most 4 KB.

    Recordings are opened by their paths in the allowed folders. Replies hold no absolute path, no prompts and
    answers of language models, and nothing outside of these folders.

    \b
    Examples:
      tracekit mcp --allow ~/traces
      tracekit mcp --allow ~/traces --http 8765
    """
    try:
        from tracekit.mcp.mcp_server import build_server
    except ImportError as error:
        raise UsageError(
            f"The server needs the package mcp. Install it with: {format_install_command('mcp')}"
        ) from error
    from tracekit.mcp.recordings import RecordingStore

    server = build_server(
        RecordingStore([Path(folder) for folder in folders or (".",)]), may_record=allow_record
    )
    if port is None:
        _serve_stdio(server)
        return
    from tracekit.mcp.http import HOST, serve_http

    token = secrets.token_urlsafe(32)
    write_message(f"http://{HOST}:{port}/mcp", f"Authorization: Bearer {token}")
    serve_http(server, port, token)


def _serve_stdio(server: MCPServer[Any]) -> None:
    """Serve until the client ends its input. Raises ``BrokenPipeError`` where it no longer reads replies."""
    try:
        server.run("stdio")
    except BaseExceptionGroup as group:
        if group.split(BrokenPipeError)[1] is not None:
            raise
        write_message("The client has disconnected.")
        raise BrokenPipeError from None
