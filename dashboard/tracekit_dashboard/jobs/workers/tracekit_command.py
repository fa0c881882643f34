"""``python -m ….workers.tracekit_command report …``: a command.

A module of its own, however short, because the server starts each kind of worker by its module's name.
"""

from __future__ import annotations

from tracekit_dashboard.jobs import worker_process


def run_command() -> None:
    """Run the tracekit command that the arguments name."""
    worker_process.end_with_server()
    worker_process.limit_resources()
    from tracekit.cli import main as command

    command(prog_name="tracekit")


if __name__ == "__main__":
    worker_process.run_worker(run_command)
