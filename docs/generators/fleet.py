"""The tables of a dataset of results and the questions about it, from their declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tracekit.fleet.questions.registry import QUESTIONS
from tracekit.fleet.schema import PLACE, TABLES
from tracekit.model.columns import Column

_NOTES = {"field": "Reports of MetricKit that [`tracekit collect`](#collect) adds.\n\n"}


def list_tables() -> str:
    """Return a section for the columns of every table, and one for each table."""
    return "\n".join(_list_sections())


def _list_sections() -> Iterator[str]:
    yield f"### Every table\n\n{_format_columns(PLACE)}"
    for name, columns in TABLES.items():
        further = {key: column for key, column in columns.items() if key not in PLACE}
        yield f"### `{name}`\n\n{_NOTES.get(name, '')}{_format_columns(further)}"


def _format_columns(columns: Mapping[str, Column]) -> str:
    rows = [f"| `{name}` | {column.meaning.replace('``', '`')} |" for name, column in columns.items()]
    return "\n".join(["| column | is |", "|---|---|", *rows, ""])


def list_questions() -> str:
    """Return a row for each question, with its parameters."""
    lines = ["| question | answers | parameters |", "|---|---|---|"]
    for question in QUESTIONS.values():
        parameters = ", ".join(f"`{name}`" for name in question.parameters)
        lines.append(f"| `{question.name}` | {question.title} | {parameters} |")
    return "\n".join(lines)


PARTS: Mapping[str, Callable[[], str]] = {
    "tables-of-a-dataset": list_tables,
    "questions-about-a-dataset": list_questions,
}
