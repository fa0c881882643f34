"""A result for a terminal."""

from __future__ import annotations

from tracekit.fleet.dataset_answer import DatasetAnswer
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.fleet.document import build_answer

_MOST_ROWS = 1000


def to_text(answer: DatasetAnswer, width: int) -> str:
    """Return the first thousand rows; text is cut where the table would be too wide."""
    return print_text([build_answer(answer, _MOST_ROWS)], Page(width))
