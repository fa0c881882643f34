"""Every command as its ``--help`` prints it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import click

from tracekit.cli import main

_WIDTH = 90


def list_commands() -> str:
    """Return a section for tracekit itself, and one for each command and subcommand."""
    return "\n".join(_describe("tracekit", main, _open_context("tracekit", main), 2))


def _describe(name: str, command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}\n"
    yield f"```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            member = command.get_command(context, part)
            if member is not None and not member.hidden:
                inner = _open_context(part, member, context)
                yield from _describe(f"{name} {part}", member, inner, min(level + 1, 3))


def _open_context(name: str, command: click.Command, parent: click.Context | None = None) -> click.Context:
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    return click.Context(command, parent, name, **settings)


PARTS: Mapping[str, Callable[[], str]] = {"commands": list_commands}
