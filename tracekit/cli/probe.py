"""``tracekit probe``: models for the question which operations a device's Neural Engine takes."""

from __future__ import annotations

from importlib import import_module

import click

from tracekit.cli.output import HELP

_COMMANDS: tuple[str, ...] = ("write", "run", "read")
"""Each is in the module of its name; only the module of the command that runs is imported."""


class _ProbeCommands(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(
            import_module(f"tracekit.cli.probe_commands.{cmd_name}"), f"{cmd_name}_command"
        )
        return command


@click.group(
    "probe",
    cls=_ProbeCommands,
    context_settings=HELP,
    short_help="Ask a device which operations its Neural Engine takes.",
)
def probe_command() -> None:
    """Ask a device which operations its Neural Engine takes, with models made for one question each.

    \b
    Examples:
      tracekit probe write probes max_pool:kernel=2+8+13 softmax:dtype=fp16+fp32 gather_runtime
      tracekit probe run probes                                 (on a Mac)
      tracekit probe read probes/probes.trace --manifest probes
    """
