"""A result for a terminal: a table that fits its width, or a block of lines per row."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.fleet.answer import Answer
from tracekit.report.fleet.cells import is_number, texts
from tracekit.text import align, clip, plural, printable, wrap

_NARROWEST, _WIDEST = 8, 60
_MOST_ROWS = 1000
_GAP = 2


def to_text(answer: Answer, width: int) -> str:
    """Return text: at most a thousand rows, text cut where the table would be too wide."""
    columns = [[clip(printable(cell), _WIDEST) for cell in column[:_MOST_ROWS]] for column in texts(answer)]
    header = [printable(column.name) for column in answer.columns]
    right = [is_number(column, answer) for column in answer.columns]
    count = answer.rows.num_rows
    if not count:
        return "\n".join(["No rows.", *_notes(answer, width)]) + "\n"
    fitted = _fitted(header, columns, right, width)
    lines = [align(header, list(zip(*fitted, strict=True)), right)] if fitted else [_records(header, columns)]
    if count > _MOST_ROWS:
        lines.append(f"… and {plural(count - _MOST_ROWS, 'more row')}: -o FILE.csv has all {count:,}.")
    return "\n".join([*lines, *_notes(answer, width)]) + "\n"


def _notes(answer: Answer, width: int) -> list[str]:
    return ["", *(wrap(note, "", width) for note in answer.notes)] if answer.notes else []


def _fitted(
    header: Sequence[str], columns: list[list[str]], right: Sequence[bool], width: int
) -> list[list[str]]:
    """Return the columns with text cut so that the table is no wider than ``width``; none if it cannot be."""
    widths = [max(len(name), *map(len, column), 0) for name, column in zip(header, columns, strict=True)]
    least = [
        size if to_right else max(len(name), min(size, _NARROWEST))
        for name, size, to_right in zip(header, widths, right, strict=True)
    ]
    excess = sum(widths) + _GAP * (len(widths) - 1) - width
    while excess > 0:
        widest = max(range(len(widths)), key=lambda place: (widths[place] > least[place], widths[place]))
        if widths[widest] <= least[widest]:
            return []
        widths[widest] -= 1
        excess -= 1
    return [[clip(cell, size) for cell in column] for column, size in zip(columns, widths, strict=True)]


def _records(header: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    size = max(map(len, header))
    rows = zip(*columns, strict=True)
    return "\n\n".join(
        "\n".join(f"{name.ljust(size)}  {cell}".rstrip() for name, cell in zip(header, row, strict=True))
        for row in rows
    )
