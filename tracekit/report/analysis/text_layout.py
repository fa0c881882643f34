"""The layout of the text: its width, tables that fit it, and the notes below them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracekit.model.trace import Issue
from tracekit.report.viewmodel.limits import Note, shortened
from tracekit.text import PARAGRAPH_WIDTH, align, clip, plural, printable, wrap

FEW_WINDOWS, MANY_WINDOWS = 12, 40
_UNITS = re.compile(r"(?<=[0-9]) (?=(?:ms|µs|s)\b|%)")
_NO_BREAK = "\N{NO-BREAK SPACE}"
_GAP = 2
_NARROWEST = 12
"""The fewest characters of a clipped column."""
_MOST_ALIKE = 3
SEVERITY = {"info": "", "warning": "warning: ", "error": "error: "}


@dataclass(frozen=True)
class TextLayout:
    """The shape of the text: lines of ``width``; all tables and columns if it is verbose."""

    width: int = 80
    is_verbose: bool = False
    max_windows: int | None = None

    @property
    def most_windows(self) -> int:
        """The number of windows to list."""
        if self.max_windows is not None:
            return self.max_windows
        return MANY_WINDOWS if self.is_verbose else FEW_WINDOWS

    @property
    def most_alike(self) -> int:
        """The number of limits of one code to write out; the text names the number of the others."""
        return MANY_WINDOWS if self.is_verbose else _MOST_ALIKE

    def paragraph(self, text: str, indent: str = "") -> str:
        """Return text wrapped to the width, at most a readable one; a unit stays with its number."""
        joined = _UNITS.sub(_NO_BREAK, text)
        return wrap(joined, indent, min(self.width, PARAGRAPH_WIDTH)).replace(_NO_BREAK, " ")


@dataclass(frozen=True)
class Column:
    """A column of a table; those of the highest ``rank`` are left out first where a line is too narrow.

    The cells of the column that ``is_clipped`` are cut before that.
    """

    name: str
    cells: Sequence[str]
    is_number: bool = False
    rank: int = 0
    is_clipped: bool = False

    @property
    def width(self) -> int:
        """The length of the longest cell."""
        return max(map(len, (self.name, *self.cells)))


def width_of(columns: Sequence[Column], indent: str) -> int:
    """Return the length of the lines of a table."""
    return len(indent) + sum(column.width + _GAP for column in columns) - _GAP


def table_text(columns: Sequence[Column], indent: str, width: int | None = None) -> str:
    """Return a table whose lines have at most ``width`` characters, where that is possible."""
    if width is not None:
        columns = _fitted(list(columns), indent, width)
    rows = list(zip(*(column.cells for column in columns), strict=True))
    right = [column.is_number for column in columns]
    return align([column.name for column in columns], rows, right, indent)


def _fitted(columns: list[Column], indent: str, width: int) -> list[Column]:
    while (excess := width_of(columns, indent) - width) > 0:
        position = next((index for index, column in enumerate(columns) if column.is_clipped), -1)
        narrowest = max(_NARROWEST, len(columns[position].name))
        if position >= 0 and columns[position].width - excess >= narrowest:
            return _clipped(columns, position, columns[position].width - excess)
        last = max(columns, key=lambda column: column.rank)
        if not last.rank:
            return _clipped(columns, position, narrowest) if position >= 0 else columns
        columns.remove(last)
    return columns


def _clipped(columns: Sequence[Column], position: int, width: int) -> list[Column]:
    column = columns[position]
    cells = [clip_name(cell, width) for cell in column.cells]
    narrow = Column(column.name, cells, column.is_number, column.rank, column.is_clipped)
    return [*columns[:position], narrow, *columns[position + 1 :]]


def clip_name(name: str, width: int) -> str:
    """Return a name of at most ``width`` characters; a ``(thread 0x1f3)`` or ``(process 412)`` stays."""
    head, bracket, last = name.rpartition(" (")
    is_kept = bool(bracket) and last.startswith(("thread ", "process ")) and len(last) + 4 < width
    return f"{clip(head, width - len(last) - 2)}{bracket}{last}" if is_kept else clip(name, width)


def note_lines(notes: Iterable[Note], layout: TextLayout) -> list[str]:
    """Return the notes of a table's marks, to stand directly below it."""
    return [layout.paragraph(f"{note.mark} {_issue_text(note.issue)}", "  ") for note in notes]


def issue_lines(issues: Iterable[Issue], layout: TextLayout, bullet: str, indent: str) -> list[str]:
    """Return a line for each issue; of many with one code, the first and the number of the others."""
    shown, others = shortened(issues, layout.most_alike)
    lines = [
        layout.paragraph(f"{'' if issue.severity != 'info' else bullet}{_issue_text(issue)}", indent)
        for issue in shown
    ]
    return [*lines, *(f"{indent}… and {plural(count, 'other')} ({code})" for code, count in others)]


def _issue_text(issue: Issue) -> str:
    return f"{SEVERITY[issue.severity]}{printable(issue.message)} ({printable(issue.code)})"
