"""``tracekit fleet``: many recordings as one dataset; ``fleet_commands`` has a file per command."""

from __future__ import annotations

from importlib import import_module

import click

from tracekit.cli.output import HELP

_COMMANDS: tuple[str, ...] = ("run", "questions", "query", "notebook", "check")
"""Each is in the module of its name; only the module of the command that runs is imported."""


class _FleetCommands(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(
            import_module(f"tracekit.cli.fleet_commands.{cmd_name}"), f"{cmd_name}_command"
        )
        return command


@click.group("fleet", cls=_FleetCommands, context_settings=HELP, short_help="Many recordings as one dataset.")
def fleet_command() -> None:
    """Analyze many recordings into one dataset, and ask it questions.

    \b
    Examples:
      tracekit fleet run traces/ -o results/
      tracekit fleet questions results/
    """
