"""The tables of docs/statistics.md, each between two comments, and what programs that write them share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "statistics.md"
Row = Mapping[str, Any]


def measure_or_write(
    description: str,
    count: int,
    iter_rows: Callable[[int], Iterable[Row]],
    format_tables: Callable[[Sequence[Row]], Mapping[str, str]],
) -> None:
    """Measure rows, or write a file of them into docs/statistics.md, as the command line asks.

    ``count`` is how many cases are simulated for a row; ``format_tables`` returns the tables by their names.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=count, help=f"simulated cases per row ({count})")
    parser.add_argument("--out", type=Path, help="a file for the rows, as JSON")
    parser.add_argument("--docs", type=Path, help="a file of rows to write into docs/statistics.md")
    arguments = parser.parse_args()
    if arguments.docs:
        for name, table in format_tables(json.loads(arguments.docs.read_text("utf-8"))).items():
            write_table(name, table)
        return
    rows = []
    for row in iter_rows(arguments.count):
        rows.append(row)
        print(json.dumps(row, ensure_ascii=False), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


def format_table(rows: Sequence[Row]) -> str:
    """Return rows as a table in Markdown; a cell that a row does not have is a dash."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    lines += [f"| {' | '.join(_format_cell(row.get(name)) for name in names)} |" for row in rows]
    return "\n".join(lines) + "\n"


def format_titled_tables(rows: Sequence[Row], titles: Mapping[str, str]) -> str:
    """Return a table for each title, of the rows that name it as their ``table``."""
    parts = []
    for table, title in titles.items():
        columns = [{k: v for k, v in row.items() if k != "table"} for row in rows if row["table"] == table]
        parts.append(f"**{title}**\n\n{format_table(columns)}")
    return "\n".join(parts)


def write_table(name: str, table: str) -> None:
    """Replace what lies between the two comments of a table."""
    begin, end = f"<!-- {name}: make calibrate -->", f"<!-- end of {name} -->"
    text = _PAGE.read_text("utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"{_PAGE.name} has no place for {name}")
    head, tail = text.partition(begin)[0], text.partition(end)[2]
    _PAGE.write_text(f"{head}{begin}\n\n{table}\n{end}{tail}", "utf-8")


def _format_cell(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
