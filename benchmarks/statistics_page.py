"""The tables of docs/statistics.md that programs write, each between two comments."""

from __future__ import annotations

from pathlib import Path

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "statistics.md"


def write_tables(begin: str, end: str, tables: str) -> None:
    """Replace what lies between two comments by tables."""
    text = _PAGE.read_text("utf-8")
    head, tail = text.partition(begin)[0], text.partition(end)[2]
    _PAGE.write_text(f"{head}{begin}\n{tables}\n{end}{tail}", "utf-8")
