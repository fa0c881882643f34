"""``python -m dashboard.library.making <bytes of memory> report …``: tracekit's command line, as a child."""

from __future__ import annotations

import sys

from dashboard.library import child


def main() -> None:
    """Run the command that the arguments are."""
    child.end_with_server()
    child.be_modest(int(sys.argv.pop(1)))
    from tracekit.cli import main as command

    command(prog_name="tracekit")


if __name__ == "__main__":
    child.run(main)
