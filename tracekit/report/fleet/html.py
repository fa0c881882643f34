"""A result as one HTML file, in the style of reports."""

from __future__ import annotations

from tracekit.fleet.dataset_answer import DatasetAnswer
from tracekit.report.document.html_printer import print_html
from tracekit.report.fleet.document import build_answer, build_meanings
from tracekit.report.html.elements import tag
from tracekit.report.html.page import document

_MOST_ROWS = 5000


def to_html(answer: DatasetAnswer) -> str:
    """Return one document that loads nothing: the first rows, and the meaning of each column."""
    meanings = [build_meanings(answer)] if any(column.meaning for column in answer.columns) else []
    sections = print_html([build_answer(answer, _MOST_ROWS), *meanings])
    given = ", ".join(f"{name} {value}" for name, value in answer.parameters.items() if value != "")
    note = tag("p", given, class_="note") if given else None
    body = [tag("header", tag("h1", answer.title), note), tag("main", *sections.values())]
    return document(answer.title, body, {})
