"""Every command as its ``--help`` prints it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import click

from tracekit.cli import main

_WIDTH = 90


def list_commands() -> str:
    """Return a section for tracekit itself, and one for each command and subcommand."""
    return "\n".join(_describe("tracekit", main, click.Context(main, info_name="tracekit"), 2))


def _describe(name: str, command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    context.terminal_width = context.max_content_width = _WIDTH
    yield f"{'#' * level} {name}\n"
    yield f"```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            member = command.get_command(context, part)
            if member is not None and not member.hidden:
                inner = click.Context(member, parent=context, info_name=part)
                yield from _describe(f"{name} {part}", member, inner, min(level + 1, 3))


PARTS: Mapping[str, Callable[[], str]] = {"commands": list_commands}
