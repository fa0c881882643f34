"""``python -m dashboard.jobs.workers.export <bytes of memory> report …``: tracekit's commands as a worker."""

from __future__ import annotations

import sys

from dashboard.jobs import bootstrap


def main() -> None:
    """Run the tracekit command that the arguments name."""
    bootstrap.end_with_server()
    bootstrap.limit_resources(int(sys.argv.pop(1)))
    from tracekit.cli import main as command

    command(prog_name="tracekit")


if __name__ == "__main__":
    bootstrap.run(main)
