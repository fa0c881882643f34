"""A result as one HTML file, in the style of reports."""

from __future__ import annotations

from tracekit.fleet.answer import DatasetAnswer
from tracekit.report.fleet.cells import is_number, texts
from tracekit.report.html.elements import table, tag
from tracekit.report.html.page import document
from tracekit.text import plural

_MOST_ROWS = 5000


def to_html(answer: DatasetAnswer) -> str:
    """Return one document that loads nothing: the rows, and what the columns mean."""
    columns = [column[:_MOST_ROWS] for column in texts(answer)]
    right = [is_number(column, answer) for column in answer.columns]
    header = [column.name.replace("_", " ") for column in answer.columns]
    count = answer.rows.num_rows
    caption = plural(count, "row") + (
        f", of which the first {_MOST_ROWS:,} are listed" * (count > _MOST_ROWS)
    )
    rows = list(zip(*columns, strict=True))
    given = ", ".join(f"{name} {value}" for name, value in answer.parameters.items() if value != "")
    body = [
        tag("header", tag("h1", answer.title), tag("p", given, class_="note") if given else None),
        tag(
            "main",
            tag("section", tag("h2", "Answer"), table(header, rows, right, caption) or tag("p", "No rows.")),
            *(tag("p", note, class_="note") for note in answer.notes),
            _list_meanings(answer),
        ),
    ]
    return document(answer.title, body, {})


def _list_meanings(answer: DatasetAnswer) -> object:
    rows = [[column.name, column.meaning] for column in answer.columns if column.meaning]
    return tag("section", tag("h2", "Columns"), table(["column", "meaning"], rows, [False, False], "Columns"))
