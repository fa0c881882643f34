"""The list of a recording's tables: schema, rows, attributes, and what is known about each schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from dashboard.errors import NotFound
from dashboard.library.names import one_line
from tracekit.errors import InputError, TracekitError
from tracekit.model.tables import NOT_COUNTED, Table, TableInfo
from tracekit.model.trace import RunInfo
from tracekit.parsers.source import Source
from tracekit.report.tables.meanings import meaning_of

_MOST_LETTERS = 300
_MOST_ISSUES = 100


def contents_document(source: Source, run: int | None) -> dict[str, Any]:
    """Return the list of tables of every run as plain data; ``run`` is the one that the page shows.

    A table's number is its position in its run, from 1. ``rows`` is null for a table whose rows the input
    does not hold.
    """
    runs = source.toc()
    schemas = dict.fromkeys(table.schema for listed in runs for table in listed.tables)
    with_rows = [listed for listed in runs if any((table.row_count or 0) > 0 for table in listed.tables)]
    shown = run if run is not None else (with_rows or list(runs))[0].info.run if runs else 1
    issues = [issue.message for issue in source.issues() if issue.severity != "info"]
    return {
        "run": shown,
        "runs": [_run(listed) for listed in runs],
        "meanings": {schema: text for schema in schemas if (text := meaning_of(schema))},
        "issues": [one_line(message)[:1_000] for message in issues[:_MOST_ISSUES]],
    }


def _run(listed: RunInfo) -> dict[str, Any]:
    info = listed.info
    tables = [
        {
            "number": number,
            "schema": table.schema[:_MOST_LETTERS],
            "is_cut": len(table.schema) > _MOST_LETTERS,
            "rows": None if table.row_count in (None, NOT_COUNTED) else table.row_count,
            "attributes": " ".join(f"{name}={value}" for name, value in table.attributes.items())[
                :_MOST_LETTERS
            ],
        }
        for number, table in enumerate(listed.tables, 1)
    ]
    return {"run": info.run, "process": info.process, "duration_ns": info.duration_ns, "tables": tables}


def read_table(source: Source, run: int, number: int) -> Table:
    """Return the table of that number in the list.

    Raises ``NotFound`` if there is none, ``InputError`` if its rows are not in the input or are damaged.
    """
    listed = next((listed for listed in source.toc() if listed.info.run == run), None)
    if listed is None or not 1 <= number <= len(listed.tables):
        raise NotFound("There is no such table in this recording.")
    info = listed.tables[number - 1]
    place = _place(listed.tables, number)
    table = None if place is None else _nth(source.tables(info.schema, run), place)
    if table is None:
        raise InputError(
            source.name,
            f"lists a table '{info.schema[:_MOST_LETTERS]}' whose rows are not in it, or cannot be read.",
            _reason(source, run, info.schema),
        )
    return table


def _nth(tables: Iterator[Table], place: int) -> Table | None:
    """Return a table by its place; a damaged one before it takes its place as well."""
    for _ in range(place):
        with suppress(TracekitError):
            next(tables, None)
    return next(tables, None)


def _place(tables: Sequence[TableInfo], number: int) -> int | None:
    """Return the table's place among those of its schema that the source yields; None if it yields none."""
    info = tables[number - 1]
    if info.row_count is None:
        return None
    # A source yields tables in the order of the table of contents, without those that it does not hold.
    held = [
        (table.index, position)
        for position, table in enumerate(tables, 1)
        if table.schema == info.schema and table.row_count is not None
    ]
    return sorted(held).index((info.index, number))


def _reason(source: Source, run: int, schema: str) -> str:
    issues = [issue.message for issue in source.issues(run) if f"'{schema}'" in issue.message]
    return f"{issues[0].rstrip('.')}." if issues else "Export it together with the others to see it here."
