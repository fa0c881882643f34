"""The exit codes of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tracekit.errors import EXIT_CODES


def list_exit_codes() -> str:
    """Return a row for each exit code."""
    rows = [f"| {code} | {entry.summary} | {entry.meaning} |" for code, entry in EXIT_CODES.items()]
    return "\n".join(["| code | in short | meaning |", "|---|---|---|", *rows])


PARTS: Mapping[str, Callable[[], str]] = {"exit-codes": list_exit_codes}
