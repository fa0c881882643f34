"""A result for a terminal: a table that fits its width, or a block of lines per row.

Where the table is too wide, columns with the same value in all rows are a line above it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.fleet.answer import DatasetAnswer
from tracekit.report.fleet.cells import is_number, texts
from tracekit.text import align, clip, plural, printable, wrap

_NARROWEST, _WIDEST = 8, 60
_MOST_ROWS = 1000
_GAP = 2


def to_text(answer: DatasetAnswer, width: int) -> str:
    """Return text: at most a thousand rows, text cut where the table would be too wide."""
    columns = [[clip(printable(cell), _WIDEST) for cell in column[:_MOST_ROWS]] for column in texts(answer)]
    header = [printable(column.name) for column in answer.columns]
    right = [is_number(column, answer) for column in answer.columns]
    count = answer.rows.num_rows
    if not count:
        return "\n".join(["No rows.", *_notes(answer, width)]) + "\n"
    lines = _table(header, columns, right, width) or _with_common(header, columns, right, width)
    if count > _MOST_ROWS:
        lines.append(f"… and {plural(count - _MOST_ROWS, 'more row')}: -o FILE.csv has all {count:,}.")
    return "\n".join([*lines, *_notes(answer, width)]) + "\n"


def _notes(answer: DatasetAnswer, width: int) -> list[str]:
    return ["", *(wrap(note, "", width) for note in answer.notes)] if answer.notes else []


def _table(header: Sequence[str], columns: list[list[str]], right: Sequence[bool], width: int) -> list[str]:
    """Return the table; nothing if it cannot be made to fit."""
    fitted_columns = _fitted(header, columns, right, width)
    return [align(header, list(zip(*fitted_columns, strict=True)), right)] if fitted_columns else []


def _with_common(
    header: Sequence[str], columns: list[list[str]], right: Sequence[bool], width: int
) -> list[str]:
    """Return the values that all rows have, and the other columns as a table, or as a block per row."""
    varies = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    common = [
        f"{name}: {column[0] or 'empty'}"
        for place, (name, column) in enumerate(zip(header, columns, strict=True))
        if place not in varies
    ]
    if not varies or not common:
        return [_records(header, columns)]
    header, columns = [header[place] for place in varies], [columns[place] for place in varies]
    table = _table(header, columns, [right[place] for place in varies], width)
    return [
        wrap(f"In all rows: {', '.join(common)}.", "", width),
        "",
        *(table or [_records(header, columns)]),
    ]


def _fitted(
    header: Sequence[str], columns: list[list[str]], right: Sequence[bool], width: int
) -> list[list[str]]:
    """Return the columns with text cut so that the table is no wider than ``width``; none if it cannot be."""
    widths = [max(len(name), *map(len, column), 0) for name, column in zip(header, columns, strict=True)]
    min_widths = [
        size if to_right else max(len(name), min(size, _NARROWEST))
        for name, size, to_right in zip(header, widths, right, strict=True)
    ]
    excess = sum(widths) + _GAP * (len(widths) - 1) - width
    while excess > 0:
        widest = max(range(len(widths)), key=lambda place: (widths[place] > min_widths[place], widths[place]))
        if widths[widest] <= min_widths[widest]:
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
